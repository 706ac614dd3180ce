//! The rescheduler of the proposals: moves pods so that one that has been pending for long fits, and onto nodes
//! that have joined. It is no scheduler: it evicts, and a scheduler places what is made again.
//!
//! ```text
//!   pod pending for pendingSeconds ─▶ node where the fewest pods go, each with a place elsewhere ─▶ evict
//!   redistributes: a node joins, nothing pends ─▶ pods leave the fullest nodes until it is as full
//!   criticalPods: an annotated pod pends ─▶ taint CriticalAddonsOnly ─▶ evict ─▶ it comes ─▶ taint goes
//! ```
//!
//! Only pods that a controller owns are moved, through the eviction subresource.
//!
//! Upstream: kubernetes/community contributors/design-proposals/scheduling/rescheduler.md, rescheduling.md,
//! rescheduling-for-critical-pods.md.
//! Differs: upstream's program for critical pods deletes what is in the way, also pods that nobody owns
//! (`no_pod_moves_that_nobody_makes_again_or_that_has_nowhere_to_go`).

mod critical;
mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use schedlab_core::ids::PodUid;

use super::amounts::{asks_of, covers};
use super::cluster_view::{ClusterView, KnownCluster};
use super::config::ConfigFields;
use super::evictable::{Evictor, Surroundings};
use super::{
    CallToken, Controller, ControllerAnswer, ControllerCall, ControllerConfigError, ControllerContext,
    ControllerDescriptor, ControllerMutants, ControllerReport, ControllerRequest, ControllerSettings,
    LatencySamples, PodsWatched, Remaining, Sharding, SideTables, WatchScope,
};
use crate::api::{
    ApiError, ConditionSetId, ConditionStatus, EventKind, NodeEntry, NodeNameId, NominatedNodeNamePatch,
    Object, PodFlags, StatusReason, StoredPodRow, WatchEvent, WatchedObject,
};
use critical::{Preparing, Stage};
use plan::{Elsewhere, fits_somewhere, make_room};

/// Its line in the list of controllers.
pub const DESCRIPTOR: ControllerDescriptor = ControllerDescriptor {
    name: "rescheduler",
    about: "moves pods so that one pending for long fits, onto new nodes, and out of the way of critical ones",
    started_by_feature_gate: None,
    scope: WatchScope { nodes: true, pods: PodsWatched::All, kinds: &[] },
    sharding: Sharding::None,
    constructor: new,
};

const SECOND_NS: u64 = 1_000_000_000;
const INTERVAL_NS: u64 = 10 * SECOND_NS;
/// A pod that has been pending for so long is helped.
const PENDING_NS: u64 = 60 * SECOND_NS;
/// Upstream: the flag `--pod-scheduled-timeout`.
const CRITICAL_TIMEOUT_NS: u64 = 600 * SECOND_NS;

#[derive(Clone, Debug)]
struct Habits {
    interval_ns: u64,
    pending_ns: u64,
    moves_max: u64,
    nominates_pods: bool,
    redistributes: bool,
    critical_pods: bool,
    critical_timeout_ns: u64,
    system_namespace: String,
}

fn new(settings: &ControllerSettings) -> Result<Box<dyn Controller>, ControllerConfigError> {
    let mut config = ConfigFields::of(settings)?;
    let habits = Habits {
        interval_ns: config.seconds("intervalSeconds", INTERVAL_NS)?.max(1_000_000),
        pending_ns: config.seconds("pendingSeconds", PENDING_NS)?,
        moves_max: config.whole("maxMovesPerCycle", 100, 1)?,
        nominates_pods: config.switch("nominatesPods", false)?,
        redistributes: config.switch("redistributes", false)?,
        critical_pods: config.switch("criticalPods", false)?,
        critical_timeout_ns: config.seconds("podScheduledTimeoutSeconds", CRITICAL_TIMEOUT_NS)?,
        system_namespace: config.text("systemNamespace", "kube-system")?,
    };
    config.finish()?;
    Ok(Box::new(Rescheduler {
        habits,
        cluster: KnownCluster::default(),
        waits: FxHashMap::default(),
        helped: BTreeMap::new(),
        joined: BTreeSet::new(),
        preparing: None,
        next_cycle_ns: None,
        is_stale: false,
        calls: BTreeMap::new(),
        outgoing: Vec::new(),
        last_token: 0,
        counts: Counts::default(),
        latency: LatencySamples::new("pending_until_helped"),
        mutants: settings.mutants,
    }))
}

