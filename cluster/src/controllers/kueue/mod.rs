//! A model of Kueue's topology-aware admission: holds the pods of a group back by a scheduling gate, decides where
//! the whole group is to be, and lets it go.
//!
//! ```text
//!   all pods of a group are there ─▶ first domain with room for all ─▶ a node for each pod
//!       └─ nominatesPods: PATCH nominatedNodeName at once (KEP-5278, story 4)
//!       └─ after admissionSeconds: the gate goes; pinsPods: with a nodeSelector on the hostname, as Kueue does today
//! ```
//!
//! Between the decision and the end of the gate others may take the place, unless the scheduler knows of it.
//!
//! Upstream: kubernetes-sigs/kueue pkg/controller/jobs/pod (gate and group), pkg/cache/tas_flavor_snapshot.go
//! `FindTopologyAssignmentsForWorkload`.
//! Not built: a group is the pods of a label with a total count; there are no queues, priorities or preemption, and
//! one level of topology.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use rustc_hash::FxHashMap;
use schedlab_core::ids::PodUid;

use super::amounts::{amounts_of, asks_of, covers, subtract};
use super::config::ConfigFields;
use super::work::Work;
use super::{
    CallToken, Controller, ControllerAnswer, ControllerCall, ControllerConfigError, ControllerContext,
    ControllerDescriptor, ControllerReport, ControllerRequest, ControllerSettings, LatencySamples,
    PodsWatched, Remaining, Sharding, SideTables, WatchScope,
};
use crate::api::{
    ApiError, EventKind, NodeEntry, NodeNameId, NominatedNodeNamePatch, Object, SpecId, StatusReason,
    StoredPodRow, WatchEvent, WatchedObject, format_pod_uid,
};
use crate::quota::Amounts;

/// Its line in the list of controllers.
pub const DESCRIPTOR: ControllerDescriptor = ControllerDescriptor {
    name: "kueue",
    about: "admits groups of gated pods to a place for all of them",
    started_by_feature_gate: None,
    scope: WatchScope { nodes: true, pods: PodsWatched::All, kinds: &[] },
    sharding: Sharding::None,
    constructor: new,
};

/// The gate that holds pods back.
pub const ADMISSION_GATE: &str = "kueue.x-k8s.io/admission";
/// The label that names a pod's group.
pub const POD_GROUP_NAME: &str = "kueue.x-k8s.io/pod-group-name";
/// The annotation that says how many pods the group has.
pub const POD_GROUP_TOTAL_COUNT: &str = "kueue.x-k8s.io/pod-group-total-count";
/// A write that failed is made again after this time.
const RETRY_NS: u64 = 50_000_000;
const HOSTNAME: &str = "kubernetes.io/hostname";

fn new(settings: &ControllerSettings) -> Result<Box<dyn Controller>, ControllerConfigError> {
    let mut config = ConfigFields::of(settings)?;
    let kueue = Kueue {
        topology_key: config.text("topologyKey", "topology.kubernetes.io/zone")?,
        admission_ns: config.seconds("admissionSeconds", 0)?,
        nominates_pods: config.switch("nominatesPods", false)?,
        pins_pods: config.switch("pinsPods", false)?,
        nodes: BTreeMap::new(),
        pods: BTreeMap::new(),
        groups: BTreeMap::new(),
        asks: FxHashMap::default(),
        work: Work::default(),
        outgoing: Vec::new(),
        is_stale: false,
        counts: Counts::default(),
        latency: LatencySamples::new("admission"),
    };
    config.finish()?;
    Ok(Box::new(kueue))
}

/// A pod, and where it was decided to be.
#[derive(Clone, Copy, Debug)]
struct KnownPod {
    row: StoredPodRow,
    decided: Option<NodeNameId>,
    is_let_go: bool,
}

#[derive(Debug, Default)]
struct Group {
    pods: BTreeSet<PodUid>,
    total: usize,
    since_ns: u64,
    /// When the gate goes; none before the decision.
    due_ns: Option<u64>,
    is_judged: bool,
}

type GroupKey = Arc<str>;

#[derive(Clone, Copy, Debug)]
enum About {
    Nomination,
    LettingGo(PodUid),
}

