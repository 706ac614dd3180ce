//! VolumeRestrictions: a pod that left used the same claim or disk, or a claim came.
//! Upstream: volumerestrictions/volume_restrictions.go.

use super::volumes::is_named_claim_of;
use super::{Action, EventResource, Registration, pods};
use crate::class::PodClass;
use crate::input::VolumeSourceInput;
use crate::queue::event::Event;
use crate::world::World;

pub(super) const EVENTS: &[Registration] = &[
    Registration::hinted(EventResource::AssignedPod, Action::DELETE, after_pod_delete),
    Registration::always(EventResource::Node, Action::ADD),
    Registration::hinted(EventResource::PersistentVolumeClaim, Action::ADD, is_named_claim_of),
];

fn after_pod_delete(world: &World, class: &PodClass, event: &Event) -> bool {
    let Some((Some(gone), _)) = pods(event) else { return true };
    let gone = world.class(gone.class);
    gone.namespace == class.namespace
        && class
            .input
            .volumes
            .iter()
            .any(|volume| gone.input.volumes.iter().any(|other| is_shared(&volume.source, &other.source)))
}

/// Both speak of one claim or disk. Whether both only read is not asked: one needless attempt.
fn is_shared(one: &VolumeSourceInput, other: &VolumeSourceInput) -> bool {
    use VolumeSourceInput::{AwsElasticBlockStore, Claim, GcePersistentDisk, Iscsi, Rbd};
    match (one, other) {
        (Claim { claim_name, .. }, Claim { claim_name: same, .. }) => claim_name == same,
        (GcePersistentDisk { pd_name, .. }, GcePersistentDisk { pd_name: same, .. }) => pd_name == same,
        (AwsElasticBlockStore { volume_id, .. }, AwsElasticBlockStore { volume_id: same, .. }) => {
            volume_id == same
        }
        (Iscsi { iqn, .. }, Iscsi { iqn: same, .. }) => iqn == same,
        (Rbd { pool, image, .. }, Rbd { pool: same_pool, image: same_image, .. }) => {
            pool == same_pool && image == same_image
        }
        _ => false,
    }
}
