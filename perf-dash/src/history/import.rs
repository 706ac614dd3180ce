//! Upstream's perf-dash JSON as a record, so that kube-scheduler's published numbers stand beside
//! ours.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use schedlab_workloads::results::{
    DataItem, DataItems, LatencySummary, Machine, Memory, Pods, Stage, Status, Throughput,
};

use super::model::{Point, Record, SCHEMA, Source};

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
    /// Neither the name nor the caller says when it was measured.
    #[error("{}: the file's name has no date such as 2026-11-15T12:00:00Z; give one with --at", path.display())]
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

/// Reads one perf-dash file.
pub fn import_data_items(path: &Path, facts: &ImportFacts) -> Result<Record, ImportError> {
    let read = |cause| ImportError::Read { path: path.to_owned(), cause };
    let parse = |cause| ImportError::Parse { path: path.to_owned(), cause };
    let items: DataItems = serde_json::from_slice(&fs::read(path).map_err(read)?).map_err(parse)?;
    let file_name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (suite, dated) = file_facts(&file_name);
    let started_at =
        facts.started_at.clone().or(dated).ok_or_else(|| ImportError::NoDate { path: path.to_owned() })?;
    let mut points: BTreeMap<String, Point> = BTreeMap::new();
    for item in &items.data_items {
        let Some(name) = item.labels.get("Name") else { continue };
        let point = points.entry(name.clone()).or_insert_with(|| empty_point(name, &suite));
        take(point, item);
    }
    let points: Vec<Point> = points.into_values().filter(|point| 0.0 < point.throughput.average).collect();
    if points.is_empty() {
        return Err(ImportError::Empty { path: path.to_owned(), items: items.data_items.len() });
    }
    let record = Record {
        schema: SCHEMA.to_owned(),
        id: String::new(),
        source: Source::PerfDash,
        label: facts.label.clone(),
        revision: facts.revision.clone(),
        started_at,
        machine: facts.machine.clone(),
        settings: None,
        coverage: "scheduler + apiserver + etcd, by scheduler_perf".to_owned(),
        partial: false,
        points,
        instructions: BTreeMap::new(),
        profiles: Vec::new(),
    };
    Ok(record.with_id())
}

/// Suite and date of `BenchmarkPerfScheduling_benchmark_<suite>_<date>.json`.
fn file_facts(name: &str) -> (String, Option<String>) {
    let stem = name.strip_suffix(".json").unwrap_or(name);
    let (front, date) = match stem.rsplit_once('_') {
        Some((front, date)) if is_date(date) => (front, Some(date.to_owned())),
        _ => (stem, None),
    };
    let suite = front.split_once("_benchmark_").map_or("imported", |(_, suite)| suite);
    (suite.to_owned(), date)
}

fn is_date(text: &str) -> bool {
    let shape = b"dddd-dd-ddTdd:dd:dd";
    text.len() >= shape.len()
        && text.bytes().zip(shape).all(|(byte, &wanted)| match wanted {
            b'd' => byte.is_ascii_digit(),
            other => byte == other,
        })
}

/// `BenchmarkPerfScheduling/Case/Workload[/collector]`.
fn empty_point(name: &str, suite: &str) -> Point {
    let mut parts = name.split('/').skip_while(|part| part.starts_with("Benchmark"));
    let case = parts.next().unwrap_or(name);
    let workload = parts.next();
    let collector: Vec<&str> = parts.collect();
    Point {
        name: workload.map_or_else(|| case.to_owned(), |workload| format!("{case}/{workload}")),
        suite: suite.to_owned(),
        collector: (!collector.is_empty()).then(|| collector.join("/")),
        status: Status::Completed,
        nodes: workload.and_then(nodes_of).unwrap_or(0),
        pods: Pods::default(),
        throughput: Throughput::default(),
        repeats: Vec::new(),
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

fn take(point: &mut Point, item: &DataItem) {
    let value = |bucket: &str| item.data.get(bucket).copied().unwrap_or(0.0);
    let metric = item.labels.get("Metric").map_or("", String::as_str);
    if metric == "SchedulingThroughput" {
        point.throughput = Throughput {
            average: value("Average"),
            p50: value("Perc50"),
            p90: value("Perc90"),
            p95: value("Perc95"),
            p99: value("Perc99"),
            total: value("Average"),
        };
        return;
    }
    let to_us = match item.unit.as_str() {
        "s" => 1e6,
        "ms" => 1e3,
        "us" | "µs" => 1.0,
        _ => return,
    };
    let label = |name: &str| item.labels.get(name).map_or("", String::as_str);
    if let Some(stage) = stage_of(metric, label("result"), label("extension_point")) {
        let latency = LatencySummary {
            count: 0,
            mean: value("Average") * to_us,
            p50: value("Perc50") * to_us,
            p90: value("Perc90") * to_us,
            p95: value("Perc95") * to_us,
            p99: value("Perc99") * to_us,
            max: 0.0,
            buckets: Vec::new(),
        };
        point.latency_us.insert(stage, latency);
    }
}

fn stage_of(metric: &str, result: &str, extension_point: &str) -> Option<Stage> {
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
