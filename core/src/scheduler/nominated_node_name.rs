//! What becomes of `status.nominatedNodeName`.
//!
//! KEP-5278, gate on: written when a pod is about to be held up on its way to a node, overwritten
//! when another node is meant, never cleared by the scheduler; the API clears it when the pod is
//! bound. Gate off: cleared after a failed cycle.

use crate::binding::CallId;
use crate::framework::points::NominatingInfo;
use crate::ids::{NodeId, PodId, PodUid};
use crate::known_gaps::KnownGaps;
use crate::mutants::Mutant;
use crate::pods::{PodRow, PodState};
use crate::queue::PreCheck;
use crate::queue::event::{ASSIGNED_POD_DELETE, Event, PodFacts};

use super::nominated_node_name_versions::{Age, Answer};
use super::{ApiCall, NominatedNodeNameMiss, Scheduler, StatusPatch};

impl Scheduler {
    /// The API says which node a pod is nominated to, in a version of the pod; whoever wrote it. The node
    /// need not exist.
    pub(super) fn on_nominated_node_name(&mut self, uid: PodUid, node: Option<NodeId>, version: u64) {
        if self.take_nominated_node_name(uid, node, version) {
            self.reclaim_if_due();
        }
    }

    /// Whether another one was said before.
    fn take_nominated_node_name(&mut self, uid: PodUid, node: Option<NodeId>, version: u64) -> bool {
        // A node that was asked for in vain is not named by anything now.
        let Some(pod) = self.world.pods().find(uid) else { return node.is_some() };
        let age = self.nominated_node_name_versions.see(uid, version);
        let row = self.world.pods_mut().get_mut(pod);
        let seen = row.see_nominated(node);
        let held = row.nominated();
        if seen == node {
            return age == Age::AfterOurs && self.follow_status(pod, node);
        }
        // What we have written since counts more than an older word of anybody's, and so does what is still
        // to be written: the event may be that of our own write before it, ahead of its answer.
        if held != node && age != Age::BeforeOurs && !self.dispatcher.has_nomination_of(uid) {
            self.update_nominated_pod(pod, node);
        }
        if !self.holds_again(self.world.pods().get(pod), seen) {
            self.requeue_pods_after_nomination_change(pod, seen);
            self.serve_requests();
        }
        seen.is_some()
    }

    /// The API took a patch of ours.
    pub(super) fn on_patch_taken(&mut self, patch: &StatusPatch, version: u64) {
        let is_unseen = self.settings.mutants.has(Mutant::OwnWriteUnseen);
        if patch.nomination == NominatingInfo::Keep || is_unseen {
            return;
        }
        let Some(pod) = self.world.pods().find(patch.pod) else { return };
        if self.nominated_node_name_versions.answer(patch.pod, version) == Answer::Overtaken {
            self.follow_status(pod, self.world.pods().get(pod).nominated_by_api());
        }
    }

    /// The watch tells of a status that is newer than what we have written, and it is what it told before
    /// our write: the event of that never came, others have written since. Unless something else is still to
    /// be said, what the status says counts.
    /// Whether it is another one than what was held.
    fn follow_status(&mut self, pod: PodId, said: Option<NodeId>) -> bool {
        let row = self.world.pods().get(pod);
        let (uid, held) = (row.uid, row.nominated());
        if held == said || self.dispatcher.has_nomination_of(uid) {
            return false;
        }
        self.update_nominated_pod(pod, said);
        self.requeue_pods_after_nomination_change(pod, held);
        self.serve_requests();
        true
    }

    /// Room that was held for a pod is free for pods that had to respect it; whoever moved the nomination.
    fn requeue_pods_after_nomination_change(&mut self, pod: PodId, before: Option<NodeId>) {
        let row = *self.world.pods().get(pod);
        let is_silent = self.settings.mutants.has(Mutant::NominationMovesSilently);
        if before.is_none() || !self.holds_room(row.state) || is_silent {
            return;
        }
        let before = PodFacts { nominated: before, ..self.facts(pod) };
        // Not for the pod itself: its own nomination never kept it out, and with
        // `nominatedNodeNameMiss: requeue` it would wake itself again and again.
        let scope = PreCheck::UpToPriorityExcept(self.world.class(row.class).priority, row.uid);
        self.move_all_to_active_or_backoff_queue(&Event::pod(ASSIGNED_POD_DELETE, Some(before), None), scope);
    }

    /// Wants a call made, and remembers what it says of a nomination.
    pub(super) fn add_api_call(&mut self, call: ApiCall) -> Option<CallId> {
        if let ApiCall::PatchStatus(patch) = &call
            && patch.nomination != NominatingInfo::Keep
        {
            self.nominated_node_name_versions.expect(patch.pod);
        }
        self.dispatcher.add(call)
    }

