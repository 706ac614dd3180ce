//! `go test -bench` text of upstream's scheduler_perf, or our `bench.txt`, as a record.
//!
//! ```text
//! goos: linux
//! goarch: amd64
//! pkg: k8s.io/kubernetes/test/integration/scheduler_perf/misc
//! cpu: AMD EPYC 7763
//! BenchmarkPerfScheduling/SchedulingBasic/5000Nodes_10000Pods-6  1  310.2 SchedulingThroughput/Average ...
//! ```
//!
//! A line is a run of a workload; lines of one name (`-count=6`) are its repeats. Lines that are no
//! results are passed over: a test prints its log in between, even between a name and its values.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use schedlab_workloads::results::{LatencySummary, Machine, RunLatency, RunStatus, Stage, Throughput};

use super::import::{
    ImportError, ImportFacts, THROUGHPUT, Writer, empty_point, latency, micros_of, stage_of,
};
use super::model::{Point, Record, SCHEMA};
use crate::stats::median;

/// Reads the results in a text of `go test -bench`. It has no date: the caller may give one.
pub fn read_bench_text(path: &Path, facts: &ImportFacts) -> Result<Record, ImportError> {
    let text = fs::read(path).map_err(|cause| ImportError::Read { path: path.to_owned(), cause })?;
    let text = String::from_utf8_lossy(&text);
    let results = results(&text);
    let processors = common_suffix(&results);
    let mut runs: BTreeMap<(String, String), Vec<Values>> = BTreeMap::new();
    let is_partial = results.iter().any(|result| result.facts.partial == "true");
    let (mut seen, mut first) = (0, None);
    for result in results {
        seen += 1;
        let values = Values { status: result.facts.status(), ..values(&result.fields) };
        if values.average_pods_per_s.is_some_and(|rate| 0.0 < rate) {
            let name = processors.map_or(result.name, |count| without_suffix(result.name, count));
            runs.entry((name.to_owned(), result.facts.suite())).or_default().push(values);
            first.get_or_insert(result.facts);
        }
    }
    let Some(first) = first else {
        return Err(ImportError::NoThroughput { path: path.to_owned(), lines: seen });
    };
    let writer = first.writer();
    let machine = Machine {
        os: first.goos.clone(),
        arch: first.goarch.clone(),
        cpu_model: first.cpu.clone(),
        cores: processors.unwrap_or(1),
        memory_bytes: 0,
    };
    let record = Record {
        schema: SCHEMA.to_owned(),
        id: String::new(),
        source: writer.source,
        label: facts.label.clone(),
        revision: facts.revision.clone(),
        started_at: facts.started_at.clone().unwrap_or_default(),
        machine: facts.machine.clone().or(Some(machine)),
        settings: None,
        coverage: writer.coverage,
        partial: is_partial,
        points: runs.iter().map(|((name, suite), runs)| point(name, suite, runs)).collect(),
        instructions: BTreeMap::new(),
        profiles: Vec::new(),
    };
    Ok(record.with_id())
}

/// Whether a text has results of scheduler_perf.
pub(crate) fn is_bench_text(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("Benchmark")) && text.contains(THROUGHPUT)
}

/// What stands above results: `pkg: ...` and its like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Facts {
    goos: String,
    goarch: String,
    pkg: String,
    cpu: String,
    coverage: String,
    /// `true` when schedlab's run was cut short.
    partial: String,
    /// How schedlab's workload ended, unless it completed.
    status: String,
}

impl Facts {
    /// Files of other programs have no such line, or mean something else by it.
    fn status(&self) -> RunStatus {
        RunStatus::of_label(&self.status).unwrap_or(RunStatus::Completed)
    }

    /// The package's last folder: upstream has one a topic.
    fn suite(&self) -> String {
        let last = self.pkg.rsplit('/').next().unwrap_or_default();
        if last.is_empty() { "imported".to_owned() } else { last.to_owned() }
    }

    fn writer(&self) -> Writer {
        if self.pkg.starts_with("schedlab/") {
            Writer::ours(self.coverage.clone())
        } else {
            Writer::upstream()
        }
    }
}

/// A line of results: its name as it stands there, and its values with their units.
struct BenchResult<'a> {
    name: &'a str,
    fields: Vec<(f64, &'a str)>,
    facts: Facts,
}

fn results(text: &str) -> Vec<BenchResult<'_>> {
    let mut results = Vec::new();
    let mut facts = Facts::default();
    let mut open: Option<&str> = None;
    for line in text.lines() {
        if let Some((key, value)) = line.split_once(": ") {
            let slot = match key {
                "goos" => Some(&mut facts.goos),
                "goarch" => Some(&mut facts.goarch),
                "pkg" => Some(&mut facts.pkg),
                "cpu" => Some(&mut facts.cpu),
                "covers" => Some(&mut facts.coverage),
                "partial" => Some(&mut facts.partial),
                "status" => Some(&mut facts.status),
                _ => None,
            };
            if let Some(slot) = slot {
                value.trim().clone_into(slot);
                continue;
            }
        }
        let (name, rest) = if line.starts_with("Benchmark") {
            line.split_once(char::is_whitespace).unwrap_or((line, ""))
        } else if let Some(name) = open {
            (name, line)
        } else {
            continue;
        };
        match fields(rest) {
            Some(fields) => {
                results.push(BenchResult { name, fields, facts: facts.clone() });
                open = None;
            }
            // `go test` prints the name before the benchmark runs: what it logs comes first.
            None => open = Some(name),
        }
    }
    results
}

