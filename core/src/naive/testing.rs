//! Builders for the tables of the naive plugins.

use super::NaiveNode;
use crate::input::{
    ContainerInput, HostPortInput, Labels, NodeInput, NodeSelectorTermInput, PodInput, RequirementInput,
    ResourceList, TaintInput, TolerationInput,
};
use crate::quantity::Quantity;

pub(crate) fn resources(list: &[(&str, &str)]) -> ResourceList {
    list.iter().map(|(name, text)| ((*name).to_owned(), Quantity::parse(text).expect(text))).collect()
}

pub(crate) fn labels(list: &[(&str, &str)]) -> Labels {
    list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

pub(crate) fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

pub(crate) fn container(requests: &[(&str, &str)]) -> ContainerInput {
    ContainerInput { requests: resources(requests), ..Default::default() }
}

pub(crate) fn sidecar(requests: &[(&str, &str)]) -> ContainerInput {
    ContainerInput { is_sidecar: true, ..container(requests) }
}

/// A pod of one container.
pub(crate) fn pod(requests: &[(&str, &str)]) -> PodInput {
    PodInput { containers: vec![container(requests)], ..Default::default() }
}

pub(crate) fn node(name: &str, allocatable: &[(&str, &str)]) -> NodeInput {
    NodeInput { name: name.to_owned(), allocatable: resources(allocatable), ..Default::default() }
}

/// A node without pods.
pub(crate) fn empty(input: NodeInput) -> NaiveNode {
    NaiveNode { input, ..Default::default() }
}

pub(crate) fn host_port(ip: &str, protocol: &str, port: i32) -> HostPortInput {
    HostPortInput { host_ip: ip.to_owned(), protocol: protocol.to_owned(), host_port: port }
}

pub(crate) fn taint(key: &str, value: &str, effect: &str) -> TaintInput {
    TaintInput { key: key.to_owned(), value: value.to_owned(), effect: effect.to_owned() }
}

pub(crate) fn toleration(key: &str, operator: &str, value: &str, effect: &str) -> TolerationInput {
    TolerationInput {
        key: key.to_owned(),
        operator: operator.to_owned(),
        value: value.to_owned(),
        effect: effect.to_owned(),
        seconds: None,
    }
}

pub(crate) fn requirement(key: &str, operator: &str, values: &[&str]) -> RequirementInput {
    RequirementInput { key: key.to_owned(), operator: operator.to_owned(), values: strings(values) }
}

/// A term of label requirements.
pub(crate) fn term(expressions: &[RequirementInput]) -> NodeSelectorTermInput {
    NodeSelectorTermInput { match_expressions: expressions.to_vec(), match_fields: Vec::new() }
}

/// A term of field requirements.
pub(crate) fn field_term(fields: &[RequirementInput]) -> NodeSelectorTermInput {
    NodeSelectorTermInput { match_expressions: Vec::new(), match_fields: fields.to_vec() }
}

/// Builders for objects of storage.
pub(crate) mod storage {
    use super::{labels, requirement, strings, term};
    use crate::input::storage::{
        AttachmentInput, BindingMode, ClaimInput, ClaimRefInput, CsiDriverInput, CsiNodeInput,
        PersistentVolumeInput, PersistentVolumeSourceInput, StorageCapacityInput, StorageClassInput,
        StorageInput,
    };
    use crate::input::{LabelSelectorInput, PodInput, VolumeInput, VolumeSourceInput};
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

    pub(crate) fn on_nodes(
        mut volume: PersistentVolumeInput,
        key: &str,
        value: &str,
    ) -> PersistentVolumeInput {
        volume.node_affinity = Some(vec![term(&[requirement(key, "In", &[value])])]);
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
            node_topology: Some(LabelSelectorInput {
                match_labels: labels(&[("zone", zone)]),
                match_expressions: Vec::new(),
            }),
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
}
