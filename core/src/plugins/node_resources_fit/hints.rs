//! NodeResourcesFit: room came free, or a node has more of what the pod asks for.
//! Upstream: noderesources/fit.go.

use super::NodeResourcesFit;
use crate::class::PodClass;
use crate::dra::{DEVICE_CLASS_PREFIX, DraNews};
use crate::framework::event::{ActionType, Event, EventObject, EventResource, NodeState};
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::known_gaps::KnownGaps;
use crate::resources::{Amounts, ResourceKind};
use crate::storage::StorageNews;
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
    RegisteredEvent::by_class(
        EventResource::DeviceClass,
        ActionType::ADD.or(ActionType::UPDATE),
        after_device_class_change,
    ),
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

/// A class stands for an extended resource that the pod asks for.
/// Upstream: fit.go `isSchedulableAfterDeviceClassEvent`.
fn after_device_class_change(world: &World, class: &PodClass, event: &Event) -> bool {
    let EventObject::Named { name, news: StorageNews::Dra(news), .. } = &event.object else { return true };
    let DraNews::DeviceClass { is_new, has_other_resource } = *news else { return true };
    let name = world.vocabulary.symbols.text(*name);
    let mut asked = class.pending.scalars.iter().map(|&(id, _)| world.vocabulary.scalar_name(id));
    let stands_for = |resource: &str| {
        let is_implicit = resource.strip_prefix(DEVICE_CLASS_PREFIX).is_some_and(|of| of == name);
        let explicit = world.dra().class(name).and_then(|class| class.extended_resource_name.as_deref());
        is_new && is_implicit || explicit == Some(resource)
    };
    (is_new || has_other_resource) && asked.any(stands_for)
}

/// The pod would fit on the node if it were empty, and the node has more of something it asks for, or
/// perhaps devices.
fn after_node_change(world: &World, class: &PodClass, event: &Event) -> bool {
    let Some((old, Some(new))) = event.nodes() else { return true };
    if !would_fit(world, class, new) {
        return false;
    }
    let Some(old) = old else { return true };
    let is_more = |kind| old.allocatable.get(kind) < new.allocatable.get(kind) || is_device(world, kind, new);
    old.allocatable_pods < new.allocatable_pods || asked_kinds(&class.pending).any(is_more)
}

/// The node may have the resource as devices. Upstream: fit.go `shouldDelegateResourceToDRA`.
fn is_device(world: &World, kind: ResourceKind, node: &NodeState) -> bool {
    let ResourceKind::Scalar(id) = kind else { return false };
    node.allocatable.get(kind) <= 0 && NodeResourcesFit::is_device(world, id)
}

fn would_fit(world: &World, class: &PodClass, node: &NodeState) -> bool {
    let fits = |kind| class.pending.get(kind) <= node.allocatable.get(kind) || is_device(world, kind, node);
    node.allocatable_pods >= 1 && asked_kinds(&class.pending).all(fits)
}

/// The resources of which more than nothing is asked for.
fn asked_kinds(amounts: &Amounts) -> impl Iterator<Item = ResourceKind> + '_ {
    let fixed = [ResourceKind::Cpu, ResourceKind::Memory, ResourceKind::EphemeralStorage];
    let scalars = amounts.scalars.iter().map(|&(id, _)| ResourceKind::Scalar(id));
    fixed.into_iter().chain(scalars).filter(|&kind| amounts.get(kind) > 0)
}
