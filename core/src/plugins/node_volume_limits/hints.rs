//! NodeVolumeLimits: an attachment came free, or a node may have more.
//! Upstream: nodevolumelimits/csi.go.

use super::NodeVolumeLimits;
use crate::class::PodClass;
use crate::framework::event::{ActionType, Event, EventResource};
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::input::VolumeSourceInput;
use crate::known_gaps::KnownGaps;
use crate::plugins::helper::volumes::{inline_driver, is_attached, is_claim_of, news};
use crate::storage::StorageNews;
use crate::world::World;

impl EnqueueExtensions for NodeVolumeLimits {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        EVENTS.to_vec()
    }
}

const EVENTS: &[RegisteredEvent] = &[
    RegisteredEvent::always(EventResource::CsiNode, ActionType::ADD),
    RegisteredEvent::by_class(EventResource::CsiNode, ActionType::UPDATE, after_csi_node_change),
    RegisteredEvent::by_class(EventResource::AssignedPod, ActionType::DELETE, after_pod_delete),
    RegisteredEvent::by_class(EventResource::PersistentVolumeClaim, ActionType::ADD, is_claim_of),
    RegisteredEvent::by_class(EventResource::VolumeAttachment, ActionType::DELETE, after_detach),
];

fn after_pod_delete(world: &World, _: &PodClass, event: &Event) -> bool {
    let Some((Some(gone), _)) = event.pods() else { return true };
    gone.has_place() && has_attached(world.class(gone.class))
}

fn after_csi_node_change(_: &World, _: &PodClass, event: &Event) -> bool {
    !matches!(news(event), StorageNews::CsiNode { has_higher_limits: false, .. })
}

/// A claim may be any driver's; a disk that the pod names itself is attached by one.
fn after_detach(world: &World, class: &PodClass, event: &Event) -> bool {
    let attacher = match news(event) {
        StorageNews::Detached { attacher } => Some(world.vocabulary.symbols.text(attacher)),
        _ => None,
    };
    class.input.volumes.iter().any(|volume| match &volume.source {
        VolumeSourceInput::Claim { .. } => true,
        source => inline_driver(source).is_some_and(|driver| attacher.is_none_or(|by| by == driver)),
    })
}

fn has_attached(class: &PodClass) -> bool {
    class.input.volumes.iter().any(|volume| is_attached(&volume.source))
}
