//! What is new about an object of storage, as far as queueing hints ask.
//!
//! Upstream's hints get the object before and after. Here both are compared once, when the new state
//! is taken over, and the event carries the outcome: old objects need not be kept.

use crate::ids::Symbol;

use super::CsiDriver;
use super::objects::{CsiNode, StorageCapacity, StorageClass, Volume};
use crate::input::storage::BindingMode;

/// What is new about an object. Of one that was not there before, everything is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StorageNews {
    /// Nobody looked: it may be anything.
    #[default]
    Anything,
    /// A PersistentVolume.
    Volume {
        /// Its zones or regions are others.
        has_other_zones: bool,
    },
    /// A StorageClass.
    Class {
        /// Its claims wait for a pod that uses them.
        waits_for_consumer: bool,
        /// `allowedTopologies` differ.
        has_other_topologies: bool,
    },
    /// A CSINode.
    CsiNode {
        /// Other in-tree plugins are migrated.
        has_other_migration: bool,
        /// Some driver may attach more volumes.
        has_higher_limits: bool,
    },
    /// A CSIDriver.
    CsiDriver {
        /// Its capacity was counted, and is not any more.
        lost_capacity: bool,
    },
    /// A CSIStorageCapacity.
    Capacity {
        /// Larger volumes fit.
        is_larger: bool,
    },
    /// A VolumeAttachment that is gone.
    Detached {
        /// `spec.attacher`.
        attacher: Symbol,
    },
}

impl StorageNews {
    pub(super) fn of_volume(old: Option<&Volume>, new: &Volume) -> StorageNews {
        let has_other_zones = old.is_none_or(|old| old.zone_labels != new.zone_labels);
        StorageNews::Volume { has_other_zones }
    }

    pub(super) fn of_class(old: Option<&StorageClass>, new: &StorageClass) -> StorageNews {
        StorageNews::Class {
            waits_for_consumer: new.binding_mode == Some(BindingMode::WaitForFirstConsumer),
            has_other_topologies: old.is_none_or(|old| old.allowed_topologies != new.allowed_topologies),
        }
    }

    pub(super) fn of_csi_node(old: Option<&CsiNode>, new: &CsiNode) -> StorageNews {
        // A driver without a limit counts as one with a limit of nothing.
        let limit = |node: &CsiNode, driver| node.limit(driver).unwrap_or(0);
        let grew = |old: &CsiNode| {
            new.drivers.iter().any(|&(driver, count)| count.unwrap_or(0) > limit(old, driver))
        };
        StorageNews::CsiNode {
            has_other_migration: old.is_none_or(|old| old.migrated_plugins != new.migrated_plugins),
            has_higher_limits: old.is_none_or(grew),
        }
    }

    pub(super) fn of_driver(old: Option<CsiDriver>, new: CsiDriver) -> StorageNews {
        let had_capacity = old.is_some_and(|old| old.has_storage_capacity);
        StorageNews::CsiDriver { lost_capacity: had_capacity && !new.has_storage_capacity }
    }

    pub(super) fn of_capacity(old: Option<&StorageCapacity>, new: &StorageCapacity) -> StorageNews {
        let is_larger = old.is_none_or(|old| old.volume_bytes_max < new.volume_bytes_max);
        StorageNews::Capacity { is_larger }
    }
}
