//! A model of the cluster autoscaler: adds nodes for pods that no node has room for, and removes nodes that it
//! believes idle.
//!
//! ```text
//!   scan ─▶ pods with PodScheduled=False, Unschedulable, that would not fit now ─▶ first group they fit ─▶ pack
//!             └─ provisionSeconds ─▶ POST nodes ─▶ nominatesPods: PATCH nominatedNodeName (KEP-5278, story 3)
//!   scan ─▶ nodes of a group without pods since unneededSeconds ─▶ DELETE nodes
//!             └─ honoursNominations: one that a pod is nominated to is not idle (KEP-5278, story 1)
//! ```
//!
//! A pod that comes to a node which was just removed was being bound while the autoscaler saw nothing of it: that
//! removal is counted as a wrong one.
//!
//! Upstream: kubernetes/autoscaler cluster-autoscaler/core/static_autoscaler.go `RunOnce`,
//! core/scaleup/orchestrator, core/scaledown/unneeded.
//! Differs: the first group that fits is taken instead of an expander's choice
//! (`pods_that_fit_nowhere_get_nodes_of_the_first_group_that_suits_them`). Not built: only labels, taints and resources
//! decide what fits; nodes with pods are never emptied; a scan that could change nothing is left out.

mod groups;
mod room;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use schedlab_core::ids::PodUid;

use super::amounts::{amounts_of, asks_of, covers, subtract};
use super::config::ConfigFields;
use super::node_rules::{NodeRules, Verdict};
use super::{
    CallToken, Controller, ControllerAnswer, ControllerCall, ControllerConfigError, ControllerContext,
    ControllerDescriptor, ControllerReport, ControllerRequest, ControllerSettings, LatencySamples,
    PodsWatched, Remaining, Sharding, SideTables, WatchScope,
};
use crate::api::{
    ApiError, ConditionSetId, ConditionStatus, EventKind, NodeEntry, NodeNameId, NominatedNodeNamePatch,
    Object, ObjectKey, PodFlags, SpecId, StatusReason, StoredPodRow, WatchEvent, WatchedObject,
};
use crate::quota::Amounts;
pub use groups::NODE_GROUP;
use groups::NodeGroup;
use room::Room;

/// Its line in the list of controllers.
pub const DESCRIPTOR: ControllerDescriptor = ControllerDescriptor {
    name: "cluster-autoscaler",
    about: "adds nodes for pods that fit nowhere and removes those it believes idle",
    started_by_feature_gate: None,
    scope: WatchScope { nodes: true, pods: PodsWatched::All, kinds: &[] },
    sharding: Sharding::None,
    constructor: new,
};

const SECOND_NS: u64 = 1_000_000_000;
/// Upstream: the flags `--scan-interval` and `--scale-down-unneeded-time`.
const SCAN_INTERVAL_NS: u64 = 10 * SECOND_NS;
const UNNEEDED_NS: u64 = 600 * SECOND_NS;
/// Pods that one scan looks at.
const PODS_PER_SCAN: usize = 2_000;

#[derive(Clone, Copy, Debug)]
struct Times {
    scan_interval_ns: u64,
    provision_ns: u64,
    unneeded_ns: u64,
}

/// What it does beside adding nodes.
#[derive(Clone, Copy, Debug)]
struct Habits {
    scales_down: bool,
    nominates_pods: bool,
    honours_nominations: bool,
    /// The reasons of PodScheduled=False that call for nodes.
    triggered_by_not_ready: bool,
}

fn new(settings: &ControllerSettings) -> Result<Box<dyn Controller>, ControllerConfigError> {
    let mut config = ConfigFields::of(settings)?;
    let groups = NodeGroup::read_all(config.take("nodeGroups"))?;
    let times = Times {
        scan_interval_ns: config.seconds("scanIntervalSeconds", SCAN_INTERVAL_NS)?.max(1_000_000),
        provision_ns: config.seconds("provisionSeconds", 0)?,
        unneeded_ns: config.seconds("unneededSeconds", UNNEEDED_NS)?,
    };
    let habits = Habits {
        scales_down: config.switch("scaleDown", true)?,
        nominates_pods: config.switch("nominatesPods", false)?,
        honours_nominations: config.switch("honoursNominations", true)?,
        triggered_by_not_ready: config.switch("triggeredByNotReadyForScheduling", false)?,
    };
    config.finish()?;
    Ok(Box::new(ClusterAutoscaler {
        groups,
        times,
        habits,
        nodes: BTreeMap::new(),
        pods: BTreeMap::new(),
        asks: FxHashMap::default(),
        rules: FxHashMap::default(),
        calls_for_node: FxHashMap::default(),
        upcoming: Vec::new(),
        removed: BTreeMap::new(),
        calls: BTreeMap::new(),
        outgoing: Vec::new(),
        nodes_made: 0,
        last_token: 0,
        next_scan_ns: 0,
        is_stale: false,
        counts: Counts::default(),
        latency: LatencySamples::new("scale_up"),
    }))
}

