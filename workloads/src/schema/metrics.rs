//! Which metrics a test case collects, and whether a threshold can find its metric among them.

use std::collections::BTreeMap;

use super::{SchemaError, SchemaProblem};
use crate::results::MetricSelector;
use crate::yaml::Fields;

/// The metric that is always collected.
const THROUGHPUT: &str = "SchedulingThroughput";

/// What upstream collects by default: metric and the labels it is split by.
///
/// Upstream: scheduler_perf.go `defaultMetricsCollectorConfig`.
/// Differs: the values of the labels are not checked for the default metrics, because they are
/// lists of plugins and events that grow from release to release
/// (`default_collects_upstreams_list_by_its_labels`).
pub const DEFAULT_METRICS: [(&str, &[&str]); 8] = [
    ("scheduler_framework_extension_point_duration_seconds", &["extension_point"]),
    ("scheduler_scheduling_attempt_duration_seconds", &["result"]),
    ("scheduler_pod_scheduling_duration_seconds", &[]),
    ("scheduler_plugin_execution_duration_seconds", &["plugin", "extension_point"]),
    ("scheduler_queueing_hint_execution_duration_seconds", &["plugin", "event"]),
    ("scheduler_event_handling_duration_seconds", &["event"]),
    ("scheduler_podgroup_scheduling_attempt_duration_seconds", &["result"]),
    ("scheduler_podgroup_scheduling_algorithm_duration_seconds", &[]),
];

/// The metrics a test case collects instead of the default ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricsCollectorConfig {
    /// Metric name to the labels it is split by; no labels: all series are added up.
    pub metrics: BTreeMap<String, Vec<LabelValues>>,
}

/// A label and the values of it to collect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelValues {
    /// The label's name.
    pub label: String,
    /// The values to collect.
    pub values: Vec<String>,
}

pub(super) fn parse_collector(case: &Fields<'_>) -> Result<Option<MetricsCollectorConfig>, SchemaError> {
    let Some(node) = case.get("metricsCollectorConfig") else { return Ok(None) };
    let holder = format!("metricsCollectorConfig of {}", case.holder());
    let fields = Fields::read(case.file(), holder, node, &["metrics"])?;
    let mut metrics = BTreeMap::new();
    for (key, node) in fields.entries("metrics")? {
        let labels = match &node.value {
            crate::yaml::Value::Null => Vec::new(),
            crate::yaml::Value::Sequence(items) => items
                .iter()
                .map(|item| parse_label_values(case.file(), &key.name, item))
                .collect::<Result<_, _>>()?,
            _ => return Err(fields.wrong_type(&key.name, node, "a list of `label` and `values`")),
        };
        metrics.insert(key.name.clone(), labels);
    }
    Ok(Some(MetricsCollectorConfig { metrics }))
}

fn parse_label_values(
    file: &str,
    metric: &str,
    node: &crate::yaml::Node,
) -> Result<LabelValues, SchemaError> {
    let fields = Fields::read(file, format!("metric {metric}"), node, &["label", "values"])?;
    Ok(LabelValues {
        label: fields.required_string("label", "name the label to split by")?,
        values: fields.strings("values")?,
    })
}

pub(super) fn parse_selector(
    owner: &Fields<'_>,
    field: &'static str,
) -> Result<Option<MetricSelector>, SchemaError> {
    let Some(node) = owner.get(field) else { return Ok(None) };
    let holder = format!("{field} of {}", owner.holder());
    let fields = Fields::read(owner.file(), holder, node, &["name", "labels", "dataBucket", "expectLower"])?;
    Ok(Some(MetricSelector {
        name: fields.required_string("name", "name the metric, for example SchedulingThroughput")?,
        labels: fields.string_map("labels")?,
        data_bucket: fields
            .required_string("dataBucket", "name the bucket, for example Average or Perc99")?,
        expect_lower: fields.switch("expectLower")?,
    }))
}

/// Refuses a selector that no collected metric can match.
///
/// Upstream: scheduler_perf.go `thresholdMetricSelector.isValid`.
pub(super) fn check_collected(
    workload: &Fields<'_>,
    selector: &MetricSelector,
    collected: Option<&MetricsCollectorConfig>,
) -> Result<(), SchemaError> {
    if selector.name == THROUGHPUT {
        return Ok(());
    }
    let refuse = |target: String, help: String| {
        let holder = workload.holder().to_owned();
        Err(workload.error(workload.at(), SchemaProblem::MetricNotCollected { holder, target, help }))
    };
    let Some(labels) = labels_of(&selector.name, collected) else {
        let known = metric_names(collected).join(", ");
        return refuse(
            format!("the metric {}", selector.name),
            format!("choose {THROUGHPUT} or one of {known}"),
        );
    };
    for (name, value) in &selector.labels {
        let found = labels.iter().find(|(label, _)| label == name);
        if !found.is_some_and(|(_, values)| values.is_none_or(|values| values.contains(value))) {
            let target = format!("{} with {name}={value}", selector.name);
            return refuse(target, "add the label and its value to `metricsCollectorConfig`".into());
        }
    }
    Ok(())
}

/// The labels of a metric, each with its values where they are fixed.
type Labels<'a> = Vec<(&'a str, Option<&'a [String]>)>;

fn labels_of<'a>(metric: &str, collected: Option<&'a MetricsCollectorConfig>) -> Option<Labels<'a>> {
    match collected {
        Some(config) => config.metrics.get(metric).map(|labels| {
            labels.iter().map(|label| (label.label.as_str(), Some(label.values.as_slice()))).collect()
        }),
        None => DEFAULT_METRICS
            .iter()
            .find(|(name, _)| *name == metric)
            .map(|(_, labels)| labels.iter().map(|label| (*label, None)).collect()),
    }
}

fn metric_names(collected: Option<&MetricsCollectorConfig>) -> Vec<&str> {
    match collected {
        Some(config) => config.metrics.keys().map(String::as_str).collect(),
        None => DEFAULT_METRICS.iter().map(|(name, _)| *name).collect(),
    }
}
