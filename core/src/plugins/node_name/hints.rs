//! NodeName: only a new node can be the one that is named.
//! Upstream: nodename/node_name.go.

use super::NodeName;
use crate::framework::event::{ActionType, EventResource};
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::known_gaps::KnownGaps;

impl EnqueueExtensions for NodeName {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        EVENTS.to_vec()
    }
}

const EVENTS: &[RegisteredEvent] = &[RegisteredEvent::always(EventResource::Node, ActionType::ADD)];