    /// The room that the API says is free is asked for anew, or will be in the fresh cycle that a miss
    /// has brought about: whoever had to respect it hears of it when that cycle is over. Otherwise pods
    /// that wait for the same victims would wake each other, one giving its nomination up and taking it
    /// again after the other.
    fn holds_again(&self, row: &PodRow, seen: Option<NodeId>) -> bool {
        self.settings.nominated_node_name_miss == NominatedNodeNameMiss::Requeue
            && (row.nominated() == seen || self.missed.get(&row.uid).copied() == seen)
    }

    /// The fresh cycle after a miss is over. Unless the pod asks for the same room again, others may have
    /// it.
    pub(super) fn after_fresh_cycle(&mut self, pod: PodId) {
        let row = *self.world.pods().get(pod);
        let left = self.missed.remove(&row.uid);
        self.requeue_pods_after_nomination_left(
            pod,
            left.filter(|&node| row.nominated() != Some(node) && row.node() != Some(node)),
        );
    }

    /// A pod goes elsewhere than to the node it was nominated to: those who had to leave room for it
    /// there may have it. Not before the pod is out of the queue, or it would hear of it itself.
    ///
    /// Differs: upstream tells nobody when the pod is bound (kubernetes#134859); the flush helps
    /// (`pod_bound_to_another_than_its_nominated_node_requeues_pods_it_kept_out`).
    pub(super) fn requeue_pods_after_nomination_left(&mut self, pod: PodId, left: Option<NodeId>) {
        if left.is_none() {
            return;
        }
        let before = PodFacts { nominated: left, node: None, ..self.facts(pod) };
        let priority = self.world.class(before.class).priority;
        let scope = PreCheck::UpToPriorityExcept(priority, before.uid);
        self.move_all_to_active_or_backoff_queue(&Event::pod(ASSIGNED_POD_DELETE, Some(before), None), scope);
    }

    /// A failed attempt, or a preemptor above the pod, has given a nomination up that the API was never seen
    /// to say: the call that was to write it waited in the queue, and the one that takes it back replaces it.
    /// No watch event will tell of the room, so it is told of now.
    ///
    /// Differs: upstream moves pods when the event of the cleared `nominatedNodeName` comes, and here none
    /// comes; the flush helps (`seeds_that_found_a_bug_violate_no_invariant`).
    pub(super) fn requeue_pods_after_unwritten_nomination(&mut self, pod: PodId, held: Option<NodeId>) {
        if self.settings.mutants.has(Mutant::UnwrittenNominationUnheard) {
            return;
        }
        let row = *self.world.pods().get(pod);
        let is_given_up =
            |node: &NodeId| row.nominated() != Some(*node) && row.nominated_by_api() != Some(*node);
        self.requeue_pods_after_nomination_left(pod, held.filter(is_given_up));
    }

    /// Whether a nominated pod has room held for it: one that is on a node holds it by being there.
    ///
    /// Differs: upstream ignores nominations of pods that another scheduler takes. Two schedulers would
    /// then work against each other for ever: one evicts for its pod, the other fills the room with the
    /// victim that a controller has made again (kubernetes#130429)
    /// (`nominated_pods_of_another_scheduler_reserve`).
    fn holds_room(&self, state: PodState) -> bool {
        match state {
            PodState::Pending => true,
            PodState::Foreign => {
                self.settings.known_gaps == KnownGaps::Mended
                    && !self.settings.mutants.has(Mutant::ForeignNominationIgnored)
            }
            PodState::Assumed | PodState::Bound => false,
        }
    }

    /// The one place where the nominator learns of a pod's nomination.
    pub(super) fn update_nominated_pod(&mut self, pod: PodId, node: Option<NodeId>) {
        let row = self.world.pods_mut().get_mut(pod);
        row.set_nominated(node);
        let (uid, class, state) = (row.uid, row.class, row.state);
        match node.filter(|_| self.holds_room(state)) {
            Some(node) if state == PodState::Foreign => {
                self.world.add_foreign_nominated_pod(uid, class, node)
            }
            Some(node) => self.world.add_nominated_pod(uid, class, node),
            None => {
                self.world.delete_nominated_pod_if_exists(uid);
            }
        }
        let held = node.filter(|_| self.holds_room(state));
        debug_assert_eq!(self.world.nominator().node_of(uid), held, "the nominator has what the row says");
    }

    /// What a failed cycle does to the nomination: with the gate on it is never cleared.
    pub(super) fn after_failure(&self, wanted: NominatingInfo) -> NominatingInfo {
        match wanted {
            NominatingInfo::Clear
                if self.settings.gates.nominated_node_name_for_expectation
                    && !self.settings.mutants.has(Mutant::NominationClearedAnyway) =>
            {
                NominatingInfo::Keep
            }
            NominatingInfo::Clear if self.settings.mutants.has(Mutant::NominationNeverCleared) => {
                NominatingInfo::Keep
            }
            other => other,
        }
    }
}
