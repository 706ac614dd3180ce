//! NodePorts: a pod that left had a port that this one wants.
//! Upstream: nodeports/node_ports.go.

use super::{Action, EventResource, Registration, has_place, pods};
use crate::class::PodClass;
use crate::queue::event::Event;
use crate::world::World;

pub(super) const EVENTS: &[Registration] = &[
    Registration::hinted(EventResource::AssignedPod, Action::DELETE, after_pod_delete),
    Registration::always(EventResource::Node, Action::ADD),
];

fn after_pod_delete(world: &World, class: &PodClass, event: &Event) -> bool {
    let Some((Some(gone), _)) = pods(event) else { return true };
    let freed = &world.class(gone.class).host_ports;
    has_place(&gone)
        && class.host_ports.iter().any(|port| freed.iter().any(|other| port.conflicts_with(other)))
}
