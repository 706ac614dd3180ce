//! DefaultPreemption holds a pod back while its victims are being evicted. The eviction's end lets
//! it in; a deleted pod as such does not. The events are registered so that a pod held back here
//! is looked at when what it lacked comes free.
//! Upstream: defaultpreemption/default_preemption.go `isPodSchedulableAfterAssignedPodDeletion`.

use super::DefaultPreemption;
use crate::framework::event::{ActionType, EventResource};
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::known_gaps::KnownGaps;

impl EnqueueExtensions for DefaultPreemption {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        EVENTS.to_vec()
    }
}

const EVENTS: &[RegisteredEvent] =
    &[RegisteredEvent::by_class(EventResource::AssignedPod, ActionType::DELETE, |_, _, _| false)];
