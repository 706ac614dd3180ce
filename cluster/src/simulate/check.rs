//! The invariants over a scheduler's state: at a choice, between events, and at rest.

use schedlab_core::binding::Stage;
use schedlab_core::ids::{NodeId, PodId, PodUid};
use schedlab_core::pods::PodState;
use schedlab_core::queue::QueuePlace;
use schedlab_core::scheduler::Standing;

use super::actor::Actor;
use super::judge::{Placed, Rule, node_shapes};
use super::run::Simulation;
use super::scenario::NODES_MAX;
use super::shape::{Hold, PodShape};
use super::violation::Invariant;
use crate::api::{ConditionSetId, NodeNameId, PodFlags, PodRow};
use crate::runtime::virtual_time::{Effect, ReadyCall};

const MI: i64 = 1 << 20;

fn number_of_name(name: NodeNameId) -> u8 {
    u8::try_from(name.index()).unwrap_or(u8::MAX)
}

fn number_of_id(id: NodeId) -> u8 {
    u8::try_from(id.index()).unwrap_or(u8::MAX)
}

fn is_leaving(row: &PodRow) -> bool {
    row.flags.contains(PodFlags::TERMINATING)
}

impl Simulation<'_> {
    /// The cluster as a scheduler must see it: what it was told, and what it has assumed.
    fn look(&mut self, at: usize, but: PodUid) {
        let mut view = std::mem::take(&mut self.view);
        view.clear();
        let actor = &self.actors[at];
        node_shapes(&actor.seen, &self.node_shapes, &mut view.nodes);
        let pods = actor.scheduler().world().pods();
        for row in actor.seen.pods.values().filter(|row| row.uid != but && !row.phase.is_finished()) {
            let assumed = || {
                let known = pods.get(pods.find(row.uid)?);
                known.node().filter(|_| known.state == PodState::Assumed).map(number_of_id)
            };
            if let Some(node) = row.node.map(number_of_name).or_else(assumed) {
                view.placed.push(Placed { shape: *self.shape_of(row), node, is_leaving: is_leaving(row) });
            }
        }
        self.view = view;
    }

    /// Notes when two pods that a scheduler knows of share a port on a node.
    pub(super) fn note_ports(&mut self, at: usize, row: &PodRow) {
        let actor = &self.actors[at];
        let shape = self.shape_of(row);
        if shape.port.is_none() || actor.has_shared_port {
            return;
        }
        let pods = actor.scheduler().world().pods();
        let node_of = |uid: PodUid| pods.find(uid).and_then(|pod| pods.get(pod).node()).map(number_of_id);
        let node = row.node.map(number_of_name);
        let shares = actor.seen.pods.values().any(|other| {
            let there = other.node.map(number_of_name).or_else(|| node_of(other.uid));
            other.uid != row.uid && node.is_some() && there == node && self.shape_of(other).port == shape.port
        });
        self.actors[at].has_shared_port |= shares;
    }

    /// A node was chosen: it must accept the pod, by rules of our own.
    pub(super) fn check_choice(&mut self, at: usize, pod: PodId, node: u8) {
        let uid = self.actors[at].scheduler().world().pods().get(pod).uid;
        let Some(row) = self.actors[at].seen.pods.get(&uid).copied() else {
            return self.fail(Invariant::OneOwner, || format!("pod {} is tried, but it is gone", uid.0));
        };
        let shape = *self.shape_of(&row);
        self.look(at, uid);
        self.checks.note(Invariant::NoOvercommitment);
        self.checks.note(Invariant::NodeAccepts);
        match self.view.broken_rule(&shape, node) {
            None => {}
            Some(Rule::Room) => self.fail(Invariant::NoOvercommitment, || {
                format!("n{node} has no room for pod {} ({shape})", uid.0)
            }),
            Some(Rule::Port) if self.actors[at].has_shared_port => {}
            Some(rule) => self.fail(Invariant::NodeAccepts, || {
                format!("n{node} rejects pod {} ({shape}): {rule:?}", uid.0)
            }),
        }
        self.check_reserved(at, &row, &shape, node);
        let record = self.actors[at].record(uid);
        record.chosen = Some(node);
        if shape.is_held_up() {
            record.may_name |= 1 << node;
        }
    }

    /// Room that nominated pods of the same or a higher priority hold is not taken.
    fn check_reserved(&mut self, at: usize, row: &PodRow, shape: &PodShape, node: u8) {
        let actor = &self.actors[at];
        let pods = actor.scheduler().world().pods();
        let holds = |other: &&PodRow| {
            other.uid != row.uid
                && other.node.is_none()
                && other.nominated.map(number_of_name) == Some(node)
                && !is_leaving(other)
                && self
                    .truth
                    .pods
                    .get(&other.uid)
                    .is_some_and(|now| now.nominated == other.nominated && now.node.is_none())
                && !actor.lanes.contains_key(&other.uid)
                && !actor.scheduler().dispatcher().has_calls_of(other.uid)
                && actor.records.get(&other.uid).is_none_or(|record| !record.patch_failed)
                && pods.find(other.uid).is_some_and(|pod| pods.get(pod).state == PodState::Pending)
        };
        let holding: Vec<PodShape> = actor
            .seen
            .pods
            .values()
            .filter(holds)
            .map(|other| *self.shape_of(other))
            .filter(|other| other.priority >= shape.priority && other.scheduler == shape.scheduler)
            .collect();
        if holding.is_empty() {
            return;
        }
        self.checks.note(Invariant::NominatorEqualsStatus);
        let placed = holding.into_iter().map(|shape| Placed { shape, node, is_leaving: false });
        self.view.placed.extend(placed);
        let Some(Some(known)) = self.view.nodes.get(usize::from(node)).copied() else { return };
        if !self.view.has_room(shape, node, &known) {
            self.fail(Invariant::NominatorEqualsStatus, || {
                format!("pod {} takes room on n{node} that nominated pods hold", row.uid.0)
            });
        }
    }

    /// An attempt failed. A pod that is nominated by it preempts somebody there.
    pub(super) fn note_failure(&mut self, at: usize, pod: PodId) {
        let known = *self.actors[at].scheduler().world().pods().get(pod);
        let Some(node) = known.nominated().map(number_of_id) else { return };
        let Some(row) = self.actors[at].seen.pods.get(&known.uid).copied() else { return };
        let priority = self.shape_of(&row).priority;
        self.look(at, known.uid);
        let has_victim =
            self.view.placed.iter().any(|other| other.node == node && other.shape.priority < priority);
        if has_victim || self.has_let_go(at, node, priority) {
            self.actors[at].record(known.uid).may_name |= 1 << node;
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

    /// Victims that a budget protects, although elsewhere the pod fits without any of them.
    pub(super) fn check_budgets(&mut self, at: usize, preemptor: PodUid, calls: &[ReadyCall]) {
        let victims: Vec<PodUid> =
            calls.iter().filter(|call| matches!(call.effect, Effect::Delete)).map(|call| call.pod).collect();
        let Some(row) = self.actors[at].seen.pods.get(&preemptor).copied() else { return };
        if victims.is_empty() || !self.protected.contains(&true) {
            return;
        }
        self.checks.note(Invariant::BudgetsHold);
        let shape = *self.shape_of(&row);
        let is_protected = |shape: &PodShape| self.protected[usize::from(shape.app)];
        let violates = victims.iter().any(|victim| {
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
        self.look(at, preemptor);
        let protected = self.protected;
        self.view.placed.retain(|other| {
            other.shape.priority >= shape.priority || protected[usize::from(other.shape.app)]
        });
        let nominated = self.actors[at].scheduler().world().nominations().len();
        if nominated > 1 {
            return;
        }
        if let Some(node) = (0..NODES_MAX).find(|&node| self.view.broken_rule(&shape, node).is_none()) {
            self.fail(Invariant::BudgetsHold, || {
                format!("pod {} evicts pods that a budget protects; n{node} had others", preemptor.0)
            });
        }
    }

    /// Every pod is in one place, and what is in flight is accounted for.
    pub(super) fn check_owners(&mut self, at: usize) {
        self.checks.note(Invariant::OneOwner);
        if let Err((invariant, message)) = owners(&self.actors[at]) {
            self.fail(invariant, || message);
        }
    }

    /// Nodes carry what the events and the assumed pods say.
    pub(super) fn check_snapshot(&mut self, at: usize) {
        self.checks.note(Invariant::SnapshotEqualsEvents);
        self.actors[at].scheduler_mut().settle();
        self.look(at, PodUid(0));
        let mut sums = [(0i64, 0i64, 0i64); NODES_MAX as usize];
        for other in &self.view.placed {
            let sum = &mut sums[usize::from(other.node)];
            sum.0 += i64::from(other.shape.cpu_milli);
            sum.1 += i64::from(other.shape.memory_mi) * MI;
            sum.2 += 1;
        }
        let nodes = self.actors[at].scheduler().world().nodes();
        let columns = nodes.columns();
        let known = self.view.nodes.iter().flatten().count();
        if nodes.node_count() != known {
            let count = nodes.node_count();
            return self
                .fail(Invariant::SnapshotEqualsEvents, || format!("{count} nodes are known, not {known}"));
        }
        for row in 0..nodes.node_count() {
            let node = number_of_id(columns.id[row]);
            let is = (
                columns.requested_cpu_milli[row],
                columns.requested_memory_bytes[row],
                columns.pod_count[row],
            );
            let has = (columns.allocatable_cpu_milli[row], columns.allocatable_pods[row]);
            let must = sums[usize::from(node)];
            let shape = self.view.nodes[usize::from(node)];
            let must_have = shape.map(|shape| (i64::from(shape.cpu_milli), i64::from(shape.pods)));
            if is != must || Some(has) != must_have {
                return self.fail(Invariant::SnapshotEqualsEvents, || {
                    format!("n{node} carries {is:?} of {has:?}, not {must:?} of {must_have:?}")
                });
            }
        }
    }

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
            (queue.kept_event_count(), "events kept for pods in flight"),
            (counts.assumed, "assumed pods"),
            (scheduler.bindings().len(), "binding cycles"),
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
        let nominations = actor.scheduler().world().nominations();
        let mut wrong = None;
        for row in self.truth.pods.values().filter(|row| self.shape_of(row).scheduler == actor.number) {
            let held = nominations.node_of(row.uid).map(number_of_id);
            let said =
                row.nominated.filter(|_| row.node.is_none() && !row.phase.is_finished()).map(number_of_name);
            let failed = actor.records.get(&row.uid).is_some_and(|record| record.patch_failed);
            if held != said && !failed {
                wrong = Some((row.uid, held, said));
            }
        }
        if let Some((pod, held, said)) = wrong {
            return self.fail(Invariant::NominatorEqualsStatus, || {
                format!("room is held for pod {} on {held:?}, its status says {said:?}", pod.0)
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

/// Who owns each pod.
fn owners(actor: &Actor) -> Result<(), (Invariant, String)> {
    let scheduler = actor.scheduler();
    let (world, queue, bindings) = (scheduler.world(), scheduler.queue(), scheduler.bindings());
    let wrong = |uid: PodUid, what: String| Err((Invariant::OneOwner, format!("pod {} {what}", uid.0)));
    let mut in_flight = 0;
    for pod in world.pods().ids() {
        let row = world.pods().get(pod);
        let place = queue.place(pod);
        let cycle = bindings.get(row.uid);
        let stage = cycle.map(|cycle| &cycle.stage);
        in_flight += usize::from(place == QueuePlace::InFlight);
        if actor.seen.pods.get(&row.uid).is_none_or(|seen| seen.phase.is_finished()) {
            return wrong(row.uid, "is known, but the watch said it is gone".to_owned());
        }
        let is_right = match row.state {
            PodState::Pending => {
                let is_skipped = world.class(row.class).is_terminating;
                cycle.is_none() && (place != QueuePlace::Out || is_skipped) && place != QueuePlace::InFlight
            }
            PodState::Assumed => {
                let record = actor.records.get(&row.uid).copied().unwrap_or_default();
                let is_on_its_way = cycle.is_some() || record.binding.is_some() || record.was_bound;
                is_on_its_way
                    && match place {
                        QueuePlace::Out => true,
                        QueuePlace::InFlight => matches!(stage, Some(Stage::Announcing(_) | Stage::Permit)),
                        _ => false,
                    }
            }
            PodState::Bound => place == QueuePlace::Out && matches!(stage, None | Some(Stage::Binding(_))),
            PodState::Foreign => place == QueuePlace::Out && cycle.is_none(),
        };
        if !is_right {
            return wrong(
                row.uid,
                format!("is {:?} and in the queue at {place:?}, on its way: {stage:?}", row.state),
            );
        }
    }
    let known = actor.seen.pods.values().filter(|row| !row.phase.is_finished()).count();
    if world.pods().len() != known {
        return Err((Invariant::OneOwner, format!("{} pods are known, not {known}", world.pods().len())));
    }
    let counted = queue.counts().in_flight;
    if counted != in_flight || (in_flight == 0 && queue.kept_event_count() > 0) {
        let kept = queue.kept_event_count();
        return Err((
            Invariant::NothingLeaks,
            format!("{in_flight} pods in flight, {counted} counted, {kept} events kept"),
        ));
    }
    if let Some(ghost) = bindings.pods().iter().find(|uid| world.pods().find(**uid).is_none()) {
        return wrong(*ghost, "is on its way to a node, but unknown".to_owned());
    }
    Ok(())
}
