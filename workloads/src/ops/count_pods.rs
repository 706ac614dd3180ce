//! countPods: how many pods of some kind are on nodes of some kind, at this moment. Upstream has no such op.

use std::collections::BTreeMap;
use std::sync::Arc;

use schedlab_cluster::api::{NodeNameId, PodFilter, StoredPodRow};
use schedlab_core::input::{LabelSelectorInput, Labels};

use super::chosen::LabelSelector;
use super::descriptor::{OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, RunOp, WrittenOp, one};
use crate::executor::{Ending, OpContext, OpError};
use crate::resolve::{OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "countPods", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

const FIELDS: &[&str] = &["opcode", "namespace", "labelSelector", "nodeLabelSelector"];

/// countPods, as written and ready to run. Pods that have ended do not count.
#[derive(Clone, Debug, PartialEq)]
pub struct CountPods {
    /// Where; everywhere if absent.
    pub namespace: Option<String>,
    /// Labels a pod must have.
    pub label_selector: LabelSelector,
    /// Labels the pod's node must have.
    pub node_label_selector: LabelSelector,
}

fn parse(file: &str, node: &Node) -> Result<CountPods, SchemaError> {
    let fields = Fields::read(file, "op countPods", node, FIELDS)?;
    Ok(CountPods {
        namespace: fields.string("namespace")?.filter(|name| !name.is_empty()),
        label_selector: fields.string_map("labelSelector")?,
        node_label_selector: fields.string_map("nodeLabelSelector")?,
    })
}

impl WrittenOp for CountPods {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, _: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        Ok(one(self.clone()))
    }
}

impl ResolvedOp for CountPods {
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

impl CountPods {
    fn has_labels(&self, labels: &Labels) -> bool {
        self.node_label_selector.iter().all(|(key, value)| labels.get(key) == Some(value))
    }
}

impl RunOp for CountPods {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        let nodes = context.cluster.nodes_now();
        let wanted = nodes.iter().filter(|node| self.has_labels(&node.input.labels));
        let mut on: BTreeMap<NodeNameId, u64> = wanted.map(|node| (node.name, 0)).collect();
        let selector =
            LabelSelectorInput { match_labels: self.label_selector.clone(), match_expressions: Vec::new() };
        let filter = PodFilter { namespace: self.namespace.as_deref(), labels: Some(&selector) };
        let rows = context.cluster.pods_now(filter);
        let lasting: Vec<&StoredPodRow> = rows.iter().filter(|row| !row.phase.is_finished()).collect();
        for node in lasting.iter().filter_map(|row| row.node) {
            on.entry(node).and_modify(|count| *count += 1);
        }
        let tally = context.tally(&["pods", "most_on_a_node", "pending"]);
        tally.add("pods", on.values().sum());
        tally.add("most_on_a_node", on.values().copied().max().unwrap_or(0));
        tally.add("pending", lasting.iter().filter(|row| row.node.is_none()).count() as u64);
        Ok(Ending::Completed)
    }
}

#[cfg(test)]
mod tests {
    use crate::ops::sample::{problem, resolved};

    use super::*;

    #[test]
    fn fields_are_read_and_unknown_ones_are_named() {
        let op = resolved::<CountPods>(
            "opcode: countPods, namespace: shop, labelSelector: {app: web}, nodeLabelSelector: {zone: a}",
            &[],
        );
        assert_eq!(op.namespace.as_deref(), Some("shop"));
        assert_eq!(
            (op.label_selector["app"].as_str(), op.node_label_selector["zone"].as_str()),
            ("web", "a")
        );
        let text = problem("opcode: countPods, nodes: {zone: a}");
        assert!(text.starts_with("c.yaml:3:25: unknown field `nodes` in op countPods"), "{text}");
    }
}