/// What a call is about.
#[derive(Clone, Copy, Debug)]
enum About {
    Eviction,
    Nomination,
    Taint,
}

#[derive(Debug, Default)]
struct Counts {
    cycles: u64,
    moved: u64,
    refused: u64,
    helped: u64,
    redistributed: u64,
    nominated: u64,
    critical_helped: u64,
}

#[derive(Debug)]
struct Rescheduler {
    habits: Habits,
    cluster: KnownCluster,
    /// Whether pods with these conditions wait for room.
    waits: FxHashMap<ConditionSetId, bool>,
    /// Pods that were helped, and until when nothing more is done for them.
    helped: BTreeMap<PodUid, u64>,
    /// Nodes that joined after the first cycle, to be filled.
    joined: BTreeSet<NodeNameId>,
    preparing: Option<Preparing>,
    next_cycle_ns: Option<u64>,
    is_stale: bool,
    calls: BTreeMap<CallToken, About>,
    outgoing: Vec<ControllerCall>,
    last_token: u64,
    counts: Counts,
    latency: LatencySamples,
    mutants: ControllerMutants,
}

impl Rescheduler {
    fn call(&mut self, about: About, request: ControllerRequest) {
        self.last_token += 1;
        let token = CallToken(self.last_token);
        self.calls.insert(token, about);
        self.outgoing.push(ControllerCall { token, request });
    }

    fn on_change(&mut self, now_ns: u64) {
        self.is_stale = true;
        self.next_cycle_ns.get_or_insert(now_ns.saturating_add(self.habits.interval_ns));
    }

    fn on_node(&mut self, kind: EventKind, entry: &Arc<NodeEntry>) {
        let is_new = kind != EventKind::Deleted && !self.cluster.nodes.contains_key(&entry.name);
        if kind == EventKind::Deleted {
            self.joined.remove(&entry.name);
        } else if is_new && 0 < self.counts.cycles && self.habits.redistributes {
            self.joined.insert(entry.name);
        }
        self.cluster.on_node(kind, entry);
    }

    /// Pods that wait for room, oldest first.
    fn pending(&mut self, tables: SideTables<'_>) -> Vec<StoredPodRow> {
        let unbound = self.cluster.pods.values().filter(|row| row.node.is_none() && !row.phase.is_finished());
        let held_back = PodFlags::GATED.with(PodFlags::TERMINATING);
        let rows: Vec<StoredPodRow> =
            unbound.filter(|row| !row.flags.intersects(held_back)).copied().collect();
        let mut waiting: Vec<StoredPodRow> =
            rows.into_iter().filter(|row| self.waits_for_room(row.conditions, tables)).collect();
        waiting.sort_by_key(|row| (row.created_ns, row.uid));
        waiting
    }

    fn waits_for_room(&mut self, conditions: ConditionSetId, tables: SideTables<'_>) -> bool {
        *self.waits.entry(conditions).or_insert_with(|| {
            tables.pod_conditions(conditions).iter().any(|it| {
                let is_unschedulable = it.status == ConditionStatus::False && &*it.reason == "Unschedulable";
                &*it.type_ == "PodScheduled" && is_unschedulable
            })
        })
    }

    fn run_cycle(&mut self, context: ControllerContext<'_>) {
        self.is_stale = false;
        self.counts.cycles += 1;
        let now_ns = context.now_ns;
        self.helped.retain(|_, until_ns| now_ns < *until_ns);
        let pending = self.pending(context.tables);
        let mut cycle = RescheduleCycle { left: self.habits.moves_max, ..RescheduleCycle::default() };
        let critical =
            if self.habits.critical_pods { self.next_critical(&pending, context.tables) } else { None };
        let due: Vec<StoredPodRow> = pending
            .iter()
            .filter(|row| self.habits.pending_ns <= now_ns.saturating_sub(row.created_ns))
            .filter(|row| !self.helped.contains_key(&row.uid) && Some(row.uid) != critical.map(|it| it.uid))
            .copied()
            .collect();
        let mutants = self.mutants;
        let around = Surroundings { priorities: &BTreeMap::new(), now_ns, mutants };
        let asks: Vec<_> = due.iter().map(|row| asks_of(row.spec, context.tables)).collect();
        due.iter().for_each(|row| self.cluster.look_up(row.spec, context.tables));
        critical.iter().for_each(|row| self.cluster.look_up(row.spec, context.tables));
        let mut view = self.cluster.view(context.tables, |_| true);
        if let Some(row) = critical {
            cycle.prepare(&mut view, &row, &asks_of(row.spec, context.tables), &around);
        }
        for (row, asks) in due.iter().zip(&asks) {
            cycle.help(&mut view, row, asks, &around);
        }
        if pending.is_empty() {
            cycle.fill(&mut view, &self.joined, &around);
            self.joined.clear();
        }
        self.carry_out(cycle, now_ns);
    }

