//! VolumeZone: a claim, volume, class or node came or changed.
//! Upstream: volumezone/volume_zone.go.

use super::volumes::{is_named_claim_of, news};
use super::{Action, EventResource, Registration, either};
use crate::class::PodClass;
use crate::queue::event::Event;
use crate::storage::StorageNews;
use crate::world::World;

pub(super) const EVENTS: &[Registration] = &[
    Registration::hinted(EventResource::StorageClass, Action::ADD, after_class_add),
    Registration::always(EventResource::Node, either(Action::ADD, Action::UPDATE_NODE_LABEL)),
    Registration::hinted(
        EventResource::PersistentVolumeClaim,
        either(Action::ADD, Action::UPDATE),
        is_named_claim_of,
    ),
    Registration::always(EventResource::PersistentVolume, Action::ADD),
    Registration::hinted(EventResource::PersistentVolume, Action::UPDATE, after_volume_change),
];

fn after_class_add(_: &World, _: &PodClass, event: &Event) -> bool {
    !matches!(news(event), StorageNews::Class { waits_for_consumer: false, .. })
}

fn after_volume_change(_: &World, _: &PodClass, event: &Event) -> bool {
    !matches!(news(event), StorageNews::Volume { has_other_zones: false })
}
