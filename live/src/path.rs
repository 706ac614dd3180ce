//! Paths of the API.

use schedlab_cluster::api::{ObjectKey, ResourceInfo, resource_or_guess};

/// `/api/v1` or `/apis/apps/v1`.
pub(crate) fn of_version(api_version: &str) -> String {
    let root = if api_version.contains('/') { "apis" } else { "api" };
    format!("/{root}/{api_version}")
}

/// All objects of a resource, in all namespaces.
pub(crate) fn of_resource(api_version: &str, resource: &str) -> String {
    format!("{}/{resource}", of_version(api_version))
}

/// Where objects of a kind are created and listed.
pub(crate) fn of_kind(api_version: &str, kind: &str, namespace: Option<&str>) -> String {
    let ResourceInfo { plural, namespaced, .. } = resource_or_guess(api_version, kind, namespace);
    match namespace.filter(|_| namespaced) {
        Some(namespace) => format!("{}/namespaces/{namespace}/{plural}", of_version(api_version)),
        None => of_resource(api_version, &plural),
    }
}

/// An object.
pub(crate) fn of_object(key: &ObjectKey) -> String {
    format!("{}/{}", of_kind(&key.api_version, &key.kind, key.namespace.as_deref()), key.name)
}

/// A pod.
pub(crate) fn of_pod(namespace: &str, name: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_follow_group_scope_and_name() {
        let pod = ObjectKey::pod("default", "web");
        assert_eq!(of_object(&pod), "/api/v1/namespaces/default/pods/web");
        assert_eq!(of_object(&ObjectKey::node("n1")), "/api/v1/nodes/n1");
        let lease = ObjectKey::namespaced("coordination.k8s.io/v1", "Lease", "kube-system", "kube-scheduler");
        assert_eq!(
            of_object(&lease),
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
        );
        assert_eq!(
            of_kind("storage.k8s.io/v1", "StorageClass", None),
            "/apis/storage.k8s.io/v1/storageclasses"
        );
        assert_eq!(of_resource("apps/v1", "replicasets"), "/apis/apps/v1/replicasets");
    }
}
