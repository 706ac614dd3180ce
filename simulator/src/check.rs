//! The invariants over a choice: the node accepts the pod, and nobody else's room is taken.

use schedlab_core::ids::{NodeId, PodId, PodUid};
use schedlab_core::pods::PodState;
use schedlab_core::world::World;

use super::judge::{Placed, Rule};
use super::run::Simulation;
use super::shape::PodShape;
use super::violation::Invariant;
use schedlab_cluster::api::{NodeNameId, PodFlags, StoredPodRow};

pub(super) fn number_of_name(name: NodeNameId) -> u8 {
    u8::try_from(name.index()).unwrap_or(u8::MAX)
}

/// The number of a node that a scheduler knows: its ids are given out again, its names say it.
pub(super) fn number_of_id(world: &World, id: NodeId) -> u8 {
    let name = world.node_name(id);
    name.strip_prefix('n').and_then(|number| number.parse().ok()).unwrap_or(u8::MAX)
}

pub(super) fn is_leaving(row: &StoredPodRow) -> bool {
    row.flags.contains(PodFlags::TERMINATING)
}

impl Simulation<'_> {
    /// The cluster as a scheduler must see it: what it was told, and what it has assumed.
    pub(super) fn look(&mut self, at: usize, but: PodUid) {
        let mut view = std::mem::take(&mut self.view);
        view.clear();
        let actor = &self.actors[at];
        view.nodes.extend_from_slice(&actor.carried.nodes);
        if self.scenario.has_second_namespace() {
            view.labelled = actor.seen.labelled_namespaces();
        }
        let world = actor.scheduler().world();
        let pods = world.pods();
        for row in actor.seen.pods.values().filter(|row| row.uid != but && !row.phase.is_finished()) {
            let assumed = || {
                let known = pods.get(pods.find(row.uid)?);
                known
                    .node()
                    .filter(|_| known.state == PodState::Assumed)
                    .map(|node| number_of_id(world, node))
            };
            if let Some(node) = row.node.map(number_of_name).or_else(assumed) {
                view.placed.push(Placed { shape: *self.shape_of(row), node, is_leaving: is_leaving(row) });
            }
        }
        self.view = view;
    }

    /// Notes when two pods that a scheduler knows of share a port on a node.
    pub(super) fn note_ports(&mut self, at: usize, row: &StoredPodRow) {
        let actor = &self.actors[at];
        let shape = self.shape_of(row);
        if shape.port.is_none() || actor.has_shared_port {
            return;
        }
        let world = actor.scheduler().world();
        let pods = world.pods();
        let node_of = |uid: PodUid| {
            let node = pods.find(uid).and_then(|pod| pods.get(pod).node());
            node.map(|node| number_of_id(world, node))
        };
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

    /// Room that nominated pods of the same or a higher priority hold is not taken; those of another
    /// scheduler hold it against lower priorities. A nomination that is being taken back holds none: its call is on its way, or failed and
    /// will be made again.
    fn check_reserved(&mut self, at: usize, row: &StoredPodRow, shape: &PodShape, node: u8) {
        let actor = &self.actors[at];
        let pods = actor.scheduler().world().pods();
        let holds = |other: &&StoredPodRow| {
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
                && pods
                    .find(other.uid)
                    .is_some_and(|pod| matches!(pods.get(pod).state, PodState::Pending | PodState::Foreign))
        };
        let holding: Vec<PodShape> = actor
            .seen
            .pods
            .values()
            .filter(holds)
            .map(|other| *self.shape_of(other))
            .filter(|other| {
                let is_own = other.scheduler == shape.scheduler;
                other.priority > shape.priority || (is_own && other.priority == shape.priority)
            })
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
}
