//! VolumeBinding: a claim, volume, class, node or capacity came or changed.
//! Upstream: volumebinding/volume_binding.go. Differs: updates of storage classes, CSI nodes, drivers and
//! capacities always help, because the event does not say what changed.

use super::volumes::is_claim_of;
use super::{Action, EventResource, Registration, either};

pub(super) const EVENTS: &[Registration] = &[
    Registration::always(EventResource::StorageClass, either(Action::ADD, Action::UPDATE)),
    Registration::hinted(
        EventResource::PersistentVolumeClaim,
        either(Action::ADD, Action::UPDATE),
        is_claim_of,
    ),
    Registration::always(EventResource::PersistentVolume, either(Action::ADD, Action::UPDATE)),
    Registration::always(EventResource::Node, either(Action::ADD, Action::UPDATE_NODE_LABEL)),
    Registration::always(EventResource::CsiNode, either(Action::ADD, Action::UPDATE)),
    Registration::always(EventResource::CsiDriver, Action::UPDATE),
    Registration::always(EventResource::CsiStorageCapacity, either(Action::ADD, Action::UPDATE)),
];
