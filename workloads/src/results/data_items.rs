//! Upstream's perf-dash JSON: the same metrics, names, units and labels.
//!
//! Upstream: test/integration/scheduler_perf/util.go `dataItems2JSONFile`, `collectHistogramVec`.
//!
//! Differs: upstream's duration percentiles are interpolated between Prometheus buckets, the
//! first of which ends at 0.1 or 1 ms. Ours are read from the histogram itself, so they
//! resolve microseconds (golden `data_items.json`) (`data_items_are_golden`).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::file_name::file_name;
use super::{RunResult, RunStatus, WorkloadResult};
use crate::metrics::{HistogramSummary, MetricSeries, MetricValue};

pub(super) const METRIC_LABEL: &str = "Metric";
pub(super) const NAME_LABEL: &str = "Name";
const NOT_APPLICABLE: &str = "not applicable";
/// Unit of what is counted: perf-dash wants one.
const COUNT: &str = "count";

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
/// Label of a file: `true` when the run was cut short; a whole one has no such label.
pub const DATASET_PARTIAL: &str = "partial";
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
    labels.extend(run.partial.then(|| (DATASET_PARTIAL.to_owned(), true.to_string())));
    labels.extend(run.git_revision.iter().map(|revision| (DATASET_REVISION.to_owned(), revision.clone())));
    DataItems { version: "v1".to_owned(), data_items: chosen.collect(), labels }
}

/// The items of one workload, before labels are filled up across workloads.
pub fn workload_items(workload: &WorkloadResult) -> Vec<DataItem> {
    let mut items = vec![throughput_item(workload)];
    items.extend(workload.metrics_collected.iter().map(|series| metric_item(workload, series)));
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
/// in a name. Whatever is outside `[A-Za-z0-9._-]` becomes a dash
/// (`file_name_never_leaves_its_directory_and_has_no_character_that_artifact_uploads_refuse`).
pub fn data_items_file_name(suite: &str, started_at: &str) -> String {
    let second = started_at.get(..19).unwrap_or(started_at);
    file_name(&format!("BenchmarkPerfScheduling_benchmark_{suite}_{second}Z.json"))
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
/// (`data_items_are_golden`).
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
    item(workload, "SchedulingThroughput", "pods/s", &data)
}

fn run_time_item(workload: &WorkloadResult) -> DataItem {
    let data = [("Duration", workload.duration_ms / 1000.0)];
    item(workload, "SchedulingDuration", "s", &data)
}

/// A metric that the test case collects. Upstream: util.go `collectHistogramVec`.
fn metric_item(workload: &WorkloadResult, series: &MetricSeries) -> DataItem {
    let (unit, data) = match series.value {
        MetricValue::Histogram(summary) => {
            // Upstream calls every histogram milliseconds, also one of counts.
            let (unit, scale) = if series.name.ends_with("_seconds") { ("ms", 1000.0) } else { (COUNT, 1.0) };
            let HistogramSummary { mean, p50, p90, p95, p99, .. } = summary;
            let data =
                [("Average", mean), ("Perc50", p50), ("Perc90", p90), ("Perc95", p95), ("Perc99", p99)];
            (unit, data.map(|(bucket, value)| (bucket, value * scale)).to_vec())
        }
        MetricValue::Counter(count) | MetricValue::Gauge(count) => (COUNT, vec![("Total", count as f64)]),
    };
    let mut item = item(workload, &series.name, unit, &data);
    item.labels.extend(series.labels.clone());
    item
}

fn item(workload: &WorkloadResult, metric: &str, unit: &str, data: &[(&str, f64)]) -> DataItem {
    let labels = BTreeMap::from([
        (NAME_LABEL.to_owned(), upstream_name(workload)),
        (METRIC_LABEL.to_owned(), metric.to_owned()),
    ]);
    DataItem {
        data: data.iter().map(|&(bucket, value)| (bucket.to_owned(), value)).collect(),
        unit: unit.to_owned(),
        labels,
    }
}

/// Upstream: executor.go `startCollectingMetrics`: the benchmark's full name and the collector's.
///
/// Differs: a workload that did not complete says so behind its name. perf-dash draws what has one name
/// as one line, so numbers of a run that was cut short do not stand among whole ones; a label of their
/// own would have to be on every item of every build
/// (`partial_run_is_marked_in_perf_dash_json_and_bench_text`).
fn upstream_name(workload: &WorkloadResult) -> String {
    let mut name = format!("BenchmarkPerfScheduling/{}", workload.name);
    if let Some(collector) = &workload.collector {
        name.push('/');
        name.push_str(collector);
    }
    if workload.status != RunStatus::Completed {
        name.push_str(&format!(" ({})", workload.status.label()));
    }
    name
}

/// The name of an item without how its workload ended, and that.
#[must_use]
pub fn split_status(name: &str) -> (&str, RunStatus) {
    let split = || {
        let (front, label) = name.strip_suffix(')')?.rsplit_once(" (")?;
        Some((front, RunStatus::of_label(label)?))
    };
    split().unwrap_or((name, RunStatus::Completed))
}
