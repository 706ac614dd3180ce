//! Objects that a server starts with: a dump of a cluster, or nodes that stand for machines.

use schedlab_cluster::api::{Object, ObjectKey};
use schedlab_cluster::{Api as _, ApiError, EmbeddedCluster, StatusReason};
use serde_json::json;

/// What was loaded and what was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Objects that are in the store now.
    pub objects: usize,
    /// Pods that have ended or are being deleted: they take no room.
    pub finished_pods: usize,
}

/// An object that the store refused.
#[derive(Debug, thiserror::Error)]
#[error("{kind} {name}: {error}")]
pub struct ObjectLoadError {
    /// `kind`.
    pub kind: String,
    /// Namespace and name.
    pub name: String,
    /// Why.
    pub error: ApiError,
}

/// Creates objects as they were dumped, with new UIDs and versions. What others refer to comes first.
pub fn load(cluster: &EmbeddedCluster, mut objects: Vec<Object>) -> Result<Loaded, ObjectLoadError> {
    objects.sort_by_key(|object| match object.kind() {
        "Namespace" => 0,
        "PriorityClass" | "StorageClass" => 1,
        "Pod" => 3,
        _ => 2,
    });
    let mut loaded = Loaded::default();
    for object in objects {
        let (kind, key) = (object.kind().to_owned(), object.key());
        let name =
            key.namespace.iter().map(|namespace| format!("{namespace}/")).collect::<String>() + &key.name;
        if is_over(&object) {
            loaded.finished_pods += 1;
            continue;
        }
        create(cluster, object).map_err(|error| ObjectLoadError { kind, name, error })?;
        loaded.objects += 1;
    }
    Ok(loaded)
}

fn is_over(object: &Object) -> bool {
    let Object::Pod(pod) = object else { return false };
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed")) || pod.metadata.deletion_timestamp.is_some()
}

fn create(cluster: &EmbeddedCluster, mut object: Object) -> Result<(), ApiError> {
    let metadata = object.metadata_mut();
    metadata.uid = None;
    metadata.resource_version = None;
    metadata.managed_fields = None;
    if let Some(namespace) = metadata.namespace.clone().filter(|namespace| !namespace.is_empty()) {
        make_namespace(cluster, &namespace)?;
    }
    let with_status = object.clone();
    let mut stored = match cluster.create(object) {
        Err(error) if error.reason == StatusReason::AlreadyExists && with_status.kind() == "Namespace" => {
            return Ok(());
        }
        created => created?,
    };
    let has_status = match (&mut stored, with_status) {
        (Object::Pod(stored), Object::Pod(given)) => {
            stored.status = given.status;
            stored.status.is_some()
        }
        // The store takes a new node with its status.
        (Object::Node(_), _) => false,
        (Object::Other(stored), Object::Other(mut given)) => match given.body.remove("status") {
            Some(status) => {
                stored.body.insert("status".to_owned(), status);
                true
            }
            None => false,
        },
        _ => false,
    };
    if has_status {
        stored.metadata_mut().resource_version = None;
        cluster.update_status(stored)?;
    }
    Ok(())
}

fn make_namespace(cluster: &EmbeddedCluster, name: &str) -> Result<(), ApiError> {
    if cluster.get(&ObjectKey::cluster("v1", "Namespace", name)).is_ok() {
        return Ok(());
    }
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let namespace = Object::from_json(namespace).expect("a namespace of a name");
    cluster.create(namespace).map(drop)
}

/// Creates nodes that stand for machines: 4 CPUs, 32Gi, 110 pods, as scheduler_perf's.
pub fn load_fake_nodes(cluster: &EmbeddedCluster, count: u32) -> Result<(), ApiError> {
    for number in 0..count {
        let name = format!("node-{number}");
        let room = json!({"cpu": "4", "memory": "32Gi", "pods": "110"});
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {
                "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
            }},
            "status": {
                "capacity": room, "allocatable": room,
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
                "nodeInfo": {
                    "kubeletVersion": "fake", "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "",
                    "osImage": "", "containerRuntimeVersion": "", "kubeProxyVersion": "", "operatingSystem": "linux",
                    "architecture": "amd64",
                },
            },
        });
        cluster.create(Object::from_json(node).expect("a node of a name"))?;
    }
    Ok(())
}
