//! The result of a run as plain data: `schedlab-result/v1`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::metrics::MetricSeries;

use super::{
    Changes, Conditions, ControllerResult, Figure, LatencySummary, Normalised, Repeats, Sample, SloLine,
    Stage, Threshold, Throughput, UnderTestUsage,
};

/// Value of `schema` in every result file this version writes and reads.
pub const SCHEMA: &str = "schedlab-result/v1";

/// One run of one or more workloads on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Version of schedlab that measured.
    pub version: String,
    /// Commit of that schedlab, when it was built from a checkout.
    pub git_revision: Option<String>,
    /// Where it ran.
    pub machine: Machine,
    /// Worker threads of the engine.
    pub threads: u32,
    /// Upstream's `parallelism`: decides the chunk size, not the threads.
    pub parallelism: u32,
    /// Seed of every random stream of the run.
    pub seed: u64,
    /// Upstream's `percentageOfNodesToScore`; 0 is adaptive.
    pub percentage_of_nodes_to_score: u32,
    /// How often each workload was to run; 0 when each ran until its interval was narrow.
    pub repeat: u32,
    /// Gates set for the whole run; a workload's own gates are with the workload.
    pub feature_gates: BTreeMap<String, bool>,
    /// Every other setting that decides what is measured, by name, as `class cache`; results of older
    /// versions do not say.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// RFC 3339, UTC, given by the caller.
    pub started_at: String,
    /// Wall time of the whole run, set-up included.
    pub duration_s: f64,
    /// The run was interrupted: what is here is true, but not all of it is here.
    pub partial: bool,
    /// What the numbers cover, as `core + queue + embedded API`.
    pub coverage: String,
    /// Workloads that were selected but not run.
    pub skipped: Vec<Skipped>,
    /// In the order they ran.
    pub workloads: Vec<WorkloadResult>,
    /// What variants that ran in turns cost, beside each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
}

/// The machine a run was measured on. No host name: results are published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// As Go's `GOOS`: `linux`.
    pub os: String,
    /// As Go's `GOARCH`: `amd64`, `arm64`. See [`Machine::go_arch`].
    pub arch: String,
    /// Marketing name of the processor.
    pub cpu_model: String,
    /// Logical processors the run could use.
    pub cores: u32,
    /// Physical memory.
    pub memory_bytes: u64,
}

impl Machine {
    /// Go's name of a Rust architecture (`std::env::consts::ARCH`), so that benchstat and
    /// perf-dash group our results with upstream's.
    pub fn go_arch(rust_arch: &str) -> &str {
        match rust_arch {
            "x86_64" => "amd64",
            "x86" => "386",
            "aarch64" => "arm64",
            other => other,
        }
    }
}

/// A workload that was selected but not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// `TestCase/Workload`.
    pub name: String,
    /// Why, in one sentence.
    pub reason: String,
}

/// How a workload ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Every op ran to its end.
    Completed,
    /// Interrupted; the numbers cover what ran.
    Partial,
    /// Pods that an op waits for will never be scheduled.
    Stuck,
    /// An op returned an error.
    Failed,
}

impl RunStatus {
    /// As it is written in files.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            RunStatus::Completed => "completed",
            RunStatus::Partial => "partial",
            RunStatus::Stuck => "stuck",
            RunStatus::Failed => "failed",
        }
    }

    /// Of a label; `None` for what is none.
    #[must_use]
    pub fn of_label(label: &str) -> Option<RunStatus> {
        let all = [RunStatus::Completed, RunStatus::Partial, RunStatus::Stuck, RunStatus::Failed];
        all.into_iter().find(|status| status.label() == label)
    }
}

