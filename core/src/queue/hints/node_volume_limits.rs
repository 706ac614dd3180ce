//! NodeVolumeLimits: an attachment came free, or a node may have more.
//! Upstream: nodevolumelimits/csi.go. Differs: every changed CSI node helps, because the event does
//! not say whether its limits grew.

use super::volumes::{is_attached, is_claim_of};
use super::{Action, EventResource, Registration, either, has_place, pods};
use crate::class::PodClass;
use crate::queue::event::Event;
use crate::world::World;

pub(super) const EVENTS: &[Registration] = &[
    Registration::always(EventResource::CsiNode, either(Action::ADD, Action::UPDATE)),
    Registration::hinted(EventResource::AssignedPod, Action::DELETE, after_pod_delete),
    Registration::hinted(EventResource::PersistentVolumeClaim, Action::ADD, is_claim_of),
    Registration::hinted(EventResource::VolumeAttachment, Action::DELETE, after_detach),
];

fn after_pod_delete(world: &World, _: &PodClass, event: &Event) -> bool {
    let Some((Some(gone), _)) = pods(event) else { return true };
    has_place(&gone) && has_attached(world.class(gone.class))
}

fn after_detach(_: &World, class: &PodClass, _: &Event) -> bool {
    has_attached(class)
}

fn has_attached(class: &PodClass) -> bool {
    class.input.volumes.iter().any(|volume| is_attached(&volume.source))
}
