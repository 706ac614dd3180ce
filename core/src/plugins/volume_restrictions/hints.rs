//! VolumeRestrictions: a pod that left used the same claim or disk, or a claim came.
//! Upstream: volumerestrictions/volume_restrictions.go.

use super::VolumeRestrictions;
use crate::class::PodClass;
use crate::class::volumes::Disk;
use crate::framework::event::{ActionType, Event, EventResource};
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::input::VolumeSourceInput;
use crate::known_gaps::KnownGaps;
use crate::plugins::helper::volumes::is_named_claim_of;
use crate::world::World;

impl EnqueueExtensions for VolumeRestrictions {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        EVENTS.to_vec()
    }
}

const EVENTS: &[RegisteredEvent] = &[
    RegisteredEvent::by_class(EventResource::AssignedPod, ActionType::DELETE, after_pod_delete),
    RegisteredEvent::always(EventResource::Node, ActionType::ADD),
    RegisteredEvent::by_class(EventResource::PersistentVolumeClaim, ActionType::ADD, is_named_claim_of),
];

fn after_pod_delete(world: &World, class: &PodClass, event: &Event) -> bool {
    let Some((Some(gone), _)) = event.pods() else { return true };
    let gone = world.class(gone.class);
    let conflicts = |disk: &Disk| gone.volumes.disks.iter().any(|other| disk.conflicts_with(other));
    let shares = |claim: &str| named_claims(gone).any(|other| claim == other);
    gone.namespace == class.namespace
        && (class.volumes.disks.iter().any(conflicts) || named_claims(class).any(shares))
}

/// Whether a claim is for one pod alone is not looked up, as upstream does not.
fn named_claims(class: &PodClass) -> impl Iterator<Item = &str> {
    class.input.volumes.iter().filter_map(|volume| match &volume.source {
        VolumeSourceInput::Claim { claim_name, .. } => Some(claim_name.as_str()),
        _ => None,
    })
}
