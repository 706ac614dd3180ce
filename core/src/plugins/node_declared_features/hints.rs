//! NodeDeclaredFeatures: a node came or declares other features, or the pod asks for others.
//! Upstream: nodedeclaredfeatures/nodedeclaredfeatures.go.

use super::NodeDeclaredFeatures;
use crate::class::PodClass;
use crate::framework::event::{ActionType, Event, EventResource};
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::known_gaps::KnownGaps;
use crate::world::World;

impl EnqueueExtensions for NodeDeclaredFeatures {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        EVENTS.to_vec()
    }
}

const EVENTS: &[RegisteredEvent] = &[
    RegisteredEvent::always(
        EventResource::Node,
        ActionType::ADD.or(ActionType::UPDATE_NODE_DECLARED_FEATURE),
    ),
    RegisteredEvent::by_class(EventResource::TargetPod, ActionType::UPDATE, after_own_change),
];

fn after_own_change(world: &World, _: &PodClass, event: &Event) -> bool {
    let Some((Some(old), Some(new))) = event.pods() else { return true };
    world.class(old.class).required_features != world.class(new.class).required_features
}
