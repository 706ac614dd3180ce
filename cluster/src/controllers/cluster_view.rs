//! What a controller that moves pods sees at one moment: nodes, the pods on them, and what would fit where.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use rustc_hash::FxHashMap;
use schedlab_core::ids::PodUid;
use schedlab_core::input::{NodeInput, PodInput};

use super::SideTables;
use super::amounts::{amounts_of, asks_of, covers, subtract};
use super::node_rules::{NodeRules, Verdict};
use crate::api::{EventKind, NodeEntry, NodeNameId, PodFlags, PodSpecEntry, SpecId, StoredPodRow};
use crate::quota::Amounts;

/// What is known of a cluster between two looks at it.
#[derive(Debug, Default)]
pub(super) struct KnownCluster {
    pub(super) nodes: BTreeMap<NodeNameId, Arc<NodeEntry>>,
    pub(super) pods: BTreeMap<PodUid, StoredPodRow>,
    bodies: FxHashMap<SpecId, Body>,
}

/// What pods of a body have in common.
#[derive(Debug)]
struct Body {
    entry: Arc<PodSpecEntry>,
    asks: Arc<Amounts>,
    rules: NodeRules,
}

/// Bodies that are remembered; more are looked at again.
const BODIES_MAX: usize = 4096;

impl KnownCluster {
    pub(super) fn on_node(&mut self, kind: EventKind, entry: &Arc<NodeEntry>) {
        if kind == EventKind::Deleted {
            self.nodes.remove(&entry.name);
        } else {
            self.nodes.insert(entry.name, Arc::clone(entry));
        }
    }

    /// Whether that was news.
    pub(super) fn on_pod(&mut self, kind: EventKind, row: &StoredPodRow) -> bool {
        if kind == EventKind::Deleted {
            return self.pods.remove(&row.uid).is_some();
        }
        let is_news =
            self.pods.get(&row.uid).is_none_or(|known| known.resource_version < row.resource_version);
        if is_news {
            self.pods.insert(row.uid, *row);
        }
        is_news
    }

    /// What pods of this body are like.
    pub(super) fn look_up(&mut self, spec: SpecId, tables: SideTables<'_>) {
        if BODIES_MAX <= self.bodies.len() {
            self.bodies.clear();
        }
        self.bodies.entry(spec).or_insert_with(|| {
            let entry = tables.pod_spec(spec);
            let rules = NodeRules::of(&entry.object);
            Body { asks: Arc::new(asks_of(spec, tables)), rules, entry }
        });
    }

    /// Nodes of this kind and the pods on them. Pods that are about to go are not there.
    pub(super) fn view(
        &mut self,
        tables: SideTables<'_>,
        is_wanted: impl Fn(&NodeEntry) -> bool,
    ) -> ClusterView<'_> {
        let wanted = self.nodes.values().filter(|entry| is_wanted(entry));
        let mut nodes: Vec<NodeView> = wanted.map(|entry| NodeView::of(entry)).collect();
        nodes.sort_by(|one, other| one.input.name.cmp(&other.input.name));
        let at_of: BTreeMap<NodeNameId, usize> =
            nodes.iter().enumerate().map(|(at, node)| (node.name, at)).collect();
        let rows: Vec<StoredPodRow> = self.pods.values().copied().collect();
        let mut pods = Vec::new();
        for row in rows {
            let Some(&node) = row.node.and_then(|name| at_of.get(&name)) else { continue };
            if row.flags.contains(PodFlags::TERMINATING) {
                continue;
            }
            self.look_up(row.spec, tables);
            let body = &self.bodies[&row.spec];
            let pod = PodView {
                row,
                node,
                entry: Arc::clone(&body.entry),
                asks: Arc::clone(&body.asks),
                is_taken: false,
            };
            if !row.phase.is_finished() {
                nodes[node].take(&pod.asks);
            }
            pods.push(pod);
        }
        ClusterView { nodes, pods, bodies: &mut self.bodies }
    }
}

/// A node, and how much of it is taken.
#[derive(Clone, Debug)]
pub(super) struct NodeView {
    pub(super) name: NodeNameId,
    pub(super) input: Arc<NodeInput>,
    pub(super) has: Amounts,
    pub(super) left: Amounts,
    pub(super) used: Amounts,
}

impl NodeView {
    fn of(entry: &NodeEntry) -> NodeView {
        let has = amounts_of(&entry.object);
        NodeView {
            name: entry.name,
            input: Arc::clone(&entry.input),
            left: has.clone(),
            has,
            used: Amounts::new(),
        }
    }

    pub(super) fn take(&mut self, asks: &Amounts) {
        subtract(&mut self.left, asks);
        for (name, &asked) in asks {
            let used = self.used.entry(name.clone()).or_default();
            *used = used.plus(asked);
        }
    }

    pub(super) fn give_back(&mut self, asks: &Amounts) {
        subtract(&mut self.used, asks);
        for (name, &asked) in asks {
            let left = self.left.entry(name.clone()).or_default();
            *left = left.plus(asked);
        }
    }

