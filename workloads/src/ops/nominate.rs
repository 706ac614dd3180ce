//! nominate: somebody outside the scheduler writes `status.nominatedNodeName` (KEP-5278). Upstream has no such
//! op.
//!
//! Pods that wait are nominated to the chosen nodes in turn.

use std::sync::Arc;

use schedlab_cluster::StatusReason;
use schedlab_cluster::api::{Api, NominatedNodeNamePatch, PodStatusPatch, StoredPodRow};

use super::chosen::{self, LabelSelector};
use super::count::Count;
use super::descriptor::{OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, RunOp, WrittenOp, one};
use super::pace::{Pace, WrittenPace};
use crate::executor::{Ending, OpContext, OpError};
use crate::resolve::{Limit, OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "nominate", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

const FIELDS: &[&str] = &[
    "opcode",
    "count",
    "countParam",
    "namespace",
    "labelSelector",
    "nodeSelector",
    "clear",
    "podsPerSecond",
    "podsPerSecondParam",
    "skipWaitToCompletion",
];

/// nominate as written.
#[derive(Clone, Debug)]
struct NominateOp {
    count: Count,
    namespace: String,
    labels: LabelSelector,
    nomination: Nomination,
    pace: WrittenPace,
}

/// nominate, ready to run. Pods and nodes are listed when the op starts: pods that wait, oldest first, and nodes
/// by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Nominate {
    /// At most so many pods; all if absent.
    pub most: Option<u32>,
    /// Where.
    pub namespace: String,
    /// Labels a pod must have; all pods if empty.
    pub label_selector: LabelSelector,
    /// What is written.
    pub nomination: Nomination,
    /// How fast.
    pub pace: Pace,
}

/// What nominate writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nomination {
    /// The nodes with these labels, in turn.
    Nodes(LabelSelector),
    /// Nothing: the nomination is taken back.
    Clear,
}

impl Nomination {
    fn text(&self) -> String {
        let Nomination::Nodes(labels) = self else { return String::new() };
        labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
    }
}

fn parse(file: &str, node: &Node) -> Result<NominateOp, SchemaError> {
    let fields = Fields::read(file, "op nominate", node, FIELDS)?;
    let clears = fields.switch("clear")?;
    if clears && fields.get("nodeSelector").is_some() {
        return Err(fields.conflict("clear", "nodeSelector", "a nomination that is cleared names no node"));
    }
    let nodes = fields.string_map("nodeSelector")?;
    Ok(NominateOp {
        count: Count::optional(&fields)?,
        namespace: fields.required_string("namespace", "name the namespace of the pods")?,
        labels: fields.string_map("labelSelector")?,
        nomination: if clears { Nomination::Clear } else { Nomination::Nodes(nodes) },
        pace: WrittenPace::read(&fields, "podsPerSecond", "podsPerSecondParam")?,
    })
}

impl WrittenOp for NominateOp {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, resolver: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        Ok(one(Nominate {
            most: chosen::most(&self.count, resolver, Limit::Pods)?,
            namespace: self.namespace.clone(),
            label_selector: self.labels.clone(),
            nomination: self.nomination.clone(),
            pace: self.pace.resolve(resolver)?,
        }))
    }
}

impl ResolvedOp for Nominate {
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

impl RunOp for Nominate {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        let cluster = Arc::clone(&context.cluster);
        let nominations = match &self.nomination {
            Nomination::Clear => vec![NominatedNodeNamePatch::Clear],
            Nomination::Nodes(labels) => {
                let nodes = chosen::nodes(&cluster, labels, None);
                nodes.iter().map(|node| NominatedNodeNamePatch::Set(node.name)).collect()
            }
        };
        if nominations.is_empty() {
            return Err(OpError::NoNode { labels: self.nomination.text() });
        }
        let waits = |row: &StoredPodRow| row.node.is_none() && !row.phase.is_finished();
        let pods = chosen::pods(&cluster, (&self.namespace, &self.label_selector), self.most, waits);
        let tally = context.tally(&["pods_nominated", "came_too_late"]);
        self.pace.go_through(context, pods.len(), move |at| {
            let nomination = nominations[at % nominations.len()];
            let patch = PodStatusPatch { pod: pods[at].uid, condition: None, nomination, phase: None };
            match cluster.patch_pod_status(patch) {
                Ok(_) => tally.add("pods_nominated", 1),
                // It is bound, or gone.
                Err(error) if matches!(error.reason, StatusReason::NotFound | StatusReason::Invalid) => {
                    tally.add("came_too_late", 1);
                }
                Err(error) => return Err(error.into()),
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::ops::sample::{problem, resolved};

    use super::*;

    #[test]
    fn fields_are_read_and_bad_values_are_named() {
        let op = resolved::<Nominate>("opcode: nominate, namespace: a, nodeSelector: {pool: new}", &[]);
        let Nomination::Nodes(labels) = &op.nomination else { panic!("{op:?}") };
        assert_eq!((op.most, labels["pool"].as_str()), (None, "new"));
        let op = resolved::<Nominate>("opcode: nominate, namespace: a, clear: true, count: 1", &[]);
        assert_eq!((op.nomination, op.most), (Nomination::Clear, Some(1)));
        assert_eq!(
            problem("opcode: nominate, namespace: a, clear: true, nodeSelector: {a: b}"),
            "c.yaml:3:65: op nominate sets both `clear` and `nodeSelector`; a nomination that is cleared names no node"
        );
    }
}