/// What one workload measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadResult {
    /// `TestCase/Workload`.
    pub name: String,
    /// Suite (upstream's topic), as `misc` or `affinity`.
    pub suite: String,
    /// Upstream's collector name: the measured namespace (`namespace-2`), or the name given
    /// to `startCollectingMetrics`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collector: Option<String>,
    /// Labels of the test case and of the workload.
    pub labels: Vec<String>,
    /// Gates of this workload, test case's and run's merged in.
    pub feature_gates: BTreeMap<String, bool>,
    /// Those of the gates that upstream knows and that change nothing here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates_without_effect: Vec<String>,
    /// How it ended.
    pub status: RunStatus,
    /// The diagnosis, unless it completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Nodes at the end of the run.
    pub nodes: u64,
    /// Pods of the measured part.
    pub pods: Pods,
    /// The measured interval of the run in the middle: from the first creation to the last binding,
    /// less the time in which the scheduler thread had no processor.
    pub duration_ms: f64,
    /// Pods over the measured interval: the headline, with its interval.
    pub throughput: Throughput,
    /// The headline as a machine of the reference speed would have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normalised: Option<Normalised>,
    /// What a reader must know before quoting the headline: a wide interval, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What the machine did in the measured parts of all runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
    /// Length of a sample window; upstream's is one second.
    pub window_ms: f64,
    /// Throughput per window of the run in the middle, in time order.
    pub samples: Vec<Sample>,
    /// Scheduling attempts of the measured part.
    pub attempts: Attempts,
    /// Latency of each stage that was measured, in microseconds.
    pub latency_us: BTreeMap<Stage, LatencySummary>,
    /// kube-scheduler's metrics of the measured part: durations pooled over the runs, counts and gauges of
    /// the run in the middle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricSeries>,
    /// Those that the test case collects, by the labels it splits them by; perf-dash gets these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics_collected: Vec<MetricSeries>,
    /// Calls by verb, resource and subresource, as `POST pods/binding`.
    pub api_calls: BTreeMap<String, u64>,
    /// The same calls divided by the scheduled pods.
    pub api_calls_per_pod: BTreeMap<String, f64>,
    /// Memory, where it was measured.
    pub memory: Memory,
    /// Service level lines; see [`super::slo::evaluate`].
    pub slo: Vec<SloLine>,
    /// The workload's own floor, when its file sets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Threshold>,
    /// What each controller did, where any ran. Results of older versions have `execution` instead.
    #[serde(
        default,
        alias = "execution",
        deserialize_with = "super::controllers::read",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub controllers: Vec<ControllerResult>,
    /// How calls of extenders went over all runs, where the scheduler has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extenders: Vec<ExtenderCalls>,
    /// What the scheduler under test took in the run in the middle, where one was run as a process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_test: Option<UnderTestUsage>,
    /// Each run's own numbers, when it ran more than once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Repeats>,
    /// How the headline changed since earlier runs, when there is a history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Changes>,
    /// What was run, for the question whether two results are of the same work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Seed of this workload's random streams.
    pub seed: u64,
    /// The test case as its file has it.
    pub source: String,
}

/// Digests of what was run; see [`crate::digest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// Of the test case, the workload's params and the templates they use.
    pub workload: String,
    /// Of the scheduler configuration; absent when it is the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler_config: Option<String>,
}

/// Pods of the measured part of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pods {
    /// Created.
    pub created: u64,
    /// Bound to a node.
    pub scheduled: u64,
    /// Without a node at the end, tried or not, also those that were there before.
    pub unschedulable: u64,
}

/// Scheduling attempts: cycles that ended scheduled, unschedulable or in error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attempts {
    /// All of them.
    pub total: u64,
    /// Over the measured part.
    pub per_s: f64,
}

/// How calls of an extender went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtenderCalls {
    /// Its `urlPrefix`.
    pub url: String,
    /// Whether pods are scheduled without it when it fails.
    pub ignorable: bool,
    /// All calls.
    pub calls: u64,
    /// Those that failed, also where the failure was ignored.
    pub failures: u64,
    /// What the last failure was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
}

impl ExtenderCalls {
    /// What a reader must know of it before quoting a number; `None` when every call was answered.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let ExtenderCalls { url, ignorable, calls, failures, last_failure } = self;
        if *failures == 0 {
            return None;
        }
        let ignored = if *ignorable { " and were ignored" } else { "" };
        let last = last_failure.as_deref().unwrap_or("unknown");
        Some(format!("extender {url}: {failures} of {calls} calls failed{ignored}; the last failure: {last}"))
    }
}

/// Memory of the process and of the engine's rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Highest resident set of the process so far.
    pub peak_rss_bytes: Option<u64>,
    /// Engine and store, divided by the nodes.
    pub bytes_per_node: Option<f64>,
    /// Engine and store, divided by the pods.
    pub bytes_per_pod: Option<f64>,
}

impl WorkloadResult {
    /// Calls per scheduled pod; empty when nothing was scheduled.
    pub fn calls_per_pod(calls: &BTreeMap<String, u64>, scheduled: u64) -> BTreeMap<String, f64> {
        if scheduled == 0 {
            return BTreeMap::new();
        }
        let per_pod = |&count: &u64| count as f64 / scheduled as f64;
        calls.iter().map(|(key, count)| (key.clone(), per_pod(count))).collect()
    }
}
