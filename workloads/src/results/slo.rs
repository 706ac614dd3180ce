//! The service level lines every report shows.
//!
//! The bounds are the design's (Measurement, SLO lines); 100 to 150 pods/s is the default
//! expectation KEPs 5229, 5278 and 5501 write down. A bound itself holds.

use serde::{Deserialize, Serialize};

use super::{Stage, WorkloadResult};

/// Lower end of the expected throughput: below it the line fails.
pub const PODS_PER_S_MIN: f64 = 100.0;
/// Upper end of the expected throughput: reports say what multiple of it was reached.
pub const PODS_PER_S_UPPER: f64 = 150.0;
/// Scheduling attempts a second, at least.
pub const ATTEMPTS_PER_S_MIN: f64 = 100.0;
/// Average time of the scheduling algorithm, at most.
pub const ALGORITHM_MS_MAX: f64 = 10.0;

/// One line: what was asked, what was measured, and by how much it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SloLine {
    /// What is judged: `throughput`.
    pub name: String,
    /// The condition in words: `at least 100 pods/s`.
    pub target: String,
    /// The measured value; `None` when the workload did not measure it.
    pub actual: Option<f64>,
    /// Unit of `actual`.
    pub unit: String,
    /// `None` when not measured.
    pub pass: Option<bool>,
    /// How many times better than the bound: from 1 on the line holds. `None` when not
    /// measured, or when the ratio is unbounded.
    pub margin: Option<f64>,
}

/// The three lines of a workload, from the numbers it measured.
pub fn evaluate(workload: &WorkloadResult) -> Vec<SloLine> {
    // Pods that were to be scheduled and never tried miss the throughput as well.
    let pods = &workload.pods;
    let ran = 0 < workload.attempts.total || 0 < pods.created || 0 < pods.unschedulable;
    let algorithm = workload.latency_us.get(&Stage::SchedulingCycle);
    vec![
        at_least("scheduling attempts", "attempts/s", ATTEMPTS_PER_S_MIN)
            .judge(ran.then_some(workload.attempts.per_s)),
        at_least(THROUGHPUT, "pods/s", PODS_PER_S_MIN).judge(ran.then_some(workload.throughput.total)),
        at_most("algorithm average", "ms", ALGORITHM_MS_MAX)
            .judge(algorithm.map(|latency| latency.mean / 1000.0)),
    ]
}

/// All lines of a workload in one word.
#[derive(Clone, Debug, PartialEq)]
pub enum SloVerdict {
    /// Nothing was measured that could be judged.
    NotMeasured,
    /// Lines that do not hold, by name.
    Missed(Vec<String>),
    /// All hold; the throughput is this many times [`PODS_PER_S_UPPER`], and below 1 it is within the
    /// expected 100 to 150 pods/s.
    Met {
        /// Headline over the upper end.
        times_upper: f64,
    },
}

/// The verdict over all lines.
#[must_use]
pub fn verdict(workload: &WorkloadResult) -> SloVerdict {
    let missed: Vec<String> =
        workload.slo.iter().filter(|line| line.pass == Some(false)).map(|line| line.name.clone()).collect();
    if !missed.is_empty() {
        return SloVerdict::Missed(missed);
    }
    let has_throughput = workload.slo.iter().any(|line| line.name == THROUGHPUT && line.pass.is_some());
    if !has_throughput {
        return SloVerdict::NotMeasured;
    }
    SloVerdict::Met { times_upper: workload.throughput.total / PODS_PER_S_UPPER }
}

/// Name of the line that judges the headline.
pub const THROUGHPUT: &str = "throughput";

#[derive(Clone, Copy)]
enum Direction {
    AtLeast,
    AtMost,
}

struct Condition {
    name: &'static str,
    unit: &'static str,
    bound: f64,
    direction: Direction,
}

fn at_least(name: &'static str, unit: &'static str, bound: f64) -> Condition {
    Condition { name, unit, bound, direction: Direction::AtLeast }
}

fn at_most(name: &'static str, unit: &'static str, bound: f64) -> Condition {
    Condition { name, unit, bound, direction: Direction::AtMost }
}

impl Condition {
    fn judge(&self, actual: Option<f64>) -> SloLine {
        let words = match self.direction {
            Direction::AtLeast => "at least",
            Direction::AtMost => "at most",
        };
        let margin = actual.map(|value| self.margin(value));
        SloLine {
            name: self.name.to_owned(),
            target: format!("{words} {} {}", self.bound, self.unit),
            actual,
            unit: self.unit.to_owned(),
            pass: margin.map(|margin| 1.0 <= margin),
            margin: margin.filter(|margin| margin.is_finite()),
        }
    }

