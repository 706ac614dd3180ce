//! VolumeBinding: a claim, volume, class, node or capacity came or changed.
//! Upstream: volumebinding/volume_binding.go.

use super::volumes::{is_claim_of, news};
use super::{Action, EventResource, Registration, either};
use crate::class::PodClass;
use crate::input::VolumeSourceInput;
use crate::queue::event::{Event, EventObject};
use crate::storage::StorageNews;
use crate::world::World;

pub(super) const EVENTS: &[Registration] = &[
    Registration::always(EventResource::StorageClass, Action::ADD),
    Registration::hinted(EventResource::StorageClass, Action::UPDATE, after_class_change),
    Registration::hinted(
        EventResource::PersistentVolumeClaim,
        either(Action::ADD, Action::UPDATE),
        is_claim_of,
    ),
    Registration::always(EventResource::PersistentVolume, either(Action::ADD, Action::UPDATE)),
    Registration::always(EventResource::Node, either(Action::ADD, Action::UPDATE_NODE_LABEL)),
    Registration::always(EventResource::CsiNode, Action::ADD),
    Registration::hinted(EventResource::CsiNode, Action::UPDATE, after_csi_node_change),
    Registration::hinted(EventResource::CsiDriver, Action::UPDATE, after_driver_change),
    Registration::always(EventResource::CsiStorageCapacity, Action::ADD),
    Registration::hinted(EventResource::CsiStorageCapacity, Action::UPDATE, after_capacity_change),
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