#[derive(Debug, Default)]
struct Counts {
    groups_admitted: u64,
    pods_nominated: u64,
    pods_let_go: u64,
    as_decided: u64,
    elsewhere: u64,
    groups_together: u64,
    groups_split: u64,
    refused: u64,
}

#[derive(Debug)]
struct Kueue {
    topology_key: String,
    admission_ns: u64,
    nominates_pods: bool,
    pins_pods: bool,
    nodes: BTreeMap<NodeNameId, Arc<NodeEntry>>,
    pods: BTreeMap<PodUid, KnownPod>,
    groups: BTreeMap<GroupKey, Group>,
    asks: FxHashMap<SpecId, Arc<Amounts>>,
    work: Work<GroupKey, About>,
    outgoing: Vec<ControllerCall>,
    /// Something has changed that may let a group in.
    is_stale: bool,
    counts: Counts,
    latency: LatencySamples,
}

/// The group of a pod of this body, and how many pods it has; none if it is not for us.
fn group_of(spec: SpecId, row: &StoredPodRow, tables: SideTables<'_>) -> Option<(GroupKey, usize)> {
    let entry = tables.pod_spec(spec);
    let namespace = &entry.input.namespace;
    let Some(name) = entry.input.labels.get(POD_GROUP_NAME) else {
        let is_gated = entry.input.scheduling_gates.iter().any(|gate| gate == ADMISSION_GATE);
        return is_gated.then(|| (Arc::from(format!("{namespace}/{}", format_pod_uid(row.uid))), 1));
    };
    let annotations = entry.object.metadata.annotations.as_ref();
    let total = annotations.and_then(|all| all.get(POD_GROUP_TOTAL_COUNT)).and_then(|text| text.parse().ok());
    Some((Arc::from(format!("{namespace}/{name}")), total.unwrap_or(1)))
}

impl Kueue {
    fn on_pod(&mut self, kind: EventKind, row: &StoredPodRow, context: ControllerContext<'_>) {
        self.asks.entry(row.spec).or_insert_with(|| Arc::new(asks_of(row.spec, context.tables)));
        let known = self.pods.get(&row.uid).copied();
        if kind == EventKind::Deleted || row.phase.is_finished() {
            self.pods.remove(&row.uid);
            self.is_stale = true;
            for group in self.groups.values_mut() {
                group.pods.remove(&row.uid);
            }
            self.groups.retain(|_, group| !group.pods.is_empty());
            return;
        }
        if known.is_some_and(|known| row.resource_version <= known.row.resource_version) {
            return;
        }
        let decided = known.and_then(|known| known.decided);
        let is_let_go = known.is_some_and(|known| known.is_let_go);
        self.pods.insert(row.uid, KnownPod { row: *row, decided, is_let_go });
        let Some((key, total)) = group_of(row.spec, row, context.tables) else {
            self.is_stale |= row.node.is_some();
            return;
        };
        let group = self
            .groups
            .entry(Arc::clone(&key))
            .or_insert_with(|| Group { since_ns: context.now_ns, ..Group::default() });
        group.total = total;
        self.is_stale |= group.pods.insert(row.uid);
        self.judge(&key);
    }

    /// Once all pods of a group are on nodes: whether they are where they were to be, and together.
    fn judge(&mut self, key: &GroupKey) {
        let Some(group) = self.groups.get_mut(key).filter(|group| group.due_ns.is_some() && !group.is_judged)
        else {
            return;
        };
        let pods: Vec<KnownPod> = group.pods.iter().filter_map(|uid| self.pods.get(uid)).copied().collect();
        if pods.iter().any(|pod| pod.row.node.is_none()) {
            return;
        }
        group.is_judged = true;
        let as_decided = pods.iter().filter(|pod| pod.row.node == pod.decided).count() as u64;
        self.counts.as_decided += as_decided;
        self.counts.elsewhere += pods.len() as u64 - as_decided;
        let domain = |pod: &KnownPod| {
            let node = pod.row.node.and_then(|node| self.nodes.get(&node))?;
            node.input.labels.get(&self.topology_key).cloned()
        };
        let domains: BTreeSet<Option<String>> = pods.iter().map(domain).collect();
        self.counts.groups_together += u64::from(domains.len() == 1);
        self.counts.groups_split += u64::from(domains.len() != 1);
    }

