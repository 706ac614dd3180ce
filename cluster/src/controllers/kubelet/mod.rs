//! The kubelets of all nodes, as far as a scheduler can see them: pods that are bound run, unless their node
//! has no room for them, and end when their time is over.
//!
//! ```text
//!   bound ──room? ──no──▶ Failed (OutOfcpu ...)
//!                └──yes─▶ Running, Ready, after startupSeconds ──lifetime over──▶ Succeeded
//! ```
//!
//! Room is counted in the order in which the kubelet hears of its pods, so of two schedulers that fill the
//! same room the second loses.
//!
//! Upstream: pkg/kubelet/lifecycle/predicate.go `Admit`, `generalFilter`.
//! Not built: of the predicates only resources are checked; a refused pod has the reason in its condition
//! `Ready`; a pod ends by its lifetime whatever its `restartPolicy` says; a deleted pod is gone at once.

mod lifetime;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use schedlab_core::ids::PodUid;

use super::config::ConfigFields;
use super::work::Work;
use super::{
    CallToken, ConditionWrite, Controller, ControllerAnswer, ControllerCall, ControllerConfigError,
    ControllerContext, ControllerDescriptor, ControllerMutant, ControllerMutants, ControllerReport,
    ControllerRequest, ControllerSettings, LatencySamples, PodsWatched, Remaining, Sharding, WatchScope,
};
use crate::api::{
    ApiError, ConditionStatus, EventKind, NodeEntry, NodeNameId, NominatedNodeNamePatch, PodFlags, PodPhase,
    SpecId, StatusReason, StoredPodRow, WatchEvent, WatchedObject,
};
use crate::quota::{Amount, Amounts, pod_requests};
pub use lifetime::Lifetime;

/// Its line in the list of controllers.
pub const DESCRIPTOR: ControllerDescriptor = ControllerDescriptor {
    name: "kubelet",
    about: "runs the pods that are bound, refuses those that do not fit, and ends them by their lifetime",
    started_by_feature_gate: None,
    scope: WatchScope { nodes: true, pods: PodsWatched::OnNodes, kinds: &[] },
    sharding: Sharding::ByNode { shards: SHARDS },
    constructor: new,
};

const SHARDS: usize = 4;

fn new(settings: &ControllerSettings) -> Result<Box<dyn Controller>, ControllerConfigError> {
    let mut config = ConfigFields::of(settings)?;
    let startup_ns = config.seconds("startupSeconds", 0)?;
    let lifetime = Lifetime::read(&mut config)?;
    config.finish()?;
    Ok(Box::new(Kubelet {
        lifetime,
        startup_ns,
        seed: settings.seed,
        nodes: FxHashMap::default(),
        pods: FxHashMap::default(),
        asks: FxHashMap::default(),
        due: BTreeSet::new(),
        arrived: Vec::new(),
        work: Work::default(),
        counts: Counts::default(),
        latency: LatencySamples::new("pod_startup"),
        mutants: settings.mutants,
    }))
}

/// How far a pod is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// Its node is not there.
    Orphan,
    /// Its containers start, until then.
    Starts { due_ns: u64 },
    /// It runs, or is about to be said to; it ends then.
    Runs { due_ns: Option<u64> },
    /// Its node has no room for it, for want of this.
    Refused { reason: String, message: String },
    /// Its time is over.
    Ends,
}

#[derive(Clone, Debug)]
struct Pod {
    node: NodeNameId,
    spec: SpecId,
    /// When it was bound, as far as is known.
    since_ns: u64,
    phase: PodPhase,
    stage: Stage,
}

impl Pod {
    fn is_orphan(&self) -> bool {
        self.stage == Stage::Orphan
    }
}

/// What a node has, and what is taken of it.
#[derive(Debug, Default)]
struct NodeRoom {
    has: Amounts,
    used: Amounts,
    is_there: bool,
    /// In the order in which they came.
    pods: Vec<PodUid>,
}

