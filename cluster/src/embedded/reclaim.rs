//! Names, bodies and lists of conditions that nothing has any more are forgotten.
//!
//! What is in use is found from the pods, the nodes and the events that are kept. Numbers are never
//! given out again, so that a reader who is far behind may find that a pod's body is gone, but never
//! another one. Whoever holds a string, a body or a template keeps it.

use rustc_hash::FxHashSet;

use super::state::{NamespaceState, State};
use crate::api::{NamespaceId, PodName, StoredPodRow, WatchEvent, WatchedObject};

/// What is in use, by number.
#[derive(Clone, Default)]
struct Used {
    specs: FxHashSet<u32>,
    names: FxHashSet<u32>,
    namespaces: FxHashSet<u32>,
    nodes: FxHashSet<u32>,
    conditions: FxHashSet<u32>,
}

impl Used {
    fn row(&mut self, row: &StoredPodRow) {
        self.specs.insert(row.spec.0);
        self.named(row.namespace, row.name);
        self.nodes.extend(row.node.into_iter().chain(row.nominated).map(|node| node.number()));
        self.conditions.insert(row.conditions.0);
    }

    fn named(&mut self, namespace: NamespaceId, name: PodName) {
        self.namespaces.insert(namespace.0);
        self.names.insert(name.prefix.0);
    }

    fn event(&mut self, event: &WatchEvent) {
        match &event.object {
            WatchedObject::Pod(row) => self.row(row),
            WatchedObject::Node(entry) => self.nodes.extend([entry.name.number()]),
            WatchedObject::PodEvent(event) => self.named(event.namespace, event.pod_name),
            WatchedObject::Other(_) => {}
        }
    }
}

impl State {
    /// Forgets what nothing has any more, if that is likely to be worth the look. To be called between
    /// two writes.
    #[inline]
    pub(super) fn reclaim_if_due(&mut self) {
        if self.pressure.is_worth_a_thought() {
            self.reclaim_by_pressure();
        }
    }

    #[cold]
    fn reclaim_by_pressure(&mut self) {
        let grown = self.given_out() - self.looked_at;
        let looked_through = (self.rows.live_count() + self.log.kept().len()) as u64;
        if self.pressure.is_due(grown, looked_through) {
            self.reclaim();
        }
    }

    /// Forgets what nothing has any more.
    pub(super) fn reclaim(&mut self) {
        let before = self.thing_count();
        let mut used = Used::default();
        self.rows.readable().for_each(|row| used.row(row));
        self.log.kept().chain(self.followers.kept()).for_each(|event| used.event(event));
        used.nodes.extend(self.nodes.values().map(|entry| entry.name.number()));
        self.pod_events.named().for_each(|(namespace, name)| used.named(namespace, name));
        let there = (0u32..).zip(&self.namespace_states);
        let there = there.filter(|(_, state)| **state != NamespaceState::Absent);
        used.namespaces.extend(there.map(|(number, _)| number));
        let rows = &self.rows;
        self.names.sweep(&used.names, |uid| rows.get(uid).is_some());
        self.specs.sweep(&used.specs);
        self.node_names.sweep(&used.nodes);
        self.namespaces.sweep(&used.namespaces);
        self.conditions.sweep(&used.conditions);
        self.looked_at = self.given_out();
        self.pressure.looked(before, self.thing_count());
    }

    fn thing_count(&self) -> u64 {
        let texts = self.names.len() + self.node_names.len() + self.namespaces.len();
        (texts + self.specs.len() + self.conditions.len()) as u64
    }

    fn given_out(&self) -> u64 {
        self.names.given_out()
            + self.specs.given_out()
            + self.node_names.given_out()
            + self.namespaces.given_out()
            + self.conditions.given_out()
    }
}