    /// How much of a resource is taken, in percent. What a node does not have is not taken.
    #[allow(clippy::cast_precision_loss, reason = "a share")]
    pub(super) fn percent_used(&self, resource: &str) -> f64 {
        let milli = |of: &Amounts| of.get(resource).map_or(0, |amount| amount.milli());
        match milli(&self.has) {
            0 => 0.0,
            has => milli(&self.used) as f64 * 100.0 / has as f64,
        }
    }
}

/// A pod on a node.
#[derive(Clone, Debug)]
pub(super) struct PodView {
    pub(super) row: StoredPodRow,
    /// Its place in the list of nodes.
    pub(super) node: usize,
    pub(super) entry: Arc<PodSpecEntry>,
    pub(super) asks: Arc<Amounts>,
    /// It is to go.
    pub(super) is_taken: bool,
}

impl PodView {
    pub(super) fn input(&self) -> &PodInput {
        &self.entry.input
    }

    pub(super) fn object(&self) -> &Pod {
        &self.entry.object
    }

    pub(super) fn is_there(&self) -> bool {
        !self.is_taken && !self.row.phase.is_finished()
    }

    pub(super) fn annotation(&self, key: &str) -> Option<&str> {
        self.object().metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    /// Those that go first come first: unimportant, then without guarantees, then young.
    pub(super) fn eviction_order(&self) -> (i32, u8, Reverse<u64>, PodUid) {
        (self.input().priority, self.quality(), Reverse(self.row.created_ns), self.row.uid)
    }

    /// 0 for BestEffort, 1 for Burstable, 2 for Guaranteed. Upstream: qos.go `GetPodQOS`.
    fn quality(&self) -> u8 {
        let spec = self.object().spec.as_ref();
        let containers = spec.map_or(&[][..], |spec| &spec.containers);
        let lists = |container: &k8s_openapi::api::core::v1::Container| {
            let resources = container.resources.clone().unwrap_or_default();
            (resources.requests.unwrap_or_default(), resources.limits.unwrap_or_default())
        };
        let all: Vec<_> = containers.iter().map(lists).collect();
        let is_guaranteed = all.iter().all(|(requests, limits)| {
            ["cpu", "memory"]
                .iter()
                .all(|name| limits.contains_key(*name) && requests.get(*name) == limits.get(*name))
        });
        match all.iter().all(|(requests, limits)| requests.is_empty() && limits.is_empty()) {
            true => 0,
            false => 1 + u8::from(is_guaranteed),
        }
    }
}

/// Nodes and pods at one moment.
#[derive(Debug)]
pub(super) struct ClusterView<'a> {
    pub(super) nodes: Vec<NodeView>,
    /// By age: the order in which they were created.
    pub(super) pods: Vec<PodView>,
    bodies: &'a mut FxHashMap<SpecId, Body>,
}

impl ClusterView<'_> {
    /// The places of pods on a node that are still to be there.
    pub(super) fn pods_on(&self, node: usize) -> Vec<usize> {
        (0..self.pods.len()).filter(|&at| self.pods[at].node == node && self.pods[at].is_there()).collect()
    }

    /// What pods of a body ask of their node.
    pub(super) fn rules(&mut self, spec: SpecId) -> &mut NodeRules {
        &mut self.bodies.get_mut(&spec).expect("bodies of pods in view are looked up").rules
    }

    /// Whether labels, taints and cordon let pods of a body come to a node.
    pub(super) fn may_come(&mut self, spec: SpecId, node: usize) -> bool {
        let input = Arc::clone(&self.nodes[node].input);
        !input.unschedulable && self.rules(spec).verdict(&input) == Verdict::Runs
    }

    /// Whether pods of a body would find room on a node.
    pub(super) fn fits(&mut self, spec: SpecId, asks: &Amounts, node: usize) -> bool {
        covers(&self.nodes[node].left, asks) && self.may_come(spec, node)
    }

    /// Another node where the pod would find room.
    pub(super) fn other_place(&mut self, pod: usize) -> Option<usize> {
        let (spec, node) = (self.pods[pod].row.spec, self.pods[pod].node);
        let asks = Arc::clone(&self.pods[pod].asks);
        (0..self.nodes.len()).filter(|&other| other != node).find(|&other| self.fits(spec, &asks, other))
    }

    /// The pod is to go: its room is free.
    pub(super) fn remove(&mut self, pod: usize) {
        let PodView { node, ref asks, .. } = self.pods[pod];
        let asks = Arc::clone(asks);
        if self.pods[pod].is_there() {
            self.nodes[node].give_back(&asks);
        }
        self.pods[pod].is_taken = true;
    }

    /// How many pods an owner has.
    pub(super) fn replicas(&self, owner: &str) -> usize {
        let is_of = |pod: &&PodView| {
            pod.is_there() && pod.input().controller.as_ref().is_some_and(|it| it.uid == owner)
        };
        self.pods.iter().filter(is_of).count()
    }
}
