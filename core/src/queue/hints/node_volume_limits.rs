//! NodeVolumeLimits: an attachment came free, or a node may have more.
//! Upstream: nodevolumelimits/csi.go.

use super::volumes::{inline_driver, is_attached, is_claim_of, news};
use super::{Action, EventResource, Registration, has_place, pods};
use crate::class::PodClass;
use crate::input::VolumeSourceInput;
use crate::queue::event::Event;
use crate::storage::StorageNews;
use crate::world::World;

pub(super) const EVENTS: &[Registration] = &[
    Registration::always(EventResource::CsiNode, Action::ADD),
    Registration::hinted(EventResource::CsiNode, Action::UPDATE, after_csi_node_change),
    Registration::hinted(EventResource::AssignedPod, Action::DELETE, after_pod_delete),
    Registration::hinted(EventResource::PersistentVolumeClaim, Action::ADD, is_claim_of),
    Registration::hinted(EventResource::VolumeAttachment, Action::DELETE, after_detach),
];

fn after_pod_delete(world: &World, _: &PodClass, event: &Event) -> bool {
    let Some((Some(gone), _)) = pods(event) else { return true };
    has_place(&gone) && has_attached(world.class(gone.class))
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
