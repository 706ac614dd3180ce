//! How many pods came to which part of the queue, and why.
//!
//! Upstream: backend/queue `recordIncomingEntitiesMetrics`, metric `queue_incoming_pods_total`.

use super::event::{ACTION_COUNT, ClusterEvent, RESOURCE_COUNT, RESOURCES, action_index, incoming_actions};
use super::queued_pod_info::QueuePlace;

/// Why pods move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// Something happened in the cluster; the pod's own coming counts as such.
    Event(ClusterEvent),
    /// An attempt failed.
    AttemptFailed,
    /// The wait after a failure is over.
    BackoffOver,
    /// There was nothing else to try.
    PoppedEarly,
    /// A plugin asked for it.
    Activated,
    /// It had waited for too long.
    WaitedTooLong,
}

/// Names of the causes that are no events, in the order of their numbers.
const SPECIAL: [&str; 5] =
    ["ScheduleAttemptFailure", "BackoffComplete", "PopFromBackoffQ", "ForceActivate", "UnschedulableTimeout"];
const QUEUES: [&str; 3] = ["active", "backoff", "unschedulable"];
const EVENTS: usize = RESOURCE_COUNT * ACTION_COUNT;
const CAUSES: usize = EVENTS + SPECIAL.len();

/// The counts. The cause is set once a call; counting a pod is then one addition.
#[derive(Clone, Debug)]
pub struct QueueIncomingPods {
    cause: usize,
    counts: Vec<u64>,
}

impl Default for QueueIncomingPods {
    fn default() -> Self {
        QueueIncomingPods { cause: 0, counts: vec![0; QUEUES.len() * CAUSES] }
    }
}

impl QueueIncomingPods {
    /// Pods that move from now on move because of this.
    #[inline]
    pub(super) fn because(&mut self, cause: Cause) {
        self.cause = match cause {
            // All kinds of change at once: a timeout or a plugin, which have names of their own.
            Cause::Event(event)
                if event.action.0.count_ones() > 1 && event.action != super::ActionType::UPDATE =>
            {
                EVENTS + 4
            }
            Cause::Event(event) => event.resource as usize * ACTION_COUNT + action_index(event.action),
            Cause::AttemptFailed => EVENTS,
            Cause::BackoffOver => EVENTS + 1,
            Cause::PoppedEarly => EVENTS + 2,
            Cause::Activated => EVENTS + 3,
            Cause::WaitedTooLong => EVENTS + 4,
        };
    }

    /// A pod came to a place.
    #[inline]
    pub(super) fn count(&mut self, place: QueuePlace) {
        let queue = match place {
            QueuePlace::Active => 0,
            QueuePlace::Backoff | QueuePlace::ErrorBackoff => 1,
            QueuePlace::Unschedulable | QueuePlace::Gated => 2,
            QueuePlace::InFlight | QueuePlace::Out => return,
        };
        self.counts[queue * CAUSES + self.cause] += 1;
    }

    /// Queue, event and count, where there is one, with upstream's names.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, String, u64)> + '_ {
        let named = |(at, &count): (usize, &u64)| (QUEUES[at / CAUSES], cause_name(at % CAUSES), count);
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(named)
    }
}

fn cause_name(cause: usize) -> String {
    if cause >= EVENTS {
        return SPECIAL[cause - EVENTS].to_owned();
    }
    let action = incoming_actions().nth(cause % ACTION_COUNT).expect("a number of an action");
    ClusterEvent { resource: RESOURCES[cause / ACTION_COUNT], action }.label()
}

#[cfg(test)]
mod tests {
    use super::super::event::{ASSIGNED_POD_DELETE, ActionType, EventResource, WILDCARD};
    use super::*;

    #[test]
    fn incoming_pods_are_counted_by_queue_and_event() {
        let node_update =
            ClusterEvent { resource: EventResource::Node, action: ActionType::UPDATE_NODE_TAINT };
        let cases = [
            (Cause::AttemptFailed, QueuePlace::Unschedulable, "unschedulable", "ScheduleAttemptFailure"),
            (Cause::BackoffOver, QueuePlace::Active, "active", "BackoffComplete"),
            (Cause::PoppedEarly, QueuePlace::Active, "active", "PopFromBackoffQ"),
            (Cause::Activated, QueuePlace::Active, "active", "ForceActivate"),
            (Cause::WaitedTooLong, QueuePlace::ErrorBackoff, "backoff", "UnschedulableTimeout"),
            (Cause::Event(ASSIGNED_POD_DELETE), QueuePlace::Backoff, "backoff", "AssignedPodDelete"),
            (Cause::Event(node_update), QueuePlace::Gated, "unschedulable", "NodeUpdateNodeTaint"),
            (Cause::Event(WILDCARD), QueuePlace::Active, "active", "UnschedulableTimeout"),
        ];
        for (cause, place, queue, event) in cases {
            let mut incoming = QueueIncomingPods::default();
            incoming.because(cause);
            incoming.count(place);
            incoming.count(place);
            incoming.count(QueuePlace::InFlight);
            assert_eq!(incoming.counts().collect::<Vec<_>>(), [(queue, event.to_owned(), 2)]);
        }
    }
}
