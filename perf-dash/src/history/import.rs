//! Upstream's perf-dash JSON as a record, and importing files of upstream's, so that kube-scheduler's published numbers stand beside
//! ours.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use schedlab_workloads::results::{
    DATASET_COVERAGE, DATASET_PARTIAL, DATASET_REVISION, DataItem, DataItems, LatencySummary, Machine,
    Memory, Pods, RunStatus, Stage, Throughput, Windows, split_status,
};

use super::bench::{is_bench_text, read_bench_text};
use super::model::{Point, Record, RecordSource, SCHEMA};

/// Why a file could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file could not be read.
    #[error("{}: cannot read the file: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        cause: std::io::Error,
    },
    /// The content is not perf-dash JSON.
    #[error("{}: not perf-dash JSON (a `version` and `dataItems`): {cause}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where and why.
        cause: serde_json::Error,
    },
    /// Nothing in it is a throughput.
    #[error("{}: none of its {items} item(s) is a SchedulingThroughput, so there is nothing to record", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// Items in the file.
        items: usize,
    },
    /// No line of it is a throughput.
    #[error("{}: none of its {lines} benchmark line(s) has a SchedulingThroughput/Average; \
             `go test -bench=BenchmarkPerfScheduling` of scheduler_perf prints it (without -json)", path.display())]
    NoThroughput {
        /// The file.
        path: PathBuf,
        /// Lines with benchmark results.
        lines: usize,
    },
    /// Neither the name nor the caller says when it was measured.
    #[error("{}: the file's name has no date such as 2026-11-15T12-00-00Z; give one with --at", path.display())]
    NoDate {
        /// The file.
        path: PathBuf,
    },
}

/// What the file itself does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportFacts {
    /// When it was measured; else the file's name says.
    pub started_at: Option<String>,
    /// The commit or version that was measured.
    pub revision: Option<String>,
    /// What to call it.
    pub label: Option<String>,
    /// Where it was measured.
    pub machine: Option<Machine>,
}

/// Reads one perf-dash file as a record. Without a date, neither in the name nor given, it has none.
pub fn read_data_items(path: &Path, facts: &ImportFacts) -> Result<Record, ImportError> {
    let read = |cause| ImportError::Read { path: path.to_owned(), cause };
    let parse = |cause| ImportError::Parse { path: path.to_owned(), cause };
    let items: DataItems = serde_json::from_slice(&fs::read(path).map_err(read)?).map_err(parse)?;
    let file_name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (suite, dated) = file_facts(&file_name);
    let mut points: BTreeMap<String, Point> = BTreeMap::new();
    for item in &items.data_items {
        let Some(name) = item.labels.get("Name") else { continue };
        let (name, status) = split_status(name);
        let point =
            points.entry(name.to_owned()).or_insert_with(|| Point { status, ..empty_point(name, &suite) });
        take(point, item);
    }
    let points: Vec<Point> = points.into_values().filter(|point| 0.0 < point.pods_per_s()).collect();
    if points.is_empty() {
        return Err(ImportError::Empty { path: path.to_owned(), items: items.data_items.len() });
    }
    let writer = Writer::of(&items.labels);
    let record = Record {
        schema: SCHEMA.to_owned(),
        id: String::new(),
        source: writer.source,
        label: facts.label.clone(),
        revision: facts.revision.clone().or(writer.revision),
        started_at: facts.started_at.clone().or(dated).unwrap_or_default(),
        machine: facts.machine.clone(),
        settings: None,
        coverage: writer.coverage,
        partial: items.labels.get(DATASET_PARTIAL).is_some_and(|value| value == "true"),
        points,
        instructions: BTreeMap::new(),
        profiles: Vec::new(),
    };
    Ok(record.with_id())
}

/// Reads one file of upstream's scheduler_perf to be recorded, perf-dash JSON or `go test -bench` text,
/// as its content says: its date must be known.
pub fn import_file(path: &Path, facts: &ImportFacts) -> Result<Record, ImportError> {
    let text = fs::read(path).map_err(|cause| ImportError::Read { path: path.to_owned(), cause })?;
    let record = match is_bench_text(&String::from_utf8_lossy(&text)) {
        true => read_bench_text(path, facts)?,
        false => read_data_items(path, facts)?,
    };
    if record.started_at.is_empty() {
        return Err(ImportError::NoDate { path: path.to_owned() });
    }
    Ok(record)
}

/// Which program wrote a file.
pub(super) struct Writer {
    pub(super) source: RecordSource,
    pub(super) coverage: String,
    revision: Option<String>,
}

impl Writer {
    /// Upstream's scheduler_perf.
    pub(super) fn upstream() -> Writer {
        Writer { source: RecordSource::PerfDash, coverage: UPSTREAM_COVERAGE.to_owned(), revision: None }
    }

    /// schedlab itself, in a file of upstream's kind.
    pub(super) fn ours(coverage: String) -> Writer {
        Writer { source: RecordSource::Schedlab, coverage, revision: None }
    }

    /// Upstream's scheduler_perf labels items only; schedlab labels the file too.
    fn of(labels: &BTreeMap<String, String>) -> Writer {
        match labels.get(DATASET_COVERAGE) {
            Some(coverage) => {
                Writer { revision: labels.get(DATASET_REVISION).cloned(), ..Writer::ours(coverage.clone()) }
            }
            None => Writer::upstream(),
        }
    }
}

/// What kube-scheduler's numbers by scheduler_perf cover.
const UPSTREAM_COVERAGE: &str = "scheduler + apiserver + etcd, by scheduler_perf";

