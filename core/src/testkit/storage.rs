//! Objects of storage.

use super::{match_labels, node_term, requirement, strings};
use crate::input::storage::{
    AttachmentInput, BindingMode, ClaimInput, ClaimRefInput, CsiDriverInput, CsiNodeInput,
    PersistentVolumeInput, PersistentVolumeSourceInput, StorageCapacityInput, StorageClassInput,
    StorageInput,
};
use crate::input::{PodInput, VolumeInput, VolumeSourceInput};
use crate::naive::{NaiveCluster, NaiveNode};
use crate::quantity::Quantity;

/// A cluster of these objects and one node.
pub(crate) fn cluster(objects: Vec<StorageInput>, node: NaiveNode) -> NaiveCluster {
    let mut cluster = NaiveCluster { nodes: vec![node], ..Default::default() };
    objects.into_iter().for_each(|object| cluster.storage.put(object));
    cluster
}

pub(crate) fn pod_with(sources: &[VolumeSourceInput]) -> PodInput {
    let volumes = sources
        .iter()
        .enumerate()
        .map(|(at, source)| VolumeInput { name: format!("v{at}"), source: source.clone() });
    PodInput { namespace: "ns".to_owned(), volumes: volumes.collect(), ..Default::default() }
}

pub(crate) fn uses(claim: &str) -> VolumeSourceInput {
    VolumeSourceInput::Claim { claim_name: claim.to_owned(), read_only: false }
}

pub(crate) fn ephemeral(pod: &str) -> VolumeSourceInput {
    VolumeSourceInput::Ephemeral { pod_name: pod.to_owned(), pod_uid: format!("{pod}-uid") }
}

/// A claim in namespace `ns` of a class, bound if a volume is given.
pub(crate) fn claim(name: &str, class: &str, volume: &str) -> ClaimInput {
    ClaimInput {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        uid: format!("{name}-uid"),
        storage_class: (!class.is_empty()).then(|| class.to_owned()),
        request: Some(Quantity::from_units(5)),
        access_modes: strings(&["ReadWriteOnce"]),
        volume_name: volume.to_owned(),
        is_bind_completed: !volume.is_empty(),
        ..Default::default()
    }
}

/// An available CSI volume of a class and a size.
pub(crate) fn volume(name: &str, class: &str, size: i64) -> PersistentVolumeInput {
    PersistentVolumeInput {
        name: name.to_owned(),
        storage_class: class.to_owned(),
        capacity: Quantity::from_units(size),
        access_modes: strings(&["ReadWriteOnce"]),
        is_available: true,
        source: PersistentVolumeSourceInput::Csi {
            driver: "csi".to_owned(),
            handle: format!("{name}-handle"),
        },
        ..Default::default()
    }
}

pub(crate) fn on_nodes(mut volume: PersistentVolumeInput, key: &str, value: &str) -> PersistentVolumeInput {
    volume.node_affinity = Some(vec![node_term(&[requirement(key, "In", &[value])])]);
    volume
}

pub(crate) fn kept_for(mut volume: PersistentVolumeInput, claim: &str) -> PersistentVolumeInput {
    volume.claim_ref = Some(ClaimRefInput {
        namespace: "ns".to_owned(),
        name: claim.to_owned(),
        uid: format!("{claim}-uid"),
    });
    volume
}

pub(crate) fn class(name: &str, provisioner: &str, mode: BindingMode) -> StorageClassInput {
    StorageClassInput {
        name: name.to_owned(),
        provisioner: provisioner.to_owned(),
        binding_mode: Some(mode),
        allowed_topologies: Vec::new(),
    }
}

pub(crate) fn csi_node(name: &str, drivers: &[(&str, Option<i32>)]) -> CsiNodeInput {
    CsiNodeInput {
        name: name.to_owned(),
        drivers: drivers.iter().map(|(driver, limit)| ((*driver).to_owned(), *limit)).collect(),
        migrated_plugins: Vec::new(),
    }
}

pub(crate) fn driver(name: &str) -> CsiDriverInput {
    CsiDriverInput { name: name.to_owned(), ..Default::default() }
}

pub(crate) fn capacity(class: &str, bytes: Option<i64>, zone: &str) -> StorageCapacityInput {
    StorageCapacityInput {
        namespace: "ns".to_owned(),
        name: format!("{class}-{zone}"),
        storage_class: class.to_owned(),
        capacity: bytes.map(Quantity::from_units),
        maximum_volume_size: None,
        node_topology: match_labels(&format!("zone={zone}")),
    }
}

pub(crate) fn attachment(name: &str, node: &str, volume: &str) -> AttachmentInput {
    AttachmentInput {
        name: name.to_owned(),
        node_name: node.to_owned(),
        attacher: "csi".to_owned(),
        volume_name: Some(volume.to_owned()),
    }
}

impl From<ClaimInput> for StorageInput {
    fn from(it: ClaimInput) -> StorageInput {
        StorageInput::PersistentVolumeClaim(it)
    }
}
impl From<PersistentVolumeInput> for StorageInput {
    fn from(it: PersistentVolumeInput) -> StorageInput {
        StorageInput::PersistentVolume(it)
    }
}
impl From<StorageClassInput> for StorageInput {
    fn from(it: StorageClassInput) -> StorageInput {
        StorageInput::StorageClass(it)
    }
}
impl From<CsiNodeInput> for StorageInput {
    fn from(it: CsiNodeInput) -> StorageInput {
        StorageInput::CsiNode(it)
    }
}
impl From<CsiDriverInput> for StorageInput {
    fn from(it: CsiDriverInput) -> StorageInput {
        StorageInput::CsiDriver(it)
    }
}
impl From<StorageCapacityInput> for StorageInput {
    fn from(it: StorageCapacityInput) -> StorageInput {
        StorageInput::CsiStorageCapacity(it)
    }
}
impl From<AttachmentInput> for StorageInput {
    fn from(it: AttachmentInput) -> StorageInput {
        StorageInput::VolumeAttachment(it)
    }
}
