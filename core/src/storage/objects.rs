//! Objects of storage in interned form.

use crate::class::selector::NodeSelector;
use crate::ids::{LabelSetId, Symbol};
use crate::input::storage::{
    BindingMode, ClaimInput, CsiNodeInput, PersistentVolumeInput, PersistentVolumeSourceInput,
    StorageCapacityInput, StorageClassInput,
};
use crate::interner::{EMPTY, Vocabulary};
use crate::quantity::Quantity;
use crate::reclaim::Uses;

use super::csi::{self, InTreeVolumePlugin};
use super::selector::VolumeLabelSelector;
use super::usage::CsiVolume;

/// A claim and the namespace, name and UID it goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimRef {
    /// `namespace`.
    pub namespace: Symbol,
    /// `name`.
    pub name: Symbol,
    /// `uid`; empty matches any.
    pub uid: Symbol,
}

/// A claim's selector over volumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimSelector {
    /// There is none.
    All,
    /// Volumes with these labels.
    Labels(VolumeLabelSelector),
    /// It does not parse; upstream fails the cycle, here no volume matches.
    Unreadable,
}

/// A PersistentVolumeClaim.
#[derive(Clone, Debug)]
pub struct Claim {
    /// `metadata.uid`.
    pub uid: Symbol,
    /// The storage class that counts; empty for none.
    pub class: Symbol,
    /// `spec.volumeName`; empty while unbound.
    pub volume_name: Symbol,
    /// The controller has finished the binding.
    pub is_fully_bound: bool,
    /// `status.phase` is `Lost`.
    pub is_lost: bool,
    /// The claim is being deleted.
    pub is_terminating: bool,
    /// One pod of the cluster may use it.
    pub is_for_one_pod: bool,
    /// Where it is being provisioned.
    pub selected_node: Option<Symbol>,
    /// UID of its controller.
    pub controller_uid: Option<Symbol>,
    /// `spec.resources.requests.storage`.
    pub request: Option<Quantity>,
    /// `spec.accessModes`.
    pub access_modes: Box<[Symbol]>,
    /// `spec.volumeMode` is `Block`.
    pub is_block: bool,
    /// `spec.volumeAttributesClassName`.
    pub attributes_class: Symbol,
    /// `spec.selector`.
    pub selector: ClaimSelector,
    /// What was interned for it.
    pub(super) uses: Uses,
}

impl Claim {
    pub(super) fn new(input: &ClaimInput, vocabulary: &mut Vocabulary) -> Claim {
        let (claim, uses) = vocabulary.recorded(|vocabulary| Claim::of(input, vocabulary));
        Claim { uses, ..claim }
    }

    fn of(input: &ClaimInput, vocabulary: &mut Vocabulary) -> Claim {
        let selector = match &input.selector {
            None => ClaimSelector::All,
            Some(selector) => VolumeLabelSelector::compile(selector, vocabulary)
                .map_or(ClaimSelector::Unreadable, ClaimSelector::Labels),
        };
        let mut intern = |text: &str| vocabulary.symbols.intern(text);
        Claim {
            uid: intern(&input.uid),
            class: intern(input.class()),
            volume_name: intern(&input.volume_name),
            is_fully_bound: input.is_fully_bound(),
            is_lost: input.is_lost,
            is_terminating: input.is_terminating,
            is_for_one_pod: input.is_for_one_pod(),
            selected_node: input.selected_node.as_deref().map(&mut intern),
            controller_uid: input.controller_uid.as_deref().map(&mut intern),
            request: input.request,
            access_modes: input.access_modes.iter().map(|mode| intern(mode)).collect(),
            is_block: input.is_block,
            attributes_class: intern(&input.attributes_class),
            selector,
            uses: Uses::default(),
        }
    }

    /// `spec.resources.requests.storage`, 0 when absent.
    #[must_use]
    pub fn size(&self) -> Quantity {
        self.request.unwrap_or(Quantity::ZERO)
    }
}

/// A CSI volume and whether it is one only where the node has a CSINode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachable {
    /// The volume.
    pub volume: CsiVolume,
    /// An in-tree volume: on nodes without a CSINode it is not migrated.
    pub is_migrated: bool,
}

/// A topology label of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneLabel {
    /// The label's key.
    pub key: Symbol,
    /// The current form of a beta key; the key itself otherwise.
    pub current_key: Symbol,
    /// Zones (or regions) it is in.
    pub values: Box<[Symbol]>,
}

/// How an in-tree volume looks on a node where its plugin is migrated.
#[derive(Clone, Debug)]
pub struct Translation {
    /// The plugin's name.
    pub plugin: Symbol,
    /// Required node affinity; `Err` when the volume cannot be translated.
    pub affinity: Result<Option<NodeSelector>, Untranslatable>,
}

/// A volume that no CSI driver can take over as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Untranslatable;

