//! Pods ready to be tried.
//!
//! In PrioritySort's order each priority has a lane. Most pods enter a lane as time goes on: they
//! go to the lane's end and a push or pop compares nothing but the neighbour. A pod that comes back
//! with an older time (its backoff is over) goes to the lane's heap, and whoever is older of the
//! lane's front and the heap's top is next. Any other order is a heap.
//!
//! A pod that leaves while queued stays until it is popped or the leftovers outnumber the others:
//! whoever pops checks that the ticket is still the pod's.

use std::collections::{BTreeMap, VecDeque};

use super::order::{Heap, QueueOrder, SortKey, Ticket};

/// Lanes that are kept although they ran empty, so that the next pod of their priority finds its
/// memory warm. Further ones go when they run empty: a search passes no more empty lanes than this.
const LANES_KEPT: usize = 8;

/// A place in the queue.
#[derive(Clone, Copy, Debug)]
struct Place {
    key: SortKey,
    ticket: Ticket,
}

#[derive(Clone, Copy, Debug)]
struct LanePlace {
    time_ns: u64,
    order: u64,
    ticket: Ticket,
}

impl LanePlace {
    #[inline]
    fn before(&self, other: &LanePlace) -> bool {
        (self.time_ns, self.order) < (other.time_ns, other.order)
    }
}

/// The pods of one priority.
#[derive(Clone, Debug, Default)]
struct Lane {
    in_time: VecDeque<LanePlace>,
    late: Heap<LanePlace>,
}