#[derive(Debug, Default)]
struct Counts {
    started: u64,
    refused: u64,
    finished: u64,
}

/// The kubelets of some nodes.
#[derive(Debug)]
struct Kubelet {
    lifetime: Option<Lifetime>,
    startup_ns: u64,
    seed: u64,
    nodes: FxHashMap<NodeNameId, NodeRoom>,
    pods: FxHashMap<PodUid, Pod>,
    asks: FxHashMap<SpecId, Arc<Amounts>>,
    due: BTreeSet<(u64, PodUid)>,
    /// Pods that were heard of since the last look, in order.
    arrived: Vec<PodUid>,
    work: Work<PodUid, ()>,
    counts: Counts,
    latency: LatencySamples,
    mutants: ControllerMutants,
}

impl Kubelet {
    fn on_node(&mut self, kind: EventKind, entry: &NodeEntry) {
        let room = self.nodes.entry(entry.name).or_default();
        room.is_there = kind != EventKind::Deleted;
        if !room.is_there {
            if room.pods.is_empty() {
                self.nodes.remove(&entry.name);
            }
            return;
        }
        let status = entry.object.status.as_ref();
        let allocatable = status.and_then(|status| status.allocatable.as_ref()).into_iter().flatten();
        room.has =
            allocatable.filter_map(|(name, amount)| Some((name.clone(), Amount::of(amount)?))).collect();
        let waiting = room.pods.iter().filter(|pod| self.pods.get(pod).is_some_and(Pod::is_orphan));
        let waiting: Vec<PodUid> = waiting.copied().collect();
        self.arrived.extend(waiting);
    }

    fn on_pod(&mut self, row: &StoredPodRow, context: ControllerContext<'_>) {
        let Some(node) = row.node else { return };
        if let Some(known) = self.pods.get_mut(&row.uid) {
            known.phase = row.phase;
            return;
        }
        if row.phase.is_finished() || row.flags.contains(PodFlags::TERMINATING) {
            return;
        }
        let ask = || {
            let entry = context.tables.pod_spec(row.spec);
            let mut asks = entry.object.spec.as_ref().map(pod_requests).unwrap_or_default();
            asks.retain(|_, amount| !amount.is_zero());
            asks.insert("pods".to_owned(), Amount::units(1));
            Arc::new(asks)
        };
        self.asks.entry(row.spec).or_insert_with(ask);
        let (spec, since_ns, phase) = (row.spec, context.now_ns, row.phase);
        self.pods.insert(row.uid, Pod { node, spec, since_ns, phase, stage: Stage::Orphan });
        self.nodes.entry(node).or_default().pods.push(row.uid);
        self.arrived.push(row.uid);
    }

    /// Finds room for those that have arrived. After a restart all come at once: those that run already have
    /// their room, the others take what is left.
    fn admit_arrived(&mut self, now_ns: u64) {
        let arrived = std::mem::take(&mut self.arrived);
        let runs = |uid: &PodUid| self.pods.get(uid).is_some_and(|pod| pod.phase == PodPhase::Running);
        let (running, others): (Vec<PodUid>, Vec<PodUid>) = arrived.into_iter().partition(runs);
        for uid in running.into_iter().chain(others) {
            if self.pods.get(&uid).is_some_and(Pod::is_orphan) {
                self.admit(uid, now_ns);
            }
        }
    }

    /// Finds room for a pod, or refuses it.
    fn admit(&mut self, uid: PodUid, now_ns: u64) {
        let Some(pod) = self.pods.get_mut(&uid) else { return };
        let Some(room) = self.nodes.get_mut(&pod.node).filter(|room| room.is_there) else { return };
        let asks = &self.asks[&pod.spec];
        let is_blind = self.mutants.has(ControllerMutant::KubeletAdmitsAll);
        // One that runs already was admitted before this kubelet started.
        let is_admitted = pod.phase == PodPhase::Running || is_blind;
        match lacking(room, asks).filter(|_| !is_admitted) {
            Some((reason, message)) => {
                pod.stage = Stage::Refused { reason, message };
                self.work.mark(&uid);
            }
            None => {
                for (name, &amount) in asks.iter() {
                    let used = room.used.entry(name.clone()).or_default();
                    *used = used.plus(amount);
                }
                let due_ns = now_ns.saturating_add(self.startup_ns);
                if self.startup_ns == 0 || pod.phase == PodPhase::Running {
                    self.run(uid, now_ns);
                } else {
                    pod.stage = Stage::Starts { due_ns };
                    self.due.insert((due_ns, uid));
                }
            }
        }
    }

