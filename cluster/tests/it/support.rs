//! Small clusters and objects for the tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use k8s_openapi::api::core::v1::Pod;
use schedlab_cluster::api::{
    Api, NominatedNodeNamePatch, Object, ObjectKey, PodStatusPatch, PodTemplateRef, Watch, WatchEvent,
};
use schedlab_cluster::{ApiError, EmbeddedCluster};
use schedlab_core::ids::PodUid;
use schedlab_testkit::manifest::pod;
use serde_json::{Value, json};

/// The versions that the cluster's own namespaces take.
pub(crate) const FIRST_VERSION: u64 = 4;

/// A cluster whose clock moves by one second with every write.
pub(crate) fn cluster() -> EmbeddedCluster {
    let seconds = AtomicU64::new(0);
    EmbeddedCluster::new(Arc::new(move || seconds.fetch_add(1, Ordering::Relaxed) * 1_000_000_000))
}

pub(crate) fn object(value: Value) -> Object {
    Object::from_json(value).expect("the test's object is well formed")
}

pub(crate) fn pod_value(name: &str) -> Value {
    pod(name).asks("cpu", "100m").into()
}

pub(crate) fn node_value(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": name },
        "status": { "capacity": { "cpu": "4", "pods": "110" } }
    })
}

pub(crate) fn create(cluster: &EmbeddedCluster, value: Value) -> Object {
    cluster.create(object(value)).expect("the object is created")
}

pub(crate) fn create_pod(cluster: &EmbeddedCluster, name: &str) -> PodUid {
    let pod = create(cluster, pod_value(name));
    let uid = pod.metadata().uid.as_deref().and_then(schedlab_cluster::api::parse_pod_uid);
    uid.expect("a stored pod has a UID")
}

pub(crate) fn get_pod(cluster: &EmbeddedCluster, name: &str) -> Result<Pod, ApiError> {
    let object = cluster.get(&ObjectKey::pod("default", name))?;
    Ok(*object.into_pod().expect("the object is a pod"))
}

/// Pods called `<prefix>0`, `<prefix>1` and so on.
pub(crate) fn template(cluster: &EmbeddedCluster, prefix: &str) -> PodTemplateRef {
    let mut value = pod_value("");
    value["metadata"] = json!({ "generateName": prefix });
    let pod = object(value).into_pod().expect("the object is a pod");
    cluster.pod_template(*pod, "default").expect("the template is fine")
}

/// A patch that changes nothing yet.
pub(crate) fn patch(pod: PodUid) -> PodStatusPatch<'static> {
    PodStatusPatch { pod, condition: None, nomination: NominatedNodeNamePatch::Keep, phase: None }
}

pub(crate) fn drain(watch: &mut Box<dyn Watch>) -> Vec<WatchEvent> {
    let mut events = Vec::new();
    watch.drain_into(&mut events).expect("the events are kept");
    events
}
