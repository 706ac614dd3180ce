//! Volumes, claims and the objects around them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec, TopologySelectorTerm,
};
use k8s_openapi::api::storage::v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schedlab_core::input::storage::{
    AttachmentInput, BindingMode, ClaimInput, ClaimRefInput, CsiDriverInput, CsiNodeInput,
    PersistentVolumeInput, PersistentVolumeSourceInput, StorageCapacityInput, StorageClassInput,
    StorageInput, StorageKind,
};
use schedlab_core::input::{NodeSelectorTermInput, RequirementInput};
use schedlab_core::quantity::Quantity;
use schedlab_objects::ApiJson;

use super::affinity::node_term;
use super::{ConvertError, label_selector_input, text_or_empty};
use crate::api::{GenericObject, group_of};

const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const MIGRATED_PLUGINS: &str = "storage.alpha.kubernetes.io/migrated-plugins";

fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a String> {
    metadata.annotations.as_ref()?.get(key)
}

fn quantity(object: &dyn Fn() -> String, field: &str, value: &ApiQuantity) -> Result<Quantity, ConvertError> {
    Quantity::parse(&value.0).map_err(|source| ConvertError::Quantity {
        object: object(),
        field: field.to_owned(),
        value: value.0.clone(),
        source,
    })
}

fn storage_of(
    list: Option<&BTreeMap<String, ApiQuantity>>,
    object: &dyn Fn() -> String,
    field: &str,
) -> Result<Option<Quantity>, ConvertError> {
    let value = list.and_then(|list| list.get("storage"));
    value.map(|value| quantity(object, &format!("{field}[\"storage\"]"), value)).transpose()
}

/// What scheduling reads from a PersistentVolume.
pub fn persistent_volume_input(volume: &PersistentVolume) -> Result<PersistentVolumeInput, ConvertError> {
    let metadata = &volume.metadata;
    let no_spec = PersistentVolumeSpec::default();
    let spec = volume.spec.as_ref().unwrap_or(&no_spec);
    let name = text_or_empty(metadata.name.as_ref());
    let object = || format!("persistentvolume {name}");
    let required = spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
    Ok(PersistentVolumeInput {
        labels: metadata.labels.clone().unwrap_or_default(),
        storage_class: text_or_empty(spec.storage_class_name.as_ref()),
        beta_storage_class: annotation(metadata, BETA_CLASS).cloned(),
        capacity: storage_of(spec.capacity.as_ref(), &object, "spec.capacity")?.unwrap_or_default(),
        access_modes: spec.access_modes.clone().unwrap_or_default(),
        is_block: spec.volume_mode.as_deref() == Some("Block"),
        attributes_class: text_or_empty(spec.volume_attributes_class_name.as_ref()),
        claim_ref: spec.claim_ref.as_ref().map(|claim| ClaimRefInput {
            namespace: text_or_empty(claim.namespace.as_ref()),
            name: text_or_empty(claim.name.as_ref()),
            uid: text_or_empty(claim.uid.as_ref()),
        }),
        is_available: phase == Some("Available"),
        is_terminating: metadata.deletion_timestamp.is_some(),
        node_affinity: required.map(|selector| selector.node_selector_terms.iter().map(node_term).collect()),
        source: volume_source(spec),
        name,
    })
}

fn volume_source(spec: &PersistentVolumeSpec) -> PersistentVolumeSourceInput {
    use PersistentVolumeSourceInput as Source;
    if let Some(csi) = &spec.csi {
        Source::Csi { driver: csi.driver.clone(), handle: csi.volume_handle.clone() }
    } else if let Some(disk) = &spec.gce_persistent_disk {
        Source::GcePersistentDisk { pd_name: disk.pd_name.clone() }
    } else if let Some(disk) = &spec.aws_elastic_block_store {
        Source::AwsElasticBlockStore { volume_id: disk.volume_id.clone() }
    } else if let Some(disk) = &spec.azure_disk {
        let is_managed = disk.kind.as_ref().is_none_or(|kind| kind.eq_ignore_ascii_case("Managed"));
        Source::AzureDisk { disk_uri: disk.disk_uri.clone(), is_managed }
    } else if let Some(disk) = &spec.cinder {
        Source::Cinder { volume_id: disk.volume_id.clone() }
    } else if let Some(disk) = &spec.portworx_volume {
        Source::Portworx { volume_id: disk.volume_id.clone() }
    } else {
        Source::Other
    }
}

