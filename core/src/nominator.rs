//! Pods nominated to nodes: they hold room there until they are placed or think otherwise.
//!
//! Upstream: backend/queue/nominator.go. A nomination may name a node that does not exist (yet).

use rustc_hash::FxHashMap;

use crate::ids::{ClassId, NodeId, PodUid};
use crate::mutants::{Mutant, Mutants};
use crate::reclaim::Marks;

/// What becomes of a pod's own nominated node when a node is looked for (KEP-1923).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TryNominated {
    /// It is a node like any other.
    Never,
    /// It is looked at before all others; if it does not fit, they are searched in the same cycle.
    #[default]
    First,
    /// It is looked at before all others; if it does not fit, the cycle ends there.
    FirstOrMiss,
}

/// A pod nominated to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NominatedPod {
    /// The pod.
    pub pod: PodUid,
    /// Its class.
    pub class: ClassId,
    /// The highest priority that it holds room against: its own; one less for another scheduler's pod.
    pub priority: i32,
}

impl NominatedPod {
    /// Whether the pod holds room against a pod of this priority. Nobody does so against itself.
    #[must_use]
    pub fn holds_against(&self, priority: i32, pod: Option<PodUid>) -> bool {
        self.priority >= priority && Some(self.pod) != pod
    }
}

/// All nominations.
#[derive(Clone, Debug, Default)]
pub struct Nominator {
    by_node: FxHashMap<NodeId, Vec<NominatedPod>>,
    by_pod: FxHashMap<PodUid, NodeId>,
    version: u64,
    mutants: Mutants,
}

impl Nominator {
    pub(crate) fn set_mutants(&mut self, mutants: Mutants) {
        self.mutants = mutants;
    }

    /// Nominates a pod, instead of what it was nominated to before.
    pub fn add_nominated_pod(&mut self, node: NodeId, nomination: NominatedPod) {
        let below = i32::from(self.mutants.has(Mutant::EqualsTakeRoom));
        let nomination = NominatedPod { priority: nomination.priority.saturating_sub(below), ..nomination };
        if !self.mutants.has(Mutant::PhantomNomination) {
            self.delete_nominated_pod_if_exists(nomination.pod);
        }
        self.by_pod.insert(nomination.pod, node);
        self.by_node.entry(node).or_default().push(nomination);
        self.version += 1;
    }

    /// Takes a pod's nomination back. Returns the node it was nominated to.
    pub fn delete_nominated_pod_if_exists(&mut self, pod: PodUid) -> Option<NodeId> {
        let node = self.by_pod.remove(&pod)?;
        let list = self.by_node.get_mut(&node).expect("both indexes agree");
        let before = list.len();
        list.retain(|nomination| nomination.pod != pod);
        debug_assert!(list.len() < before, "both indexes agree");
        if list.is_empty() {
            self.by_node.remove(&node);
        }
        self.version += 1;
        Some(node)
    }

    /// The node a pod is nominated to.
    #[must_use]
    pub fn node_of(&self, pod: PodUid) -> Option<NodeId> {
        self.by_pod.get(&pod).copied()
    }

    /// The pods nominated to a node, oldest nomination first.
    #[must_use]
    pub fn nominated_pods_for_node(&self, node: NodeId) -> &[NominatedPod] {
        self.by_node.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Nodes that pods are nominated to, in no particular order.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &[NominatedPod])> + '_ {
        self.by_node.iter().map(|(&node, list)| (node, list.as_slice()))
    }

    /// Nobody is nominated.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_pod.is_empty()
    }

    /// Pods nominated.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_pod.len()
    }

    /// Panics where the two indexes do not agree. See `World::check`.
    pub(crate) fn check(&self) {
        let listed: usize = self.by_node.values().map(Vec::len).sum();
        assert_eq!(listed, self.by_pod.len(), "a pod is nominated to one node");
        for (node, list) in self.nodes() {
            assert!(!list.is_empty(), "a node without nominations is not listed");
            for nomination in list {
                assert_eq!(self.node_of(nomination.pod), Some(node), "both indexes name one node");
            }
        }
    }

    /// Marks what nominations refer to.
    pub(crate) fn mark(&self, marks: &mut Marks) {
        for (node, list) in self.nodes() {
            marks.node(node);
            list.iter().for_each(|nomination| marks.class(nomination.class));
        }
        self.by_pod.values().for_each(|&node| marks.node(node));
    }

    /// Memory that is for nothing.
    pub(crate) fn shrink(&mut self) {
        self.by_node.shrink_to(2 * self.by_node.len());
        self.by_pod.shrink_to(2 * self.by_pod.len());
    }

    /// Moves with every change.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nomination(pod: u64) -> NominatedPod {
        NominatedPod { pod: PodUid(pod), class: ClassId(0), priority: 0 }
    }

    #[test]
    fn pod_is_nominated_to_one_node_at_a_time() {
        let mut nominations = Nominator::default();
        nominations.add_nominated_pod(NodeId(1), nomination(7));
        nominations.add_nominated_pod(NodeId(1), nomination(8));
        nominations.add_nominated_pod(NodeId(2), nomination(7));
        assert_eq!(nominations.nominated_pods_for_node(NodeId(1)), [nomination(8)]);
        assert_eq!(nominations.nominated_pods_for_node(NodeId(2)), [nomination(7)]);
        assert_eq!(nominations.node_of(PodUid(7)), Some(NodeId(2)));
        assert_eq!(nominations.delete_nominated_pod_if_exists(PodUid(7)), Some(NodeId(2)));
        assert_eq!(nominations.delete_nominated_pod_if_exists(PodUid(7)), None);
        assert!(nominations.nominated_pods_for_node(NodeId(2)).is_empty());
        assert_eq!(nominations.len(), 1);
    }
}
