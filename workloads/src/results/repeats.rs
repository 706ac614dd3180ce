//! Spread over the repeats of a workload.

use serde::{Deserialize, Serialize};

use super::Throughput;

/// What one repeat measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunTotal {
    /// Statistics over this repeat's windows, and its whole.
    pub throughput: Throughput,
    /// Length of its measured part.
    pub duration_ms: f64,
    /// Pods it bound.
    pub scheduled: u64,
}

/// The repeats, and an interval for the mean of their whole throughput.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeats {
    /// In the order they ran.
    pub runs: Vec<RunTotal>,
    /// Mean of `throughput.total`.
    pub mean: f64,
    /// Half the width of the 95 % interval of that mean, by Student's t.
    pub half_width: f64,
}

impl Repeats {
    /// Mean and interval; `None` for fewer than two runs, which have no spread.
    pub fn from_runs(runs: Vec<RunTotal>) -> Option<Repeats> {
        if runs.len() < 2 {
            return None;
        }
        let count = runs.len() as f64;
        let mean = runs.iter().map(|run| run.throughput.total).sum::<f64>() / count;
        let square = |run: &RunTotal| (run.throughput.total - mean).powi(2);
        let variance = runs.iter().map(square).sum::<f64>() / (count - 1.0);
        let half_width = t_975(runs.len() - 1) * (variance / count).sqrt();
        Some(Repeats { runs, mean, half_width })
    }
}

/// 97.5 % quantile of Student's t: the table of any statistics book up to 30 degrees of
/// freedom, then the normal value with its first correction term, right to 0.004.
fn t_975(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    assert!(0 < degrees);
    const NORMAL: f64 = 1.959_964;
    let correction = (NORMAL.powi(3) + NORMAL) / (4.0 * degrees as f64);
    TABLE.get(degrees - 1).copied().unwrap_or(NORMAL + correction)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(totals: &[f64]) -> Vec<RunTotal> {
        let run = |&total: &f64| RunTotal {
            throughput: Throughput { total, ..Throughput::default() },
            duration_ms: 1.0,
            scheduled: 1,
        };
        totals.iter().map(run).collect()
    }

    #[test]
    fn one_run_has_no_interval() {
        assert_eq!(Repeats::from_runs(runs(&[5.0])), None);
    }

    #[test]
    fn interval_is_students() {
        let repeats = Repeats::from_runs(runs(&[8.0, 10.0, 12.0])).expect("three runs");
        assert_eq!(repeats.mean, 10.0);
        let wanted = 4.303 * 2.0 / 3.0_f64.sqrt();
        assert!((repeats.half_width - wanted).abs() < 1e-9, "{}", repeats.half_width);
    }

    #[test]
    fn quantile_meets_the_table_at_its_end() {
        assert!((t_975(31) - 2.040).abs() < 0.004);
        assert!((t_975(60) - 2.000).abs() < 0.004);
    }
}
