//! NodeResourcesFit: room came free, or a node has more of what the pod asks for.
//! Upstream: noderesources/fit.go.

use super::NodeResourcesFit;
use crate::class::PodClass;
use crate::framework::event::{ActionType, Event, EventResource, NodeState};
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::known_gaps::KnownGaps;
use crate::resources::{Amounts, ResourceKind};
use crate::world::World;

impl EnqueueExtensions for NodeResourcesFit {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        EVENTS.to_vec()
    }
}

const EVENTS: &[RegisteredEvent] = &[
    RegisteredEvent::by_class(EventResource::AssignedPod, ActionType::DELETE, after_pod_delete),
    RegisteredEvent::by_class(
        EventResource::Node,
        ActionType::ADD.or(ActionType::UPDATE_NODE_ALLOCATABLE),
        after_node_change,
    ),
    RegisteredEvent::by_class(
        EventResource::AssignedPod,
        ActionType::UPDATE_POD_SCALE_DOWN,
        after_pod_shrank,
    ),
    RegisteredEvent::always(EventResource::TargetPod, ActionType::UPDATE_POD_SCALE_DOWN),
];

fn after_pod_delete(_: &World, _: &PodClass, event: &Event) -> bool {
    let Some((Some(gone), _)) = event.pods() else { return true };
    gone.has_place()
}

/// It uses less of something that this pod asks for.
fn after_pod_shrank(world: &World, class: &PodClass, event: &Event) -> bool {
    let Some((Some(old), Some(new))) = event.pods() else { return true };
    let (before, after) = (&world.class(old.class).placed, &world.class(new.class).placed);
    new.node.is_some() && asked_kinds(&class.pending).any(|kind| after.get(kind) < before.get(kind))
}

/// The pod would fit on the node if it were empty, and the node has more of something it asks for.
fn after_node_change(_: &World, class: &PodClass, event: &Event) -> bool {
    let Some((old, Some(new))) = event.nodes() else { return true };
    if !would_fit(class, new) {
        return false;
    }
    let Some(old) = old else { return true };
    old.allocatable_pods < new.allocatable_pods
        || asked_kinds(&class.pending).any(|kind| old.allocatable.get(kind) < new.allocatable.get(kind))
}

fn would_fit(class: &PodClass, node: &NodeState) -> bool {
    let fits = |kind| class.pending.get(kind) <= node.allocatable.get(kind);
    node.allocatable_pods >= 1 && asked_kinds(&class.pending).all(fits)
}

/// The resources of which more than nothing is asked for.
fn asked_kinds(amounts: &Amounts) -> impl Iterator<Item = ResourceKind> + '_ {
    let fixed = [ResourceKind::Cpu, ResourceKind::Memory, ResourceKind::EphemeralStorage];
    let scalars = amounts.scalars.iter().map(|&(id, _)| ResourceKind::Scalar(id));
    fixed.into_iter().chain(scalars).filter(|&kind| amounts.get(kind) > 0)
}
