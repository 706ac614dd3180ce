//! The invariants that hold when nothing moves any more.

use schedlab_core::scheduler::Standing;

use super::check::{is_leaving, number_of_id, number_of_name};
use super::preemption::is_plain;
use super::run::Simulation;
use super::shape::Hold;
use super::violation::Invariant;
use schedlab_cluster::api::{ConditionSetId, PodFlags, StoredPodRow};

impl Simulation<'_> {
    /// Nothing moves any more: the whole state is looked at.
    pub(super) fn check_rest(&mut self) {
        for at in 0..self.actors.len() {
            let differences = self.actors[at].seen.differences(&self.truth);
            assert_eq!(differences, 0, "at rest every event has arrived");
            self.check_owners(at);
            self.check_snapshot(at);
            self.check_leaks(at);
            self.check_nominations(at);
            self.check_standings(at);
            if self.violation.is_none() {
                self.ask_the_oracle(at);
            }
        }
        self.check_controllers_at_rest();
    }

    fn check_leaks(&mut self, at: usize) {
        self.checks.note(Invariant::NothingLeaks);
        let actor = &self.actors[at];
        let scheduler = actor.scheduler();
        let queue = scheduler.queue();
        let counts = scheduler.counts();
        let reserved = actor.board.lock().reserved.clone();
        let leaks = [
            (queue.counts().in_flight, "pods in flight"),
            (queue.in_flight_event_count(), "events kept for pods in flight"),
            (counts.assumed, "assumed pods"),
            (scheduler.binding_cycles().len(), "binding cycles"),
            (reserved.len(), "reserved pods"),
        ];
        if let Some((count, what)) = leaks.into_iter().find(|(count, _)| *count > 0) {
            self.fail(Invariant::NothingLeaks, || format!("at rest there are {count} {what}"));
        }
    }

    /// What the scheduler holds room for is what pods say.
    fn check_nominations(&mut self, at: usize) {
        self.checks.note(Invariant::NominatorEqualsStatus);
        let actor = &self.actors[at];
        let world = actor.scheduler().world();
        let nominations = world.nominator();
        let (mut wrong, mut outlived) = (None, None);
        // Those of another scheduler hold room as well.
        for row in self.truth.pods.values() {
            let held = nominations.node_of(row.uid).map(|node| number_of_id(world, node));
            let said =
                row.nominated.filter(|_| row.node.is_none() && !row.phase.is_finished()).map(number_of_name);
            let failed = actor.records.get(&row.uid).is_some_and(|record| record.patch_failed);
            if held != said && !failed {
                wrong = Some((row.uid, held, said));
            }
            if self.shape_of(row).scheduler == actor.number && self.outlives_its_attempt(at, row) {
                outlived = Some(row.uid);
            }
        }
        if let Some((pod, held, said)) = wrong {
            return self.fail(Invariant::NominatorEqualsStatus, || {
                format!("room is held for pod {} on {held:?}, its status says {said:?}", pod.0)
            });
        }
        if let Some(pod) = outlived {
            return self.fail(Invariant::NominatorEqualsStatus, || {
                format!("pod {} keeps its nomination after an attempt that failed", pod.0)
            });
        }
        let ghost = nominations
            .nodes()
            .flat_map(|(_, pods)| pods)
            .map(|nomination| nomination.pod)
            .filter(|pod| !self.truth.pods.contains_key(pod))
            .min();
        if let Some(pod) = ghost {
            self.fail(Invariant::NominatorEqualsStatus, || {
                format!("room is held for pod {}, which is gone", pod.0)
            });
        }
    }

    /// Without the gate of KEP-5278 a failed attempt that evicts nobody clears the nomination. A pod
    /// that may not evict keeps it, and so does one that was not tried since its status came to say it:
    /// somebody else wrote it, or the scheduler itself, whose older word was seen in between. Judged where
    /// resources alone decide: otherwise the end of its last victim may wake nobody.
    fn outlives_its_attempt(&self, at: usize, row: &StoredPodRow) -> bool {
        let scheduler = self.actors[at].scheduler();
        let stands = scheduler.world().pods().find(row.uid).map(|pod| scheduler.standing(pod));
        !self.scenario.setup.gates.nominated_node_name_for_expectation
            && row.nominated.is_some()
            && stands == Some(Standing::Unschedulable)
            && !is_leaving(row)
            && !self.shape_of(row).never_preempts
            && self.scenario.shapes.iter().all(is_plain)
            && self.actors[at]
                .records
                .get(&row.uid)
                .is_some_and(|record| !record.patch_failed && !record.is_newly_named)
    }

    /// Every pod that waits has a reason.
    fn check_standings(&mut self, at: usize) {
        self.checks.note(Invariant::NothingLost);
        let actor = &self.actors[at];
        let has_claim = actor.board.lock().has_claim;
        let mut wrong = None;
        for row in self.truth.pods.values().filter(|row| row.node.is_none()) {
            let shape = self.shape_of(row);
            if shape.scheduler != actor.number || is_leaving(row) || row.phase.is_finished() {
                continue;
            }
            let pods = actor.scheduler().world().pods();
            let Some(standing) = pods.find(row.uid).map(|pod| actor.scheduler().standing(pod)) else {
                wrong = Some((row.uid, "is unknown".to_owned()));
                break;
            };
            let is_held = row.flags.contains(PodFlags::GATED) || (shape.hold == Hold::Claim && !has_claim);
            let has_nodes = !self.truth.nodes.is_empty();
            let is_right = match standing {
                Standing::Gated => is_held,
                Standing::Unschedulable => !is_held,
                Standing::Backoff | Standing::Queued => !has_nodes && !is_held,
                _ => false,
            };
            let says_why = row.conditions != ConditionSetId::default();
            let failed = actor.records.get(&row.uid).is_some_and(|record| record.patch_failed);
            if !is_right {
                wrong = Some((row.uid, format!("stands at {standing:?} (held back: {is_held})")));
            } else if standing == Standing::Unschedulable && !says_why && !failed {
                wrong = Some((row.uid, "waits, and its status does not say why".to_owned()));
            }
        }
        if let Some((pod, what)) = wrong {
            self.fail(Invariant::NothingLost, || format!("pod {} {what}", pod.0));
        }
    }
}
