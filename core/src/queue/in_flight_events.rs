//! Pods that are being tried, in order of popping, and the events that they have not seen.
//!
//! What happens while a pod is tried may be what it will turn out to lack: it is kept until the
//! pod is done with. An event is dropped when every pod in flight was popped after it.
//!
//! Upstream: backend/queue/active_queue.go `inFlightEvents`.

use std::collections::{VecDeque, vec_deque};
use std::ops::{Index, IndexMut};

use crate::ids::PodId;
use crate::mutants::{Mutant, Mutants};

use super::event::Event;
use super::queued_pod_info::{NONE, QueuedPodInfo};

/// Events kept at most. A pod may wait at Permit for minutes while the cluster goes on; beyond this
/// all events are forgotten, and the pods in flight are treated as if everything had happened.
const EVENTS_MAX: usize = 1 << 16;

/// Pods in flight.
#[derive(Clone, Debug)]
pub(super) struct InFlightEvents {
    first: u32,
    last: u32,
    len: usize,
    events: VecDeque<Event>,
    /// The number of `events[0]`.
    base: u64,
    /// Pods popped before this number have missed events.
    lost_before: u64,
    mutants: Mutants,
    /// A pod that is gone is still waited for; only a defect leaves it so.
    is_leaking: bool,
}

impl Default for InFlightEvents {
    fn default() -> Self {
        InFlightEvents {
            first: NONE,
            last: NONE,
            len: 0,
            events: VecDeque::new(),
            base: 0,
            lost_before: 0,
            mutants: Mutants::default(),
            is_leaking: false,
        }
    }
}

/// The events a pod has not seen.
pub(super) enum UnseenEvents<'a> {
    /// These, oldest first.
    Events(vec_deque::Iter<'a, Event>),
    /// Too many to keep.
    Lost,
}

impl InFlightEvents {
    pub(super) fn set_mutants(&mut self, mutants: Mutants) {
        self.mutants = mutants;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0 && !self.leaks()
    }

    /// Pods in flight.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Panics where the list of pods and the events kept do not agree.
    pub(super) fn check(&self, entries: &impl Index<usize, Output = QueuedPodInfo>) {
        let (mut at, mut previous, mut length) = (self.first, NONE, 0);
        let mut since = self.base;
        while at != NONE {
            let entry = &entries[at as usize];
            assert_eq!(entry.previous, previous, "neighbours in flight know each other");
            assert!(entry.since >= since || entry.since < self.lost_before, "who was popped first saw least");
            length += 1;
            assert!(length <= self.len, "the list in flight ends");
            since = since.max(entry.since);
            (previous, at) = (at, entry.next);
        }
        assert_eq!(length, self.len, "pods in flight are counted");
        assert_eq!(previous, self.last, "the last pod in flight is known");
        assert!(self.events.len() <= EVENTS_MAX, "only so many events are kept");
        assert!(self.len > 0 || self.events.is_empty(), "events are kept for pods in flight");
        assert!(since <= self.base + self.events.len() as u64, "nobody has seen what has not happened");
    }

    /// A pod leaves, and its place stays.
    pub(super) fn leak(&mut self) {
        self.is_leaking = true;
    }

    fn leaks(&self) -> bool {
        self.mutants.has(Mutant::RecreatedInFlight) && self.is_leaking
    }

    /// Events kept.
    pub(super) fn event_count(&self) -> usize {
        self.events.len()
    }

    /// The events kept.
    pub(super) fn events(&self) -> impl Iterator<Item = &Event> {
        self.events.iter()
    }

    /// A pod was popped.
    #[inline]
    pub(super) fn move_pod_to_in_flight(
        &mut self,
        pod: PodId,
        entries: &mut impl IndexMut<usize, Output = QueuedPodInfo>,
    ) {
        let since = self.base + self.events.len() as u64;
        let last = std::mem::replace(&mut self.last, pod.0);
        debug_assert_ne!(last, pod.0, "a pod is in flight once");
        if last == NONE {
            self.first = pod.0;
        } else {
            entries[last as usize].next = pod.0;
        }
        let entry = &mut entries[pod.index()];
        (entry.since, entry.previous, entry.next) = (since, last, NONE);
        self.len += 1;
    }

