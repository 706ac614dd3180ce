//! The watches: what was written is on its way to each scheduler, arrives in order, or is lost with
//! the watch and listed again.

use schedlab_core::cycle::select::Draws;

use super::check::number_of_name;
use super::controllers::controller_at;
use super::faults::{Counted, Stream};
use super::item::Item;
use super::run::Simulation;
use super::shape::{NodeShape, condition_taints_of, has_unready_taint};
use super::trace::event_text;
use super::truth::{node_number, stream_of};
use schedlab_cluster::api::{EventKind, PodFlags, StoredPodRow, WatchEvent, WatchedObject};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

impl Simulation<'_> {
    /// Puts what was written on its way to the schedulers.
    pub(super) fn publish(&mut self) {
        let mut drained = std::mem::take(&mut self.drained);
        self.watch.drain_into(&mut drained).expect("the log keeps what was not read");
        for event in drained.drain(..) {
            if let (WatchedObject::Pod(row), EventKind::Modified) = (&event.object, event.kind) {
                self.note_termination(row);
            }
            self.note_node_shape(&event);
            self.truth.note(&event);
            for at in 0..self.actors.len() {
                self.send(self.actors[at].number, event.clone());
            }
            for at in 0..self.controllers.len() {
                self.send(self.controllers[at].number, event.clone());
            }
        }
        self.drained = drained;
    }

    /// A pod that was told to leave is gone after a while.
    fn note_termination(&mut self, row: &StoredPodRow) {
        let was_leaving =
            self.truth.pods.get(&row.uid).is_some_and(|old| old.flags.contains(PodFlags::TERMINATING));
        if row.flags.contains(PodFlags::TERMINATING) && !was_leaving {
            let bits = self.bits(1, self.number_of(row.uid), 0);
            let grace_ns = self.between((20 * MS, 12 * SECOND), bits);
            self.faults.note(Counted::SlowTermination);
            self.push(self.now_ns() + grace_ns, Item::EndPod(row.uid));
        }
    }

    /// What a version of a node is like. The script notes what it writes; a controller adds and removes
    /// taints by condition, and whoever writes a spec decides about them.
    fn note_node_shape(&mut self, event: &WatchEvent) {
        let WatchedObject::Node(entry) = &event.object else { return };
        let before = self.truth.nodes.get(&node_number(entry)).map(|old| old.resource_version);
        let before = before.and_then(|version| self.node_shapes.get(&version).copied());
        let Some(written) = self.node_shapes.get(&entry.resource_version).copied().or(before) else { return };
        let condition_taints = condition_taints_of(&entry.object);
        let unready_taint = has_unready_taint(&entry.object);
        let shape = NodeShape { condition_taints, unready_taint, ..written };
        self.node_shapes.insert(entry.resource_version, shape);
    }

    pub(super) fn send(&mut self, number: u8, event: WatchEvent) {
        let stream = stream_of(&event) as usize;
        let now_ns = self.now_ns();
        let version = event.resource_version();
        let bits = self.bits(2, u64::from(number) * 4 + stream as u64, version);
        let latency_ns = self.scenario.setup.watch.draw_ns(&mut Draws::new(bits));
        let Some(pipe) = self.pipe_mut(number, stream).filter(|pipe| !pipe.is_broken) else { return };
        let arrives_ns = now_ns + latency_ns;
        let arrives_ns = arrives_ns.max(pipe.last_ns).max(pipe.stalled_until_ns);
        pipe.last_ns = arrives_ns;
        pipe.queue.push_back((arrives_ns, event));
        let item = Item::Deliver { actor: number, stream: stream as u8, epoch: pipe.epoch };
        self.push(arrives_ns, item);
    }

    pub(super) fn deliver_next(&mut self, number: u8, stream: u8, epoch: u32) -> bool {
        let Some(pipe) = self.pipe_mut(number, usize::from(stream)).filter(|pipe| pipe.epoch == epoch) else {
            return false;
        };
        let (_, event) = pipe.queue.pop_front().expect("an item for each event");
        let twice = event.kind != EventKind::Deleted && std::mem::take(&mut pipe.doubles_next);
        self.tell_party(number, &event);
        if twice {
            self.faults.note(Counted::Duplicate);
            self.events += 1;
            self.tell_party(number, &WatchEvent { kind: EventKind::Modified, ..event });
        }
        match controller_at(number) {
            Some(at) => self.after_controller(at),
            None => self.after(usize::from(number)),
        }
        true
    }

    fn tell_party(&mut self, number: u8, event: &WatchEvent) {
        match controller_at(number) {
            Some(at) => self.tell_controller(at, event),
            None => self.deliver(usize::from(number), event),
        }
    }

    /// Takes over what an event says to a scheduler.
    fn note_seen(&mut self, at: usize, event: &WatchEvent) {
        let shape_of = |row: &StoredPodRow| self.shape_of(row);
        match &event.object {
            WatchedObject::Pod(row) => {
                let unfinished = |row: &&StoredPodRow| !row.phase.is_finished();
                let node = |row: &StoredPodRow| row.node.map(number_of_name);
                let old = self.actors[at].seen.pods.get(&row.uid).filter(unfinished);
                let old = old.map(|row| (shape_of(row), node(row)));
                let new = Some(row).filter(|row| event.kind != EventKind::Deleted && unfinished(row));
                let new = new.map(|row| (shape_of(row), node(row)));
                let known = self.actors[at].seen.pods.get(&row.uid);
                if row.nominated.is_some() && known.is_none_or(|known| known.nominated != row.nominated) {
                    self.actors[at].record(row.uid).is_newly_named = true;
                }
                let carried = &mut self.actors[at].carried;
                old.into_iter().for_each(|(shape, node)| carried.go(shape, node));
                new.into_iter().for_each(|(shape, node)| carried.come(shape, node));
            }
            WatchedObject::Node(entry) => {
                let shape = self.node_shapes.get(&entry.resource_version).copied();
                let shape = shape.filter(|_| event.kind != EventKind::Deleted);
                self.actors[at].carried.nodes[usize::from(node_number(entry))] = shape;
            }
            WatchedObject::PodEvent(_) | WatchedObject::Other(_) => {}
        }
        self.actors[at].seen.note(event);
    }

    /// Tells a scheduler of an event, and notes that it knows.
    pub(super) fn deliver(&mut self, at: usize, event: &WatchEvent) {
        let now_ns = self.now_ns();
        self.note(|| format!("scheduler {at} sees {}", event_text(event)));
        self.note_seen(at, event);
        let actor = &mut self.actors[at];
        if let WatchedObject::Other(object) = &event.object
            && object.kind == "StorageClass"
        {
            actor.board.lock().has_claim = event.kind != EventKind::Deleted;
        }
        actor.causes += 1;
        if let WatchedObject::Pod(row) = &event.object {
            self.note_ports(at, row);
        }
        let actor = &mut self.actors[at];
        actor.scheduler_mut().advance(now_ns);
        actor.virtual_scheduler.deliver(event, &self.api, now_ns);
    }

    pub(super) fn disconnect(&mut self, scheduler: u8, stream: Stream, ms: u32) {
        let Some(pipe) = self.pipe_mut(scheduler, stream as usize).filter(|pipe| !pipe.is_broken) else {
            return;
        };
        pipe.queue.clear();
        pipe.epoch += 1;
        pipe.is_broken = true;
        let epoch = pipe.epoch;
        self.faults.note(Counted::Disconnect);
        let item = Item::Relist { actor: scheduler, stream: stream as u8, epoch };
        self.push(self.now_ns() + u64::from(ms) * MS, item);
    }

    pub(super) fn relist(&mut self, number: u8, stream: u8, epoch: u32) -> bool {
        let now_ns = self.now_ns();
        let Some(pipe) = self.pipe_mut(number, usize::from(stream)).filter(|pipe| pipe.epoch == epoch) else {
            return false;
        };
        pipe.is_broken = false;
        pipe.last_ns = now_ns;
        pipe.stalled_until_ns = now_ns;
        let mut events = Vec::new();
        let seen = match controller_at(number) {
            Some(at) => &self.controllers[at].seen,
            None => &self.actors[usize::from(number)].seen,
        };
        self.truth.relist(seen, Stream::ALL[usize::from(stream)], &mut events);
        for event in events {
            self.send(number, event);
        }
        true
    }
}
