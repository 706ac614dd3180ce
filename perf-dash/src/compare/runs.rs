//! Runs against runs.

use std::collections::{BTreeMap, BTreeSet};

use schedlab_workloads::results::{LatencySummary, RunLatency, RunStatus, Stage};

use super::load::Side;
use super::row::{ComparedMetric, Pairing, Row, Weight};
use super::{Comparison, FENCE_DEFAULT};
use crate::history::{Point, Record, RecordSource};
use crate::stats::{Fence, SAMPLES_MIN, Verdict};

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

/// What becomes of workloads that only one side has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// They keep the whole from being called unchanged or better.
    #[default]
    Open,
    /// They are named, and the others are judged.
    Ignored,
}

type Key = (String, Option<String>);

/// Compares all workloads that both sides have.
///
/// The whole is called unchanged or better only when the sides hold the same workloads, all of them
/// whole: what a side lacks may be what got worse.
#[must_use]
pub fn compare_sides(base: &Side, head: &Side, fences: &Fences, missing: Missing, seed: u64) -> Comparison {
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
    let is_same = is_identical(base, head);
    if is_same {
        // What is not comparable with another is no whole measurement of its own, either.
        let same = |row: Row| if row.note.is_some() { row } else { row.identical() };
        rows = rows.into_iter().map(same).collect();
    }
    let mut comparison = Comparison::new("schedlab compare", &base.name, &head.name, rows);
    let mut open = Vec::new();
    if missing == Missing::Open && !unmatched.is_empty() {
        open.push(format!("{} workload(s) are on one side only", unmatched.len()));
    }
    open.extend([("base", base), ("head", head)].into_iter().filter_map(|(which, side)| {
        let partial = side.records.iter().filter(|record| record.partial).count();
        (0 < partial).then(|| format!("{partial} run(s) of {which} were interrupted"))
    }));
    if !open.is_empty() && comparison.verdict != Verdict::Worse {
        comparison.verdict = Verdict::Inconclusive;
        comparison.notes.push(format!("inconclusive as a whole: {}", open.join("; ")));
    }
    comparison.notes.extend(notes(base, head));
    comparison.unmatched = unmatched;
    comparison
}

/// Whether both sides are the same measurements: a file with itself, or with its copy.
fn is_identical(base: &Side, head: &Side) -> bool {
    let ids = |side: &Side| side.records.iter().map(|record| record.id.clone()).collect::<BTreeSet<_>>();
    base.records.len() == head.records.len() && ids(base) == ids(head)
}

/// A workload of a run, with what is true for all of the run.
type Part<'a> = (&'a Record, &'a Point);

