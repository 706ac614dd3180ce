//! A test case: one sequence of ops, run at several sizes.

use std::collections::BTreeMap;

use schedlab_cluster::controllers::EnabledController;

use super::metrics::{self, MetricsCollectorConfig};
use super::workload::{self, Workload};
use super::{SchemaError, SchemaProblem, repeated};
use crate::controllers;
use crate::ops::Op;
use crate::results::MetricSelector;
use crate::schedulers::{self, SchedulerSet};
use crate::yaml::{Fields, Node};

const FIELDS: &[&str] = &[
    "name",
    "labels",
    "featureGates",
    "controllers",
    "schedulers",
    "schedulerConfigPath",
    "defaultPodTemplatePath",
    "metricsCollectorConfig",
    "defaultThresholdMetricSelector",
    "workloadTemplate",
    "workloads",
];

/// One entry of a config file.
///
/// Upstream: scheduler_perf.go `testCase`.
#[derive(Clone, Debug)]
pub struct TestCase {
    /// Unique in its file.
    pub name: String,
    /// Labels of every workload in this test case.
    pub labels: Vec<String>,
    /// Feature gates of every workload, before the workload's own.
    pub feature_gates: BTreeMap<String, bool>,
    /// Controllers that run with every workload. Differs: a field of ours
    /// (`all_controllers_run_in_the_order_of_their_list`).
    pub controllers: Vec<EnabledController>,
    /// The schedulers of every workload that says nothing of them. Differs: a field of ours
    /// (`copies_of_a_scheduler_bind_every_pod_once`).
    pub schedulers: Option<SchedulerSet>,
    /// KubeSchedulerConfiguration to run with, relative to the config file.
    pub scheduler_config_path: Option<String>,
    /// Template of pods whose op names none, relative to the config file.
    pub default_pod_template_path: Option<String>,
    /// Metrics to collect; upstream's default ones if absent.
    pub metrics_collector_config: Option<MetricsCollectorConfig>,
    /// The ops every workload runs, in order.
    pub ops: Vec<Op>,
    /// The sizes to run at.
    pub workloads: Vec<Workload>,
    /// Where the test case starts in its file.
    pub line: u64,
    /// The test case as written, with the comment above it.
    pub text: String,
}

pub(super) fn parse(file: &str, node: &Node, text: String) -> Result<TestCase, SchemaError> {
    let mut fields = Fields::read(file, "a test case", node, FIELDS)?;
    let name = fields.required_string("name", "give the test case a name")?;
    fields.rename(format!("test case {name}"));
    let metrics_collector_config = metrics::parse_collector(&fields)?;
    let selector = metrics::parse_selector(&fields, "defaultThresholdMetricSelector")?.unwrap_or_default();
    Ok(TestCase {
        labels: fields.strings("labels")?,
        feature_gates: fields.switch_map("featureGates")?,
        controllers: controllers::read(&fields)?,
        schedulers: schedulers::read(&fields)?,
        scheduler_config_path: fields.string("schedulerConfigPath")?.filter(|path| !path.is_empty()),
        default_pod_template_path: fields.string("defaultPodTemplatePath")?,
        ops: parse_ops(&fields)?,
        workloads: parse_workloads(&fields, &selector, metrics_collector_config.as_ref())?,
        metrics_collector_config,
        line: fields.at().line,
        name,
        text,
    })
}

fn parse_ops(fields: &Fields<'_>) -> Result<Vec<Op>, SchemaError> {
    let nodes = fields.list("workloadTemplate")?;
    let ops: Vec<Op> = nodes.iter().map(|node| Op::parse(fields.file(), node)).collect::<Result<_, _>>()?;
    if ops.is_empty() {
        return Err(fields.error(
            fields.at(),
            SchemaProblem::Empty {
                what: format!("{} has no ops", fields.holder()),
                help: "list them under `workloadTemplate`",
            },
        ));
    }
    if !ops.iter().any(Op::collects_metrics) {
        return Err(fields.error(
            fields.at(),
            SchemaProblem::Empty {
                what: format!("no op of {} collects metrics", fields.holder()),
                help: "set `collectMetrics: true` on a createPods op, or add startCollectingMetrics and \
                   stopCollectingMetrics",
            },
        ));
    }
    Ok(ops)
}

fn parse_workloads(
    fields: &Fields<'_>,
    selector: &MetricSelector,
    collected: Option<&MetricsCollectorConfig>,
) -> Result<Vec<Workload>, SchemaError> {
    let nodes = fields.list("workloads")?;
    if nodes.is_empty() {
        return Err(fields.error(
            fields.at(),
            SchemaProblem::Empty {
                what: format!("{} has no workloads", fields.holder()),
                help: "list at least one under `workloads`",
            },
        ));
    }
    let workloads: Vec<Workload> = nodes
        .iter()
        .map(|node| workload::parse(fields.file(), node, selector, collected))
        .collect::<Result<_, _>>()?;
    let names: Vec<_> = workloads.iter().map(|w| w.name.as_str()).zip(nodes.iter().map(|n| n.at)).collect();
    if let Some((name, at, first_line)) = repeated(&names) {
        let problem = SchemaProblem::RepeatedName { what: "workload", name: name.into(), first_line };
        return Err(fields.error(at, problem));
    }
    Ok(workloads)
}
