//! What scheduling reads from volumes, claims and the objects around them.

use super::{LabelSelectorInput, Labels, NodeSelectorTermInput};
use crate::quantity::Quantity;

/// A PersistentVolume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PersistentVolumeInput {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `spec.storageClassName`, empty when absent.
    pub storage_class: String,
    /// The annotation `volume.beta.kubernetes.io/storage-class`, which wins over the field.
    pub beta_storage_class: Option<String>,
    /// `spec.capacity.storage`.
    pub capacity: Quantity,
    /// `spec.accessModes`.
    pub access_modes: Vec<String>,
    /// `spec.volumeMode` is `Block` (default `Filesystem`).
    pub is_block: bool,
    /// `spec.volumeAttributesClassName`, empty when absent.
    pub attributes_class: String,
    /// `spec.claimRef`.
    pub claim_ref: Option<ClaimRefInput>,
    /// `status.phase` is `Available`.
    pub is_available: bool,
    /// `metadata.deletionTimestamp` is set.
    pub is_terminating: bool,
    /// `spec.nodeAffinity.required.nodeSelectorTerms`; absent when either level is.
    pub node_affinity: Option<Vec<NodeSelectorTermInput>>,
    /// Where it comes from.
    pub source: PersistentVolumeSourceInput,
}

impl PersistentVolumeInput {
    /// The storage class that counts.
    /// Upstream: component-helpers/storage/volume/helpers.go `GetPersistentVolumeClass`.
    #[must_use]
    pub fn class(&self) -> &str {
        self.beta_storage_class.as_deref().unwrap_or(&self.storage_class)
    }
}

/// The source of a PersistentVolume, as far as scheduling tells them apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the API's own")]
pub enum PersistentVolumeSourceInput {
    /// A source that no limit and no translation applies to.
    #[default]
    Other,
    /// `csi`.
    Csi { driver: String, handle: String },
    /// `gcePersistentDisk`.
    GcePersistentDisk { pd_name: String },
    /// `awsElasticBlockStore`.
    AwsElasticBlockStore { volume_id: String },
    /// `azureDisk`; other kinds than `Managed` cannot be translated to CSI.
    AzureDisk { disk_uri: String, is_managed: bool },
    /// `cinder`.
    Cinder { volume_id: String },
    /// `portworxVolume`.
    Portworx { volume_id: String },
}

/// The claim that a volume is bound to, or kept for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClaimRefInput {
    /// `namespace`.
    pub namespace: String,
    /// `name`.
    pub name: String,
    /// `uid`, empty when absent.
    pub uid: String,
}

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimInput {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `spec.storageClassName`.
    pub storage_class: Option<String>,
    /// The annotation `volume.beta.kubernetes.io/storage-class`, which wins over the field.
    pub beta_storage_class: Option<String>,
    /// `spec.selector`.
    pub selector: Option<LabelSelectorInput>,
    /// `spec.resources.requests.storage`.
    pub request: Option<Quantity>,
    /// `spec.accessModes`.
    pub access_modes: Vec<String>,
    /// `spec.volumeMode` is `Block` (default `Filesystem`).
    pub is_block: bool,
    /// `spec.volumeAttributesClassName`, empty when absent.
    pub attributes_class: String,
    /// `spec.volumeName`, empty while unbound.
    pub volume_name: String,
    /// The annotation `pv.kubernetes.io/bind-completed` is set.
    pub is_bind_completed: bool,
    /// The annotation `volume.kubernetes.io/selected-node`.
    pub selected_node: Option<String>,
    /// `status.phase` is `Lost`.
    pub is_lost: bool,
    /// `metadata.deletionTimestamp` is set.
    pub is_terminating: bool,
    /// UID of the owner reference with `controller: true`.
    pub controller_uid: Option<String>,
}

/// The access mode that lets one pod of the cluster use a claim.
pub const READ_WRITE_ONCE_POD: &str = "ReadWriteOncePod";

impl ClaimInput {
    /// The storage class that counts, empty when there is none.
    /// Upstream: component-helpers/storage/volume/helpers.go `GetPersistentVolumeClaimClass`.
    #[must_use]
    pub fn class(&self) -> &str {
        self.beta_storage_class.as_deref().or(self.storage_class.as_deref()).unwrap_or_default()
    }