#[derive(Debug)]
struct KnownNode {
    entry: Arc<NodeEntry>,
    group: Option<usize>,
    /// Pods on it that keep it: a daemon's pod keeps none.
    pods: usize,
    used: Amounts,
    /// Nobody has needed it since.
    idle_since_ns: u64,
    is_going: bool,
}

#[derive(Clone, Copy, Debug)]
struct KnownPod {
    row: StoredPodRow,
    waits_for_node: bool,
    since_ns: u64,
}

/// A node that is ordered.
#[derive(Debug)]
struct Upcoming {
    name: String,
    group: usize,
    due_ns: u64,
    /// Those it is for; it is to be told to them, oldest first.
    pods: Vec<PodUid>,
    left: Amounts,
    is_asked_for: bool,
    /// The API has taken it; the watch has yet to tell of it.
    has_joined: bool,
}

/// What pods of a body ask of their node, and whether a DaemonSet owns them.
type Asks = (Arc<Amounts>, bool);

#[derive(Clone, Debug)]
enum About {
    Creation(String),
    Nomination,
    Deletion(NodeNameId),
}

/// A node that was removed.
#[derive(Debug)]
struct Removed {
    _name: Arc<str>,
    /// A pod came to it afterwards.
    was_needed: bool,
}

#[derive(Debug, Default)]
struct Counts {
    scans: u64,
    nodes_added: u64,
    nodes_removed: u64,
    removed_wrongly: u64,
    pods_nominated: u64,
    refused: u64,
}

#[derive(Debug)]
struct ClusterAutoscaler {
    groups: Vec<NodeGroup>,
    times: Times,
    habits: Habits,
    nodes: BTreeMap<NodeNameId, KnownNode>,
    pods: BTreeMap<PodUid, KnownPod>,
    asks: FxHashMap<SpecId, Asks>,
    rules: FxHashMap<SpecId, NodeRules>,
    calls_for_node: FxHashMap<ConditionSetId, bool>,
    upcoming: Vec<Upcoming>,
    /// Nodes that were removed. A name that is held keeps its id.
    removed: BTreeMap<NodeNameId, Removed>,
    calls: BTreeMap<CallToken, About>,
    outgoing: Vec<ControllerCall>,
    nodes_made: u64,
    last_token: u64,
    next_scan_ns: u64,
    /// Something has changed since the last scan.
    is_stale: bool,
    counts: Counts,
    latency: LatencySamples,
}

impl ClusterAutoscaler {
    fn call(&mut self, about: About, request: ControllerRequest) {
        self.last_token += 1;
        let token = CallToken(self.last_token);
        self.calls.insert(token, about);
        self.outgoing.push(ControllerCall { token, request });
    }

    fn on_node(&mut self, kind: EventKind, entry: &Arc<NodeEntry>, now_ns: u64) {
        self.is_stale = true;
        if kind == EventKind::Deleted {
            self.nodes.remove(&entry.name);
            return;
        }
        let group = entry.input.labels.get(NODE_GROUP);
        let group = group.and_then(|name| self.groups.iter().position(|group| group.name == *name));
        self.upcoming.retain(|node| node.name != entry.input.name || !node.has_joined);
        match self.nodes.get_mut(&entry.name) {
            Some(known) => (known.entry, known.group) = (Arc::clone(entry), group),
            None => {
                let node = KnownNode {
                    entry: Arc::clone(entry),
                    group,
                    pods: 0,
                    used: Amounts::new(),
                    idle_since_ns: now_ns,
                    is_going: false,
                };
                self.nodes.insert(entry.name, node);
                let on_it: Vec<KnownPod> =
                    self.pods.values().filter(|pod| pod.row.node == Some(entry.name)).copied().collect();
                on_it.iter().for_each(|pod| self.place(&pod.row, now_ns, Arriving::Comes));
            }
        }
    }