    /// Decides about the groups that are complete, the oldest first.
    fn decide(&mut self, now_ns: u64) {
        self.is_stale = false;
        let is_open = |group: &Group| group.due_ns.is_none() && group.total <= group.pods.len();
        let mut open: Vec<(u64, GroupKey)> = self
            .groups
            .iter()
            .filter(|(_, group)| is_open(group))
            .map(|(key, group)| (group.since_ns, Arc::clone(key)))
            .collect();
        if open.is_empty() {
            return;
        }
        open.sort();
        let mut left = self.left();
        for (_, key) in open {
            let pods: Vec<PodUid> = self.groups[&key].pods.iter().copied().collect();
            let Some(nodes) = self.place(&pods, &mut left) else { continue };
            self.counts.groups_admitted += 1;
            for (uid, node) in pods.into_iter().zip(nodes) {
                self.pods.get_mut(&uid).expect("of the group").decided = Some(node);
                if self.nominates_pods {
                    let nomination = NominatedNodeNamePatch::Set(node);
                    let token = self.work.call(&key, About::Nomination);
                    let request = ControllerRequest::PatchPodStatus {
                        pod: uid,
                        condition: None,
                        nomination,
                        phase: None,
                    };
                    self.outgoing.push(ControllerCall { token, request });
                }
            }
            let group = self.groups.get_mut(&key).expect("looked up just now");
            group.due_ns = Some(now_ns.saturating_add(self.admission_ns));
        }
    }

    /// What nodes have left, as far as it is known: without pods that wait and were given no place.
    fn left(&self) -> BTreeMap<NodeNameId, Amounts> {
        let mut left: BTreeMap<NodeNameId, Amounts> =
            self.nodes.iter().map(|(name, entry)| (*name, amounts_of(&entry.object))).collect();
        for pod in self.pods.values() {
            let Some(left) = pod.row.node.or(pod.decided).and_then(|node| left.get_mut(&node)) else {
                continue;
            };
            subtract(left, &self.asks[&pod.row.spec]);
        }
        left
    }

    /// A node for each pod, all in one domain; and takes the room.
    fn place(&self, pods: &[PodUid], left: &mut BTreeMap<NodeNameId, Amounts>) -> Option<Vec<NodeNameId>> {
        let mut domains: BTreeMap<&str, Vec<NodeNameId>> = BTreeMap::new();
        for (name, entry) in &self.nodes {
            if let Some(domain) = entry.input.labels.get(&self.topology_key) {
                domains.entry(domain).or_default().push(*name);
            }
        }
        domains.values().find_map(|nodes| {
            let mut tried: BTreeMap<NodeNameId, Amounts> =
                nodes.iter().map(|node| (*node, left[node].clone())).collect();
            let placed = pods.iter().map(|uid| {
                let asks = &self.asks[&self.pods[uid].row.spec];
                let (node, left) = tried.iter_mut().find(|(_, left)| covers(left, asks))?;
                subtract(left, asks);
                Some(*node)
            });
            let placed: Vec<NodeNameId> = placed.collect::<Option<_>>()?;
            left.extend(tried);
            Some(placed)
        })
    }

    /// Takes the gate off pods whose time has come.
    fn let_go(&mut self, context: ControllerContext<'_>) {
        let is_due = |group: &Group| group.due_ns.is_some_and(|due_ns| due_ns <= context.now_ns);
        let due: Vec<(GroupKey, u64, Vec<PodUid>)> = self
            .groups
            .iter()
            .filter(|(_, group)| is_due(group))
            .map(|(key, group)| (Arc::clone(key), group.since_ns, group.pods.iter().copied().collect()))
            .collect();
        for (key, since_ns, pods) in due {
            for uid in pods {
                let Some(pod) =
                    self.pods.get_mut(&uid).filter(|pod| !pod.is_let_go && pod.row.node.is_none())
                else {
                    continue;
                };
                pod.is_let_go = true;
                let host = pod.decided.filter(|_| self.pins_pods).map(|node| context.tables.node_name(node));
                let ungated = without_gate(&pod.row, host.as_deref(), context.tables);
                let token = self.work.call(&key, About::LettingGo(uid));
                self.outgoing.push(ControllerCall { token, request: ControllerRequest::Update(ungated) });
                self.latency.record(since_ns, context.now_ns);
            }
        }
    }

