//! Upstream's perf-dash JSON: the same metrics, names, units and labels.
//!
//! Upstream: test/integration/scheduler_perf/util.go `dataItems2JSONFile`, `collectHistogramVec`.
//!
//! Differs: upstream's duration percentiles are interpolated between Prometheus buckets, the
//! first of which ends at 0.1 or 1 ms. Ours are read from the histogram itself, so they
//! resolve microseconds (golden `data_items.json`).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{LatencySummary, RunResult, Stage, WorkloadResult};

pub(super) const METRIC_LABEL: &str = "Metric";
const NAME_LABEL: &str = "Name";
const NOT_APPLICABLE: &str = "not applicable";

/// The file perf-dash reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DataItems {
    /// Always `v1`.
    pub version: String,
    /// Every item carries the same set of labels.
    pub data_items: Vec<DataItem>,
    /// What is true for all items. The format has the field (perf-tests' perftype.go `PerfData`), no
    /// page of perf-dash shows it, and scheduler_perf leaves it out: a file that has
    /// [`DATASET_COVERAGE`] here is ours.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// Label of a file: what its numbers cover, as [`RunResult::coverage`].
pub const DATASET_COVERAGE: &str = "coverage";
/// Label of a file: the commit of schedlab that measured.
pub const DATASET_REVISION: &str = "revision";

/// One metric of one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataItem {
    /// Bucket to value: `Average`, `Perc50`, and so on.
    pub data: BTreeMap<String, f64>,
    /// Unit of every value.
    pub unit: String,
    /// `Name`, `Metric` and what tells items of one metric apart.
    pub labels: BTreeMap<String, String>,
}

/// The items of one suite of a run; of all suites when `suite` is `None`.
pub fn data_items(run: &RunResult, suite: Option<&str>) -> DataItems {
    let is_chosen = |w: &WorkloadResult| suite.is_none_or(|suite| w.suite == suite);
    let mut items: Vec<(bool, DataItem)> = Vec::new();
    for workload in &run.workloads {
        items.extend(workload_items(workload).into_iter().map(|item| (is_chosen(workload), item)));
    }
    fill_labels(&mut items);
    let chosen = items.into_iter().filter_map(|(is_chosen, item)| is_chosen.then_some(item));
    let mut labels = BTreeMap::from([(DATASET_COVERAGE.to_owned(), run.coverage.clone())]);
    labels.extend(run.git_revision.iter().map(|revision| (DATASET_REVISION.to_owned(), revision.clone())));
    DataItems { version: "v1".to_owned(), data_items: chosen.collect(), labels }
}

/// The items of one workload, before labels are filled up across workloads.
pub fn workload_items(workload: &WorkloadResult) -> Vec<DataItem> {
    let mut items = vec![throughput_item(workload)];
    let durations = workload.latency_us.iter();
    items.extend(durations.filter_map(|(&stage, latency)| duration_item(workload, stage, latency)));
    items.push(run_time_item(workload));
    if let Some(threshold) = &workload.threshold {
        for item in items.iter_mut().filter(|item| threshold.selector.matches(item)) {
            let bucket = format!("{}Threshold", threshold.selector.data_bucket);
            item.data.insert(bucket, threshold.value);
        }
    }
    items
}

/// `BenchmarkPerfScheduling_benchmark_<suite>_<date>.json`: perf-dash looks for files whose names
/// begin like this (perfdash/config.go `benchmarkDescriptions`, metrics-downloader.go
/// `getMatchingFiles`) and reads nothing else from the name.
///
/// `started_at` is RFC 3339; its fraction and zone are cut, as upstream's date has none.
///
/// Differs: upstream's date has colons, which neither Windows nor the uploads of CI artifacts take
/// in a name. Whatever is outside `[A-Za-z0-9._-]` becomes a dash.
pub fn data_items_file_name(suite: &str, started_at: &str) -> String {
    let second = started_at.get(..19).unwrap_or(started_at);
    portable_name(&format!("BenchmarkPerfScheduling_benchmark_{suite}_{second}Z.json"))
}

/// A text as part of a file's name: every character outside `[A-Za-z0-9._-]` becomes a dash, so that
/// every file system and artifact store takes it, and so that it never names another directory.
pub fn portable_name(text: &str) -> String {
    let portable = |letter: char| match letter {
        'A'..='Z' | 'a'..='z' | '0'..='9' | '.' | '_' | '-' => letter,
        _ => '-',
    };
    text.chars().map(portable).collect()
}

