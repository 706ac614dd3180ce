//! VolumeBinding: a claim, volume, class, node or capacity came or changed.
//! Upstream: volumebinding/volume_binding.go.

use super::VolumeBinding;
use crate::class::PodClass;
use crate::framework::event::{ActionType, Event, EventObject, EventResource};
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::input::VolumeSourceInput;
use crate::known_gaps::KnownGaps;
use crate::plugins::helper::volumes::{is_claim_of, news};
use crate::storage::StorageNews;
use crate::world::World;

impl EnqueueExtensions for VolumeBinding {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        EVENTS.to_vec()
    }
}

const EVENTS: &[RegisteredEvent] = &[
    RegisteredEvent::always(EventResource::StorageClass, ActionType::ADD),
    RegisteredEvent::by_class(EventResource::StorageClass, ActionType::UPDATE, after_class_change),
    RegisteredEvent::by_class(
        EventResource::PersistentVolumeClaim,
        ActionType::ADD.or(ActionType::UPDATE),
        is_claim_of,
    ),
    RegisteredEvent::always(EventResource::PersistentVolume, ActionType::ADD.or(ActionType::UPDATE)),
    RegisteredEvent::always(EventResource::Node, ActionType::ADD.or(ActionType::UPDATE_NODE_LABEL)),
    RegisteredEvent::always(EventResource::CsiNode, ActionType::ADD),
    RegisteredEvent::by_class(EventResource::CsiNode, ActionType::UPDATE, after_csi_node_change),
    RegisteredEvent::by_class(EventResource::CsiDriver, ActionType::UPDATE, after_driver_change),
    RegisteredEvent::always(EventResource::CsiStorageCapacity, ActionType::ADD),
    RegisteredEvent::by_class(EventResource::CsiStorageCapacity, ActionType::UPDATE, after_capacity_change),
];

fn after_class_change(_: &World, _: &PodClass, event: &Event) -> bool {
    !matches!(news(event), StorageNews::Class { has_other_topologies: false, .. })
}

/// In-tree volumes are looked at as the driver's that took over.
fn after_csi_node_change(_: &World, _: &PodClass, event: &Event) -> bool {
    !matches!(news(event), StorageNews::CsiNode { has_other_migration: false, .. })
}

/// Only of drivers whose volumes the pod names itself.
fn after_driver_change(world: &World, class: &PodClass, event: &Event) -> bool {
    let EventObject::Named { name, news, .. } = &event.object else { return true };
    let changed = world.vocabulary.symbols.text(*name);
    let is_used = class
        .input
        .volumes
        .iter()
        .any(|volume| matches!(&volume.source, VolumeSourceInput::Csi { driver } if driver == changed));
    is_used && !matches!(news, StorageNews::CsiDriver { lost_capacity: false })
}

fn after_capacity_change(_: &World, _: &PodClass, event: &Event) -> bool {
    !matches!(news(event), StorageNews::Capacity { is_larger: false })
}