/// The values after the iterations: `1  310.2 SchedulingThroughput/Average ...`.
fn fields(rest: &str) -> Option<Vec<(f64, &str)>> {
    let mut words = rest.split_whitespace();
    words.next()?.parse::<u64>().ok()?;
    let words: Vec<&str> = words.collect();
    let (pairs, rest) = words.as_chunks::<2>();
    if !rest.is_empty() || pairs.is_empty() {
        return None;
    }
    let number = |word: &str| word.parse::<f64>().ok().filter(|value| value.is_finite());
    pairs.iter().map(|[value, unit]| Some((number(value)?, *unit))).collect()
}

/// The processors that every name ends with, as `-6`. Go leaves it out for one, and names of
/// workloads may end in a number too: only what all names share is it.
fn common_suffix(results: &[BenchResult<'_>]) -> Option<u32> {
    let suffix = |name: &str| name.rsplit_once('-')?.1.parse::<u32>().ok();
    let first = suffix(results.first()?.name)?;
    results.iter().all(|result| suffix(result.name) == Some(first)).then_some(first)
}

fn without_suffix(name: &str, count: u32) -> &str {
    name.strip_suffix(&count.to_string()).and_then(|name| name.strip_suffix('-')).unwrap_or(name)
}

/// What one line says.
struct Values {
    status: RunStatus,
    average_pods_per_s: Option<f64>,
    latency_us: BTreeMap<Stage, LatencySummary>,
}

fn values(fields: &[(f64, &str)]) -> Values {
    let mut by_metric: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
    for &(value, unit) in fields {
        if let Some((metric, bucket)) = unit.rsplit_once('/') {
            by_metric.entry(metric).or_default().insert(bucket, value);
        }
    }
    let mut values =
        Values { status: RunStatus::Completed, average_pods_per_s: None, latency_us: BTreeMap::new() };
    for (metric, buckets) in by_metric {
        if metric == THROUGHPUT {
            values.average_pods_per_s = buckets.get("Average").copied();
        } else if let Some((stage, to_us)) = stage_of_unit(metric) {
            let value = |bucket: &str| buckets.get(bucket).copied().unwrap_or(0.0) * to_us;
            values.latency_us.insert(stage, latency(&value));
        }
    }
    values
}

/// The stage and the microseconds of `scheduler_scheduling_algorithm_duration_ms`, or of
/// `scheduler_framework_extension_point_duration_ms/Filter`.
///
/// Upstream: scheduler_perf.go `RunBenchmarkPerfScheduling` puts the unit in the place of `seconds`
/// and leaves labels out, so that its extension points are one unit, of which the last value stays.
/// Such a value belongs to no stage.
fn stage_of_unit(metric: &str) -> Option<(Stage, f64)> {
    let (metric, label) = metric.split_once('/').unwrap_or((metric, ""));
    let (front, unit) = metric.rsplit_once('_')?;
    let stage = stage_of(&format!("{front}_seconds"), label, label)?;
    Some((stage, micros_of(unit)?))
}

fn point(name: &str, suite: &str, runs: &[Values]) -> Point {
    let rates: Vec<f64> = runs.iter().filter_map(|run| run.average_pods_per_s).collect();
    let mut point = empty_point(name, suite);
    let cut_short = runs.iter().map(|run| run.status).find(|&status| status != RunStatus::Completed);
    point.status = cut_short.unwrap_or(RunStatus::Completed);
    point.throughput = Throughput::of_runs(&rates);
    let stages = runs.iter().flat_map(|run| run.latency_us.keys()).copied();
    for stage in stages.collect::<BTreeSet<_>>() {
        let all: Vec<&LatencySummary> = runs.iter().filter_map(|run| run.latency_us.get(&stage)).collect();
        point.latency_us.insert(stage, medians(&all));
        if 1 < all.len() {
            let repeats = all.iter().map(|latency| RunLatency::from(*latency)).collect();
            point.repeat_latency_us.insert(stage, repeats);
        }
    }
    if 1 < rates.len() {
        point.repeats = rates;
    }
    point
}

fn medians(all: &[&LatencySummary]) -> LatencySummary {
    let of = |pick: fn(&LatencySummary) -> f64| median(&all.iter().map(|one| pick(one)).collect::<Vec<_>>());
    LatencySummary {
        mean: of(|one| one.mean),
        p50: of(|one| one.p50),
        p90: of(|one| one.p90),
        p95: of(|one| one.p95),
        p99: of(|one| one.p99),
        ..LatencySummary::default()
    }
}