/// Every measured part of a side with its repeats over all runs. A workload with one measured part
/// keeps its plain name, whatever the collector is called.
fn parts(side: &Side) -> BTreeMap<Key, Vec<Part<'_>>> {
    let mut by_key: BTreeMap<Key, Vec<Part<'_>>> = BTreeMap::new();
    for record in &side.records {
        for point in &record.points {
            let twins = record.points.iter().filter(|other| other.name == point.name).count();
            let collector = point.collector.clone().filter(|_| 1 < twins);
            by_key.entry((point.name.clone(), collector)).or_default().push((record, point));
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

fn part_rows(name: &str, base: &[Part<'_>], head: &[Part<'_>], fences: &Fences, seed: u64) -> Vec<Row> {
    let fence = fences.of(name);
    let incomparable = incomparable(base, head);
    let judged = |row: Row| match &incomparable {
        Some(why) => row.not_comparable(why.clone()),
        None => row,
    };
    let (base_rates, head_rates) = (throughputs(base), throughputs(head));
    let samples = (base_rates.as_slice(), head_rates.as_slice());
    let row = Row::from_samples(name, ComparedMetric::throughput(), samples, Pairing::Unpaired, fence, seed);
    let mut rows = vec![judged(row)];
    for metric in LATENCIES {
        let (base, head) = (metric.samples(base), metric.samples(head));
        if base.is_empty() || head.is_empty() {
            continue;
        }
        let fence = Fence { relative: fence.relative * metric.fences, ..fence };
        let cost = ComparedMetric::cost(metric.name, "µs");
        let row = Row::from_samples(name, cost, (&base, &head), Pairing::Unpaired, fence, seed);
        // Three latencies a workload: each needs the rank test as a second witness.
        let row = judged(row.needing_p_below(LATENCY_P));
        let is_judged = SAMPLES_MIN <= base.len().min(head.len());
        rows.push(if is_judged { row.with_weight(Weight::WhenDecided) } else { row.shown() });
    }
    let calls = |side: &[Part<'_>]| side.iter().map(|(_, point)| point.calls_per_pod).fold(0.0, f64::max);
    let (base, head) = (calls(base), calls(head));
    if 0.0 < base && 0.0 < head {
        let metric = ComparedMetric::cost("API calls", "calls/pod");
        rows.push(Row::exact(name, metric, base, head, Fence::given(0.005)).shown());
    }
    rows
}

/// A latency that is compared.
struct LatencyMetric {
    name: &'static str,
    stage: Stage,
    of_repeat: fn(&RunLatency) -> f64,
    of_run: fn(&LatencySummary) -> f64,
    /// How many of the throughput's fences wide its own is: a tail scatters more than a sum.
    fences: f64,
}

const LATENCIES: [LatencyMetric; 3] = [
    LatencyMetric {
        name: "cycle mean",
        stage: Stage::SchedulingCycle,
        of_repeat: |latency| latency.mean,
        of_run: |latency| latency.mean,
        fences: 2.0,
    },
    LatencyMetric {
        name: "end to end p50",
        stage: Stage::EndToEnd,
        of_repeat: |latency| latency.p50,
        of_run: |latency| latency.p50,
        fences: 2.0,
    },
    LatencyMetric {
        name: "end to end p99",
        stage: Stage::EndToEnd,
        of_repeat: |latency| latency.p99,
        of_run: |latency| latency.p99,
        fences: 3.0,
    },
];

/// The level of the rank test below which a change of a latency is believed.
const LATENCY_P: f64 = 0.01;

impl LatencyMetric {
    /// One a repeat; of runs without repeats, or from before their latencies were kept, one a run.
    fn samples(&self, side: &[Part<'_>]) -> Vec<f64> {
        let of = |(_, point): &Part<'_>| match point.repeat_latency_us.get(&self.stage) {
            Some(repeats) => repeats.iter().map(self.of_repeat).collect(),
            None => point.latency_us.get(&self.stage).map(self.of_run).into_iter().collect::<Vec<f64>>(),
        };
        side.iter().flat_map(of).filter(|&value| 0.0 < value).collect()
    }
}

fn throughputs(side: &[Part<'_>]) -> Vec<f64> {
    let of = |(_, point): &Part<'_>| match point.repeats.is_empty() {
        true => vec![point.pods_per_s()],
        false => point.repeats.clone(),
    };
    side.iter().flat_map(of).collect()
}

/// Numbers are judged only for the same work, measured over the same parts of a system.
fn incomparable(base: &[Part<'_>], head: &[Part<'_>]) -> Option<String> {
    let all = || base.iter().chain(head);
    if let Some((_, bad)) = all().find(|(_, point)| point.status != RunStatus::Completed) {
        let why = bad.message.as_deref().unwrap_or("a run of it did not complete");
        return Some(format!("not comparable: {why}"));
    }
    let differs = |of: &dyn Fn(&Point) -> u64| {
        let mut known = all().map(|(_, point)| of(point)).filter(|&count| 0 < count);
        let first = known.next()?;
        known.find(|&other| other != first).map(|other| (first, other))
    };
    if let Some((one, other)) = differs(&|point| point.nodes) {
        return Some(format!("not comparable: {one} nodes in one run and {other} in another"));
    }
    if let Some((one, other)) = differs(&|point| point.pods.scheduled) {
        return Some(format!("not comparable: {one} pods were bound in one run and {other} in another"));
    }
    let coverage =
        |side: &[Part<'_>]| side.first().map_or(String::new(), |(record, _)| record.coverage.clone());
    let (one, other) = (coverage(base), coverage(head));
    (one != other).then(|| format!("not like for like: base covers {one}, head covers {other}"))
}

/// Differences between the sides that a reader must know.
fn notes(base: &Side, head: &Side) -> Vec<String> {
    if is_identical(base, head) {
        return vec!["identical input: both sides are the same measurements".to_owned()];
    }
    let mut notes = Vec::new();
    let mut differ = |what: &str, of: &dyn Fn(&Record) -> Option<String>| {
        let values = |side: &Side| side.records.iter().filter_map(of).collect::<BTreeSet<String>>();
        let (one, other) = (values(base), values(head));
        if one != other && !one.is_empty() && !other.is_empty() {
            let words = |values: BTreeSet<String>| values.into_iter().collect::<Vec<_>>().join(" or ");
            notes.push(format!("{what} differs: {} and {}", words(one), words(other)));
        }
    };
    differ("machine", &|record| {
        let machine = record.machine.as_ref()?;
        Some(format!("{} with {} cores", machine.cpu_model, machine.cores))
    });
    differ("coverage", &|record| Some(record.coverage.clone()));
    differ("the throughput's definition", &|record| Some(definition(record).to_owned()));
    let setting =
        |of: fn(&crate::history::Settings) -> String| move |record: &Record| record.settings.as_ref().map(of);
    differ("threads", &setting(|it| it.threads.to_string()));
    differ("parallelism", &setting(|it| it.parallelism.to_string()));
    differ("percentageOfNodesToScore", &setting(|it| it.percentage_of_nodes_to_score.to_string()));
    differ("seed", &|record| record.settings.as_ref()?.seed.map(|seed| seed.to_string()));
    differ("feature gates", &setting(|it| format!("{:?}", it.feature_gates)));
    let unknown = |side: &Side| side.records.iter().any(|record| record.settings.is_none());
    if unknown(base) || unknown(head) {
        notes.push(
            "perf-dash JSON and bench text do not say how they were measured: settings, seed and the \
             number of pods cannot be compared"
                .to_owned(),
        );
    }
    let ids: BTreeSet<&str> = base.records.iter().map(|record| record.id.as_str()).collect();
    let shared = head.records.iter().filter(|record| ids.contains(record.id.as_str())).count();
    if 0 < shared {
        notes.push(format!("{shared} run(s) are on both sides, which draws the sides together"));
    }
    notes.push(
        "the sides were not measured interleaved: what the machine did meanwhile is part of the \
         difference; `schedlab ab` and `schedlab gate` interleave"
            .to_owned(),
    );
    notes
}

/// What the throughput of a record is.
fn definition(record: &Record) -> &'static str {
    match (record.source, &record.settings) {
        (RecordSource::Schedlab, Some(_)) => "pods over the measured interval",
        _ => "mean of windows (scheduler_perf's SchedulingThroughput/Average)",
    }
}
