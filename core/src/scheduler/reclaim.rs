//! What is no longer in use is given back between two events. See [`crate::reclaim`].

use super::Scheduler;
use super::pod_events::PodEventNote;
use crate::reclaim::{Marks, cut};

impl Scheduler {
    /// Moves when ids were given back, to be given out again. Whoever keeps ids of classes or nodes
    /// forgets them then; those of pods and nodes that are there have not changed.
    #[inline]
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// How many things must have come or gone before it is worth looking for what is no longer in use.
    pub fn set_reclaim_floor(&mut self, things: u64) {
        self.pressure.set_floor(things);
    }

    /// An event may have left something without use. To be called when an event was dealt with, never
    /// in the middle: ids that are on their way are not seen.
    #[inline]
    pub(super) fn reclaim_if_due(&mut self) {
        self.pressure.release();
        if self.pressure.is_worth_a_thought() {
            self.reclaim_by_pressure();
        }
    }

    #[cold]
    fn reclaim_by_pressure(&mut self) {
        let pods = self.world.pods().len() as u64;
        let grown = self.world.vocabulary.grown();
        if self.pressure.is_due(grown, pods) {
            self.reclaim();
        }
    }

    /// Gives back what nothing refers to any more.
    pub fn reclaim(&mut self) {
        let before = self.thing_count();
        let mut marks = Marks::default();
        self.world.mark(&mut marks);
        self.nodes.iter().flatten().for_each(|node| node.mark(&mut marks));
        self.queue.mark(&mut marks);
        self.binding_cycles.mark(&mut marks);
        self.dispatcher.mark(&mut marks);
        self.missed.values().for_each(|&node| marks.node(node));
        for event in &self.pod_events {
            if let PodEventNote::PreemptedBy { node, .. } = event.note {
                marks.node(node);
            }
        }
        let young = self.world.sweep(marks);
        #[cfg(debug_assertions)]
        self.world.check();
        self.engine.forget_classes();
        self.profile_of_class = Vec::new();
        let pods = self.world.pods();
        self.conditions.sweep(pods.ids().map(|pod| pods.get(pod).condition));
        self.queue.shrink();
        let nodes = self.nodes.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        cut(&mut self.nodes, nodes);
        self.epoch += 1;
        // Were classes that nothing refers to any more counted, more of them would be let live the next
        // time, and so on.
        self.pressure.looked(before, self.thing_count().saturating_sub(young));
    }

    pub(super) fn thing_count(&self) -> u64 {
        self.world.thing_count() + self.conditions.len() as u64
    }
}
