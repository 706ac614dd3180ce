//! updateNodes: changes labels, taints, conditions and the cordon of nodes, once or again and again. Upstream has no
//! such op.
//!
//! ```text
//!   once:  node 1, node 2, ... node n are changed
//!   churn: node 1 ... n are changed, node 1 ... n are put back, and so on until the workload ends
//! ```

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use k8s_openapi::api::core::v1 as api;
use k8s_openapi::api::core::v1::{NodeCondition, NodeStatus, Taint};
use schedlab_cluster::api::{Api, Object, ObjectKey};
use schedlab_cluster::{ApiError, EmbeddedCluster, StatusReason};

use super::chosen::{self, LabelSelector};
use super::count::Count;
use super::descriptor::{OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, RunOp, WrittenOp, one};
use super::pace::{Pace, WrittenPace};
use crate::executor::{BackgroundJob, Ending, JobStep, Lasts, OpContext, OpError, OpTally};
use crate::resolve::{Limit, OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::yaml::{Fields, Node, Value};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "updateNodes", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

const FIELDS: &[&str] = &[
    "opcode",
    "mode",
    "count",
    "countParam",
    "labelSelector",
    "labels",
    "taints",
    "removeTaints",
    "conditions",
    "unschedulable",
    "nodesPerSecond",
    "nodesPerSecondParam",
    "skipWaitToCompletion",
];

/// A write that met another one is tried again so often.
const TRIES_MAX: u32 = 20;

/// updateNodes as written.
#[derive(Clone, Debug)]
struct UpdateNodesOp {
    mode: UpdateMode,
    count: Count,
    labels: LabelSelector,
    change: NodeChange,
    pace: WrittenPace,
}

/// updateNodes, ready to run. The nodes are listed when the op starts, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateNodes {
    /// Once, or again and again.
    pub mode: UpdateMode,
    /// At most so many; all if absent.
    pub most: Option<u32>,
    /// Labels a node must have; all nodes if empty.
    pub label_selector: LabelSelector,
    /// What is changed.
    pub change: NodeChange,
    /// How fast.
    pub pace: Pace,
}

/// How often nodes are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateMode {
    /// Each once.
    Once,
    /// Changed and put back in turn, in the background, until the workload ends.
    Churn,
}

/// What is changed of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeChange {
    /// Labels to be set, or removed.
    pub labels: BTreeMap<String, Option<String>>,
    /// Keys of taints to be removed, whatever their effect.
    pub removed_taints: Vec<String>,
    /// Taints to be added, or to replace those of their key and effect.
    pub taints: Vec<Taint>,
    /// Statuses of conditions by type.
    pub conditions: BTreeMap<String, String>,
    /// `spec.unschedulable`.
    pub unschedulable: Option<bool>,
}

fn parse(file: &str, node: &Node) -> Result<UpdateNodesOp, SchemaError> {
    let fields = Fields::read(file, "op updateNodes", node, FIELDS)?;
    let mode = match fields.string("mode")?.as_deref() {
        None | Some("" | "once") => UpdateMode::Once,
        Some("churn") => UpdateMode::Churn,
        Some(other) => return Err(fields.bad_value("mode", other, "write `once` or `churn`")),
    };
    let pace = WrittenPace::read(&fields, "nodesPerSecond", "nodesPerSecondParam")?;
    if mode == UpdateMode::Churn && pace.rate.is_absent() {
        return Err(
            fields.missing("nodesPerSecond", "with `mode: churn`, say how many nodes change a second")
        );
    }
    let change = parse_change(file, &fields)?;
    if change == NodeChange::default() {
        let help = "say what changes: `labels`, `taints`, `removeTaints`, `conditions` or `unschedulable`";
        return Err(fields.missing("labels", help));
    }
    Ok(UpdateNodesOp {
        mode,
        count: Count::optional(&fields)?,
        labels: fields.string_map("labelSelector")?,
        change,
        pace,
    })
}