/// perf-dash shows an item only where all labels match, so an item must not lack any that another
/// one of the build has: it puts all files of a build together.
fn fill_labels(items: &mut [(bool, DataItem)]) {
    let names: BTreeSet<String> = items.iter().flat_map(|(_, item)| item.labels.keys().cloned()).collect();
    for (_, item) in items {
        for name in &names {
            item.labels.entry(name.clone()).or_insert_with(|| NOT_APPLICABLE.to_owned());
        }
    }
}

/// `Average` is the headline, `Low` and `High` the ends of its interval, the percentiles are those of
/// upstream's windows.
///
/// Differs: upstream's `Average` is the mean of its windows of one second, which leaves out the first
/// and the last; of a run of milliseconds that can be several times the whole
/// (`average_is_the_headline_and_percentiles_are_of_windows`).
fn throughput_item(workload: &WorkloadResult) -> DataItem {
    let throughput = &workload.throughput;
    let mut data = vec![("Average", throughput.total)];
    data.extend(throughput.low.map(|low| ("Low", low)));
    data.extend(throughput.high.map(|high| ("High", high)));
    if let Some(windows) = &throughput.windows {
        data.extend([
            ("Perc50", windows.p50),
            ("Perc90", windows.p90),
            ("Perc95", windows.p95),
            ("Perc99", windows.p99),
        ]);
    }
    item(workload, Metric { name: "SchedulingThroughput", label: None }, "pods/s", &data)
}

fn run_time_item(workload: &WorkloadResult) -> DataItem {
    let data = [("Duration", workload.duration_ms / 1000.0)];
    item(workload, Metric { name: "SchedulingDuration", label: None }, "s", &data)
}

fn duration_item(workload: &WorkloadResult, stage: Stage, us: &LatencySummary) -> Option<DataItem> {
    let data = [
        ("Average", us.mean / 1000.0),
        ("Perc50", us.p50 / 1000.0),
        ("Perc90", us.p90 / 1000.0),
        ("Perc95", us.p95 / 1000.0),
        ("Perc99", us.p99 / 1000.0),
    ];
    upstream_metric(stage).map(|metric| item(workload, metric, "ms", &data))
}

struct Metric {
    name: &'static str,
    label: Option<(&'static str, &'static str)>,
}

/// Upstream's metric of a stage, for the stages upstream measures too.
fn upstream_metric(stage: Stage) -> Option<Metric> {
    const ATTEMPT: &str = "scheduler_scheduling_attempt_duration_seconds";
    const POINT: &str = "scheduler_framework_extension_point_duration_seconds";
    let (name, label) = match stage {
        Stage::EndToEnd => ("scheduler_pod_scheduling_sli_duration_seconds", None),
        Stage::SchedulingCycle => ("scheduler_scheduling_algorithm_duration_seconds", None),
        Stage::AttemptScheduled => (ATTEMPT, Some(("result", "scheduled"))),
        Stage::AttemptUnschedulable => (ATTEMPT, Some(("result", "unschedulable"))),
        Stage::AttemptError => (ATTEMPT, Some(("result", "error"))),
        Stage::Queueing | Stage::BindingCycle | Stage::PreEnqueue => return None,
        point => (POINT, Some(("extension_point", point.extension_point()?))),
    };
    Some(Metric { name, label })
}

fn item(workload: &WorkloadResult, metric: Metric, unit: &str, data: &[(&str, f64)]) -> DataItem {
    let mut labels = BTreeMap::from([
        (NAME_LABEL.to_owned(), upstream_name(workload)),
        (METRIC_LABEL.to_owned(), metric.name.to_owned()),
    ]);
    labels.extend(metric.label.map(|(label, value)| (label.to_owned(), value.to_owned())));
    DataItem {
        data: data.iter().map(|&(bucket, value)| (bucket.to_owned(), value)).collect(),
        unit: unit.to_owned(),
        labels,
    }
}

/// Upstream: executor.go `startCollectingMetrics`: the benchmark's full name and the collector's.
fn upstream_name(workload: &WorkloadResult) -> String {
    let mut name = format!("BenchmarkPerfScheduling/{}", workload.name);
    if let Some(collector) = &workload.collector {
        name.push('/');
        name.push_str(collector);
    }
    name
}
