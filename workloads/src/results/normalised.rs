//! The headline as a machine of the reference speed would have it.
//!
//! A reference kernel, the same work everywhere, runs beside every measurement. Its rate says how
//! fast this machine was at that moment; the headline divided by it is a number that two machines
//! agree on. kubernetes PR #128968 asks for it: "SchedulingBasic on local machine gives 1000+, but
//! CI gives 300+".

use schedlab_core::reference::VERSION;
use schedlab_stats::Estimate;
use serde::{Deserialize, Serialize};

use super::throughput::estimate_of_runs;
use super::{Conditions, RunTotal};

/// Reference steps a second of the machine that normalised figures speak of. A step is one row of
/// [`schedlab_core::reference::Reference::turn`]; the first kernel's number was what the two-core machine
/// does that schedlab was written on, and this one's was chosen on a later machine so that both kernels
/// read the same of it (1.72 to 1.75).
pub const REFERENCE_RATE: f64 = 2.5e8;

/// Pods per second of a machine that makes [`REFERENCE_RATE`] reference steps a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Normalised {
    /// The median of the runs, each divided by the machine's speed beside it.
    pub pods_per_s: f64,
    /// Lower end of its 95 % bootstrap interval; absent from a single run.
    #[serde(default)]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(default)]
    pub high: Option<f64>,
    /// Median speed of this machine beside the runs; 1 is the reference.
    pub machine_speed: f64,
    /// Which reference kernel said so: figures of two kernels are never compared. The first kernel's
    /// files do not say it.
    #[serde(default = "first_kernel")]
    pub kernel: u32,
}

fn first_kernel() -> u32 {
    1
}

impl Normalised {
    /// Of runs whose machine speed is known; `None` when there is none.
    #[must_use]
    pub fn of_runs(runs: &[RunTotal]) -> Option<Normalised> {
        let pairs: Vec<(f64, f64)> = runs
            .iter()
            .filter_map(|run| Some((run.pods_per_s, run.machine_speed?)))
            .filter(|&(rate, speed)| 0.0 < rate && 0.0 < speed)
            .collect();
        let ratios: Vec<f64> = pairs.iter().map(|(rate, speed)| rate / speed).collect();
        let speeds: Vec<f64> = pairs.iter().map(|&(_, speed)| speed).collect();
        if ratios.is_empty() {
            return None;
        }
        let conditions: Vec<Conditions> = runs.iter().filter_map(|run| run.conditions).collect();
        let Estimate { value, low, high } =
            estimate_of_runs(&ratios, Conditions::waited_share_over(&conditions));
        let has_spread = 1 < ratios.len();
        Some(Normalised {
            pods_per_s: value,
            low: has_spread.then_some(low),
            high: has_spread.then_some(high),
            machine_speed: schedlab_stats::median(&speeds),
            kernel: VERSION,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(pods_per_s: f64, machine_speed: f64) -> RunTotal {
        RunTotal { pods_per_s, machine_speed: Some(machine_speed), ..RunTotal::default() }
    }

    #[test]
    fn machines_of_different_speed_agree() {
        let fast =
            Normalised::of_runs(&[run(1000.0, 2.0), run(1010.0, 2.02), run(990.0, 1.98)]).expect("three");
        let slow =
            Normalised::of_runs(&[run(250.0, 0.5), run(240.0, 0.48), run(260.0, 0.52)]).expect("three");
        assert!((fast.pods_per_s / slow.pods_per_s - 1.0).abs() < 1e-9, "{fast:?} {slow:?}");
        assert_eq!((fast.machine_speed, slow.machine_speed), (2.0, 0.5));
        assert!(fast.low.is_some_and(|low| low <= fast.pods_per_s));
    }

    #[test]
    fn file_of_the_first_kernel_is_told_from_one_of_today() {
        let old: Normalised =
            serde_json::from_str(r#"{"pods_per_s": 2.0, "machine_speed": 1.7}"#).expect("an old file");
        let today = Normalised::of_runs(&[run(100.0, 0.5)]).expect("one");
        assert_eq!((old.kernel, today.kernel), (1, VERSION));
        assert_ne!(old.kernel, today.kernel);
    }

    #[test]
    fn single_run_has_no_interval_and_unknown_speed_gives_nothing() {
        let one = Normalised::of_runs(&[run(100.0, 0.5)]).expect("one");
        assert_eq!((one.pods_per_s, one.low, one.high), (200.0, None, None));
        assert_eq!(Normalised::of_runs(&[RunTotal { pods_per_s: 5.0, ..RunTotal::default() }]), None);
        assert_eq!(Normalised::of_runs(&[run(0.0, 1.0)]), None);
    }
}
