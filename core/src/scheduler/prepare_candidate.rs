//! Evictions: victims are let go, beside the loop or while it waits.
//!
//! ```text
//!            all victims but the last           the last
//! preempt ──▶ calls on their way ──────────────▶ call on its way ──▶ over: its end wakes the
//!                │ one failed                       │                 preemptor
//!                └─▶ over, and the preemptor is ◀───┘ failed, or nothing more will be heard of it
//!                    tried again at once
//! ```
//!
//! A call is two: the condition `DisruptionTarget`, which tells whoever asks later, and a scheduler that is
//! restarted meanwhile, why the pod goes; and the deletion when that is written.
//!
//! Upstream: framework/preemption/executor.go.

use std::sync::Arc;

use super::pod_group_queueing::group_of_uid;
use super::preemption_executor::{Answered, is_staying};
use super::timing::Timed;
use super::{ApiCall, Scheduler};
use crate::binding::{CallFailure, CallId};
use crate::framework::points::Request;
use crate::ids::{PodId, PodUid};
use crate::mutants::Mutant;
use crate::queue::QueuePlace;

/// The plugin that rejects a waiting victim.
const PLUGIN: &str = "DefaultPreemption";

/// How a victim is let go.
enum Eviction {
    /// It was on its way to the node and gives it up: no call is needed, and no event of the API
    /// will tell of it.
    InMemory,
    /// The API is asked to delete it.
    Called(CallId),
    /// It is not there any more.
    Gone,
}

impl Scheduler {
    /// Notes whom preemption evicts from now on, for [`Scheduler::take_preemptions`].
    pub fn note_preemptions(&mut self, is_wanted: bool) {
        self.preemption_executor.keep_victims(is_wanted);
    }

    /// The victims of preemption that were noted since the last time, each with its preemptor.
    pub fn take_preemptions(&mut self) -> Vec<(PodUid, PodUid)> {
        self.preemption_executor.take_victims()
    }

    /// Lets the victims go that are not on their way out already.
    pub(super) fn prepare_candidate(&mut self, preemptor: PodUid, victims: &[PodId]) {
        let rows = victims.iter().map(|&victim| self.world.pods().get(victim));
        debug_assert!(rows.clone().all(|row| row.node().is_some()), "a victim is on a node");
        debug_assert!(rows.clone().all(|row| row.uid != preemptor), "a pod is not its own victim");
        let staying = rows.filter(|row| !self.world.class(row.class).is_terminating);
        let staying: Vec<PodUid> = staying.map(|row| row.uid).collect();
        self.preemption_executor.note_victims(preemptor, &staying);
        if self.settings.gates.scheduler_async_preemption {
            return self.prepare_candidate_async(preemptor, &staying);
        }
        let message = self.disruption_message(preemptor);
        for victim in staying {
            if let Eviction::Called(call) = self.preempt_pod(victim, &message) {
                self.preemption_executor.block_on(call, preemptor);
            }
        }
    }

    /// Lets the victims go while the loop goes on.
    fn prepare_candidate_async(&mut self, preemptor: PodUid, victims: &[PodUid]) {
        let Some((&last, others)) = victims.split_last() else { return };
        let message = self.disruption_message(preemptor);
        let begun_ns = self.timing.now_ns().unwrap_or(self.now_ns);
        self.preemption_executor.begin(preemptor, (last, Arc::clone(&message)), begun_ns);
        for &victim in others {
            if let Eviction::Called(call) = self.preempt_pod(victim, &message) {
                self.preemption_executor.expect(call, preemptor);
            }
        }
        self.preempt_last_victim(preemptor);
    }

    /// Lets the last victim go, if it is its turn.
    fn preempt_last_victim(&mut self, preemptor: PodUid) {
        let Some((last, message)) = self.preemption_executor.reach_last(preemptor) else { return };
        match self.preempt_pod(last, &message) {
            Eviction::Called(call) => self.preemption_executor.expect(call, preemptor),
            #[cfg(feature = "mutants")]
            Eviction::InMemory if self.settings.mutants.has(Mutant::CancelledVictim) => {
                self.mutant_state.ends_late(preemptor);
            }
            Eviction::Gone if self.settings.mutants.has(Mutant::RedundantPreemption) => {
                self.preemption_executor.end(preemptor);
            }
            // Either there will be no event of its end, or it came while PreEnqueue held the
            // preemptor back.
            Eviction::InMemory | Eviction::Gone => {
                self.count_async_preemption(preemptor, Ok(()));
                self.try_again(preemptor);
            }
        }
    }

    /// What the condition of a victim says.
    fn disruption_message(&mut self, preemptor: PodUid) -> Arc<str> {
        let member_of_group = || {
            let queued = self.pod_group_queue.get(group_of_uid(preemptor)?)?;
            queued.leader.or_else(|| queued.members().first().map(|member| member.pod))
        };
        let pod = self.world.pods().find(preemptor).or_else(member_of_group);
        let pod = pod.expect("the preemptor was just tried");
        let class = self.world.pods().get(pod).class;
        let profile = self.profile_of(class).expect("its profile tried it");
        let name = &self.parts[usize::from(profile.0)].profile.scheduler_name;
        format!("{name}: preempting to accommodate a higher priority pod").into()
    }

