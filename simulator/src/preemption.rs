//! The invariants over a failed attempt and a preemption: who could make room does, has that room
//! held for it, and spares pods that a disruption budget protects.

use schedlab_core::ids::{PodId, PodUid};
use schedlab_core::pods::PodState;

use super::check::{is_leaving, number_of_id, number_of_name};
use super::judge::Placed;
use super::run::Simulation;
use super::scenario::NODES_MAX;
use super::shape::PodShape;
use super::violation::Invariant;
use schedlab_cluster::api::{PodFlags, StoredPodRow};
use schedlab_cluster::runtime::virtual_time::{Effect, ReadyCall};

/// Resources are all that counts for the pod: it keeps away from nobody and needs nobody.
pub(super) fn is_plain(shape: &PodShape) -> bool {
    shape.avoids.is_none() && shape.joins.is_none() && shape.spreads.is_none() && shape.port.is_none()
}

/// It is the first that is said to a victim, or the last.
fn asks_to_go(call: &ReadyCall) -> bool {
    matches!(call.effect, Effect::AddDisruptionTarget { .. } | Effect::Delete)
}

impl Simulation<'_> {
    /// An attempt failed. A pod that is nominated by it preempts somebody there.
    pub(super) fn note_failure(&mut self, at: usize, pod: PodId) {
        let world = self.actors[at].scheduler().world();
        let known = *world.pods().get(pod);
        let Some(node) = known.nominated().map(|node| number_of_id(world, node)) else { return };
        let Some(row) = self.actors[at].seen.pods.get(&known.uid).copied() else { return };
        let priority = self.shape_of(&row).priority;
        self.look(at, known.uid);
        let has_victim =
            self.view.placed.iter().any(|other| other.node == node && other.shape.priority < priority);
        if has_victim || self.has_let_go(at, node, priority) {
            self.actors[at].record(known.uid).may_name |= 1 << node;
            self.note_losers(at, node, priority);
        }
    }

    /// A preemptor takes a node over: pods below it that are nominated there lose their nominations. The
    /// calls that say so may go out much later, when the preemptor is gone.
    fn note_losers(&mut self, at: usize, node: u8, priority: i32) {
        let actor = &self.actors[at];
        let is_named = |row: &StoredPodRow| {
            let may_name = actor.records.get(&row.uid).map_or(0, |record| record.may_name);
            row.nominated.map(number_of_name) == Some(node) || may_name & (1 << node) != 0
        };
        let rows = actor.seen.pods.values();
        let losers = rows.filter(|row| self.shape_of(row).priority < priority && is_named(row));
        let losers: Vec<PodUid> = losers.map(|row| row.uid).collect();
        for uid in losers {
            self.actors[at].record(uid).may_clear = true;
        }
    }

    /// A pod of lower priority was on its way to the node and may just have given it up.
    fn has_let_go(&self, at: usize, node: u8, priority: i32) -> bool {
        let actor = &self.actors[at];
        let was_there =
            |uid: &PodUid| actor.records.get(uid).is_some_and(|record| record.chosen == Some(node));
        actor
            .seen
            .pods
            .values()
            .any(|row| row.node.is_none() && self.shape_of(row).priority < priority && was_there(&row.uid))
    }

    /// No node fits: a pod that could make room somewhere does, or waits for room that it has made. A
    /// nomination to a node that it cannot go to any more does not count. Pods that need others are not
    /// judged: evictions may harm them.
    pub(super) fn check_makes_room(&mut self, at: usize, pod: PodId) {
        let world = self.actors[at].scheduler().world();
        let known = *world.pods().get(pod);
        let Some(row) = self.actors[at].seen.pods.get(&known.uid).copied() else { return };
        let shape = *self.shape_of(&row);
        let needs_others = shape.joins.is_some() || shape.spreads.is_some();
        if shape.never_preempts || needs_others || self.actors[at].has_shared_port {
            return;
        }
        let held: Vec<u8> = world.nominator().nodes().map(|(node, _)| number_of_id(world, node)).collect();
        let named = known.nominated().map(|node| number_of_id(world, node));
        self.checks.note(Invariant::NothingFitsAndWaits);
        self.look(at, known.uid);
        if named.is_some_and(|node| self.view.takes(&shape, node)) {
            return;
        }
        let stays = |other: &Placed| other.shape.priority >= shape.priority;
        let helps = |&node: &u8| !held.contains(&node) && self.view.helps(&shape, node, &stays);
        if let Some(node) = (0..NODES_MAX).find(helps) {
            self.fail(Invariant::NothingFitsAndWaits, || {
                format!("pod {} could make room on n{node} and waits, nominated to {named:?}", known.uid.0)
            });
        }
    }

    /// Whoever evicts pods has the room that comes free held for it from then on, and nobody of a
    /// lower priority has.
    pub(super) fn check_room_is_held(&mut self, at: usize, preemptor: PodUid, calls: &[ReadyCall]) {
        let world = self.actors[at].scheduler().world();
        let Some(pod) = world.pods().find(preemptor) else { return };
        let row = world.pods().get(pod);
        let evicts = calls.iter().any(asks_to_go);
        if !evicts || row.state != PodState::Pending {
            return;
        }
        let priority = world.class(row.class).priority;
        let node = world.nominator().node_of(preemptor);
        let lower = node.and_then(|node| {
            // A pod that was on its way there and has just given the node up may keep its nomination.
            let was_there = |uid: &PodUid| {
                let record = self.actors[at].records.get(uid);
                record.is_some_and(|record| record.chosen == Some(number_of_id(world, node)))
            };
            let others = world.nominator().nominated_pods_for_node(node).iter();
            let lower = others.filter(|other| other.priority < priority).map(|other| other.pod);
            // What another scheduler's pods are nominated to is for that one to say.
            let is_own = |uid: &PodUid| {
                world.pods().find(*uid).is_some_and(|pod| world.pods().get(pod).state != PodState::Foreign)
            };
            lower.filter(|uid| !was_there(uid) && is_own(uid)).min()
        });
        self.checks.note(Invariant::NominatorEqualsStatus);
        match (node, lower) {
            (None, _) => self.fail(Invariant::NominatorEqualsStatus, || {
                format!("pod {} evicts others, but no room is held for it", preemptor.0)
            }),
            (Some(_), Some(lower)) => self.fail(Invariant::NominatorEqualsStatus, || {
                format!(
                    "pod {} evicts others for room that is held for pod {} below it",
                    preemptor.0, lower.0
                )
            }),
            _ => {}
        }
    }

    /// Who was nominated to a node where evictions help it, and where a victim of preemption is on its way
    /// out, waits for that one, whoever asked it to go: perhaps the scheduler was restarted since.
    /// Upstream: plugins/defaultpreemption/default_preemption.go `PodEligibleToPreemptOthers`.
    pub(super) fn check_waits_for_victims(&mut self, at: usize, preemptor: PodUid, calls: &[ReadyCall]) {
        let nominated = self.actors[at].nominated_before.iter().find(|(uid, _)| *uid == preemptor);
        let Some(&(_, nominated)) = nominated else { return };
        let Some(row) = self.actors[at].seen.pods.get(&preemptor).copied() else { return };
        if !calls.iter().any(asks_to_go) {
            return;
        }
        self.checks.note(Invariant::EffectsOnce);
        let shape = *self.shape_of(&row);
        let is_victim = |other: &&StoredPodRow| {
            other.node.map(number_of_name) == Some(nominated)
                && is_leaving(other)
                // A pod that has ended takes no room: to the scheduler it is gone.
                && !other.phase.is_finished()
                && other.flags.contains(PodFlags::PREEMPTED)
                && self.shape_of(other).priority < shape.priority
        };
        let victim = self.actors[at].seen.pods.values().find(is_victim).map(|other| other.uid);
        let Some(victim) = victim.filter(|_| is_plain(&shape)) else { return };
        self.look(at, preemptor);
        let stays = |other: &Placed| other.shape.priority >= shape.priority;
        if self.view.helps(&shape, nominated, &stays) {
            self.fail(Invariant::EffectsOnce, || {
                format!(
                    "pod {} evicts others although pod {} leaves n{nominated} for it",
                    preemptor.0, victim.0
                )
            });
        }
    }

    /// Victims that a budget protects, although elsewhere the pod fits without any of them.
    pub(super) fn check_budgets(&mut self, at: usize, preemptor: PodUid, calls: &[ReadyCall]) {
        let victims: Vec<PodUid> =
            calls.iter().filter(|call| asks_to_go(call)).map(|call| call.pod).collect();
        let Some(row) = self.actors[at].seen.pods.get(&preemptor).copied() else { return };
        // Victims that have left their node already are not seen any more, and may have been what kept the
        // pod from other nodes.
        if victims.is_empty() || !self.protected.contains(&true) || self.actors[at].has_evicted_in_memory {
            return;
        }
        self.checks.note(Invariant::BudgetsHold);
        let shape = *self.shape_of(&row);
        let is_protected = |shape: &PodShape| self.protected[usize::from(shape.app)];
        // A victim that was deleted before, and whose deletion the watch has not delivered, is not deleted once more.
        let is_there = |victim: &PodUid| self.truth.pods.get(victim).is_some_and(|row| !is_leaving(row));
        let violates = victims.iter().filter(|victim| is_there(victim)).any(|victim| {
            self.actors[at].seen.pods.get(victim).is_some_and(|row| is_protected(self.shape_of(row)))
        });
        // Affinity makes a pod need others: taking pods away is not always better then.
        let is_monotone =
            self.scenario.shapes.iter().all(|shape| shape.joins.is_none() && shape.spreads.is_none());
        // What the scheduler knows of budgets must be what is true.
        let budgets_are_known =
            self.actors[at].pipes[2].queue.is_empty() && !self.actors[at].pipes[2].is_broken;
        if !violates || !is_monotone || !budgets_are_known {
            return;
        }
        let nominated = self.actors[at].scheduler().world().nominator().len();
        if nominated > 1 {
            return;
        }
        self.look(at, preemptor);
        let protected = self.protected;
        let stays = |other: &Placed| {
            other.shape.priority >= shape.priority || protected[usize::from(other.shape.app)]
        };
        if let Some(node) = (0..NODES_MAX).find(|&node| self.view.helps(&shape, node, &stays)) {
            self.fail(Invariant::BudgetsHold, || {
                format!("pod {} evicts pods that a budget protects; n{node} had others", preemptor.0)
            });
        }
    }
}
