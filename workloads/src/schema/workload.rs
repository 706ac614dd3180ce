//! A workload: the params that give a test case its size, and what is expected of the result.

use std::collections::BTreeMap;

use schedlab_cluster::controllers::EnabledController;
use serde_json::Value as Json;

use super::SchemaError;
use super::metrics::{self, MetricsCollectorConfig};
use crate::controllers;
use crate::results::MetricSelector;
use crate::schedulers::{self, SchedulerSet};
use crate::yaml::{Fields, Node, Value};

const FIELDS: &[&str] = &[
    "name",
    "labels",
    "featureGates",
    "controllers",
    "schedulers",
    "params",
    "threshold",
    "thresholdMetricSelector",
];

/// One size of a test case.
///
/// Upstream: scheduler_perf.go `Workload`.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Unique in its test case.
    pub name: String,
    /// Labels beside those of the test case.
    pub labels: Vec<String>,
    /// Feature gates; they win over those of the test case.
    pub feature_gates: BTreeMap<String, bool>,
    /// Controllers beside those of the test case. Differs: a field of ours
    /// (`taint_eviction_runs_without_feature_gate_when_enabled`).
    pub controllers: Vec<EnabledController>,
    /// Its schedulers, where they are not those of the test case. Differs: a field of ours
    /// (`copies_of_a_scheduler_bind_every_pod_once`).
    pub schedulers: Option<SchedulerSet>,
    /// The values behind `$name`: numbers, strings, booleans, lists.
    pub params: BTreeMap<String, Json>,
    /// The bound on the result.
    pub threshold: ThresholdByTopic,
    /// What the bound is compared with: the workload's own selector, else the test case's, else
    /// upstream's default.
    pub threshold_metric_selector: MetricSelector,
    /// Where the workload starts in its file.
    pub line: u64,
}

/// A bound for all topics, or one per topic.
///
/// Upstream: scheduler_perf.go `thresholds`. A topic is the name a config file is run under.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThresholdByTopic {
    value: f64,
    by_topic: BTreeMap<String, f64>,
}

impl ThresholdByTopic {
    /// The bound under this topic; 0 means that there is none.
    pub fn get(&self, topic: &str) -> f64 {
        self.by_topic.get(topic).copied().unwrap_or(self.value)
    }
}

pub(super) fn parse(
    file: &str,
    node: &Node,
    default_selector: &MetricSelector,
    collected: Option<&MetricsCollectorConfig>,
) -> Result<Workload, SchemaError> {
    let mut fields = Fields::read(file, "a workload", node, FIELDS)?;
    let name = fields.required_string("name", "give the workload a name")?;
    fields.rename(format!("workload {name}"));
    let own_selector = metrics::parse_selector(&fields, "thresholdMetricSelector")?;
    let threshold_metric_selector = own_selector.unwrap_or_else(|| default_selector.clone());
    metrics::check_collected(&fields, &threshold_metric_selector, collected)?;
    Ok(Workload {
        labels: fields.strings("labels")?,
        feature_gates: fields.switch_map("featureGates")?,
        controllers: controllers::read(&fields)?,
        schedulers: schedulers::read(&fields)?,
        params: fields.json_map("params")?,
        threshold: parse_threshold(&fields)?,
        threshold_metric_selector,
        line: fields.at().line,
        name,
    })
}

fn parse_threshold(fields: &Fields<'_>) -> Result<ThresholdByTopic, SchemaError> {
    let Some(node) = fields.get("threshold") else { return Ok(ThresholdByTopic::default()) };
    let bound = |node: &Node| match fields.float("threshold", node)? {
        value if value < 0.0 => {
            Err(fields.bad_value("threshold", value, "write 0 or more; 0 is no threshold"))
        }
        value => Ok(value),
    };
    match &node.value {
        Value::Number(_) => Ok(ThresholdByTopic { value: bound(node)?, by_topic: BTreeMap::new() }),
        Value::Mapping(entries) => {
            let topics = entries.iter().map(|(key, node)| Ok((key.name.clone(), bound(node)?)));
            Ok(ThresholdByTopic { value: 0.0, by_topic: topics.collect::<Result<_, SchemaError>>()? })
        }
        _ => Err(fields.wrong_type("threshold", node, "a number, or a mapping of topic to number")),
    }
}