/// A PersistentVolume.
#[derive(Clone, Debug)]
pub struct Volume {
    /// `metadata.labels`.
    pub labels: LabelSetId,
    /// The storage class that counts.
    pub class: Symbol,
    /// `spec.storageClassName`, whatever an annotation says: scores are grouped by it.
    pub class_field: Symbol,
    /// `spec.capacity.storage`.
    pub capacity: Quantity,
    /// `spec.accessModes`.
    pub access_modes: Box<[Symbol]>,
    /// `spec.volumeMode` is `Block`.
    pub is_block: bool,
    /// `spec.volumeAttributesClassName`.
    pub attributes_class: Symbol,
    /// `spec.claimRef`.
    pub claim_ref: Option<ClaimRef>,
    /// `status.phase` is `Available`.
    pub is_available: bool,
    /// The volume is being deleted.
    pub is_terminating: bool,
    /// Required node affinity.
    pub affinity: Option<NodeSelector>,
    /// For in-tree volumes.
    pub translation: Option<Translation>,
    /// The CSI volume behind it.
    pub attachable: Option<Attachable>,
    /// Topology labels, in upstream's order.
    pub zone_labels: Box<[ZoneLabel]>,
    /// What was interned for it.
    pub(super) uses: Uses,
}

/// The labels VolumeZone compares, in upstream's order, with their current forms.
pub(crate) const TOPOLOGY_LABELS: [(&str, &str); 4] = [
    (csi::BETA_ZONE, csi::ZONE),
    (csi::BETA_REGION, csi::REGION),
    (csi::ZONE, csi::ZONE),
    (csi::REGION, csi::REGION),
];

impl Volume {
    pub(super) fn new(input: &PersistentVolumeInput, vocabulary: &mut Vocabulary) -> Volume {
        let (volume, uses) = vocabulary.recorded(|vocabulary| Volume::of(input, vocabulary));
        Volume { uses, ..volume }
    }

    fn of(input: &PersistentVolumeInput, vocabulary: &mut Vocabulary) -> Volume {
        let affinity = input.node_affinity.as_deref().map(|terms| NodeSelector::compile(terms, vocabulary));
        let mut volume = Volume {
            labels: vocabulary.label_set(&input.labels),
            class: vocabulary.symbols.intern(input.class()),
            class_field: vocabulary.symbols.intern(&input.storage_class),
            capacity: input.capacity,
            access_modes: input.access_modes.iter().map(|mode| vocabulary.symbols.intern(mode)).collect(),
            is_block: input.is_block,
            attributes_class: vocabulary.symbols.intern(&input.attributes_class),
            claim_ref: input.claim_ref.as_ref().map(|claim| ClaimRef {
                namespace: vocabulary.symbols.intern(&claim.namespace),
                name: vocabulary.symbols.intern(&claim.name),
                uid: vocabulary.symbols.intern(&claim.uid),
            }),
            is_available: input.is_available,
            is_terminating: input.is_terminating,
            affinity,
            translation: None,
            attachable: None,
            zone_labels: zone_labels(input, vocabulary),
            uses: Uses::default(),
        };
        volume.set_source(input, vocabulary);
        volume
    }

    fn set_source(&mut self, input: &PersistentVolumeInput, vocabulary: &mut Vocabulary) {
        if let PersistentVolumeSourceInput::Csi { driver, handle } = &input.source {
            self.attachable = attachable(driver, handle, false, vocabulary);
            return;
        }
        let Some(plugin) = InTreeVolumePlugin::of_volume(input) else { return };
        let handle = csi::in_tree_handle(input).and_then(Result::ok);
        let affinity = match &handle {
            Some(_) => Ok(csi::translated_affinity(input, plugin)
                .map(|terms| NodeSelector::compile(&terms, vocabulary))),
            None => Err(Untranslatable),
        };
        self.translation = Some(Translation { plugin: vocabulary.symbols.intern(plugin.name()), affinity });
        self.attachable = handle.and_then(|handle| attachable(plugin.driver(), &handle, true, vocabulary));
    }

    /// Whether the volume is bound to the claim, or kept for it.
    /// Upstream: pv_helpers.go `IsVolumeBoundToClaim`.
    #[must_use]
    pub fn is_for(&self, claim: ClaimRef) -> bool {
        self.claim_ref.is_some_and(|it| {
            it.name == claim.name
                && it.namespace == claim.namespace
                && (it.uid == EMPTY || it.uid == claim.uid)
        })
    }
}

/// Driver and handle, unless one is empty: such a volume is not counted.
pub(super) fn attachable(
    driver: &str,
    handle: &str,
    is_migrated: bool,
    vocabulary: &mut Vocabulary,
) -> Option<Attachable> {
    let is_named = !driver.is_empty() && !handle.is_empty();
    is_named.then(|| Attachable {
        volume: CsiVolume {
            driver: vocabulary.symbols.intern(driver),
            handle: vocabulary.symbols.intern(handle),
        },
        is_migrated,
    })
}

