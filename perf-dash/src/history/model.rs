//! A recorded run: what the site and the fences need of a result, and no more. A result's windows,
//! buckets and workload text stay in its own file; a thousand runs of three hundred workloads must
//! be read in seconds.

use std::collections::BTreeMap;

use schedlab_workloads::results::{
    Content, LatencySummary, Machine, Memory, Normalised, Pods, Repeats, RunLatency, RunResult, RunStatus,
    SloLine, Stage, Threshold, Throughput, WorkloadResult,
};
use serde::{Deserialize, Serialize};

/// Value of `schema` in every record this version writes.
pub const SCHEMA: &str = "schedlab-record/v1";

/// Who measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordSource {
    /// schedlab itself.
    Schedlab,
    /// kube-scheduler, measured by upstream's scheduler_perf: its perf-dash JSON or bench text.
    PerfDash,
}

/// One recorded run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Time and checksum of what was measured; the same run recorded twice has the same, whatever it
    /// is called and whatever was recorded with it.
    pub id: String,
    /// Who measured.
    pub source: RecordSource,
    /// What somebody called the run, as `nightly` or `PR 123`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Commit that was measured.
    pub revision: Option<String>,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Where; unknown for imported runs unless given.
    pub machine: Option<Machine>,
    /// How; unknown for imported runs.
    pub settings: Option<Settings>,
    /// What the numbers cover.
    pub coverage: String,
    /// The run was interrupted.
    pub partial: bool,
    /// What was measured.
    pub points: Vec<Point>,
    /// Exact instruction counts of kernels, by name, where somebody counted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub instructions: BTreeMap<String, u64>,
    /// CPU profiles that were recorded with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileSummary>,
}

/// How a run was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Worker threads of the engine.
    pub threads: u32,
    /// Upstream's `parallelism`.
    pub parallelism: u32,
    /// Upstream's `percentageOfNodesToScore`.
    pub percentage_of_nodes_to_score: u32,
    /// Gates set for the whole run.
    pub feature_gates: BTreeMap<String, bool>,
    /// Seed of every random stream; records of older versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Every other setting that decides what is measured, by name; records of older versions do not
    /// say.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

/// One workload of a recorded run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// `TestCase/Workload`.
    pub name: String,
    /// Suite.
    pub suite: String,
    /// The measured part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collector: Option<String>,
    /// How it ended.
    pub status: RunStatus,
    /// The diagnosis, unless it completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Gates of this workload, those of its file and of the run merged in; unknown for imported runs
    /// and those of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature_gates: Option<BTreeMap<String, bool>>,
    /// What was run, in digests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Nodes at the end; 0 when unknown.
    pub nodes: u64,
    /// Pods of the measured part; all 0 when unknown.
    pub pods: Pods,
    /// Pods per second.
    pub throughput: Throughput,
    /// Whole throughput of each repeat, when there were several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<f64>,
    /// The headline as a machine of the reference speed would have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normalised: Option<Normalised>,
    /// Speed of the machine beside each repeat; empty unless it is known of all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeat_speeds: Vec<f64>,
    /// Latency of each repeat, when there were several, of the stages that comparisons judge.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub repeat_latency_us: BTreeMap<Stage, Vec<RunLatency>>,
    /// Latency by stage in microseconds, without buckets.
    pub latency_us: BTreeMap<Stage, LatencySummary>,
    /// API calls per scheduled pod.
    pub calls_per_pod: f64,
    /// Memory.
    pub memory: Memory,
    /// Service level lines.
    pub slo: Vec<SloLine>,
    /// The workload's own bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Threshold>,
}

/// What a CPU profile of a workload says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileSummary {
    /// The profiled workload.
    pub workload: String,
    /// A signal ended it before it had been sampled for as long as was asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Samples taken in all.
    pub samples: u64,
    /// Pods scheduled while sampling.
    pub pods: u64,
    /// Seconds sampled over.
    pub seconds: f64,
    /// By extension point, plugin and other parts of the engine.
    pub shares: Vec<Share>,
    /// The flamegraph as SVG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flamegraph_svg: Option<String>,
    /// Who allocates in one run of the measured part, the most bytes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allocations: Vec<AllocationSite>,
}

/// Allocations by one place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocationSite {
    /// Function, file and line.
    pub site: String,
    /// How many.
    pub count: u64,
    /// Bytes asked for in all.
    pub bytes: u64,
}

