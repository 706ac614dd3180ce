//! NodePorts: a pod that left had a port that this one wants.
//! Upstream: nodeports/node_ports.go.

use super::NodePorts;
use crate::class::PodClass;
use crate::framework::event::{ActionType, Event, EventResource};
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::known_gaps::KnownGaps;
use crate::world::World;

impl EnqueueExtensions for NodePorts {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        EVENTS.to_vec()
    }
}

const EVENTS: &[RegisteredEvent] = &[
    RegisteredEvent::by_class(EventResource::AssignedPod, ActionType::DELETE, after_pod_delete),
    RegisteredEvent::always(EventResource::Node, ActionType::ADD),
];

fn after_pod_delete(world: &World, class: &PodClass, event: &Event) -> bool {
    let Some((Some(gone), _)) = event.pods() else { return true };
    let freed = &world.class(gone.class).host_ports;
    gone.has_place()
        && class.host_ports.iter().any(|port| freed.iter().any(|other| port.conflicts_with(other)))
}