    fn on_pod(&mut self, kind: EventKind, row: &StoredPodRow, context: ControllerContext<'_>) {
        if let Some(known) = self.pods.get(&row.uid)
            && known.row.resource_version >= row.resource_version
            && kind != EventKind::Deleted
        {
            return;
        }
        self.asks.entry(row.spec).or_insert_with(|| {
            let owner = &context.tables.pod_spec(row.spec).input.controller;
            let is_daemon = owner.as_ref().is_some_and(|owner| owner.kind == "DaemonSet");
            (Arc::new(asks_of(row.spec, context.tables)), is_daemon)
        });
        let known = self.pods.remove(&row.uid);
        if let Some(known) = &known {
            self.place(&known.row, context.now_ns, Arriving::Goes);
        }
        if kind == EventKind::Deleted || row.phase.is_finished() {
            self.is_stale = true;
            return;
        }
        let wants = self.calls_for_node(row.conditions, context.tables);
        let waits_for_node = row.node.is_none() && wants && !row.flags.contains(PodFlags::GATED);
        self.is_stale |= waits_for_node || row.node.is_some() || row.nominated.is_some();
        let since_ns = known.map_or(context.now_ns, |known| known.since_ns);
        self.pods.insert(row.uid, KnownPod { row: *row, waits_for_node, since_ns });
        self.place(row, context.now_ns, Arriving::Comes);
        if let Some(removed) = row.node.and_then(|node| self.removed.get_mut(&node))
            && !std::mem::replace(&mut removed.was_needed, true)
        {
            self.counts.removed_wrongly += 1;
        }
    }

    /// Whether a pod with these conditions waits for a node.
    fn calls_for_node(&mut self, conditions: ConditionSetId, tables: SideTables<'_>) -> bool {
        let by_not_ready = self.habits.triggered_by_not_ready;
        *self.calls_for_node.entry(conditions).or_insert_with(|| {
            tables.pod_conditions(conditions).iter().any(|it| {
                let is_trigger = &*it.reason == "Unschedulable"
                    || (by_not_ready && &*it.reason == "NotReadyForScheduling");
                &*it.type_ == "PodScheduled" && it.status == ConditionStatus::False && is_trigger
            })
        })
    }

    /// A pod is on a node, or no longer.
    fn place(&mut self, row: &StoredPodRow, now_ns: u64, arriving: Arriving) {
        let Some(node) = row.node.and_then(|node| self.nodes.get_mut(&node)) else { return };
        let (asks, is_daemon) = &self.asks[&row.spec];
        let is_daemon = *is_daemon;
        match arriving {
            Arriving::Comes => {
                node.pods += usize::from(!is_daemon);
                for (name, &amount) in asks.iter() {
                    let used = node.used.entry(name.clone()).or_default();
                    *used = used.plus(amount);
                }
            }
            Arriving::Goes => {
                node.pods -= usize::from(!is_daemon);
                subtract(&mut node.used, asks);
            }
        }
        node.idle_since_ns = now_ns;
    }

    fn scan(&mut self, context: ControllerContext<'_>) {
        self.is_stale = false;
        self.counts.scans += 1;
        self.scale_up(context);
        self.scale_down(context.now_ns);
    }

    /// Pods that wait for a node, oldest first, and were not promised one.
    fn pending(&self) -> Vec<PodUid> {
        let promised: BTreeSet<PodUid> = self.upcoming.iter().flat_map(|node| &node.pods).copied().collect();
        let waiting = self.pods.iter().filter(|(uid, pod)| pod.waits_for_node && !promised.contains(uid));
        waiting.map(|(uid, _)| *uid).take(PODS_PER_SCAN).collect()
    }

    fn scale_up(&mut self, context: ControllerContext<'_>) {
        let pending = self.pending();
        if pending.is_empty() {
            return;
        }
        let mut rooms: Vec<Room> = self.nodes.values().filter(|node| !node.is_going).map(room_of).collect();
        let now_ns = context.now_ns;
        for uid in pending {
            let spec = self.pods[&uid].row.spec;
            let asks = Arc::clone(&self.asks[&spec].0);
            let rules = self
                .rules
                .entry(spec)
                .or_insert_with(|| NodeRules::of(&context.tables.pod_spec(spec).object));
            // It is only a matter of time: the scheduler has not tried it since.
            if rooms.iter_mut().any(|room| room.take(rules, &asks)) {
                continue;
            }
            let has_room = |&at: &usize| {
                let node = &self.upcoming[at];
                covers(&node.left, &asks) && rules.verdict(&self.groups[node.group].input) == Verdict::Runs
            };
            if let Some(at) = (0..self.upcoming.len()).find(has_room) {
                subtract(&mut self.upcoming[at].left, &asks);
                self.upcoming[at].pods.push(uid);
                continue;
            }
            self.order(uid, spec, &asks, now_ns);
        }
    }

