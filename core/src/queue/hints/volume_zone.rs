//! VolumeZone: a claim, volume, class or node came or changed.
//! Upstream: volumezone/volume_zone.go. Differs: every new storage class and every changed volume
//! helps, because the event does not say what they are.

use super::volumes::is_claim_of;
use super::{Action, EventResource, Registration, either};

pub(super) const EVENTS: &[Registration] = &[
    Registration::always(EventResource::StorageClass, Action::ADD),
    Registration::always(EventResource::Node, either(Action::ADD, Action::UPDATE_NODE_LABEL)),
    Registration::hinted(
        EventResource::PersistentVolumeClaim,
        either(Action::ADD, Action::UPDATE),
        is_claim_of,
    ),
    Registration::always(EventResource::PersistentVolume, either(Action::ADD, Action::UPDATE)),
];