    /// A pod is done with: events that only it had not seen are dropped.
    #[inline]
    pub(super) fn done(&mut self, pod: PodId, entries: &mut impl IndexMut<usize, Output = QueuedPodInfo>) {
        let QueuedPodInfo { previous, next, .. } = entries[pod.index()];
        if previous == NONE {
            self.first = next;
        } else {
            entries[previous as usize].next = next;
        }
        if next == NONE {
            self.last = previous;
        } else {
            entries[next as usize].previous = previous;
        }
        debug_assert!(self.len > 0, "only a pod in flight is done with");
        self.len -= 1;
        if self.mutants.has(Mutant::InFlightEventsLost) {
            self.base += self.events.len() as u64;
            self.events.clear();
        }
        if previous == NONE && !self.events.is_empty() && !self.leaks() {
            let end = self.base + self.events.len() as u64;
            let needed = if next == NONE { end } else { entries[next as usize].since };
            let seen = needed.saturating_sub(self.base);
            self.events.drain(..usize::try_from(seen).expect("no more than there are"));
            self.base += seen;
        }
    }

    /// Something happened.
    pub(super) fn add_event_if_any_in_flight(&mut self, event: &Event) {
        if self.is_empty() {
            return;
        }
        if self.events.len() == EVENTS_MAX {
            self.base += self.events.len() as u64;
            self.events.clear();
            self.lost_before = self.base;
        }
        debug_assert!(self.events.len() < EVENTS_MAX, "only so many events are kept");
        self.events.push_back(event.clone());
    }

    /// What a pod in flight has not seen.
    pub(super) fn cluster_events_for_pod(&self, entry: &QueuedPodInfo) -> UnseenEvents<'_> {
        if entry.since < self.lost_before {
            return UnseenEvents::Lost;
        }
        debug_assert!(
            self.base <= entry.since || self.mutants.has(Mutant::InFlightEventsLost),
            "events are kept for the pod that was popped first"
        );
        let seen = entry.since.saturating_sub(self.base);
        let seen = usize::try_from(seen).expect("no more than there are");
        UnseenEvents::Events(self.events.range(seen..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::event::ASSIGNED_POD_ADD;

    fn unseen(in_flight: &InFlightEvents, entry: &QueuedPodInfo) -> Option<usize> {
        match in_flight.cluster_events_for_pod(entry) {
            UnseenEvents::Events(events) => Some(events.count()),
            UnseenEvents::Lost => None,
        }
    }

    #[test]
    fn in_flight_events_are_kept_for_the_oldest_in_flight_pod() {
        let mut entries = [QueuedPodInfo::default(); 3];
        let mut in_flight = InFlightEvents::default();
        let event = Event::bare(ASSIGNED_POD_ADD);
        in_flight.add_event_if_any_in_flight(&event);
        assert_eq!(in_flight.event_count(), 0, "nobody is in flight");
        for pod in 0..3 {
            in_flight.move_pod_to_in_flight(PodId(pod), &mut entries);
            in_flight.add_event_if_any_in_flight(&event);
        }
        let seen = |in_flight: &InFlightEvents, entries: &[QueuedPodInfo]| {
            entries.iter().map(|entry| unseen(in_flight, entry)).collect::<Vec<_>>()
        };
        assert_eq!(seen(&in_flight, &entries), [Some(3), Some(2), Some(1)]);
        in_flight.done(PodId(1), &mut entries);
        assert_eq!(in_flight.event_count(), 3, "the first pod still needs them");
        in_flight.done(PodId(0), &mut entries);
        assert_eq!(in_flight.event_count(), 1);
        assert_eq!(unseen(&in_flight, &entries[2]), Some(1));
        in_flight.done(PodId(2), &mut entries);
        assert!(in_flight.is_empty());
        assert_eq!(in_flight.event_count(), 0);
    }

    #[test]
    fn in_flight_pod_knows_that_events_were_dropped() {
        let mut entries = [QueuedPodInfo::default(); 2];
        let mut in_flight = InFlightEvents::default();
        let event = Event::bare(ASSIGNED_POD_ADD);
        in_flight.move_pod_to_in_flight(PodId(0), &mut entries);
        for _ in 0..=EVENTS_MAX {
            in_flight.add_event_if_any_in_flight(&event);
        }
        in_flight.move_pod_to_in_flight(PodId(1), &mut entries);
        in_flight.add_event_if_any_in_flight(&event);
        assert!(in_flight.event_count() <= EVENTS_MAX);
        assert_eq!(unseen(&in_flight, &entries[0]), None);
        assert_eq!(unseen(&in_flight, &entries[1]), Some(1));
        in_flight.done(PodId(0), &mut entries);
        assert_eq!(unseen(&in_flight, &entries[1]), Some(1));
        in_flight.done(PodId(1), &mut entries);
        assert_eq!(in_flight.event_count(), 0);
    }
}