    /// Orders a node of the first group that suits the pod.
    fn order(&mut self, uid: PodUid, spec: SpecId, asks: &Amounts, now_ns: u64) {
        let Some(rules) = self.rules.get_mut(&spec) else { return };
        let size = |at: usize| {
            let there = self.nodes.values().filter(|node| node.group == Some(at) && !node.is_going).count();
            (there + self.upcoming.iter().filter(|node| node.group == at).count()) as u64
        };
        let suits = |(at, group): &(usize, &NodeGroup)| {
            size(*at) < group.max
                && covers(&group.allocatable, asks)
                && rules.verdict(&group.input) == Verdict::Runs
        };
        let Some((at, group)) = self.groups.iter().enumerate().find(suits) else { return };
        self.nodes_made += 1;
        let mut left = group.allocatable.clone();
        subtract(&mut left, asks);
        self.upcoming.push(Upcoming {
            name: format!("{}-auto-{}", group.name, self.nodes_made),
            group: at,
            due_ns: now_ns.saturating_add(self.times.provision_ns),
            pods: vec![uid],
            left,
            is_asked_for: false,
            has_joined: false,
        });
    }

    /// Nodes whose machines are there join the cluster.
    fn join(&mut self, now_ns: u64) {
        let due: Vec<(String, usize)> = self
            .upcoming
            .iter_mut()
            .filter(|node| node.due_ns <= now_ns && !node.is_asked_for)
            .map(|node| {
                node.is_asked_for = true;
                (node.name.clone(), node.group)
            })
            .collect();
        for (name, group) in due {
            let node = Box::new(self.groups[group].node(&name));
            self.call(About::Creation(name), ControllerRequest::Create(Object::Node(node)));
        }
    }

    fn scale_down(&mut self, now_ns: u64) {
        if !self.habits.scales_down {
            return;
        }
        let nominated = self.nominated();
        let mut sizes: Vec<u64> = vec![0; self.groups.len()];
        self.nodes
            .values()
            .filter(|node| !node.is_going)
            .filter_map(|node| node.group)
            .for_each(|at| sizes[at] += 1);
        let mut going = Vec::new();
        for (name, node) in &mut self.nodes {
            let Some(group) = node.group.filter(|_| !node.is_going) else { continue };
            if 0 < node.pods || nominated.contains(name) {
                node.idle_since_ns = now_ns;
                continue;
            }
            let is_unneeded = self.times.unneeded_ns <= now_ns.saturating_sub(node.idle_since_ns);
            if is_unneeded && self.groups[group].min < sizes[group] {
                sizes[group] -= 1;
                node.is_going = true;
                going.push((*name, node.entry.input.name.clone(), node.entry.object.metadata.uid.clone()));
            }
        }
        for (name, text, uid) in going {
            let request = ControllerRequest::Delete { key: ObjectKey::node(&text), uid };
            self.call(About::Deletion(name), request);
        }
    }

    /// Nodes that pods are on their way to, as far as they say so.
    fn nominated(&self) -> BTreeSet<NodeNameId> {
        if !self.habits.honours_nominations {
            return BTreeSet::new();
        }
        let on_their_way = self.pods.values().filter(|pod| pod.row.node.is_none());
        on_their_way.filter_map(|pod| pod.row.nominated).collect()
    }

    fn on_joined(&mut self, name: &str, context: ControllerContext<'_>) {
        self.counts.nodes_added += 1;
        let Some(at) = self.upcoming.iter().position(|node| node.name == *name) else { return };
        let pods = self.upcoming[at].pods.clone();
        for uid in &pods {
            if let Some(pod) = self.pods.get(uid) {
                self.latency.record(pod.since_ns, context.now_ns);
            }
        }
        let is_known = self.nodes.values().any(|node| node.entry.input.name == *name);
        if is_known {
            self.upcoming.remove(at);
        } else {
            self.upcoming[at].has_joined = true;
        }
        if !self.habits.nominates_pods {
            return;
        }
        let node = context.tables.node_name_id(name);
        for pod in pods {
            let nomination = NominatedNodeNamePatch::Set(node);
            let request = ControllerRequest::PatchPodStatus { pod, condition: None, nomination, phase: None };
            self.call(About::Nomination, request);
        }
    }