fn parse_change(file: &str, fields: &Fields<'_>) -> Result<NodeChange, SchemaError> {
    let labels = fields.entries("labels")?.iter().map(|(key, node)| match &node.value {
        Value::Null => Ok((key.name.clone(), None)),
        Value::String(text) => Ok((key.name.clone(), Some(text.clone()))),
        Value::Number(number) => Ok((key.name.clone(), Some(number.to_string()))),
        Value::Bool(value) => Ok((key.name.clone(), Some(value.to_string()))),
        _ => Err(fields.wrong_type(&key.name, node, "a label's value, or null to remove it")),
    });
    let conditions = fields.string_map("conditions")?;
    if let Some(status) = conditions.values().find(|it| !["True", "False", "Unknown"].contains(&it.as_str()))
    {
        return Err(fields.bad_value("conditions", status, "write \"True\", \"False\" or \"Unknown\""));
    }
    let unschedulable = fields.get("unschedulable").map(|_| fields.switch("unschedulable")).transpose()?;
    Ok(NodeChange {
        labels: labels.collect::<Result<_, _>>()?,
        removed_taints: fields.strings("removeTaints")?,
        taints: fields.list("taints")?.iter().map(|node| taint(file, node)).collect::<Result<_, _>>()?,
        conditions,
        unschedulable,
    })
}

fn taint(file: &str, node: &Node) -> Result<Taint, SchemaError> {
    let fields = Fields::read_exact(file, "a taint", node, &["key", "value", "effect"])?;
    let effect = fields.required_string("effect", "write NoSchedule, PreferNoSchedule or NoExecute")?;
    if !["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect.as_str()) {
        return Err(fields.bad_value("effect", effect, "write NoSchedule, PreferNoSchedule or NoExecute"));
    }
    let key = fields.required_string("key", "name the taint")?;
    Ok(Taint { key, effect, value: fields.string("value")?, time_added: None })
}

impl WrittenOp for UpdateNodesOp {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, resolver: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        Ok(one(UpdateNodes {
            mode: self.mode,
            most: chosen::most(&self.count, resolver, Limit::Nodes)?,
            label_selector: self.labels.clone(),
            change: self.change.clone(),
            pace: self.pace.resolve(resolver)?,
        }))
    }
}

impl ResolvedOp for UpdateNodes {
    fn descriptor(&self) -> &'static OpDescriptor {
        &DESCRIPTOR
    }

    fn facts(&self) -> OpFacts<'_> {
        OpFacts::NOTHING
    }

    fn support(&self) -> OpSupport<'_> {
        OpSupport::Runs(self)
    }
}

impl RunOp for UpdateNodes {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        let cluster = Arc::clone(&context.cluster);
        let nodes = chosen::nodes(&cluster, &self.label_selector, self.most);
        let names: Vec<String> = nodes.iter().map(|node| node.input.name.clone()).collect();
        let tally = context.tally(&["nodes_updated", "nodes_gone"]);
        let change = self.change.clone();
        if self.mode == UpdateMode::Once {
            return self.pace.go_through(context, names.len(), move |at| {
                update(&cluster, &names[at], &tally, |_| change.clone())
            });
        }
        if !names.is_empty() {
            let interval = self.pace.interval();
            let round = interval.saturating_mul(u32::try_from(names.len()).unwrap_or(u32::MAX));
            let lasts = Lasts::ToTheEnd(round.saturating_mul(2));
            let step = churn_step(cluster, names, change, tally);
            context.start_background(BackgroundJob { lasts, interval, step });
        }
        Ok(Ending::Completed)
    }
}