fn zone_labels(input: &PersistentVolumeInput, vocabulary: &mut Vocabulary) -> Box<[ZoneLabel]> {
    let mut labels = Vec::new();
    for (key, current_key) in TOPOLOGY_LABELS {
        let zones = input.labels.get(key).and_then(|value| csi::label_zones(value));
        if let Some(zones) = zones {
            labels.push(ZoneLabel {
                key: vocabulary.symbols.intern(key),
                current_key: vocabulary.symbols.intern(current_key),
                values: zones.into_iter().map(|zone| vocabulary.symbols.intern(zone)).collect(),
            });
        }
    }
    labels.into()
}

/// A StorageClass.
#[derive(Clone, Debug)]
pub struct StorageClass {
    /// `provisioner`.
    pub provisioner: Symbol,
    /// `provisioner`, unless it is empty or says that there is none.
    pub can_provision: bool,
    /// What its volumes count as; the handle is that of no volume yet.
    pub driver: Option<(Symbol, bool)>,
    /// `volumeBindingMode`.
    pub binding_mode: Option<BindingMode>,
    /// `allowedTopologies`; absent when empty.
    pub allowed_topologies: Option<NodeSelector>,
    /// What was interned for it.
    pub(super) uses: Uses,
}

const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

impl StorageClass {
    pub(super) fn new(input: &StorageClassInput, vocabulary: &mut Vocabulary) -> StorageClass {
        let (class, uses) = vocabulary.recorded(|vocabulary| StorageClass::of(input, vocabulary));
        StorageClass { uses, ..class }
    }

    fn of(input: &StorageClassInput, vocabulary: &mut Vocabulary) -> StorageClass {
        let topologies = &input.allowed_topologies;
        let driver = match csi::provisioner(&input.provisioner) {
            csi::Provisioner::Driver("") | csi::Provisioner::NotMigrated => None,
            csi::Provisioner::Driver(name) => Some((vocabulary.symbols.intern(name), false)),
            csi::Provisioner::InTree(plugin) => Some((vocabulary.symbols.intern(plugin.driver()), true)),
        };
        StorageClass {
            provisioner: vocabulary.symbols.intern(&input.provisioner),
            can_provision: !input.provisioner.is_empty() && input.provisioner != NO_PROVISIONER,
            driver,
            binding_mode: input.binding_mode,
            allowed_topologies: (!topologies.is_empty())
                .then(|| NodeSelector::compile(topologies, vocabulary)),
            uses: Uses::default(),
        }
    }
}

/// A CSINode.
#[derive(Clone, Debug, Default)]
pub struct CsiNode {
    /// Installed drivers and how many volumes each may attach.
    pub drivers: Box<[(Symbol, Option<i64>)]>,
    /// In-tree plugins that are migrated on the node.
    pub migrated_plugins: Box<[Symbol]>,
}

impl CsiNode {
    pub(super) fn new(input: &CsiNodeInput, vocabulary: &mut Vocabulary) -> CsiNode {
        let mut intern = |text: &String| vocabulary.symbols.intern(text);
        CsiNode {
            drivers: input.drivers.iter().map(|(name, count)| (intern(name), count.map(i64::from))).collect(),
            migrated_plugins: input.migrated_plugins.iter().map(intern).collect(),
        }
    }

    /// The limit of a driver. Of several entries the last that has a limit counts.
    #[must_use]
    pub fn limit(&self, driver: Symbol) -> Option<i64> {
        let mut entries = self.drivers.iter().rev().filter(|(name, _)| *name == driver);
        entries.find_map(|&(_, limit)| limit)
    }

    /// Whether any driver has a limit.
    #[must_use]
    pub fn has_limits(&self) -> bool {
        self.drivers.iter().any(|(_, limit)| limit.is_some())
    }
}

/// A CSIStorageCapacity.
#[derive(Clone, Debug)]
pub struct StorageCapacity {
    /// `storageClassName`.
    pub class: Symbol,
    /// `capacity` in bytes, 0 when absent.
    pub capacity_bytes: i64,
    /// The largest volume: `maximumVolumeSize`, or else `capacity`.
    pub volume_bytes_max: Option<i64>,
    /// `nodeTopology`; absent or unreadable means no node.
    pub topology: Option<VolumeLabelSelector>,
    /// What was interned for it.
    pub(super) uses: Uses,
}

impl StorageCapacity {
    pub(super) fn new(input: &StorageCapacityInput, vocabulary: &mut Vocabulary) -> StorageCapacity {
        let (capacity, uses) = vocabulary.recorded(|vocabulary| StorageCapacity::of(input, vocabulary));
        StorageCapacity { uses, ..capacity }
    }

    fn of(input: &StorageCapacityInput, vocabulary: &mut Vocabulary) -> StorageCapacity {
        let topology = input.node_topology.as_ref();
        StorageCapacity {
            class: vocabulary.symbols.intern(&input.storage_class),
            capacity_bytes: input.capacity.map_or(0, Quantity::value),
            volume_bytes_max: input.maximum_volume_size.or(input.capacity).map(Quantity::value),
            topology: topology.and_then(|selector| VolumeLabelSelector::compile(selector, vocabulary)),
            uses: Uses::default(),
        }
    }
}