/// What scheduling reads from a PersistentVolumeClaim.
pub fn claim_input(claim: &PersistentVolumeClaim) -> Result<ClaimInput, ConvertError> {
    let metadata = &claim.metadata;
    let no_spec = k8s_openapi::api::core::v1::PersistentVolumeClaimSpec::default();
    let spec = claim.spec.as_ref().unwrap_or(&no_spec);
    let namespace = metadata.namespace.clone().unwrap_or_else(|| "default".to_owned());
    let name = text_or_empty(metadata.name.as_ref());
    let object = || format!("persistentvolumeclaim {namespace}/{name}");
    let requests = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let request = storage_of(requests, &object, "spec.resources.requests")?;
    let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
    let mut owners = metadata.owner_references.iter().flatten();
    Ok(ClaimInput {
        uid: text_or_empty(metadata.uid.as_ref()),
        storage_class: spec.storage_class_name.clone(),
        beta_storage_class: annotation(metadata, BETA_CLASS).cloned(),
        selector: spec.selector.as_ref().map(label_selector_input),
        request,
        access_modes: spec.access_modes.clone().unwrap_or_default(),
        is_block: spec.volume_mode.as_deref() == Some("Block"),
        attributes_class: text_or_empty(spec.volume_attributes_class_name.as_ref()),
        volume_name: text_or_empty(spec.volume_name.as_ref()),
        is_bind_completed: annotation(metadata, BIND_COMPLETED).is_some(),
        selected_node: annotation(metadata, SELECTED_NODE).cloned(),
        is_lost: phase == Some("Lost"),
        is_terminating: metadata.deletion_timestamp.is_some(),
        controller_uid: owners.find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone()),
        namespace,
        name,
    })
}

/// What scheduling reads from a StorageClass.
#[must_use]
pub fn storage_class_input(class: &StorageClass) -> StorageClassInput {
    StorageClassInput {
        name: text_or_empty(class.metadata.name.as_ref()),
        provisioner: class.provisioner.clone(),
        binding_mode: class.volume_binding_mode.as_deref().map(|mode| match mode {
            "WaitForFirstConsumer" => BindingMode::WaitForFirstConsumer,
            _ => BindingMode::Immediate,
        }),
        allowed_topologies: class.allowed_topologies.iter().flatten().map(topology_term).collect(),
    }
}

fn topology_term(term: &TopologySelectorTerm) -> NodeSelectorTermInput {
    let requirements = term.match_label_expressions.iter().flatten();
    NodeSelectorTermInput {
        match_expressions: requirements
            .map(|requirement| RequirementInput {
                key: requirement.key.clone(),
                operator: "In".to_owned(),
                values: requirement.values.clone(),
            })
            .collect(),
        match_fields: Vec::new(),
    }
}

/// What scheduling reads from a CSINode.
#[must_use]
pub fn csi_node_input(node: &CSINode) -> CsiNodeInput {
    let migrated = annotation(&node.metadata, MIGRATED_PLUGINS).filter(|plugins| !plugins.is_empty());
    CsiNodeInput {
        name: text_or_empty(node.metadata.name.as_ref()),
        drivers: node
            .spec
            .drivers
            .iter()
            .map(|driver| {
                let count = driver.allocatable.as_ref().and_then(|allocatable| allocatable.count);
                (driver.name.clone(), count)
            })
            .collect(),
        migrated_plugins: migrated
            .map(|plugins| plugins.split(',').map(str::to_owned).collect())
            .unwrap_or_default(),
    }
}

/// What scheduling reads from a CSIDriver.
#[must_use]
pub fn csi_driver_input(driver: &CSIDriver) -> CsiDriverInput {
    CsiDriverInput {
        name: text_or_empty(driver.metadata.name.as_ref()),
        has_storage_capacity: driver.spec.storage_capacity.unwrap_or(false),
        is_required_on_node: driver.spec.prevent_pod_scheduling_if_missing.unwrap_or(false),
    }
}

