//! Volumes, claims and the objects around them, in a list that is searched from end to end.

use std::collections::BTreeMap;

use crate::input::PodInput;
use crate::input::VolumeSourceInput;
use crate::input::storage::{
    ClaimInput, CsiDriverInput, CsiNodeInput, PersistentVolumeInput, StorageCapacityInput, StorageClassInput,
    StorageInput, StorageKey,
};

/// All objects of storage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NaiveStorage {
    /// By kind, namespace and name.
    pub objects: BTreeMap<StorageKey, StorageInput>,
}

macro_rules! finders {
    ($($(#[$doc:meta])* $all:ident $variant:ident $type:ty;)*) => {
        impl NaiveStorage {
            $($(#[$doc])*
            pub fn $all(&self) -> impl Iterator<Item = &$type> {
                self.objects.values().filter_map(|object| match object {
                    StorageInput::$variant(it) => Some(it),
                    _ => None,
                })
            })*
        }
    };
}

finders! {
    /// PersistentVolumes by name.
    volumes PersistentVolume PersistentVolumeInput;
    /// Claims by namespace and name.
    claims PersistentVolumeClaim ClaimInput;
    /// StorageClasses by name.
    classes StorageClass StorageClassInput;
    /// CSINodes by name.
    csi_nodes CsiNode CsiNodeInput;
    /// CSIDrivers by name.
    drivers CsiDriver CsiDriverInput;
    /// CSIStorageCapacities by namespace and name.
    capacities CsiStorageCapacity StorageCapacityInput;
    /// VolumeAttachments by name.
    attachments VolumeAttachment crate::input::storage::AttachmentInput;
}

impl NaiveStorage {
    /// Adds an object or replaces the one of its name.
    pub fn put(&mut self, object: StorageInput) {
        self.objects.insert(object.key(), object);
    }

    /// A claim by namespace and name.
    #[must_use]
    pub fn claim(&self, namespace: &str, name: &str) -> Option<&ClaimInput> {
        self.claims().find(|it| it.namespace == namespace && it.name == name)
    }

    /// A volume by name.
    #[must_use]
    pub fn volume(&self, name: &str) -> Option<&PersistentVolumeInput> {
        self.volumes().find(|it| it.name == name)
    }

    /// A class by name.
    #[must_use]
    pub fn class(&self, name: &str) -> Option<&StorageClassInput> {
        self.classes().find(|it| it.name == name)
    }

    /// The CSINode of a node.
    #[must_use]
    pub fn csi_node(&self, name: &str) -> Option<&CsiNodeInput> {
        self.csi_nodes().find(|it| it.name == name)
    }
}

/// A claim that a pod uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedClaim {
    /// Its name.
    pub name: String,
    /// For a claim made from a template in the pod: the pod's name and UID.
    pub owner: Option<(String, String)>,
}

/// The claims of a pod in the order of its volumes.
#[must_use]
pub fn used_claims(pod: &PodInput) -> Vec<UsedClaim> {
    let claim = |volume: &crate::input::VolumeInput| match &volume.source {
        VolumeSourceInput::Claim { claim_name, .. } => {
            Some(UsedClaim { name: claim_name.clone(), owner: None })
        }
        VolumeSourceInput::Ephemeral { pod_name, pod_uid } => Some(UsedClaim {
            name: format!("{pod_name}-{}", volume.name),
            owner: Some((pod_name.clone(), pod_uid.clone())),
        }),
        _ => None,
    };
    pod.volumes.iter().filter_map(claim).collect()
}

/// What is wrong with a claim that another pod, or nobody, owns.
#[must_use]
pub fn ownership_error(pod: &PodInput, used: &UsedClaim, claim: &ClaimInput) -> Option<String> {
    let (pod_name, pod_uid) = used.owner.as_ref()?;
    if claim.controller_uid.as_ref() == Some(pod_uid) {
        return None;
    }
    let namespace = &pod.namespace;
    let name = &claim.name;
    Some(format!("PVC {namespace}/{name} was not created for pod {namespace}/{pod_name} (pod is not owner)"))
}