    fn preempt_pod(&mut self, victim: PodUid, message: &Arc<str>) -> Eviction {
        let Some(pod) = self.world.pods().find(victim) else { return Eviction::Gone };
        if self.binding_cycles.is_waiting_on_permit(victim) || self.binding_cycles.is_in_pre_bind(victim) {
            let message = "preempted".into();
            self.requests.push(Request::Preempt { pod: victim, plugin: PLUGIN, message });
            return Eviction::InMemory;
        }
        let row = self.world.pods_mut().get_mut(pod);
        row.is_asked_to_go = true;
        let is_told = row.is_preempted || self.settings.mutants.has(Mutant::DisruptionUntold);
        let call = match is_told {
            true => ApiCall::DeletePod { pod: victim },
            false => ApiCall::AddDisruptionTarget { pod: victim, message: Arc::clone(message) },
        };
        let call = self.dispatcher.add(call);
        Eviction::Called(call.expect("nothing makes it needless that a victim is asked to go"))
    }

    /// The API answered whether it says of a victim why it goes. If so it is deleted; if it is gone it
    /// needs no deletion.
    pub(super) fn on_disruption_target_answer(
        &mut self,
        call: CallId,
        victim: PodUid,
        result: Result<(), CallFailure>,
    ) {
        if result.is_err() {
            return self.on_victim_deletion_answer(call, victim, result);
        }
        let deletion = self.dispatcher.add(ApiCall::DeletePod { pod: victim });
        let deletion = deletion.expect("nothing makes a deletion needless");
        self.preemption_executor.hand_over(call, deletion);
    }

    /// The API answered whether a victim goes.
    pub(super) fn on_victim_deletion_answer(
        &mut self,
        call: CallId,
        victim: PodUid,
        result: Result<(), CallFailure>,
    ) {
        let is_failure = result.is_err_and(|failure| failure != CallFailure::NotFound);
        let known = self.world.pods().find(victim);
        if let (Some(pod), true) = (known, is_failure) {
            self.world.pods_mut().get_mut(pod).is_asked_to_go = false;
        }
        let is_silent = self.settings.mutants.has(Mutant::RedundantPreemption);
        let answered = self.preemption_executor.answer(call, is_failure);
        match answered {
            Answered::Over { preemptor } => self.count_async_preemption(preemptor, Ok(())),
            Answered::Failed { preemptor } => self.count_async_preemption(preemptor, Err(())),
            Answered::OthersAsked { .. } | Answered::Nothing => {}
        }
        match answered {
            Answered::Nothing => {}
            Answered::OthersAsked { preemptor } => self.preempt_last_victim(preemptor),
            Answered::Failed { preemptor } => self.try_again(preemptor),
            Answered::Over { preemptor } if is_silent && !is_staying(victim, &self.world) => {
                self.preemption_executor.end(preemptor);
            }
            // It will be seen to go, or to be gone.
            Answered::Over { preemptor }
                if is_staying(victim, &self.world) || known.is_some_and(|pod| self.is_on_a_node(pod)) =>
            {
                self.preemption_executor.await_end(preemptor);
            }
            // Differs: upstream waits for an event also when the victim was gone before it was asked
            // to go, and the event had come while the preemptor was held back
            // (kubernetes#141694); or when its binding had failed, and no room comes free with it
            // (`last_victim_already_deleted_activates_preemptor`, `victim_whose_binding_failed_does_not_strand_the_preemptor`).
            Answered::Over { preemptor } => self.try_again(preemptor),
        }
    }

    /// A pod is gone or on its way out: a preemptor that waited for nothing else is let in again.
    ///
    /// Differs: upstream leaves that to the event of the victim's end. Whoever was held back when
    /// another victim went is let in by no event unless those who rejected it say that it helps, and
    /// the last victim need not have anything they wait for (kubernetes#139162)
    /// (`gated_preemptor_is_activated_when_its_last_victim_is_deleted_whatever_the_hints`).
    pub(super) fn on_victim_deletion(&mut self, victim: PodUid) {
        let mutants = self.settings.mutants;
        if self.preemption_executor.is_empty() || mutants.has(Mutant::RedundantPreemption) {
            return;
        }
        for preemptor in self.preemption_executor.end_those_waiting_for(victim) {
            let pod = self.world.pods().find(preemptor).or_else(|| {
                self.pod_group_queue.get(group_of_uid(preemptor)?).and_then(|queued| queued.leader)
            });
            let is_gated = pod.is_some_and(|pod| self.queue.place(pod) == QueuePlace::Gated);
            if is_gated && !mutants.has(Mutant::GatedForEver) {
                self.requests.push(Request::Activate { pod: preemptor });
            }
        }
    }

    /// All victims were asked to go. Without `SchedulerAsyncPreemption` no preemption is under way that
    /// could be over. Upstream: metrics `preemption_goroutines_*`.
    fn count_async_preemption(&mut self, preemptor: PodUid, result: Result<(), ()>) {
        let Some(begun_ns) = self.preemption_executor.begun_ns(preemptor) else { return };
        self.counters.async_preemptions += 1;
        self.counters.async_preemption_errors += u64::from(result.is_err());
        let start_ns = self.timing.start_if(true).map(|_| begun_ns);
        self.timing.end(start_ns, Timed::AsyncPreemption { is_success: result.is_ok() });
    }

    fn is_on_a_node(&self, pod: PodId) -> bool {
        self.world.pods().get(pod).node().is_some()
    }

    /// A preemption is over, and no event will wake the preemptor.
    fn try_again(&mut self, preemptor: PodUid) {
        self.preemption_executor.end(preemptor);
        self.requests.push(Request::Activate { pod: preemptor });
    }
}
