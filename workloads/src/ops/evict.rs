//! evict: evicts pods by the eviction subresource, as `kubectl drain` does. Upstream has no such op.
//!
//! A pod that a PodDisruptionBudget protects stays, and is counted.

use std::sync::Arc;

use schedlab_cluster::StatusReason;
use schedlab_cluster::api::{Api, StoredPodRow};

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
    OpDescriptor { opcode: "evict", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

const FIELDS: &[&str] = &[
    "opcode",
    "count",
    "countParam",
    "namespace",
    "labelSelector",
    "podsPerSecond",
    "podsPerSecondParam",
    "skipWaitToCompletion",
];

/// evict as written.
#[derive(Clone, Debug)]
struct EvictOp {
    count: Count,
    namespace: String,
    labels: LabelSelector,
    pace: WrittenPace,
}

/// evict, ready to run. The pods are listed when the op starts: those on nodes, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Evict {
    /// At most so many; all if absent.
    pub most: Option<u32>,
    /// Where.
    pub namespace: String,
    /// Labels a pod must have; all pods if empty.
    pub label_selector: LabelSelector,
    /// How fast.
    pub pace: Pace,
}

fn parse(file: &str, node: &Node) -> Result<EvictOp, SchemaError> {
    let fields = Fields::read(file, "op evict", node, FIELDS)?;
    Ok(EvictOp {
        count: Count::optional(&fields)?,
        namespace: fields.required_string("namespace", "name the namespace of the pods")?,
        labels: fields.string_map("labelSelector")?,
        pace: WrittenPace::read(&fields, "podsPerSecond", "podsPerSecondParam")?,
    })
}

impl WrittenOp for EvictOp {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, resolver: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        Ok(one(Evict {
            most: chosen::most(&self.count, resolver, Limit::Pods)?,
            namespace: self.namespace.clone(),
            label_selector: self.labels.clone(),
            pace: self.pace.resolve(resolver)?,
        }))
    }
}

impl ResolvedOp for Evict {
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

impl RunOp for Evict {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        let cluster = Arc::clone(&context.cluster);
        let is_on_node = |row: &StoredPodRow| row.node.is_some() && !row.phase.is_finished();
        let pods = chosen::pods(&cluster, (&self.namespace, &self.label_selector), self.most, is_on_node);
        let tally = context.tally(&["pods_evicted", "refused_by_budget", "already_gone"]);
        self.pace.go_through(context, pods.len(), move |at| {
            match cluster.evict_pod(pods[at].uid).map_err(|error| (error.reason, error)) {
                Ok(()) => tally.add("pods_evicted", 1),
                Err((StatusReason::TooManyRequests, _)) => tally.add("refused_by_budget", 1),
                Err((StatusReason::NotFound, _)) => tally.add("already_gone", 1),
                Err((_, error)) => return Err(error.into()),
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
        let op = resolved::<Evict>(
            "opcode: evict, namespace: shop, count: 2, podsPerSecondParam: $rate, skipWaitToCompletion: true",
            &[("rate", 5)],
        );
        let pace = Pace { per_second: 5.0, in_background: true };
        assert_eq!((op.most, op.namespace.as_str(), op.pace), (Some(2), "shop", pace));
        assert_eq!(
            problem("opcode: evict"),
            "c.yaml:3:5: op evict has no `namespace`; name the namespace of the pods"
        );
        assert_eq!(
            problem("opcode: evict, namespace: a, podsPerSecond: fast"),
            "c.yaml:3:50: `podsPerSecond` of op evict is \"fast\"; write a number"
        );
    }
}
