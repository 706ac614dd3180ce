//! What the volume plugins' hints share.

use crate::class::PodClass;
use crate::input::VolumeSourceInput;
use crate::queue::event::{Event, EventObject};
use crate::world::World;

/// Whether the claim of an event is one that the pod names, or may be one that is made for it.
pub(super) fn is_claim_of(world: &World, class: &PodClass, event: &Event) -> bool {
    let EventObject::Named { namespace, name } = &event.object else { return true };
    let name = world.vocabulary.symbols.text(*name);
    let is_generated = |pod: &str, volume: &str| {
        name.strip_prefix(pod).and_then(|rest| rest.strip_prefix('-')) == Some(volume)
    };
    *namespace == class.namespace
        && class.input.volumes.iter().any(|volume| match &volume.source {
            VolumeSourceInput::Claim { claim_name, .. } => claim_name == name,
            VolumeSourceInput::Ephemeral { pod_name, .. } => is_generated(pod_name, &volume.name),
            _ => false,
        })
}

/// Whether the claim of an event is one that the pod names.
pub(super) fn is_named_claim_of(world: &World, class: &PodClass, event: &Event) -> bool {
    let EventObject::Named { namespace, name } = &event.object else { return true };
    let name = world.vocabulary.symbols.text(*name);
    *namespace == class.namespace
        && class.input.volumes.iter().any(
            |volume| matches!(&volume.source, VolumeSourceInput::Claim { claim_name, .. } if claim_name == name),
        )
}

/// A volume that takes up an attachment: a claim, or an in-tree disk that a driver has taken over.
pub(super) fn is_attached(source: &VolumeSourceInput) -> bool {
    !matches!(source, VolumeSourceInput::Image { .. } | VolumeSourceInput::Csi { .. })
}