    fn run(&mut self, uid: PodUid, now_ns: u64) {
        let Some(pod) = self.pods.get_mut(&uid) else { return };
        let ends_after_ns = self.lifetime.map(|lifetime| lifetime.draw_ns(self.seed, uid.0));
        let due_ns = ends_after_ns.map(|ns| now_ns.saturating_add(ns));
        pod.stage = Stage::Runs { due_ns };
        self.due.extend(due_ns.map(|due_ns| (due_ns, uid)));
        if pod.phase != PodPhase::Running {
            self.work.mark(&uid);
        }
    }

    /// A pod takes no room any more.
    fn on_gone(&mut self, uid: PodUid) {
        let Some(pod) = self.pods.remove(&uid) else { return };
        self.work.forget(&uid);
        let Some(room) = self.nodes.get_mut(&pod.node) else { return };
        room.pods.retain(|other| *other != uid);
        let due_ns = match pod.stage {
            Stage::Starts { due_ns } => Some(due_ns),
            Stage::Runs { due_ns } => due_ns,
            Stage::Orphan | Stage::Refused { .. } | Stage::Ends => None,
        };
        if let Some(due_ns) = due_ns {
            self.due.remove(&(due_ns, uid));
        }
        if matches!(pod.stage, Stage::Starts { .. } | Stage::Runs { .. } | Stage::Ends) {
            for (name, &amount) in self.asks[&pod.spec].iter() {
                if let Some(used) = room.used.get_mut(name) {
                    *used = used.minus(amount);
                }
            }
        }
        if room.pods.is_empty() && !room.is_there {
            self.nodes.remove(&pod.node);
        }
    }

    /// The call that tells the API of a pod's stage, if it does not know.
    fn report_pod(&mut self, uid: PodUid) -> Option<ControllerCall> {
        let pod = self.pods.get(&uid)?;
        let ready = |status, reason: &str, message: &str| ConditionWrite {
            type_: Cow::Borrowed("Ready"),
            status,
            reason: Cow::Owned(reason.to_owned()),
            message: Cow::Owned(message.to_owned()),
        };
        let (phase, condition) = match &pod.stage {
            Stage::Runs { .. } => (PodPhase::Running, ready(ConditionStatus::True, "", "")),
            Stage::Ends => (PodPhase::Succeeded, ready(ConditionStatus::False, "PodCompleted", "")),
            Stage::Refused { reason, message } => {
                (PodPhase::Failed, ready(ConditionStatus::False, reason, message))
            }
            Stage::Orphan | Stage::Starts { .. } => return None,
        };
        if pod.phase == phase {
            return None;
        }
        let request = ControllerRequest::PatchPodStatus {
            pod: uid,
            condition: Some(condition),
            nomination: NominatedNodeNamePatch::Keep,
            phase: Some(phase),
        };
        Some(ControllerCall { token: self.work.call(&uid, ()), request })
    }

    fn on_told(&mut self, uid: PodUid, now_ns: u64) {
        let Some(pod) = self.pods.get_mut(&uid) else { return };
        match pod.stage {
            Stage::Runs { .. } => {
                pod.phase = PodPhase::Running;
                self.counts.started += 1;
                self.latency.record(pod.since_ns, now_ns);
            }
            Stage::Refused { .. } => {
                self.counts.refused += 1;
                self.on_gone(uid);
            }
            Stage::Ends => {
                self.counts.finished += 1;
                self.on_gone(uid);
            }
            Stage::Orphan | Stage::Starts { .. } => {}
        }
    }
}

