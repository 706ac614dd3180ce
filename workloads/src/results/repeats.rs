//! What each run of a workload measured, when it ran more than once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Conditions, LatencySummary, Stage, Throughput, Windows};

/// What one run measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "RunTotalFile")]
pub struct RunTotal {
    /// Pods over the measured interval: one sample of the headline.
    pub pods_per_s: f64,
    /// Length of its measured part.
    pub duration_ms: f64,
    /// Pods it bound.
    pub scheduled: u64,
    /// Rate of the reference kernel beside it, relative to the calibrated one; see
    /// [`super::Normalised`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_speed: Option<f64>,
    /// What the machine did meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
    /// Upstream's statistics over its windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<Windows>,
    /// Latency of each stage, in microseconds: samples of the pooled summaries.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub latency_us: BTreeMap<Stage, RunLatency>,
}

/// A run as any version writes it: the headline's sample used to be `throughput.total`. The gate
/// compares with revisions that write it so.
#[derive(Deserialize)]
struct RunTotalFile {
    pods_per_s: Option<f64>,
    throughput: Option<Throughput>,
    duration_ms: f64,
    scheduled: u64,
    machine_speed: Option<f64>,
    conditions: Option<Conditions>,
    windows: Option<Windows>,
    #[serde(default)]
    latency_us: BTreeMap<Stage, RunLatency>,
}

impl From<RunTotalFile> for RunTotal {
    fn from(file: RunTotalFile) -> RunTotal {
        let RunTotalFile { duration_ms, scheduled, machine_speed, conditions, windows, latency_us, .. } =
            file;
        let older = file.throughput.map(|throughput| throughput.total);
        let pods_per_s = file.pods_per_s.or(older).unwrap_or(0.0);
        RunTotal { pods_per_s, duration_ms, scheduled, machine_speed, conditions, windows, latency_us }
    }
}

/// A stage's latency in one run, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunLatency {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
}

impl From<&LatencySummary> for RunLatency {
    fn from(summary: &LatencySummary) -> RunLatency {
        RunLatency { mean: summary.mean, p50: summary.p50, p99: summary.p99 }
    }
}

/// The runs, in the order they ran. The headline is their median; see [`super::Throughput`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Repeats {
    /// In the order they ran.
    pub runs: Vec<RunTotal>,
}

impl Repeats {
    /// The runs; `None` for fewer than two, which the workload's own numbers say already.
    #[must_use]
    pub fn from_runs(runs: Vec<RunTotal>) -> Option<Repeats> {
        (2 <= runs.len()).then_some(Repeats { runs })
    }

    /// The samples of the headline.
    #[must_use]
    pub fn pods_per_s(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.pods_per_s).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_older_versions_are_read() {
        let old = r#"{"throughput": {"average": 9.0, "p50": 9.0, "p90": 9.0, "p95": 9.0, "p99": 9.0, "total": 7.0},
            "duration_ms": 2.0, "scheduled": 14}"#;
        let run: RunTotal = serde_json::from_str(old).expect("the older form");
        assert_eq!((run.pods_per_s, run.scheduled), (7.0, 14));
        let text = serde_json::to_string(&run).expect("plain data");
        assert_eq!(serde_json::from_str::<RunTotal>(&text).expect("our own form"), run);
    }

    #[test]
    fn single_run_is_no_repeat() {
        let run = RunTotal { pods_per_s: 5.0, ..RunTotal::default() };
        assert_eq!(Repeats::from_runs(vec![run.clone()]), None);
        let two = Repeats::from_runs(vec![run.clone(), run]).expect("two runs");
        assert_eq!(two.pods_per_s(), [5.0, 5.0]);
    }
}
