//! The plain twin of every fast path: short, obviously right, never optimised.
//!
//! Everything here works on the inputs as they came: no interning, no columns, no masks, no cache.
//! One file is one plugin, with one function for each of its extension points; `schedule` is a
//! whole cycle. Compiled for tests and benches only.
//!
//! The feature gates are the ones the conformance traces were recorded with: pod-level resources
//! and in-place resize are on; comparison operators of tolerations, preemption for deferred
//! resizes are off.

pub mod bench;
pub mod cases;
pub mod dra;
pub mod names;
pub mod node_tree;
pub mod nominated_pods;
pub mod opportunistic_batching;
pub mod plugin_twin;
pub mod pod_group;
pub mod preemption;
pub mod queue;
pub mod requests;
pub mod schedule;
pub mod selector;
pub mod storage;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use crate::input::pod_group::PodGroupInput;
use crate::input::{
    DisruptionBudgetInput, HostPortInput, Labels, NodeInput, PodInput, PodMeta, ServiceInput, WorkloadInput,
};
use crate::plugins::image_locality::naive::NaiveImageStates;
use crate::plugins::node_ports::naive as node_ports;
use dra::NaiveDra;
use storage::NaiveStorage;

/// The highest score a plugin may give a node.
pub const NODE_SCORE_MAX: i64 = 100;

/// A node and the pods on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NaiveNode {
    /// The node itself.
    pub input: NodeInput,
    /// What runs there, in order of arrival.
    pub pods: Vec<NaivePod>,
    /// Host ports that count as free although a pod holds them, see [`NaiveNode::remove_pod`].
    pub freed_ports: Vec<HostPortInput>,
}

impl NaiveNode {
    /// Puts a pod on the node. Its ports are taken.
    pub fn add_pod(&mut self, pod: NaivePod) {
        let ports = node_ports::host_ports(&pod);
        self.freed_ports.retain(|freed| !ports.iter().any(|port| node_ports::is_same(port, freed)));
        self.pods.push(pod);
    }

    /// Takes a pod off the node. Upstream keeps a node's ports as a set: what two pods hold, on the
    /// same address, is free once either of them leaves.
    pub fn remove_pod(&mut self, pod: &NaivePod) {
        if let Some(position) = self.pods.iter().position(|other| other.is_same(pod)) {
            let removed = self.pods.remove(position);
            self.freed_ports.extend(node_ports::host_ports(&removed).into_iter().cloned());
        }
    }
}

/// A pod and what tells it from others like it. Only nominations and preemption read the latter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NaivePod {
    /// All that plugins read.
    pub input: PodInput,
    /// Name, times, nominated node.
    pub meta: PodMeta,
}

impl NaivePod {
    /// Whether both are the same pod: of one namespace and name.
    #[must_use]
    pub fn is_same(&self, other: &NaivePod) -> bool {
        self.input.namespace == other.input.namespace && self.meta.name == other.meta.name
    }
}

impl From<PodInput> for NaivePod {
    fn from(input: PodInput) -> NaivePod {
        NaivePod { input, meta: PodMeta::default() }
    }
}

impl Deref for NaivePod {
    type Target = PodInput;

    fn deref(&self) -> &PodInput {
        &self.input
    }
}

/// All nodes, and whatever else plugins look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NaiveCluster {
    /// The nodes in list order.
    pub nodes: Vec<NaiveNode>,
    /// Size and spread of every image name.
    pub images: NaiveImageStates,
    /// Labels of the namespaces by name.
    pub namespaces: BTreeMap<String, Labels>,
    /// All services.
    pub services: Vec<ServiceInput>,
    /// All workloads that may own pods.
    pub workloads: Vec<WorkloadInput>,
    /// Pending pods with a nominated node, in order of nomination.
    pub nominated: Vec<NaivePod>,
    /// All disruption budgets.
    pub budgets: Vec<DisruptionBudgetInput>,
    /// Volumes, claims and the objects around them.
    pub storage: NaiveStorage,
    /// Devices and claims for them.
    pub dra: NaiveDra,
    /// All pod groups.
    pub pod_groups: Vec<PodGroupInput>,
}

impl NaiveCluster {
    /// A cluster of empty nodes, in this order.
    #[must_use]
    pub fn new(nodes: impl IntoIterator<Item = NodeInput>) -> NaiveCluster {
        let mut cluster = NaiveCluster::default();
        for node in nodes {
            cluster.add_node(node);
        }
        cluster
    }

    /// Appends an empty node.
    pub fn add_node(&mut self, input: NodeInput) {
        self.images.add_node(&input);
        self.nodes.push(NaiveNode { input, ..Default::default() });
    }

    /// Replaces a node in place; its pods stay.
    ///
    /// # Panics
    ///
    /// When there is no node of this name.
    pub fn update_node(&mut self, input: NodeInput) {
        let position = self.position(&input.name);
        self.images.remove_node(&self.nodes[position].input);
        self.images.add_node(&input);
        self.nodes[position].input = input;
    }

    /// Takes a node and its pods out.
    ///
    /// # Panics
    ///
    /// When there is no node of this name.
    pub fn remove_node(&mut self, name: &str) -> NaiveNode {
        let node = self.nodes.remove(self.position(name));
        self.images.remove_node(&node.input);
        node
    }