    /// The critical pod that is to be helped next; one node is made ready at a time.
    fn next_critical(&self, pending: &[StoredPodRow], tables: SideTables<'_>) -> Option<StoredPodRow> {
        let is_critical = |row: &&StoredPodRow| {
            critical::is_critical(&tables.pod_spec(row.spec).object, &self.habits.system_namespace)
        };
        pending.iter().filter(|_| self.preparing.is_none()).find(is_critical).copied()
    }

    fn carry_out(&mut self, cycle: RescheduleCycle, now_ns: u64) {
        self.counts.redistributed += cycle.redistributed;
        if let Some((pod, node)) = cycle.prepared {
            let until_ns = now_ns.saturating_add(self.habits.critical_timeout_ns);
            self.preparing =
                Some(Preparing { pod, node, until_ns, stage: Stage::SetTaint, tried_version: None });
            self.counts.critical_helped += 1;
            self.write_taint();
        }
        for pod in cycle.evicted {
            self.call(About::Eviction, ControllerRequest::EvictPod(pod));
        }
        for (row, node) in cycle.helped {
            self.counts.helped += 1;
            self.latency.record(row.created_ns, now_ns);
            self.helped.insert(row.uid, now_ns.saturating_add(self.habits.pending_ns.max(SECOND_NS)));
            if self.habits.nominates_pods {
                let (pod, nomination) = (row.uid, NominatedNodeNamePatch::Set(node));
                let request =
                    ControllerRequest::PatchPodStatus { pod, condition: None, nomination, phase: None };
                self.call(About::Nomination, request);
            }
        }
    }

    /// Sets or removes the taint of the node that is being made ready, if that is to be done.
    fn write_taint(&mut self) {
        let Some(preparing) = self.preparing.clone() else { return };
        let is_tainted = match preparing.stage {
            Stage::SetTaint => true,
            Stage::RemoveTaint => false,
            Stage::Waiting => return,
        };
        let Some(entry) = self.cluster.nodes.get(&preparing.node) else {
            self.preparing = None;
            return;
        };
        if preparing.tried_version == Some(entry.resource_version) {
            return;
        }
        if critical::is_tainted(&entry.object) == is_tainted {
            self.taint_is_written();
            return;
        }
        let node = critical::with_taint(&entry.object, is_tainted);
        let tried_version = Some(entry.resource_version);
        self.preparing = Some(Preparing { tried_version, ..preparing });
        self.call(About::Taint, ControllerRequest::Update(Object::Node(Box::new(node))));
    }

    fn taint_is_written(&mut self) {
        match &mut self.preparing {
            Some(preparing) if preparing.stage == Stage::SetTaint => preparing.stage = Stage::Waiting,
            Some(preparing) if preparing.stage == Stage::RemoveTaint => self.preparing = None,
            _ => {}
        }
    }

    /// The critical pod has come, or will not.
    fn check_preparing(&mut self, now_ns: u64) {
        let Some(preparing) = &mut self.preparing else { return };
        let waits = self.cluster.pods.get(&preparing.pod).is_some_and(|row| row.node.is_none());
        let is_over = !waits || preparing.until_ns <= now_ns;
        let is_writing = self.calls.values().any(|about| matches!(about, About::Taint));
        if is_over && preparing.stage != Stage::RemoveTaint {
            preparing.stage = Stage::RemoveTaint;
        }
        if !is_writing && preparing.stage != Stage::Waiting {
            self.write_taint();
        }
    }

