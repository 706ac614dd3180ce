//! Whether a waiting pod could run: a scheduler that has never seen anything is told the state of
//! the cluster as the API has it, and tries every pod once. If it places one, or evicts for one,
//! the scheduler under test has missed something that happened.

use schedlab_core::api_call::ApiCall;
use schedlab_core::cycle::probe::NoProbe;
use schedlab_core::ids::PodUid;
use schedlab_core::mutants::Mutants;
use schedlab_core::scheduler::{ScheduleOneOutcome, Scheduler};

use super::actor::make_scheduler;
use super::plugins::{Patience, SharedBoard};
use super::preemption::is_plain;
use super::run::Simulation;
use super::violation::Invariant;
use schedlab_cluster::api::WatchedObject;
use schedlab_cluster::runtime::virtual_time::VirtualScheduler;

/// What a fresh scheduler would do with one pod.
enum Answer {
    Nothing,
    Places(u64, String),
    Evicts(u64),
    /// It changed something for the pods that come after it: no more can be asked.
    Stops,
}

impl Simulation<'_> {
    pub(super) fn ask_the_oracle(&mut self, at: usize) {
        // A nomination that the API never heard of holds room that only the scheduler knows of.
        let actor = &self.actors[at];
        let is_known = |uid| self.truth.pods.contains_key(uid);
        if actor.records.iter().any(|(uid, record)| record.patch_failed && is_known(uid)) {
            return;
        }
        self.checks.note(Invariant::NothingFitsAndWaits);
        let board = SharedBoard::default();
        board.lock().has_claim = actor.board.lock().has_claim;
        board.lock().patience = Patience::Rejects;
        let scheduler = make_scheduler(
            actor.number,
            self.scenario.seed,
            &self.scenario.setup,
            &board,
            Mutants::default(),
        );
        let mut fresh = VirtualScheduler::new(scheduler);
        let now_ns = self.now_ns();
        let mut events = Vec::new();
        self.truth.list(&mut events);
        // Pods that Permit rejects for want of the claim wait for that and nothing else; what they could
        // do without it is nobody's loss. Room may be held for them.
        let has_claim = board.lock().has_claim;
        events.retain(|event| match &event.object {
            WatchedObject::Pod(row) => {
                has_claim || row.node.is_some() || row.nominated.is_some() || !self.shape_of(row).needs_pass
            }
            _ => true,
        });
        for event in &events {
            fresh.deliver(event, &self.api, now_ns);
        }
        let waiting = self.truth.pods.len();
        // A plugin that rejects a node hides what those behind it would say, and no event of theirs wakes
        // the pod. That it could evict its way in is sure to be noticed only where resources are all
        // that counts, as upstream notices it.
        let knows_evictions = self.scenario.shapes.iter().all(is_plain);
        for _ in 0..waiting {
            match ask_once(&mut fresh.scheduler) {
                Answer::Evicts(_) if !knows_evictions => return,
                Answer::Evicts(pod) if !has_claim && self.needs_pass(PodUid(pod)) => return,
                Answer::Nothing => {}
                Answer::Stops => return,
                Answer::Places(pod, node) => {
                    return self.fail(Invariant::NothingFitsAndWaits, || {
                        format!("pod {pod} waits, but it fits on {node}")
                    });
                }
                Answer::Evicts(pod) => {
                    return self.fail(Invariant::NothingFitsAndWaits, || {
                        format!("pod {pod} waits, but it could make room by preemption")
                    });
                }
            }
        }
    }

    fn needs_pass(&self, pod: PodUid) -> bool {
        self.truth.pods.get(&pod).is_some_and(|row| self.shape_of(row).needs_pass)
    }
}

fn ask_once(scheduler: &mut Scheduler) -> Answer {
    let nominations = scheduler.world().nominator().version();
    let (pod, is_placed) = match scheduler.schedule_one(&mut NoProbe) {
        ScheduleOneOutcome::Idle => return Answer::Stops,
        ScheduleOneOutcome::Assumed { pod, .. } => (pod, true),
        ScheduleOneOutcome::Unschedulable { pod }
        | ScheduleOneOutcome::Failed { pod }
        | ScheduleOneOutcome::NominatedMissed { pod } => (pod, false),
    };
    let row = *scheduler.world().pods().get(pod);
    if is_placed {
        let node = row.node().map_or("?", |node| scheduler.world().node_name(node));
        return Answer::Places(row.uid.0, node.to_owned());
    }
    let mut calls = Vec::new();
    scheduler.take_calls(&mut calls);
    let asks_to_go =
        |call: &ApiCall| matches!(call, ApiCall::AddDisruptionTarget { .. } | ApiCall::DeletePod { .. });
    if calls.iter().any(|call| asks_to_go(&call.call)) {
        return Answer::Evicts(row.uid.0);
    }
    let is_same = scheduler.world().nominator().version() == nominations;
    if is_same { Answer::Nothing } else { Answer::Stops }
}