    /// Puts a pod on a node.
    ///
    /// # Panics
    ///
    /// When there is no node of this name.
    pub fn add_pod(&mut self, node_name: &str, pod: impl Into<NaivePod>) {
        let position = self.position(node_name);
        self.nodes[position].add_pod(pod.into());
    }

    /// The group that a pod names, if it is there.
    #[must_use]
    pub fn pod_group(&self, pod: &NaivePod) -> Option<&PodGroupInput> {
        let name = pod.meta.pod_group.as_ref()?;
        self.pod_groups.iter().find(|group| group.namespace == pod.namespace && group.name == *name)
    }

    /// The priority by which a pod is a victim: its group's, if it has one.
    #[must_use]
    pub fn victim_priority(&self, pod: &NaivePod) -> i32 {
        self.pod_group(pod).map_or(pod.priority, |group| group.priority)
    }

    /// Puts the nodes into the order of `names`.
    ///
    /// # Panics
    ///
    /// When a node is not among the names.
    pub fn reorder(&mut self, names: &[String]) {
        self.nodes.sort_by_key(|node| {
            names.iter().position(|name| *name == node.input.name).expect("every node is in the new order")
        });
    }

    fn position(&self, name: &str) -> usize {
        self.nodes.iter().position(|node| node.input.name == name).expect("the node is in the cluster")
    }
}

/// How a node was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NaiveCode {
    /// Evicting pods might help.
    Unschedulable,
    /// Evicting pods cannot help.
    UnschedulableAndUnresolvable,
}

/// A plugin's rejection of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NaiveVerdict {
    /// Who rejected; empty when no single plugin did.
    pub plugin: &'static str,
    /// Whether evictions might help.
    pub code: NaiveCode,
    /// Why, in upstream's words and in the order they were found.
    pub reasons: Vec<String>,
}

impl NaiveVerdict {
    pub(crate) fn new(plugin: &'static str, code: NaiveCode, reason: impl Into<String>) -> NaiveVerdict {
        NaiveVerdict { plugin, code, reasons: vec![reason.into()] }
    }
}

/// What a plugin's PreFilter says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NaivePreFilter {
    /// Filter every node.
    AllNodes,
    /// Filter only the nodes of these names; the others are out.
    Nodes(BTreeSet<String>),
    /// The plugin's Filter has nothing to say about this pod.
    Skip,
    /// No node will do.
    Reject(NaiveVerdict),
}

/// Scales scores so that the highest becomes 100.
///
/// Upstream: plugins/helper/normalize_score.go `DefaultNormalizeScore`.
#[must_use]
pub fn normalize(raw: &[i64]) -> Vec<i64> {
    let highest = raw.iter().copied().max().unwrap_or(0).max(0);
    if highest == 0 {
        return raw.to_vec();
    }
    raw.iter().map(|score| NODE_SCORE_MAX * score / highest).collect()
}

/// Scales scores so that the highest becomes 0 and nothing becomes 100.
///
/// Upstream: plugins/helper/normalize_score.go `DefaultNormalizeScore` with `reverse`.
#[must_use]
pub fn normalize_reversed(raw: &[i64]) -> Vec<i64> {
    normalize(raw).iter().map(|score| NODE_SCORE_MAX - score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{NodeParts, bare_node};

    #[test]
    fn normalize_cases() {
        struct Case {
            name: &'static str,
            raw: &'static [i64],
            normal: &'static [i64],
            reversed: &'static [i64],
        }
        #[rustfmt::skip]
        let cases = [
            Case { name: "no nodes", raw: &[], normal: &[], reversed: &[] },
            Case { name: "all zero", raw: &[0, 0], normal: &[0, 0], reversed: &[100, 100] },
            Case { name: "the highest gets all", raw: &[1, 2, 3, 4], normal: &[25, 50, 75, 100], reversed: &[75, 50, 25, 0] },
            Case { name: "division drops the rest", raw: &[1, 3], normal: &[33, 100], reversed: &[67, 0] },
            Case { name: "beyond a hundred", raw: &[1000, 10, 2000], normal: &[50, 0, 100], reversed: &[50, 100, 0] },
        ];
        for case in &cases {
            assert_eq!(normalize(case.raw), case.normal, "case: {}", case.name);
            assert_eq!(normalize_reversed(case.raw), case.reversed, "case: {}", case.name);
        }
    }

    #[test]
    fn cluster_keeps_nodes_in_the_order_given() {
        let mut cluster = NaiveCluster::new([bare_node("a"), bare_node("b"), bare_node("c")]);
        cluster.add_pod("b", PodInput::default());
        cluster.update_node(bare_node("b").has(&[("cpu", "1")]));
        assert_eq!(cluster.nodes[1].pods.len(), 1);
        assert_eq!(cluster.remove_node("a").input.name, "a");
        cluster.reorder(&["c".to_owned(), "b".to_owned()]);
        let names: Vec<_> = cluster.nodes.iter().map(|n| &n.input.name).collect();
        assert_eq!(names, ["c", "b"]);
    }
}