    /// When a pod will have been pending for long enough.
    fn next_help_ns(&self) -> Option<u64> {
        let waiting =
            self.cluster.pods.values().filter(|row| {
                row.node.is_none() && self.waits.get(&row.conditions).copied().unwrap_or(false)
            });
        let due = waiting.map(|row| {
            let due_ns = row.created_ns.saturating_add(self.habits.pending_ns);
            self.helped.get(&row.uid).copied().unwrap_or(0).max(due_ns)
        });
        let in_vain_ns = self.next_cycle_ns.unwrap_or(0).saturating_sub(self.habits.interval_ns);
        due.filter(|due_ns| in_vain_ns < *due_ns).min()
    }
}

/// What a cycle decides.
#[derive(Debug, Default)]
struct RescheduleCycle {
    evicted: Vec<PodUid>,
    helped: Vec<(StoredPodRow, NodeNameId)>,
    prepared: Option<(PodUid, NodeNameId)>,
    redistributed: u64,
    /// Moves that are still allowed.
    left: u64,
}

impl RescheduleCycle {
    /// Makes room for a pod that has been pending for long.
    fn help(
        &mut self,
        view: &mut ClusterView<'_>,
        row: &StoredPodRow,
        asks: &crate::quota::Amounts,
        around: &Surroundings<'_>,
    ) {
        // It is only a matter of time: the scheduler has not tried it since.
        if fits_somewhere(view, row.spec, asks) {
            return;
        }
        let evictor = Evictor { local_storage: true, ..Evictor::default() };
        let found = make_room(view, (row.spec, asks), (&evictor, around), Elsewhere::Needed);
        let Some(found) = found.filter(|found| found.moves.len() as u64 <= self.left) else { return };
        for &(pod, place) in &found.moves {
            self.evicted.push(view.pods[pod].row.uid);
            self.left -= 1;
            let moved = Arc::clone(&view.pods[pod].asks);
            view.remove(pod);
            if let Some(place) = place {
                view.nodes[place].take(&moved);
            }
        }
        view.nodes[found.node].take(asks);
        self.helped.push((*row, view.nodes[found.node].name));
    }

    /// Chooses the node for a critical pod and those that leave it, wherever they go.
    fn prepare(
        &mut self,
        view: &mut ClusterView<'_>,
        row: &StoredPodRow,
        asks: &crate::quota::Amounts,
        around: &Surroundings<'_>,
    ) {
        let evictor = Evictor { local_storage: true, ..Evictor::default() };
        let found = make_room(view, (row.spec, asks), (&evictor, around), Elsewhere::NotNeeded);
        let Some(found) = found else { return };
        for &(pod, _) in &found.moves {
            self.evicted.push(view.pods[pod].row.uid);
            view.remove(pod);
        }
        view.nodes[found.node].take(asks);
        self.prepared = Some((row.uid, view.nodes[found.node].name));
    }

    /// Moves pods from the fullest nodes to those that have joined, while that makes them more alike.
    fn fill(&mut self, view: &mut ClusterView<'_>, joined: &BTreeSet<NodeNameId>, around: &Surroundings<'_>) {
        let evictor = Evictor { local_storage: true, ..Evictor::default() };
        for target in 0..view.nodes.len() {
            while joined.contains(&view.nodes[target].name) && 0 < self.left {
                let Some(pod) = next_to_move(view, target, &evictor, around) else { break };
                let asks = Arc::clone(&view.pods[pod].asks);
                self.evicted.push(view.pods[pod].row.uid);
                self.redistributed += 1;
                self.left -= 1;
                view.remove(pod);
                view.nodes[target].take(&asks);
            }
        }
    }
}

/// The share of a node that is taken: of what is scarcest on it.
fn fullness(view: &ClusterView<'_>, node: usize) -> f64 {
    let node = &view.nodes[node];
    node.has.keys().map(|name| node.percent_used(name)).fold(0.0, f64::max)
}

/// A pod of the fullest node that would leave the target no fuller than that node is then.
fn next_to_move(
    view: &mut ClusterView<'_>,
    target: usize,
    evictor: &Evictor,
    around: &Surroundings<'_>,
) -> Option<usize> {
    let sources = (0..view.nodes.len()).filter(|&node| node != target);
    let source = sources.max_by(|&one, &other| fullness(view, one).total_cmp(&fullness(view, other)))?;
    let mut pods = view.pods_on(source);
    pods.sort_by_key(|&pod| view.pods[pod].eviction_order());
    pods.into_iter().find(|&pod| {
        let (spec, asks) = (view.pods[pod].row.spec, Arc::clone(&view.pods[pod].asks));
        let may = evictor.may_evict(pod, view, around)
            && view.may_come(spec, target)
            && covers(&view.nodes[target].left, &asks);
        may && evens_out(view, (source, target), &asks)
    })
}

