//! deleteNodes: deletes nodes, as somebody who removes machines does. Upstream has no such op.

use std::sync::Arc;

use schedlab_cluster::api::{Api, ObjectKey, PodFilter};
use schedlab_cluster::{EmbeddedCluster, StatusReason};
use schedlab_core::ids::PodUid;

use super::chosen::{self, LabelSelector};
use super::count::Count;
use super::descriptor::{OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, RunOp, WrittenOp, one};
use super::pace::{Pace, WrittenPace};
use crate::executor::{Ending, OpContext, OpError, OpTally};
use crate::resolve::{Limit, OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "deleteNodes", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

const FIELDS: &[&str] = &[
    "opcode",
    "count",
    "countParam",
    "labelSelector",
    "nodesPerSecond",
    "nodesPerSecondParam",
    "skipWaitToCompletion",
    "deletePods",
];

/// deleteNodes as written.
#[derive(Clone, Debug)]
struct DeleteNodesOp {
    count: Count,
    labels: LabelSelector,
    pace: WrittenPace,
    pods: PodsOfNode,
}

/// deleteNodes, ready to run. The nodes are listed when the op starts, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteNodes {
    /// At most so many; all if absent.
    pub most: Option<u32>,
    /// Labels a node must have; all nodes if empty.
    pub label_selector: LabelSelector,
    /// How fast.
    pub pace: Pace,
    /// What becomes of their pods.
    pub pods: PodsOfNode,
}

/// What becomes of the pods on a node that is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodsOfNode {
    /// They stay bound to it.
    Stay,
    /// They are deleted with it, as kube-controller-manager's pod garbage collector does.
    Go,
}

fn parse(file: &str, node: &Node) -> Result<DeleteNodesOp, SchemaError> {
    let fields = Fields::read(file, "op deleteNodes", node, FIELDS)?;
    Ok(DeleteNodesOp {
        count: Count::optional(&fields)?,
        labels: fields.string_map("labelSelector")?,
        pace: WrittenPace::read(&fields, "nodesPerSecond", "nodesPerSecondParam")?,
        pods: if fields.switch("deletePods")? { PodsOfNode::Go } else { PodsOfNode::Stay },
    })
}

impl WrittenOp for DeleteNodesOp {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, resolver: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        Ok(one(DeleteNodes {
            most: chosen::most(&self.count, resolver, Limit::Nodes)?,
            label_selector: self.labels.clone(),
            pace: self.pace.resolve(resolver)?,
            pods: self.pods,
        }))
    }
}

impl ResolvedOp for DeleteNodes {
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

impl RunOp for DeleteNodes {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        let cluster = Arc::clone(&context.cluster);
        let nodes = chosen::nodes(&cluster, &self.label_selector, self.most);
        let names: Vec<String> = nodes.iter().map(|node| node.input.name.clone()).collect();
        let (tally, pods) = (context.tally(&["nodes_deleted", "pods_deleted"]), self.pods);
        self.pace.go_through(context, names.len(), move |at| delete(&cluster, &names[at], pods, &tally))
    }
}

fn delete(cluster: &EmbeddedCluster, name: &str, pods: PodsOfNode, tally: &OpTally) -> Result<(), OpError> {
    match cluster.delete(&ObjectKey::node(name), None) {
        Ok(()) => tally.add("nodes_deleted", 1),
        // Somebody was quicker.
        Err(error) if error.reason == StatusReason::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    if pods == PodsOfNode::Go {
        let node = Some(cluster.node_name_id(name));
        let on_it = cluster.pods_now(PodFilter::default()).into_iter().filter(|row| row.node == node);
        let uids: Vec<PodUid> = on_it.map(|row| row.uid).collect();
        let mut results = Vec::with_capacity(uids.len());
        cluster.delete_pods_batch(&uids, &mut results);
        tally.add("pods_deleted", results.iter().filter(|result| result.is_ok()).count() as u64);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::ops::sample::{problem, resolved};

    use super::*;

    #[test]
    fn fields_are_read_and_bad_values_are_named() {
        let op = resolved::<DeleteNodes>(
            "opcode: deleteNodes, countParam: $few, labelSelector: {zone: a}, nodesPerSecond: 2.5, deletePods: true",
            &[("few", 3)],
        );
        let pace = Pace { per_second: 2.5, in_background: false };
        assert_eq!((op.most, op.pace, op.pods), (Some(3), pace, PodsOfNode::Go));
        assert_eq!(op.label_selector["zone"], "a");
        assert_eq!(
            problem("opcode: deleteNodes, nodesPerSecond: -1"),
            "c.yaml:3:43: `nodesPerSecond: -1` of op deleteNodes is not allowed; write 0 or more"
        );
        assert_eq!(
            problem("opcode: deleteNodes, nodesPerSecondParam: $rate"),
            "c.yaml:3: Case/W: op 0 (deleteNodes): parameter $rate is not set; add `rate` to `params` of this workload"
        );
    }
}