    /// Bound, with all the controller's paperwork done.
    #[must_use]
    pub fn is_fully_bound(&self) -> bool {
        !self.volume_name.is_empty() && self.is_bind_completed
    }

    /// One pod of the cluster may use it.
    #[must_use]
    pub fn is_for_one_pod(&self) -> bool {
        self.access_modes.iter().any(|mode| mode == READ_WRITE_ONCE_POD)
    }
}

/// `volumeBindingMode` of a StorageClass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingMode {
    /// The controller binds claims as they come.
    Immediate,
    /// Claims wait for a pod that uses them.
    WaitForFirstConsumer,
}

/// A StorageClass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageClassInput {
    /// `metadata.name`.
    pub name: String,
    /// `provisioner`.
    pub provisioner: String,
    /// `volumeBindingMode`; the API always sets it.
    pub binding_mode: Option<BindingMode>,
    /// `allowedTopologies`, each requirement an `In`.
    pub allowed_topologies: Vec<NodeSelectorTermInput>,
}

/// A CSINode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsiNodeInput {
    /// `metadata.name`: the node's.
    pub name: String,
    /// `spec.drivers` as (name, `allocatable.count`).
    pub drivers: Vec<(String, Option<i32>)>,
    /// The annotation `storage.alpha.kubernetes.io/migrated-plugins`, split at commas.
    pub migrated_plugins: Vec<String>,
}

/// A CSIDriver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsiDriverInput {
    /// `metadata.name`.
    pub name: String,
    /// `spec.storageCapacity`.
    pub has_storage_capacity: bool,
    /// `spec.preventPodSchedulingIfMissing`.
    pub is_required_on_node: bool,
}

/// A CSIStorageCapacity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageCapacityInput {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `storageClassName`.
    pub storage_class: String,
    /// `capacity`.
    pub capacity: Option<Quantity>,
    /// `maximumVolumeSize`.
    pub maximum_volume_size: Option<Quantity>,
    /// `nodeTopology`; absent means no node.
    pub node_topology: Option<LabelSelectorInput>,
}

/// A VolumeAttachment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttachmentInput {
    /// `metadata.name`.
    pub name: String,
    /// `spec.nodeName`.
    pub node_name: String,
    /// `spec.attacher`.
    pub attacher: String,
    /// `spec.source.persistentVolumeName`.
    pub volume_name: Option<String>,
}

/// An object of storage.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the API kind it is named after")]
pub enum StorageInput {
    PersistentVolume(PersistentVolumeInput),
    PersistentVolumeClaim(ClaimInput),
    StorageClass(StorageClassInput),
    CsiNode(CsiNodeInput),
    CsiDriver(CsiDriverInput),
    CsiStorageCapacity(StorageCapacityInput),
    VolumeAttachment(AttachmentInput),
}

/// The kinds of [`StorageInput`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "each is the API kind it is named after")]
pub enum StorageKind {
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CsiNode,
    CsiDriver,
    CsiStorageCapacity,
    VolumeAttachment,
}

/// Kind, namespace (empty for cluster-wide kinds) and name of an object of storage.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StorageKey {
    /// The kind.
    pub kind: StorageKind,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

impl StorageInput {
    /// What the object is called.
    #[must_use]
    pub fn key(&self) -> StorageKey {
        let (kind, namespace, name) = match self {
            StorageInput::PersistentVolume(it) => (StorageKind::PersistentVolume, "", &it.name),
            StorageInput::PersistentVolumeClaim(it) => {
                (StorageKind::PersistentVolumeClaim, it.namespace.as_str(), &it.name)
            }
            StorageInput::StorageClass(it) => (StorageKind::StorageClass, "", &it.name),
            StorageInput::CsiNode(it) => (StorageKind::CsiNode, "", &it.name),
            StorageInput::CsiDriver(it) => (StorageKind::CsiDriver, "", &it.name),
            StorageInput::CsiStorageCapacity(it) => {
                (StorageKind::CsiStorageCapacity, it.namespace.as_str(), &it.name)
            }
            StorageInput::VolumeAttachment(it) => (StorageKind::VolumeAttachment, "", &it.name),
        };
        StorageKey { kind, namespace: namespace.to_owned(), name: name.clone() }
    }
}