    /// When an idle node that may go has been idle for long enough.
    fn next_removal_ns(&self) -> Option<u64> {
        if !self.habits.scales_down {
            return None;
        }
        let nominated = self.nominated();
        let idle = self.nodes.iter().filter(|(name, node)| {
            node.group.is_some() && node.pods == 0 && !node.is_going && !nominated.contains(name)
        });
        let may_go = |group: usize| {
            let size = self.nodes.values().filter(|node| node.group == Some(group) && !node.is_going).count();
            self.groups[group].min < size as u64
        };
        let idle = idle.filter(|(_, node)| node.group.is_some_and(may_go));
        idle.map(|(_, node)| node.idle_since_ns.saturating_add(self.times.unneeded_ns)).min()
    }
}

#[derive(Clone, Copy)]
enum Arriving {
    Comes,
    Goes,
}

fn room_of(node: &KnownNode) -> Room {
    let mut left = amounts_of(&node.entry.object);
    subtract(&mut left, &node.used);
    Room { node: Arc::clone(&node.entry.input), left }
}

impl Controller for ClusterAutoscaler {
    fn on_event(&mut self, event: &WatchEvent, context: ControllerContext<'_>) {
        match &event.object {
            WatchedObject::Node(entry) => self.on_node(event.kind, entry, context.now_ns),
            WatchedObject::Pod(row) => self.on_pod(event.kind, row, context),
            WatchedObject::PodEvent(_) | WatchedObject::Other(_) => {}
        }
    }

    fn advance(&mut self, context: ControllerContext<'_>) {
        let is_removal_due = self.next_removal_ns().is_some_and(|at_ns| at_ns <= context.now_ns);
        if self.next_scan_ns <= context.now_ns && (self.is_stale || is_removal_due) {
            self.scan(context);
            self.next_scan_ns = context.now_ns.saturating_add(self.times.scan_interval_ns);
        }
        self.join(context.now_ns);
    }

    fn next_wake_ns(&self) -> Option<u64> {
        let scan = self.is_stale.then_some(self.next_scan_ns);
        let removal = self.next_removal_ns().map(|at_ns| at_ns.max(self.next_scan_ns));
        let joins = self.upcoming.iter().filter(|node| !node.is_asked_for).map(|node| node.due_ns).min();
        [scan, removal, joins].into_iter().flatten().min()
    }

    fn take_calls(&mut self, _: ControllerContext<'_>, into: &mut Vec<ControllerCall>) {
        into.append(&mut self.outgoing);
    }

    fn on_answer(
        &mut self,
        token: CallToken,
        answer: &Result<ControllerAnswer, ApiError>,
        context: ControllerContext<'_>,
    ) {
        let Some(about) = self.calls.remove(&token) else { return };
        match (about, answer) {
            (About::Creation(name), Ok(_)) => self.on_joined(&name, context),
            (About::Creation(name), Err(_)) => {
                self.counts.refused += 1;
                self.upcoming.retain(|node| node.name != name);
                self.is_stale = true;
            }
            (About::Nomination, Ok(_)) => self.counts.pods_nominated += 1,
            // It is bound, or gone.
            (About::Nomination, Err(_)) => self.counts.refused += 1,
            (About::Deletion(node), Ok(_)) => {
                self.counts.nodes_removed += 1;
                let came_meanwhile = self.pods.values().any(|pod| pod.row.node == Some(node));
                self.counts.removed_wrongly += u64::from(came_meanwhile);
                let name = context.tables.node_name(node);
                self.removed.insert(node, Removed { _name: name, was_needed: came_meanwhile });
            }
            (About::Deletion(node), Err(error)) => {
                self.counts.refused += u64::from(error.reason != StatusReason::NotFound);
                if let Some(known) = self.nodes.get_mut(&node) {
                    (known.is_going, known.idle_since_ns) = (false, context.now_ns);
                }
            }
        }
    }

    fn remaining(&self) -> Remaining {
        if !self.calls.is_empty() || !self.outgoing.is_empty() {
            return Remaining::Work;
        }
        let waits = self.is_stale && self.pods.values().any(|pod| pod.waits_for_node);
        let comes = self.upcoming.iter().any(|node| !node.is_asked_for);
        if waits || comes || self.next_removal_ns().is_some() {
            Remaining::Timers
        } else {
            Remaining::Nothing
        }
    }

    fn report(&self) -> ControllerReport {
        ControllerReport::of(&[
            ("nodes_added", self.counts.nodes_added),
            ("nodes_removed", self.counts.nodes_removed),
            ("nodes_removed_wrongly", self.counts.removed_wrongly),
            ("pods_nominated", self.counts.pods_nominated),
            ("scans", self.counts.scans),
            ("calls_refused", self.counts.refused),
        ])
        .timed(&self.latency)
    }
}

#[cfg(test)]
mod tests;