fn evens_out(
    view: &mut ClusterView<'_>,
    (source, target): (usize, usize),
    asks: &crate::quota::Amounts,
) -> bool {
    view.nodes[source].give_back(asks);
    view.nodes[target].take(asks);
    let is_even = fullness(view, target) <= fullness(view, source);
    view.nodes[source].take(asks);
    view.nodes[target].give_back(asks);
    is_even
}

impl Controller for Rescheduler {
    fn on_event(&mut self, event: &WatchEvent, context: ControllerContext<'_>) {
        match &event.object {
            WatchedObject::Node(entry) => self.on_node(event.kind, entry),
            WatchedObject::Pod(row) => {
                if !self.cluster.on_pod(event.kind, row) {
                    return;
                }
                self.waits_for_room(row.conditions, context.tables);
            }
            WatchedObject::PodEvent(_) | WatchedObject::Other(_) => return,
        }
        self.on_change(context.now_ns);
        self.check_preparing(context.now_ns);
    }

    fn advance(&mut self, context: ControllerContext<'_>) {
        let is_help_due = self.next_help_ns().is_some_and(|at_ns| at_ns <= context.now_ns);
        let is_time = self.next_cycle_ns.is_some_and(|at_ns| at_ns <= context.now_ns);
        if is_time && (self.is_stale || is_help_due) && self.calls.is_empty() {
            self.run_cycle(context);
            self.next_cycle_ns = Some(context.now_ns.saturating_add(self.habits.interval_ns));
            self.check_preparing(context.now_ns);
        }
        if self.preparing.as_ref().is_some_and(|it| it.until_ns <= context.now_ns) {
            self.check_preparing(context.now_ns);
        }
    }

    fn next_wake_ns(&self) -> Option<u64> {
        if !self.calls.is_empty() {
            return None;
        }
        let cycle = self.next_cycle_ns.filter(|_| self.is_stale);
        let help = self.next_help_ns().map(|at_ns| at_ns.max(self.next_cycle_ns.unwrap_or(0)));
        let preparing = self.preparing.as_ref().filter(|preparing| preparing.stage != Stage::RemoveTaint);
        let gives_up = preparing.map(|preparing| preparing.until_ns);
        [cycle, help, gives_up].into_iter().flatten().min()
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
            (About::Eviction, Ok(_)) => self.counts.moved += 1,
            (About::Nomination, Ok(_)) => self.counts.nominated += 1,
            (About::Taint, Ok(_)) => self.taint_is_written(),
            (About::Taint, Err(error)) => {
                // After a conflict a newer state of the node is written from.
                let is_conflict = error.reason == StatusReason::Conflict;
                if let Some(preparing) = self.preparing.as_mut().filter(|_| !is_conflict) {
                    preparing.tried_version = None;
                }
                self.is_stale = true;
                return;
            }
            (_, Err(error)) => {
                let is_gone = error.reason == StatusReason::NotFound;
                self.counts.refused += u64::from(!is_gone);
                self.is_stale |= error.reason != StatusReason::TooManyRequests && !is_gone;
            }
        }
        self.check_preparing(context.now_ns);
    }

    fn remaining(&self) -> Remaining {
        match self.next_wake_ns() {
            _ if !self.calls.is_empty() || !self.outgoing.is_empty() => Remaining::Work,
            Some(_) => Remaining::Timers,
            None => Remaining::Nothing,
        }
    }

    fn report(&self) -> ControllerReport {
        ControllerReport::of(&[
            ("cycles", self.counts.cycles),
            ("pods_helped", self.counts.helped),
            ("critical_pods_helped", self.counts.critical_helped),
            ("pods_moved", self.counts.moved),
            ("pods_redistributed", self.counts.redistributed),
            ("pods_nominated", self.counts.nominated),
            ("calls_refused", self.counts.refused),
        ])
        .timed(&self.latency)
    }
}

#[cfg(test)]
mod tests;