    fn next_due_ns(&self) -> Option<u64> {
        let waits =
            |uid: &PodUid| self.pods.get(uid).is_some_and(|pod| !pod.is_let_go && pod.row.node.is_none());
        let groups = self.groups.values().filter(|group| group.pods.iter().any(waits));
        groups.filter_map(|group| group.due_ns).min()
    }
}

/// The pod as it was seen, without the gate; its version is the precondition of the write.
fn without_gate(row: &StoredPodRow, host: Option<&str>, tables: SideTables<'_>) -> Object {
    let mut pod: Pod = (*tables.pod_spec(row.spec).object).clone();
    pod.metadata.name = Some(tables.pod_name(row.name));
    pod.metadata.namespace = Some(tables.namespace_name(row.namespace).to_string());
    pod.metadata.uid = Some(format_pod_uid(row.uid));
    pod.metadata.resource_version = None;
    let spec = pod.spec.get_or_insert_default();
    let gates = spec.scheduling_gates.take().unwrap_or_default();
    let left: Vec<_> = gates.into_iter().filter(|gate| gate.name != ADMISSION_GATE).collect();
    spec.scheduling_gates = Some(left).filter(|left| !left.is_empty());
    if let Some(host) = host {
        let selector = spec.node_selector.get_or_insert_default();
        selector.insert(HOSTNAME.to_owned(), host.to_owned());
    }
    Object::Pod(Box::new(pod))
}

impl Controller for Kueue {
    fn on_event(&mut self, event: &WatchEvent, context: ControllerContext<'_>) {
        match &event.object {
            WatchedObject::Node(entry) if event.kind == EventKind::Deleted => {
                self.nodes.remove(&entry.name);
            }
            WatchedObject::Node(entry) => {
                self.nodes.insert(entry.name, Arc::clone(entry));
                self.is_stale = true;
            }
            WatchedObject::Pod(row) => self.on_pod(event.kind, row, context),
            WatchedObject::PodEvent(_) | WatchedObject::Other(_) => {}
        }
    }

    fn advance(&mut self, context: ControllerContext<'_>) {
        self.work.advance(context.now_ns);
    }

    fn next_wake_ns(&self) -> Option<u64> {
        [self.next_due_ns(), self.work.next_wake_ns()].into_iter().flatten().min()
    }

    fn take_calls(&mut self, context: ControllerContext<'_>, into: &mut Vec<ControllerCall>) {
        if self.is_stale {
            self.decide(context.now_ns);
        }
        self.let_go(context);
        into.append(&mut self.outgoing);
    }

    fn on_answer(
        &mut self,
        token: CallToken,
        answer: &Result<ControllerAnswer, ApiError>,
        context: ControllerContext<'_>,
    ) {
        let Some((key, about)) = self.work.answered(token) else { return };
        match (about, answer) {
            (About::Nomination, Ok(_)) => self.counts.pods_nominated += 1,
            (About::LettingGo(_), Ok(_)) => {
                self.counts.pods_let_go += 1;
            }
            (_, Err(error)) if error.reason == StatusReason::NotFound => {}
            (About::Nomination, Err(_)) => self.counts.refused += 1,
            (About::LettingGo(uid), Err(_)) => {
                self.counts.refused += 1;
                if let Some(pod) = self.pods.get_mut(&uid) {
                    pod.is_let_go = false;
                }
                if let Some(group) = self.groups.get_mut(&key) {
                    group.due_ns = Some(context.now_ns.saturating_add(RETRY_NS));
                }
            }
        }
    }

    fn remaining(&self) -> Remaining {
        match self.work.remaining() {
            Remaining::Nothing if self.next_due_ns().is_some() => Remaining::Timers,
            remaining => remaining,
        }
    }

    fn report(&self) -> ControllerReport {
        ControllerReport::of(&[
            ("groups_admitted", self.counts.groups_admitted),
            ("pods_nominated", self.counts.pods_nominated),
            ("pods_let_go", self.counts.pods_let_go),
            ("pods_as_decided", self.counts.as_decided),
            ("pods_elsewhere", self.counts.elsewhere),
            ("groups_together", self.counts.groups_together),
            ("groups_split", self.counts.groups_split),
            ("calls_refused", self.counts.refused),
        ])
        .timed(&self.latency)
    }
}

#[cfg(test)]
mod tests;
