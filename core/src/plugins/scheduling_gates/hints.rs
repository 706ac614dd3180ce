//! SchedulingGates: the pod lost its last gate.
//! Upstream: schedulinggates/scheduling_gates.go.

use super::SchedulingGates;
use crate::framework::event::{ActionType, EventResource};
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::known_gaps::KnownGaps;

impl EnqueueExtensions for SchedulingGates {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        EVENTS.to_vec()
    }
}

const EVENTS: &[RegisteredEvent] =
    &[RegisteredEvent::always(EventResource::TargetPod, ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED)];
