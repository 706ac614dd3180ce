//! What becomes of `status.nominatedNodeName`.
//!
//! KEP-5278, gate on: written when a pod is about to be held up on its way to a node, overwritten
//! when another node is meant, never cleared by the scheduler; the API clears it when the pod is
//! bound. Gate off: cleared after a failed cycle.

use crate::framework::points::Nomination;
use crate::ids::{NodeId, PodId, PodUid};
use crate::mutants::Mutant;
use crate::pods::{PodRow, PodState};
use crate::queue::Scope;
use crate::queue::event::{ASSIGNED_POD_DELETE, Event, PodFacts};

use super::{NominatedNodeMiss, Scheduler};

impl Scheduler {
    /// The API says which node a pod is nominated to; whoever wrote it. The node need not exist.
    pub fn on_nomination(&mut self, uid: PodUid, node: Option<NodeId>, now_ns: u64) {
        if self.take_over_nomination(uid, node, now_ns) {
            self.reclaim_if_due();
        }
    }

    /// Whether another one was said before.
    fn take_over_nomination(&mut self, uid: PodUid, node: Option<NodeId>, now_ns: u64) -> bool {
        self.see(now_ns);
        // A node that was asked for in vain is not named by anything now.
        let Some(pod) = self.world.pods().find(uid) else { return node.is_some() };
        let row = self.world.pods_mut().get_mut(pod);
        let seen = row.see_nominated(node);
        let row = *row;
        if seen == node {
            return false;
        }
        if row.nominated() != node {
            self.note_nomination(pod, node);
        }
        let is_silent = self.settings.mutants.has(Mutant::NominationMovesSilently);
        if seen.is_some() && row.state == PodState::Pending && !self.holds_again(&row, seen) && !is_silent {
            // Room that was held is free for pods that had to respect it; whoever moved the nomination.
            let before = PodFacts { nominated: seen, ..self.facts(pod) };
            // Not for the pod itself: its own nomination never kept it out, and with
            // `nominatedNodeMiss: requeue` it would wake itself again and again.
            let scope = Scope::UpToPriorityExcept(self.world.class(row.class).priority, uid);
            self.tell(&Event::pod(ASSIGNED_POD_DELETE, Some(before), None), scope);
            self.serve_requests();
        }
        seen.is_some()
    }

    /// The room that the API says is free is asked for anew, or will be in the fresh cycle that a miss
    /// has brought about: whoever had to respect it hears of it when that cycle is over. Otherwise pods
    /// that wait for the same victims would wake each other, one giving its nomination up and taking it
    /// again after the other.
    fn holds_again(&self, row: &PodRow, seen: Option<NodeId>) -> bool {
        self.settings.nominated_node_miss == NominatedNodeMiss::Requeue
            && (row.nominated() == seen || self.missed.get(&row.uid).copied() == seen)
    }

    /// The fresh cycle after a miss is over. Unless the pod asks for the same room again, others may have
    /// it.
    pub(super) fn after_fresh_cycle(&mut self, pod: PodId) {
        let row = *self.world.pods().get(pod);
        let left = self.missed.remove(&row.uid);
        self.leave_room(pod, left.filter(|&node| row.nominated() != Some(node) && row.node() != Some(node)));
    }

    /// A pod goes elsewhere than to the node it was nominated to: those who had to leave room for it
    /// there may have it. Not before the pod is out of the queue, or it would hear of it itself.
    ///
    /// Differs: upstream tells nobody when the pod is bound (kubernetes#134859); the flush helps.
    pub(super) fn leave_room(&mut self, pod: PodId, left: Option<NodeId>) {
        if left.is_none() {
            return;
        }
        let before = PodFacts { nominated: left, node: None, ..self.facts(pod) };
        let priority = self.world.class(before.class).priority;
        let scope = Scope::UpToPriorityExcept(priority, before.uid);
        self.tell(&Event::pod(ASSIGNED_POD_DELETE, Some(before), None), scope);
    }

    /// The one place where the nominator learns of a pod's nomination. A pod that is on a node holds
    /// its room by being there, and another scheduler's pods hold none against ours.
    pub(super) fn note_nomination(&mut self, pod: PodId, node: Option<NodeId>) {
        let row = self.world.pods_mut().get_mut(pod);
        row.set_nominated(node);
        let (uid, class) = (row.uid, row.class);
        match node.filter(|_| row.state == PodState::Pending) {
            Some(node) => self.world.nominate(uid, class, node),
            None => {
                self.world.clear_nomination(uid);
            }
        }
    }

    /// What a failed cycle does to the nomination: with the gate on it is never cleared.
    pub(super) fn after_failure(&self, wanted: Nomination) -> Nomination {
        match wanted {
            Nomination::Clear if self.settings.gates.nominated_node_name_for_expectation => Nomination::Keep,
            Nomination::Clear if self.settings.mutants.has(Mutant::NominationNeverCleared) => {
                Nomination::Keep
            }
            other => other,
        }
    }
}
