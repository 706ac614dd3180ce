//! The active queue in PrioritySort's order: one first-in-first-out lane per priority.
//!
//! Pods enter as time goes on, so within a priority the order of entry is the order of age and a
//! push or pop costs no comparison of pods.
//!
//! A pod that leaves the cluster while queued stays in its lane until it is popped: whoever pops
//! checks that the entry is still meant (the pod's row has the number of its last ticket).

use std::collections::{BTreeMap, VecDeque};

use crate::ids::PodId;

/// A place in the queue. The pod's row has the number of its last ticket; an entry with another
/// number is a leftover. Not the time: a row that is given to another pod within one tick of the
/// clock would take over the leftover, and with it a place it is not entitled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// The pod.
    pub pod: PodId,
    /// Differs from ticket to ticket.
    pub number: u32,
}

/// Pods ready to be tried.
#[derive(Clone, Debug, Default)]
pub struct ActiveQueue {
    /// By priority; the last lane is tried first.
    lanes: BTreeMap<i32, VecDeque<Ticket>>,
    len: usize,
}

impl ActiveQueue {
    /// Adds a pod behind all others of its priority.
    pub fn push(&mut self, priority: i32, ticket: Ticket) {
        let lane = self.lanes.entry(priority).or_default();
        lane.push_back(ticket);
        self.len += 1;
    }

    /// Takes the pod that is to be tried next.
    pub fn pop(&mut self) -> Option<Ticket> {
        // Lanes stay when they run empty: the next pod of that priority finds its memory warm.
        let (_, lane) = self.lanes.iter_mut().rev().find(|(_, lane)| !lane.is_empty())?;
        self.len -= 1;
        lane.pop_front()
    }

    /// Entries, leftovers included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// No entry is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes held.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.lanes.values().map(|lane| lane.capacity() * size_of::<Ticket>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::plugin::{QueueKey, QueueSortPlugin};
    use crate::plugins::priority_sort::PrioritySort;

    #[test]
    fn pops_in_the_order_of_priority_sort() {
        let mut queue = ActiveQueue::default();
        let mut reference: Vec<(QueueKey, u32)> = Vec::new();
        let mut state = 3u64;
        for pod in 0..500 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let priority = i32::try_from(state >> 61).expect("three bits") - 4;
            queue.push(priority, Ticket { pod: PodId(pod), number: pod });
            reference.push((QueueKey { priority, queued_ns: u64::from(pod) }, pod));
        }
        reference.sort_by(|(one, _), (other, _)| {
            if PrioritySort.less(*one, *other) {
                std::cmp::Ordering::Less
            } else {
                std::cmp::Ordering::Greater
            }
        });
        let expected: Vec<u32> = reference.into_iter().map(|(_, pod)| pod).collect();
        let popped: Vec<u32> = std::iter::from_fn(|| queue.pop()).map(|ticket| ticket.pod.0).collect();
        assert_eq!(popped, expected);
        assert!(queue.is_empty());
    }
}
