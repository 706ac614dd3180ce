//! VolumeZone: a claim, volume, class or node came or changed.
//! Upstream: volumezone/volume_zone.go.

use super::VolumeZone;
use crate::class::PodClass;
use crate::framework::event::{ActionType, Event, EventResource};
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::known_gaps::KnownGaps;
use crate::plugins::helper::volumes::{is_named_claim_of, news};
use crate::storage::StorageNews;
use crate::world::World;

impl EnqueueExtensions for VolumeZone {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        EVENTS.to_vec()
    }
}

const EVENTS: &[RegisteredEvent] = &[
    RegisteredEvent::by_class(EventResource::StorageClass, ActionType::ADD, after_class_add),
    RegisteredEvent::always(EventResource::Node, ActionType::ADD.or(ActionType::UPDATE_NODE_LABEL)),
    RegisteredEvent::by_class(
        EventResource::PersistentVolumeClaim,
        ActionType::ADD.or(ActionType::UPDATE),
        is_named_claim_of,
    ),
    RegisteredEvent::always(EventResource::PersistentVolume, ActionType::ADD),
    RegisteredEvent::by_class(EventResource::PersistentVolume, ActionType::UPDATE, after_volume_change),
];

fn after_class_add(_: &World, _: &PodClass, event: &Event) -> bool {
    !matches!(news(event), StorageNews::Class { waits_for_consumer: false, .. })
}

fn after_volume_change(_: &World, _: &PodClass, event: &Event) -> bool {
    !matches!(news(event), StorageNews::Volume { has_other_zones: false })
}