/// One part's share of a profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// `plugin`, `extension point` or `part`.
    pub kind: String,
    /// `NodeResourcesFit`, `Filter`, `queue`.
    pub name: String,
    /// Samples with it on top.
    pub self_samples: u64,
    /// Samples with it anywhere on the stack.
    pub total_samples: u64,
}

impl Record {
    /// A record of our own result.
    #[must_use]
    pub fn from_run(run: &RunResult, label: Option<String>, profiles: Vec<ProfileSummary>) -> Record {
        Record {
            schema: SCHEMA.to_owned(),
            id: String::new(),
            source: RecordSource::Schedlab,
            label,
            revision: run.git_revision.clone(),
            started_at: run.started_at.clone(),
            machine: Some(run.machine.clone()),
            settings: Some(Settings {
                threads: run.threads,
                parallelism: run.parallelism,
                percentage_of_nodes_to_score: run.percentage_of_nodes_to_score,
                feature_gates: run.feature_gates.clone(),
                seed: Some(run.seed),
                options: run.options.clone(),
            }),
            coverage: run.coverage.clone(),
            partial: run.partial,
            points: run.workloads.iter().map(Point::from_workload).collect(),
            instructions: BTreeMap::new(),
            profiles,
        }
        .with_id()
    }

    /// The same with its id: the start as digits, and a checksum of what was measured.
    #[must_use]
    pub fn with_id(mut self) -> Record {
        self.id = String::new();
        let measured =
            Record { label: None, instructions: BTreeMap::new(), profiles: Vec::new(), ..self.clone() };
        let text =
            serde_json::to_vec(&measured).expect("a record has only strings as keys and finite numbers");
        let digits: String = self.started_at.chars().filter(char::is_ascii_digit).take(14).collect();
        self.id = format!("{digits}-{:08x}", crc32fast::hash(&text));
        self
    }

    /// The revision as people write it, or the label, or the source.
    #[must_use]
    pub fn short_revision(&self) -> &str {
        let revision = self.revision.as_deref().map(|revision| revision.get(..10).unwrap_or(revision));
        revision.or(self.label.as_deref()).unwrap_or("unknown")
    }
}

/// The stages whose latency comparisons judge; the others' repeats stay in the result's own file.
const JUDGED: [Stage; 2] = [Stage::SchedulingCycle, Stage::EndToEnd];

/// Each judged stage's latency in every run that has it, in the order they ran.
fn repeat_latency_us(repeats: &Repeats) -> BTreeMap<Stage, Vec<RunLatency>> {
    let mut by_stage: BTreeMap<Stage, Vec<RunLatency>> = BTreeMap::new();
    let judged = |(stage, _): &(&Stage, &RunLatency)| JUDGED.contains(stage);
    for (stage, latency) in repeats.runs.iter().flat_map(|run| &run.latency_us).filter(judged) {
        by_stage.entry(*stage).or_default().push(*latency);
    }
    by_stage
}

/// The machine's speed beside every run; `None` when it is unknown of one.
fn repeat_speeds(repeats: &Repeats) -> Option<Vec<f64>> {
    repeats.runs.iter().map(|run| run.machine_speed.filter(|&speed| 0.0 < speed)).collect()
}

impl Point {
    fn from_workload(workload: &WorkloadResult) -> Point {
        let slim = |latency: &LatencySummary| LatencySummary { buckets: Vec::new(), ..latency.clone() };
        Point {
            name: workload.name.clone(),
            suite: workload.suite.clone(),
            collector: workload.collector.clone(),
            status: workload.status,
            message: workload.message.clone(),
            feature_gates: Some(workload.feature_gates.clone()),
            content: workload.content.clone(),
            nodes: workload.nodes,
            pods: workload.pods,
            throughput: workload.throughput,
            repeats: workload.repeats.as_ref().map_or_else(Vec::new, Repeats::pods_per_s),
            normalised: workload.normalised,
            repeat_speeds: workload.repeats.as_ref().and_then(repeat_speeds).unwrap_or_default(),
            repeat_latency_us: workload.repeats.as_ref().map(repeat_latency_us).unwrap_or_default(),
            latency_us: workload.latency_us.iter().map(|(stage, latency)| (*stage, slim(latency))).collect(),
            calls_per_pod: workload.api_calls_per_pod.values().sum(),
            memory: workload.memory,
            slo: workload.slo.clone(),
            threshold: workload.threshold.clone(),
        }
    }

    /// The number a comparison is about: the headline.
    #[must_use]
    pub fn pods_per_s(&self) -> f64 {
        self.throughput.total
    }
}