/// What scheduling reads from a CSIStorageCapacity.
pub fn storage_capacity_input(capacity: &CSIStorageCapacity) -> Result<StorageCapacityInput, ConvertError> {
    let namespace = capacity.metadata.namespace.clone().unwrap_or_else(|| "default".to_owned());
    let name = text_or_empty(capacity.metadata.name.as_ref());
    let object = || format!("csistoragecapacity {namespace}/{name}");
    let parse = |field: &str, value: &Option<ApiQuantity>| {
        value.as_ref().map(|value| quantity(&object, field, value)).transpose()
    };
    Ok(StorageCapacityInput {
        storage_class: capacity.storage_class_name.clone(),
        capacity: parse("capacity", &capacity.capacity)?,
        maximum_volume_size: parse("maximumVolumeSize", &capacity.maximum_volume_size)?,
        node_topology: capacity.node_topology.as_ref().map(label_selector_input),
        namespace,
        name,
    })
}

/// What scheduling reads from a VolumeAttachment.
#[must_use]
pub fn attachment_input(attachment: &VolumeAttachment) -> AttachmentInput {
    AttachmentInput {
        name: text_or_empty(attachment.metadata.name.as_ref()),
        node_name: attachment.spec.node_name.clone(),
        attacher: attachment.spec.attacher.clone(),
        volume_name: attachment.spec.source.persistent_volume_name.clone(),
    }
}

/// The kind of an object, if it is one of storage.
#[must_use]
pub fn storage_kind(api_version: &str, kind: &str) -> Option<StorageKind> {
    Some(match (group_of(api_version), kind) {
        ("", "PersistentVolume") => StorageKind::PersistentVolume,
        ("", "PersistentVolumeClaim") => StorageKind::PersistentVolumeClaim,
        ("storage.k8s.io", "StorageClass") => StorageKind::StorageClass,
        ("storage.k8s.io", "CSINode") => StorageKind::CsiNode,
        ("storage.k8s.io", "CSIDriver") => StorageKind::CsiDriver,
        ("storage.k8s.io", "CSIStorageCapacity") => StorageKind::CsiStorageCapacity,
        ("storage.k8s.io", "VolumeAttachment") => StorageKind::VolumeAttachment,
        _ => return None,
    })
}

/// What scheduling reads from an object of storage, or `None` for other kinds.
pub fn storage_input(object: &GenericObject) -> Result<Option<StorageInput>, ConvertError> {
    let Some(kind) = storage_kind(&object.api_version, &object.kind) else { return Ok(None) };
    Ok(Some(match kind {
        StorageKind::PersistentVolume => {
            StorageInput::PersistentVolume(persistent_volume_input(&typed(object)?)?)
        }
        StorageKind::PersistentVolumeClaim => {
            StorageInput::PersistentVolumeClaim(claim_input(&typed(object)?)?)
        }
        StorageKind::StorageClass => StorageInput::StorageClass(storage_class_input(&typed(object)?)),
        StorageKind::CsiNode => StorageInput::CsiNode(csi_node_input(&typed(object)?)),
        StorageKind::CsiDriver => StorageInput::CsiDriver(csi_driver_input(&typed(object)?)),
        StorageKind::CsiStorageCapacity => {
            StorageInput::CsiStorageCapacity(storage_capacity_input(&typed(object)?)?)
        }
        StorageKind::VolumeAttachment => StorageInput::VolumeAttachment(attachment_input(&typed(object)?)),
    }))
}

/// The object with the type of its kind.
pub(super) fn typed<T: ApiJson>(object: &GenericObject) -> Result<T, ConvertError> {
    let shape = |error: serde_json::Error| ConvertError::Shape {
        object: format!(
            "{} {}",
            object.kind.to_lowercase(),
            object.metadata.name.as_deref().unwrap_or_default()
        ),
        error: error.to_string(),
    };
    let value = object.to_json().map_err(shape)?;
    T::from_json(value).map_err(shape)
}
