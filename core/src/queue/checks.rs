//! What must hold of the queue between two events. See `Scheduler::check`.

use super::active_queue::ActiveQueue;
use super::backoff_queue::BackoffQueue;
use super::in_flight_events::InFlightEvents;
use super::order::Ticket;
use super::queued_pod_info::{NONE, QueuePlace, QueuedPodInfo};
use super::scheduling_queue::{QueueCounts, SchedulingQueue};
use super::unschedulable_pods::UnschedulablePods;
use crate::chunked::Chunked;

/// The parts of a queue, to be held against each other.
pub(super) struct QueueParts<'a> {
    pub(super) entries: &'a Chunked<QueuedPodInfo>,
    pub(super) active: &'a ActiveQueue,
    pub(super) backoff: &'a BackoffQueue,
    pub(super) unschedulable_pods: &'a UnschedulablePods,
    pub(super) in_flight: &'a InFlightEvents,
}

impl SchedulingQueue {
    /// Panics where counts, entries, tickets and lists do not agree.
    pub(crate) fn check(&self) {
        let parts = self.parts();
        let mut found = QueueCounts::default();
        for at in 0..parts.entries.len() {
            let entry = &parts.entries[at];
            if let Some(count) = found.of(entry.place) {
                *count += 1;
            }
            check_entry(entry);
        }
        assert_eq!(found, self.counts(), "the pods of each place are counted");
        parts.check_tickets(&found);
        parts.unschedulable_pods.check(parts.entries);
        assert_eq!(parts.unschedulable_pods.len(), found.unschedulable + found.gated, "who waits is listed");
        parts.in_flight.check(parts.entries);
        assert_eq!(parts.in_flight.len(), found.in_flight, "who is in flight is listed");
    }
}

fn check_entry(entry: &QueuedPodInfo) {
    match entry.place {
        QueuePlace::Gated => assert!(entry.gating_plugin().is_some(), "some plugin holds a gated pod back"),
        QueuePlace::Unschedulable | QueuePlace::Active => {
            assert!(entry.gating_plugin().is_none(), "nobody holds back a pod that is not gated");
        }
        QueuePlace::Backoff => {
            assert!(!entry.rejector_plugins().is_empty(), "a rejected pod was rejected by a plugin");
        }
        QueuePlace::ErrorBackoff => {
            assert!(entry.rejector_plugins().is_empty(), "a pod that failed otherwise has no rejectors");
        }
        QueuePlace::Out | QueuePlace::InFlight => {}
    }
    if matches!(entry.place, QueuePlace::Backoff | QueuePlace::ErrorBackoff) {
        assert!(entry.backoff_is_set, "a pod that backs off knows until when");
    }
    if !matches!(entry.place, QueuePlace::Unschedulable | QueuePlace::Gated) {
        assert_eq!(entry.bucket, NONE, "only a pod that waits for an event is in a bucket");
    }
}

impl QueueParts<'_> {
    /// Each pod of a heap or lane has one ticket there that is its own; the others are leftovers.
    fn check_tickets(&self, found: &QueueCounts) {
        let holds = |place, ticket: &Ticket| self.entries[ticket.pod.index()].holds(place, *ticket);
        let active = self.active.tickets().filter(|ticket| holds(QueuePlace::Active, ticket)).count();
        assert_eq!(active, found.active, "an active pod has one place in the active queue");
        assert_eq!(self.active.tickets().count(), self.active.len(), "the active queue counts its places");
        let (rejected, errors) = self.backoff.tickets();
        let rejected = rejected.filter(|ticket| holds(QueuePlace::Backoff, ticket)).count();
        assert_eq!(rejected, found.backoff, "a pod that backs off has one place in its queue");
        let errors = errors.filter(|ticket| holds(QueuePlace::ErrorBackoff, ticket)).count();
        assert_eq!(errors, found.error_backoff, "a pod that failed otherwise has one place in its queue");
        self.active.check();
        self.backoff.check();
    }
}