/// What a node has too little of, as the kubelet says it. Upstream: predicate.go, `InsufficientResourceError`.
fn lacking(room: &NodeRoom, asks: &Amounts) -> Option<(String, String)> {
    let lacks = |(name, asked): &(&String, &Amount)| {
        let used = room.used.get(*name).copied().unwrap_or_default();
        let has = room.has.get(*name).copied().unwrap_or_default();
        !has.covers(used.plus(**asked))
    };
    let (name, asked) = asks.iter().find(lacks)?;
    let amount = |of: &Amounts| of.get(name).copied().unwrap_or_default();
    let message = format!(
        "Node didn't have enough resource: {name}, requested: {asked}, used: {}, capacity: {}",
        amount(&room.used),
        amount(&room.has)
    );
    Some((format!("OutOf{name}"), message))
}

impl Controller for Kubelet {
    fn on_event(&mut self, event: &WatchEvent, context: ControllerContext<'_>) {
        match &event.object {
            WatchedObject::Node(entry) => self.on_node(event.kind, entry),
            WatchedObject::Pod(row) if event.kind == EventKind::Deleted || row.phase.is_finished() => {
                self.on_gone(row.uid);
            }
            WatchedObject::Pod(row) => self.on_pod(row, context),
            WatchedObject::PodEvent(_) | WatchedObject::Other(_) => {}
        }
    }

    fn advance(&mut self, context: ControllerContext<'_>) {
        self.work.advance(context.now_ns);
        while let Some(&(due_ns, uid)) = self.due.first()
            && due_ns <= context.now_ns
        {
            self.due.pop_first();
            match self.pods.get(&uid).map(|pod| pod.stage.clone()) {
                Some(Stage::Starts { .. }) => self.run(uid, due_ns),
                Some(Stage::Runs { .. }) => {
                    self.pods.get_mut(&uid).expect("looked up just now").stage = Stage::Ends;
                    self.work.mark(&uid);
                }
                Some(Stage::Orphan | Stage::Refused { .. } | Stage::Ends) | None => {}
            }
        }
    }

    fn next_wake_ns(&self) -> Option<u64> {
        let due_ns = self.due.first().map(|(due_ns, _)| *due_ns);
        [due_ns, self.work.next_wake_ns()].into_iter().flatten().min()
    }

    fn take_calls(&mut self, context: ControllerContext<'_>, into: &mut Vec<ControllerCall>) {
        self.admit_arrived(context.now_ns);
        for uid in self.work.take() {
            into.extend(self.report_pod(uid));
        }
    }

    fn on_answer(
        &mut self,
        token: CallToken,
        answer: &Result<ControllerAnswer, ApiError>,
        context: ControllerContext<'_>,
    ) {
        let Some((uid, ())) = self.work.answered(token) else { return };
        match answer {
            Ok(_) => {
                self.work.succeeded(&uid);
                self.on_told(uid, context.now_ns);
            }
            // The watch will say that it is gone.
            Err(error) if error.reason == StatusReason::NotFound => {}
            Err(_) if self.pods.contains_key(&uid) => self.work.retry(&uid, context.now_ns),
            Err(_) => {}
        }
    }

    fn remaining(&self) -> Remaining {
        match self.work.remaining() {
            Remaining::Nothing if !self.arrived.is_empty() => Remaining::Work,
            Remaining::Nothing if !self.due.is_empty() => Remaining::Timers,
            remaining => remaining,
        }
    }

    fn report(&self) -> ControllerReport {
        ControllerReport::of(&[
            ("pods_started", self.counts.started),
            ("pods_refused", self.counts.refused),
            ("pods_finished", self.counts.finished),
            ("retried", self.work.retried),
        ])
        .timed(&self.latency)
    }
}

#[cfg(test)]
mod tests;