    fn margin(&self, actual: f64) -> f64 {
        match self.direction {
            Direction::AtLeast => actual / self.bound,
            Direction::AtMost => self.bound / actual,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::workload;
    use super::super::{Attempts, LatencySummary, Pods, Throughput};
    use super::*;

    #[test]
    fn lines_of_a_workload() {
        struct Case {
            name: &'static str,
            attempts: u64,
            attempts_per_s: f64,
            pods_per_s: f64,
            algorithm_us: Option<f64>,
            /// Attempts, throughput, algorithm.
            pass: [Option<bool>; 3],
            margins: [Option<f64>; 3],
        }
        let yes = Some(true);
        let no = Some(false);
        let cases = [
            Case {
                name: "all hold",
                attempts: 1000,
                attempts_per_s: 2000.0,
                pods_per_s: 1000.0,
                algorithm_us: Some(100.0),
                pass: [yes, yes, yes],
                margins: [Some(20.0), Some(10.0), Some(100.0)],
            },
            Case {
                name: "the bound itself holds",
                attempts: 1,
                attempts_per_s: 100.0,
                pods_per_s: 100.0,
                algorithm_us: Some(10_000.0),
                pass: [yes, yes, yes],
                margins: [Some(1.0), Some(1.0), Some(1.0)],
            },
            Case {
                name: "just below the bound fails",
                attempts: 1,
                attempts_per_s: 50.0,
                pods_per_s: 25.0,
                algorithm_us: Some(20_000.0),
                pass: [no, no, no],
                margins: [Some(0.5), Some(0.25), Some(0.5)],
            },
            Case {
                name: "attempts without a scheduled pod fail the throughput only",
                attempts: 500,
                attempts_per_s: 5000.0,
                pods_per_s: 0.0,
                algorithm_us: Some(1000.0),
                pass: [yes, no, yes],
                margins: [Some(50.0), Some(0.0), Some(10.0)],
            },
            Case {
                name: "nothing measured is neither pass nor fail",
                attempts: 0,
                attempts_per_s: 0.0,
                pods_per_s: 0.0,
                algorithm_us: None,
                pass: [None, None, None],
                margins: [None, None, None],
            },
            Case {
                name: "an algorithm below the clock's resolution has no finite margin",
                attempts: 1,
                attempts_per_s: 100.0,
                pods_per_s: 150.0,
                algorithm_us: Some(0.0),
                pass: [yes, yes, yes],
                margins: [Some(1.0), Some(1.5), None],
            },
        ];
        for case in &cases {
            let mut measured = workload("T/W");
            measured.attempts = Attempts { total: case.attempts, per_s: case.attempts_per_s };
            measured.pods = Pods { created: case.attempts, ..Pods::default() };
            measured.throughput = Throughput { total: case.pods_per_s, ..Throughput::default() };
            measured.latency_us.clear();
            if let Some(mean) = case.algorithm_us {
                let latency = LatencySummary { mean, ..LatencySummary::default() };
                measured.latency_us.insert(Stage::SchedulingCycle, latency);
            }
            let lines = evaluate(&measured);
            let pass: Vec<_> = lines.iter().map(|line| line.pass).collect();
            let margins: Vec<_> = lines.iter().map(|line| line.margin).collect();
            assert_eq!(pass, case.pass, "case: {}", case.name);
            assert_eq!(margins, case.margins, "case: {}", case.name);
        }
    }

    #[test]
    fn targets_are_sentences() {
        let targets: Vec<_> = evaluate(&workload("T/W")).into_iter().map(|l| l.target).collect();
        assert_eq!(targets, ["at least 100 attempts/s", "at least 100 pods/s", "at most 10 ms"]);
    }

    #[test]
    fn measured_pods_that_stay_pending_miss_the_throughput() {
        let mut pending = workload("T/W");
        pending.attempts = Attempts::default();
        pending.latency_us.clear();
        pending.pods = Pods { created: 10, scheduled: 0, unschedulable: 10 };
        pending.throughput = Throughput::of_runs(&[0.0]);
        pending.slo = evaluate(&pending);
        let missed = SloVerdict::Missed(vec!["scheduling attempts".to_owned(), THROUGHPUT.to_owned()]);
        assert_eq!(verdict(&pending), missed);
        pending.pods = Pods::default();
        pending.slo = evaluate(&pending);
        assert_eq!(verdict(&pending), SloVerdict::NotMeasured, "no pods were to be scheduled");
    }

    #[test]
    fn throughput_within_the_band_is_less_than_once_its_upper_end() {
        let mut within = workload("T/W");
        within.throughput = Throughput::of_runs(&[118.0]);
        within.attempts = Attempts { total: 118, per_s: 118.0 };
        within.latency_us.clear();
        within.slo = evaluate(&within);
        let SloVerdict::Met { times_upper } = verdict(&within) else { panic!("118 pods/s hold") };
        assert!((times_upper - 118.0 / 150.0).abs() < 1e-9, "{times_upper}");
    }
}