/// One node a step: changed in one round, put back in the next.
fn churn_step(
    cluster: Arc<EmbeddedCluster>,
    names: Vec<String>,
    change: NodeChange,
    tally: OpTally,
) -> JobStep {
    let mut before: Vec<Option<NodeChange>> = vec![None; names.len()];
    let mut at = 0;
    Box::new(move || {
        let put_back = before[at].take();
        let changes = put_back.is_none();
        let mut inverse = None;
        update(&cluster, &names[at], &tally, |node| {
            inverse = changes.then(|| change.inverse(node));
            put_back.clone().unwrap_or_else(|| change.clone())
        })?;
        before[at] = inverse;
        at = (at + 1) % names.len();
        Ok(ControlFlow::Continue(()))
    })
}

/// Reads a node, changes it, and does so again if somebody else wrote it meanwhile.
fn update(
    cluster: &EmbeddedCluster,
    name: &str,
    tally: &OpTally,
    mut change_of: impl FnMut(&api::Node) -> NodeChange,
) -> Result<(), OpError> {
    for tries in 1.. {
        match try_update(cluster, name, &mut change_of) {
            Ok(()) => {
                tally.add("nodes_updated", 1);
                break;
            }
            Err(error) if error.reason == StatusReason::NotFound => {
                tally.add("nodes_gone", 1);
                break;
            }
            Err(error) if error.reason == StatusReason::Conflict && tries < TRIES_MAX => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn try_update(
    cluster: &EmbeddedCluster,
    name: &str,
    change_of: &mut impl FnMut(&api::Node) -> NodeChange,
) -> Result<(), ApiError> {
    let Some(node) = cluster.get(&ObjectKey::node(name))?.into_node() else { return Ok(()) };
    let change = change_of(&node);
    let changed = change.of_spec(&node);
    if changed != *node {
        cluster.update(Object::Node(Box::new(changed)))?;
    }
    match change.of_conditions(&node) {
        Some(conditions) => cluster
            .patch_node_status(name, NodeStatus { conditions: Some(conditions), ..NodeStatus::default() }),
        None => Ok(()),
    }
}

impl NodeChange {
    /// The node with other labels, taints and cordon.
    fn of_spec(&self, node: &api::Node) -> api::Node {
        let mut changed = node.clone();
        if !self.labels.is_empty() {
            let labels = changed.metadata.labels.get_or_insert_default();
            for (key, value) in &self.labels {
                match value {
                    Some(value) => drop(labels.insert(key.clone(), value.clone())),
                    None => drop(labels.remove(key)),
                }
            }
        }
        if self.unschedulable.is_none() && self.taints.is_empty() && self.removed_taints.is_empty() {
            return changed;
        }
        let spec = changed.spec.get_or_insert_default();
        if let Some(unschedulable) = self.unschedulable {
            spec.unschedulable = unschedulable.then_some(true);
        }
        let mut taints = spec.taints.take().unwrap_or_default();
        let is_replaced = |known: &Taint| {
            self.removed_taints.contains(&known.key)
                || self.taints.iter().any(|it| (&it.key, &it.effect) == (&known.key, &known.effect))
        };
        taints.retain(|known| !is_replaced(known));
        taints.extend(self.taints.iter().cloned());
        spec.taints = Some(taints).filter(|taints| !taints.is_empty());
        changed
    }

    /// The node's conditions with other statuses; nothing if none changes.
    fn of_conditions(&self, node: &api::Node) -> Option<Vec<NodeCondition>> {
        if self.conditions.is_empty() {
            return None;
        }
        let known = node.status.as_ref().and_then(|status| status.conditions.clone());
        let mut conditions = known.unwrap_or_default();
        for (type_, status) in &self.conditions {
            match conditions.iter_mut().find(|it| it.type_ == *type_) {
                Some(condition) => condition.status.clone_from(status),
                None => conditions.push(NodeCondition {
                    type_: type_.clone(),
                    status: status.clone(),
                    ..NodeCondition::default()
                }),
            }
        }
        Some(conditions)
    }

    /// What puts a node back to what it is now.
    fn inverse(&self, node: &api::Node) -> NodeChange {
        let labels = node.metadata.labels.as_ref();
        let label = |key: &String| labels.and_then(|labels| labels.get(key)).cloned();
        let touched: Vec<String> =
            self.removed_taints.iter().chain(self.taints.iter().map(|it| &it.key)).cloned().collect();
        let spec = node.spec.as_ref();
        let taints = spec.and_then(|spec| spec.taints.as_ref()).into_iter().flatten();
        let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
        let status = |type_: &String| {
            let known = conditions.into_iter().flatten().find(|it| it.type_ == *type_);
            known.map_or_else(|| "Unknown".to_owned(), |it| it.status.clone())
        };
        NodeChange {
            labels: self.labels.keys().map(|key| (key.clone(), label(key))).collect(),
            taints: taints.filter(|it| touched.contains(&it.key)).cloned().collect(),
            removed_taints: touched,
            conditions: self.conditions.keys().map(|type_| (type_.clone(), status(type_))).collect(),
            unschedulable: self
                .unschedulable
                .map(|_| spec.and_then(|spec| spec.unschedulable).unwrap_or(false)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::ops::sample::{problem, resolved};

    use super::*;

    const ALL: &str = "opcode: updateNodes, mode: churn, nodesPerSecond: 10, count: 3, labelSelector: {zone: a}, \
        labels: {app: null, tier: 2}, taints: [{key: k, value: v, effect: NoExecute}], removeTaints: [old], \
        conditions: {Ready: 'False'}, unschedulable: true";

    #[test]
    fn fields_are_read_and_bad_values_are_named() {
        let op = resolved::<UpdateNodes>(ALL, &[]);
        assert_eq!((op.mode, op.most, op.change.unschedulable), (UpdateMode::Churn, Some(3), Some(true)));
        assert_eq!(
            op.change.labels,
            [("app".to_owned(), None), ("tier".to_owned(), Some("2".to_owned()))].into()
        );
        let cases = [
            (
                "opcode: updateNodes, labels: {a: b}, mode: churn",
                "c.yaml:3:5: op updateNodes has no `nodesPerSecond`; with `mode: churn`, say how many nodes change a second",
            ),
            (
                "opcode: updateNodes",
                "c.yaml:3:5: op updateNodes has no `labels`; say what changes: `labels`, `taints`, `removeTaints`, \
                 `conditions` or `unschedulable`",
            ),
            (
                "opcode: updateNodes, taints: [{key: a, effect: Never}]",
                "c.yaml:3:53: `effect: Never` of a taint is not allowed; write NoSchedule, PreferNoSchedule or NoExecute",
            ),
            (
                "opcode: updateNodes, conditions: {Ready: maybe}",
                "c.yaml:3:39: `conditions: maybe` of op updateNodes is not allowed; write \"True\", \"False\" or \"Unknown\"",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(problem(text), expected);
        }
    }

    #[test]
    fn inverse_of_a_change_puts_the_node_back() {
        let node: api::Node = serde_json::from_value(json!({ "metadata": { "labels": { "app": "cache" } },
            "spec": { "taints": [{ "key": "old", "effect": "NoSchedule" }, { "key": "kept", "effect": "NoSchedule" }] },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }] } }))
        .expect("a node");
        let change = resolved::<UpdateNodes>(ALL, &[]).change;
        let mut changed = change.of_spec(&node);
        changed.status.get_or_insert_default().conditions = change.of_conditions(&node);
        assert_ne!(changed, node);
        let inverse = change.inverse(&node);
        let mut back = inverse.of_spec(&changed);
        back.status.get_or_insert_default().conditions = inverse.of_conditions(&changed);
        let taints = |node: &api::Node| {
            let mut keys: Vec<String> =
                node.spec.iter().flat_map(|it| it.taints.iter().flatten()).map(|it| it.key.clone()).collect();
            keys.sort();
            keys
        };
        assert_eq!(taints(&back), taints(&node));
        assert_eq!((&back.metadata.labels, &back.status), (&node.metadata.labels, &node.status));
    }
}
