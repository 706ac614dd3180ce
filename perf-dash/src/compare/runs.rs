//! Result files against result files.

use std::collections::BTreeMap;

use schedlab_workloads::results::{LatencySummary, RunResult, Stage, Status, WorkloadResult};

use super::load::Side;
use super::row::{Metric, Pairing, Row};
use super::{Comparison, FENCE_DEFAULT};
use crate::stats::{Fence, SAMPLES_MIN};

/// Up to where a workload's throughput is noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Fences {
    /// Where the history says nothing.
    pub default: Fence,
    /// By `TestCase/Workload`.
    pub by_workload: BTreeMap<String, Fence>,
}

impl Default for Fences {
    fn default() -> Fences {
        Fences { default: Fence::given(FENCE_DEFAULT), by_workload: BTreeMap::new() }
    }
}

impl Fences {
    /// The fence of a workload.
    #[must_use]
    pub fn of(&self, workload: &str) -> Fence {
        self.by_workload.get(workload).copied().unwrap_or(self.default)
    }
}

type Key = (String, Option<String>);

/// Compares all workloads that both sides have.
#[must_use]
pub fn compare_sides(base: &Side, head: &Side, fences: &Fences, seed: u64) -> Comparison {
    let (base_parts, head_parts) = (parts(base), parts(head));
    let mut rows = Vec::new();
    let mut unmatched = Vec::new();
    for (key, base_part) in &base_parts {
        match head_parts.get(key) {
            Some(head_part) => rows.extend(part_rows(&name(key), base_part, head_part, fences, seed)),
            None => unmatched.push(format!("{} (base only)", name(key))),
        }
    }
    let head_only = head_parts.keys().filter(|key| !base_parts.contains_key(*key));
    unmatched.extend(head_only.map(|key| format!("{} (head only)", name(key))));
    let mut comparison = Comparison::new("schedlab compare", &base.name, &head.name, rows);
    comparison.notes = notes(base, head);
    comparison.unmatched = unmatched;
    comparison
}

/// Every measured part of a side with its repeats over all runs. A workload with one measured part
/// keeps its plain name, whatever the collector is called.
fn parts(side: &Side) -> BTreeMap<Key, Vec<&WorkloadResult>> {
    let mut by_key: BTreeMap<Key, Vec<&WorkloadResult>> = BTreeMap::new();
    for run in &side.runs {
        for workload in &run.workloads {
            let twins = run.workloads.iter().filter(|other| other.name == workload.name).count();
            let collector = workload.collector.clone().filter(|_| 1 < twins);
            by_key.entry((workload.name.clone(), collector)).or_default().push(workload);
        }
    }
    by_key
}

fn name((name, collector): &Key) -> String {
    match collector {
        Some(collector) => format!("{name}/{collector}"),
        None => name.clone(),
    }
}

fn part_rows(
    name: &str,
    base: &[&WorkloadResult],
    head: &[&WorkloadResult],
    fences: &Fences,
    seed: u64,
) -> Vec<Row> {
    let fence = fences.of(name);
    let (base_rates, head_rates) = (throughputs(base), throughputs(head));
    let samples = (base_rates.as_slice(), head_rates.as_slice());
    let row = Row::from_samples(name, Metric::throughput(), samples, Pairing::Unpaired, fence, seed);
    let mut rows = vec![match incomparable(base, head) {
        Some(why) => row.not_comparable(why),
        None => row,
    }];
    let latencies: [LatencyMetric; 2] = [
        ("cycle mean", Stage::SchedulingCycle, |latency| latency.mean),
        ("end to end p99", Stage::EndToEnd, |latency| latency.p99),
    ];
    for (metric, stage, pick) in latencies {
        let values = |side: &[&WorkloadResult]| -> Vec<f64> {
            side.iter().filter_map(|workload| workload.latency_us.get(&stage).map(pick)).collect()
        };
        let (base, head) = (values(base), values(head));
        if base.is_empty() || head.is_empty() {
            continue;
        }
        let metric = Metric::cost(metric, "µs");
        let row = Row::from_samples(name, metric, (&base, &head), Pairing::Unpaired, fence, seed);
        // One value a file: a verdict on it asks for many files, so it is asked for only then.
        rows.push(if SAMPLES_MIN <= base.len().min(head.len()) { row } else { row.shown() });
    }
    let calls = |side: &[&WorkloadResult]| -> f64 {
        side.iter().map(|workload| workload.api_calls_per_pod.values().sum::<f64>()).fold(0.0, f64::max)
    };
    let metric = Metric::cost("API calls", "calls/pod");
    rows.push(Row::exact(name, metric, calls(base), calls(head), Fence::given(0.005)).shown());
    rows
}

/// Name, stage, and which of its numbers.
type LatencyMetric = (&'static str, Stage, fn(&LatencySummary) -> f64);

fn throughputs(side: &[&WorkloadResult]) -> Vec<f64> {
    let of = |workload: &&WorkloadResult| match &workload.repeats {
        Some(repeats) => repeats.runs.iter().map(|run| run.throughput.total).collect(),
        None => vec![workload.throughput.total],
    };
    side.iter().flat_map(of).collect()
}

/// Throughput counts only for the same work: completed, and the same pods bound.
fn incomparable(base: &[&WorkloadResult], head: &[&WorkloadResult]) -> Option<String> {
    let all = || base.iter().chain(head);
    if let Some(bad) = all().find(|workload| workload.status != Status::Completed) {
        let why = bad.message.as_deref().unwrap_or("it did not complete");
        return Some(format!("not comparable: {why}"));
    }
    let bound = |workload: &WorkloadResult| workload.pods.scheduled;
    let first = bound(all().next()?);
    all()
        .map(|workload| bound(workload))
        .find(|&other| other != first)
        .map(|other| format!("not comparable: {first} pods were bound in one run and {other} in another"))
}

/// Differences between the sides that a reader must know.
fn notes(base: &Side, head: &Side) -> Vec<String> {
    let mut notes = Vec::new();
    let mut differ = |what: &str, of: &dyn Fn(&RunResult) -> String| {
        let (one, other) = (of(&base.runs[0]), of(&head.runs[0]));
        if one != other {
            notes.push(format!("{what} differs: {one} and {other}"));
        }
    };
    differ("machine", &|run| format!("{} with {} cores", run.machine.cpu_model, run.machine.cores));
    differ("coverage", &|run| run.coverage.clone());
    differ("threads", &|run| run.threads.to_string());
    differ("parallelism", &|run| run.parallelism.to_string());
    differ("percentageOfNodesToScore", &|run| run.percentage_of_nodes_to_score.to_string());
    differ("seed", &|run| run.seed.to_string());
    differ("feature gates", &|run| format!("{:?}", run.feature_gates));
    if base.runs.iter().chain(&head.runs).any(|run| run.partial) {
        notes.push("a run was interrupted: its numbers cover less than the others'".to_owned());
    }
    notes.push(
        "the sides were not measured interleaved: what the machine did meanwhile is part of the \
         difference; `schedlab ab` and `schedlab gate` interleave"
            .to_owned(),
    );
    notes
}
