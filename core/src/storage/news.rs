//! What is new about an object of storage, as far as queueing hints ask.
//!
//! Upstream's hints get the object before and after. Here both are compared once, when the new state
//! is taken over, and the event carries the outcome: old objects need not be kept.

use crate::ids::Symbol;

use super::CsiDriver;
use super::objects::{CsiNode, StorageCapacity, StorageClass, Volume, ZoneLabel};
use crate::dra::DraNews;
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
    /// An object of dynamic resource allocation.
    Dra(DraNews),
}

impl StorageNews {
    pub(super) fn of_volume(old: Option<&Volume>, new: &Volume) -> StorageNews {
        let has_other_zones = old.is_none_or(|old| !has_same_zones(&old.zone_labels, &new.zone_labels));
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

/// The zones of a label are a set.
fn has_same_zones(old: &[ZoneLabel], new: &[ZoneLabel]) -> bool {
    let is_within =
        |one: &ZoneLabel, other: &ZoneLabel| one.values.iter().all(|value| other.values.contains(value));
    let is_same = |(one, other): (&ZoneLabel, &ZoneLabel)| {
        one.key == other.key && is_within(one, other) && is_within(other, one)
    };
    old.len() == new.len() && old.iter().zip(new).all(is_same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::storage::{
        AttachmentInput, CsiDriverInput, CsiNodeInput, PersistentVolumeInput, StorageCapacityInput,
        StorageInput, StorageKey, StorageKind,
    };
    use crate::quantity::Quantity;
    use crate::world::World;

    fn zoned(zones: &str) -> StorageInput {
        let labels = [("topology.kubernetes.io/zone".to_owned(), zones.to_owned())].into();
        StorageInput::PersistentVolume(PersistentVolumeInput {
            name: "v".to_owned(),
            labels,
            ..PersistentVolumeInput::default()
        })
    }

    fn limited(count: Option<i32>) -> StorageInput {
        let drivers = vec![("d".to_owned(), count)];
        StorageInput::CsiNode(CsiNodeInput { name: "n".to_owned(), drivers, ..CsiNodeInput::default() })
    }

    fn driver(has_storage_capacity: bool) -> StorageInput {
        let driver =
            CsiDriverInput { name: "d".to_owned(), has_storage_capacity, ..CsiDriverInput::default() };
        StorageInput::CsiDriver(driver)
    }

    fn capacity(amount: Option<&str>) -> StorageInput {
        StorageInput::CsiStorageCapacity(StorageCapacityInput {
            name: "c".to_owned(),
            capacity: amount.map(|text| Quantity::parse(text).expect(text)),
            ..StorageCapacityInput::default()
        })
    }

    #[test]
    fn storage_update_news_compare_old_and_new_object() {
        let zones = |has_other_zones| StorageNews::Volume { has_other_zones };
        let limits =
            |has_higher_limits| StorageNews::CsiNode { has_other_migration: false, has_higher_limits };
        let lost = |lost_capacity| StorageNews::CsiDriver { lost_capacity };
        let larger = |is_larger| StorageNews::Capacity { is_larger };
        let cases = [
            ("another zone", zoned("a"), zoned("b"), zones(true)),
            ("the same zones in another order", zoned("a__b"), zoned("b__a"), zones(false)),
            ("one zone less", zoned("a__b"), zoned("a"), zones(true)),
            ("a higher limit", limited(Some(1)), limited(Some(2)), limits(true)),
            ("a lower limit", limited(Some(2)), limited(Some(1)), limits(false)),
            ("a first limit", limited(None), limited(Some(1)), limits(true)),
            ("capacity counts no more", driver(true), driver(false), lost(true)),
            ("capacity counts now", driver(false), driver(true), lost(false)),
            ("more", capacity(Some("1Gi")), capacity(Some("2Gi")), larger(true)),
            ("less", capacity(Some("2Gi")), capacity(Some("1Gi")), larger(false)),
            ("known now", capacity(None), capacity(Some("1Gi")), larger(true)),
            ("not known any more", capacity(Some("1Gi")), capacity(None), larger(false)),
        ];
        for (name, old, new, expected) in cases {
            let mut world = World::default();
            world.upsert_storage(&old);
            assert_eq!(world.upsert_storage(&new), expected, "case: {name}");
        }
    }

    #[test]
    fn volume_attachment_delete_news_name_the_attacher() {
        let mut world = World::default();
        world.upsert_storage(&StorageInput::VolumeAttachment(AttachmentInput {
            name: "a".to_owned(),
            attacher: "d".to_owned(),
            ..AttachmentInput::default()
        }));
        let key = StorageKey {
            kind: StorageKind::VolumeAttachment,
            namespace: String::new(),
            name: "a".to_owned(),
        };
        let attacher = world.vocabulary.symbols.intern("d");
        assert_eq!(world.remove_storage(&key), StorageNews::Detached { attacher });
        assert_eq!(world.remove_storage(&key), StorageNews::Anything, "nobody knows it any more");
    }
}