impl Lane {
    #[inline]
    fn push(&mut self, place: LanePlace) {
        match self.in_time.back() {
            Some(back) if place.before(back) => self.late.push(place, LanePlace::before),
            _ => self.in_time.push_back(place),
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<Ticket> {
        let late_is_next = match (self.late.peek(), self.in_time.front()) {
            (Some(late), Some(front)) => late.before(front),
            (late, None) => late.is_some(),
            (None, Some(_)) => false,
        };
        let place = if late_is_next { self.late.pop(LanePlace::before) } else { self.in_time.pop_front() };
        place.map(|place| place.ticket)
    }

    fn is_empty(&self) -> bool {
        self.in_time.is_empty() && self.late.is_empty()
    }
}

/// Pods ready to be tried.
#[derive(Clone, Debug, Default)]
pub struct ActiveQueue {
    order: QueueOrder,
    /// By priority; the last lane is tried first. Empty unless the order is PrioritySort.
    lanes: BTreeMap<i32, Lane>,
    /// Empty if the order is PrioritySort.
    heap: Heap<Place>,
    len: usize,
}

impl ActiveQueue {
    /// An empty queue of this order.
    #[must_use]
    pub fn new(order: QueueOrder) -> ActiveQueue {
        ActiveQueue { order, ..ActiveQueue::default() }
    }

    /// The order.
    #[must_use]
    pub fn order(&self) -> &QueueOrder {
        &self.order
    }

    /// Adds a pod.
    pub fn push(&mut self, key: SortKey, ticket: Ticket) {
        self.len += 1;
        if let QueueOrder::Plugin(_) = self.order {
            let ActiveQueue { order, heap, .. } = self;
            heap.push(Place { key, ticket }, |one, other| order.less(&one.key, &other.key));
            return;
        }
        let lane = self.lanes.entry(key.plugin.priority).or_default();
        lane.push(LanePlace { time_ns: key.plugin.queued_ns, order: key.order, ticket });
    }

    /// Takes the ticket that is next.
    pub fn pop(&mut self) -> Option<Ticket> {
        if self.len == 0 {
            return None;
        }
        self.len -= 1;
        if let QueueOrder::Plugin(_) = self.order {
            let ActiveQueue { order, heap, .. } = self;
            return heap.pop(|one, other| order.less(&one.key, &other.key)).map(|place| place.ticket);
        }
        let filled = self.lanes.iter_mut().rev().find(|(_, lane)| !lane.is_empty());
        let (&priority, lane) = filled.expect("the queue has a ticket in some lane");
        let ticket = lane.pop();
        if lane.is_empty() && self.lanes.len() > LANES_KEPT {
            self.lanes.remove(&priority);
        }
        ticket
    }

    /// Drops the leftovers.
    pub fn compact(&mut self, mut is_live: impl FnMut(Ticket) -> bool) {
        for lane in self.lanes.values_mut() {
            lane.in_time.retain(|place| is_live(place.ticket));
            lane.late.retain(|place| is_live(place.ticket), LanePlace::before);
        }
        let ActiveQueue { order, heap, .. } = self;
        heap.retain(|place| is_live(place.ticket), |one, other| order.less(&one.key, &other.key));
        let in_lanes: usize = self.lanes.values().map(|lane| lane.in_time.len() + lane.late.len()).sum();
        self.len = in_lanes + self.heap.len();
    }

    /// All tickets, leftovers included, in no order.
    pub(super) fn tickets(&self) -> impl Iterator<Item = Ticket> + '_ {
        let in_lanes = self.lanes.values().flat_map(|lane| lane.in_time.iter().chain(lane.late.iter()));
        in_lanes.map(|place| place.ticket).chain(self.heap.iter().map(|place| place.ticket))
    }

    /// Panics where places do not stand in order.
    pub(super) fn check(&self) {
        for lane in self.lanes.values() {
            let in_time = lane.in_time.iter().map(|place| (place.time_ns, place.order));
            assert!(in_time.is_sorted(), "a lane's places stand in order of time");
            lane.late.check(LanePlace::before);
        }
        self.heap.check(|one, other| self.order.less(&one.key, &other.key));
        if let QueueOrder::Plugin(_) = self.order {
            assert!(self.lanes.is_empty(), "lanes are PrioritySort's");
        } else {
            assert!(self.heap.is_empty(), "PrioritySort's order has lanes");
        }
    }

    /// Tickets, leftovers included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// No ticket is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes held.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let of_lane =
            |lane: &Lane| lane.in_time.capacity() * size_of::<LanePlace>() + lane.late.memory_bytes();
        self.lanes.values().map(of_lane).sum::<usize>() + self.heap.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fake::for_each_seed;
    use crate::framework::plugin::{Plugin, QueueKey, QueueSortPlugin};
    use crate::framework::points::EnqueueExtensions;
    use crate::ids::PodId;

    /// Lower priority first: an order that is not PrioritySort's.
    #[derive(Debug)]
    struct Modest;

    impl Plugin for Modest {
        fn name(&self) -> &'static str {
            "Modest"
        }

        fn as_queue_sort(&self) -> Option<&dyn QueueSortPlugin> {
            Some(self)
        }

        fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
            None
        }
    }

    impl QueueSortPlugin for Modest {
        fn less(&self, one: QueueKey, other: QueueKey) -> bool {
            one.priority < other.priority
        }
    }

    /// Whatever the order of pushes and pops, the least key is popped, and a compacted queue pops
    /// the same.
    #[test]
    fn active_queue_pops_in_queue_sort_order() {
        for_each_seed("active_queue_pops_in_queue_sort_order", 300, |rng| {
            let order =
                if rng.chance(50) { QueueOrder::PrioritySort } else { QueueOrder::Plugin(Arc::new(Modest)) };
            let mut queue = ActiveQueue::new(order.clone());
            let mut all: Vec<(SortKey, Ticket)> = Vec::new();
            let mut now_ns = 0;
            for at in 0..200u32 {
                now_ns += rng.range(0..=2) as u64;
                match rng.range(0..=4) {
                    0..=2 => {
                        let late = if rng.chance(30) { rng.range(0..=9) as u64 } else { 0 };
                        let priority = i32::try_from(rng.range(0..=20)).expect("small") - 10;
                        let plugin = QueueKey { priority, queued_ns: now_ns.saturating_sub(late) };
                        let key = SortKey { plugin, order: u64::from(at) };
                        let ticket = Ticket { pod: PodId(at), number: at };
                        queue.push(key, ticket);
                        all.push((key, ticket));
                    }
                    3 if rng.chance(20) => {
                        let odd = |ticket: Ticket| ticket.number % 2 == 1;
                        queue.compact(odd);
                        all.retain(|&(_, ticket)| odd(ticket));
                    }
                    _ => {
                        let least = (0..all.len()).reduce(|best, other| {
                            if order.less(&all[other].0, &all[best].0) { other } else { best }
                        });
                        let expected = least.map(|at| all.remove(at).1);
                        assert_eq!(queue.pop(), expected);
                    }
                }
                assert_eq!(queue.len(), all.len());
                assert_eq!(queue.is_empty(), all.is_empty());
            }
        });
    }
}