/// Suite and date of `BenchmarkPerfScheduling_benchmark_<suite>_<date>.json`. Upstream's dates have
/// colons, ours dashes in their place; either comes back as RFC 3339.
fn file_facts(name: &str) -> (String, Option<String>) {
    let stem = name.strip_suffix(".json").unwrap_or(name);
    let (front, date) = match stem.rsplit_once('_') {
        Some((front, date)) => match rfc3339(date) {
            Some(date) => (front, Some(date)),
            None => (stem, None),
        },
        None => (stem, None),
    };
    let suite = front.split_once("_benchmark_").map_or("imported", |(_, suite)| suite);
    (suite.to_owned(), date)
}

/// A date of a file's name as RFC 3339; `None` when it is none. What follows the seconds is cut:
/// upstream writes a `Z` whatever the zone.
fn rfc3339(text: &str) -> Option<String> {
    let shape = b"dddd-dd-ddTdd:dd:dd";
    let second = text.get(..shape.len())?;
    let fits = second.bytes().zip(shape).all(|(byte, &wanted)| match wanted {
        b'd' => byte.is_ascii_digit(),
        b':' => matches!(byte, b':' | b'-'),
        other => byte == other,
    });
    let (date, time) = second.split_once('T').filter(|_| fits)?;
    Some(format!("{date}T{}Z", time.replace('-', ":")))
}

/// `BenchmarkPerfScheduling/Case/Workload[/collector]`.
pub(super) fn empty_point(name: &str, suite: &str) -> Point {
    let mut parts = name.split('/').skip_while(|part| part.starts_with("Benchmark"));
    let case = parts.next().unwrap_or(name);
    let workload = parts.next();
    let collector: Vec<&str> = parts.collect();
    Point {
        name: workload.map_or_else(|| case.to_owned(), |workload| format!("{case}/{workload}")),
        suite: suite.to_owned(),
        collector: (!collector.is_empty()).then(|| collector.join("/")),
        status: RunStatus::Completed,
        message: None,
        feature_gates: None,
        content: None,
        nodes: workload.and_then(nodes_of).unwrap_or(0),
        pods: Pods::default(),
        throughput: Throughput::default(),
        repeats: Vec::new(),
        normalised: None,
        repeat_speeds: Vec::new(),
        repeat_latency_us: BTreeMap::new(),
        latency_us: BTreeMap::new(),
        calls_per_pod: 0.0,
        memory: Memory::default(),
        slo: Vec::new(),
        threshold: None,
    }
}

/// 5000 of `5000Nodes_10000Pods`: upstream writes the size into the name.
fn nodes_of(workload: &str) -> Option<u64> {
    workload.split('_').find_map(|part| {
        let digits = part.strip_suffix("Nodes").or_else(|| part.strip_suffix("nodes"))?;
        digits.parse().ok()
    })
}

/// `Low` and `High` are ours; upstream's files have neither, and percentiles of windows of one second.
fn throughput(item: &DataItem) -> Throughput {
    let value = |bucket: &str| item.data.get(bucket).copied();
    let windows = value("Perc50").map(|p50| Windows {
        p50,
        p90: value("Perc90").unwrap_or(0.0),
        p95: value("Perc95").unwrap_or(0.0),
        p99: value("Perc99").unwrap_or(0.0),
        ..Windows::default()
    });
    let total = value("Average").unwrap_or(0.0);
    Throughput { total, low: value("Low"), high: value("High"), samples: 1, windows }
}

fn take(point: &mut Point, item: &DataItem) {
    let value = |bucket: &str| item.data.get(bucket).copied().unwrap_or(0.0);
    let metric = item.labels.get("Metric").map_or("", String::as_str);
    if metric == THROUGHPUT {
        point.throughput = throughput(item);
        return;
    }
    let Some(to_us) = micros_of(&item.unit) else { return };
    let label = |name: &str| item.labels.get(name).map_or("", String::as_str);
    if let Some(stage) = stage_of(metric, label("result"), label("extension_point")) {
        point.latency_us.insert(stage, latency(&|bucket| value(bucket) * to_us));
    }
}

/// Upstream's name of the throughput.
pub(super) const THROUGHPUT: &str = "SchedulingThroughput";

/// How many microseconds a unit of upstream's is; `None` for what is no time.
pub(super) fn micros_of(unit: &str) -> Option<f64> {
    match unit {
        "s" => Some(1e6),
        "ms" => Some(1e3),
        "us" | "µs" => Some(1.0),
        _ => None,
    }
}

/// What upstream's buckets say of a latency, in microseconds.
pub(super) fn latency(value_us: &dyn Fn(&str) -> f64) -> LatencySummary {
    LatencySummary {
        count: 0,
        mean: value_us("Average"),
        p50: value_us("Perc50"),
        p90: value_us("Perc90"),
        p95: value_us("Perc95"),
        p99: value_us("Perc99"),
        max: 0.0,
        buckets: Vec::new(),
    }
}

/// The stage of upstream's metric with these labels; of one that has labels and lacks them, none.
pub(super) fn stage_of(metric: &str, result: &str, extension_point: &str) -> Option<Stage> {
    match metric {
        "scheduler_pod_scheduling_sli_duration_seconds" => Some(Stage::EndToEnd),
        "scheduler_scheduling_algorithm_duration_seconds" => Some(Stage::SchedulingCycle),
        "scheduler_scheduling_attempt_duration_seconds" => match result {
            "scheduled" => Some(Stage::AttemptScheduled),
            "unschedulable" => Some(Stage::AttemptUnschedulable),
            "error" => Some(Stage::AttemptError),
            _ => None,
        },
        "scheduler_framework_extension_point_duration_seconds" => {
            Stage::ALL.into_iter().find(|stage| stage.extension_point() == Some(extension_point))
        }
        _ => None,
    }
}
