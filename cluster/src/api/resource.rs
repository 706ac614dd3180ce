//! Kinds and their resources: what discovery tells a client.

/// What a kind is called in URLs, and whether it lives in namespaces.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceInfo {
    /// API group, empty for the core group.
    pub group: String,
    /// Plural in lower case, as in `replicasets`.
    pub plural: String,
    /// Objects have a namespace.
    pub namespaced: bool,
    /// Writes to the object keep the status; it has a subresource of its own.
    pub has_status: bool,
}

impl ResourceInfo {
    /// As error texts name it: `pods`, `replicasets.apps`.
    #[must_use]
    pub fn qualified(&self) -> String {
        if self.group.is_empty() {
            return self.plural.clone();
        }
        format!("{}.{}", self.plural, self.group)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Scope {
    Namespace,
    Cluster,
}

#[derive(Clone, Copy, PartialEq)]
enum Status {
    Subresource,
    None,
}

/// Group, kind, plural, scope, status. The versions of a group share their kinds.
const BUILT_IN: &[(&str, &str, &str, Scope, Status)] = {
    use Scope::{Cluster, Namespace};
    use Status::{None, Subresource};
    &[
        ("", "Pod", "pods", Namespace, Subresource),
        ("", "Node", "nodes", Cluster, Subresource),
        ("", "Namespace", "namespaces", Cluster, Subresource),
        ("", "Service", "services", Namespace, Subresource),
        ("", "ReplicationController", "replicationcontrollers", Namespace, Subresource),
        ("", "PersistentVolume", "persistentvolumes", Cluster, Subresource),
        ("", "PersistentVolumeClaim", "persistentvolumeclaims", Namespace, Subresource),
        ("", "ConfigMap", "configmaps", Namespace, None),
        ("", "Secret", "secrets", Namespace, None),
        ("", "ServiceAccount", "serviceaccounts", Namespace, None),
        ("", "Event", "events", Namespace, None),
        ("", "Endpoints", "endpoints", Namespace, None),
        ("", "LimitRange", "limitranges", Namespace, None),
        ("", "ResourceQuota", "resourcequotas", Namespace, Subresource),
        ("apps", "ReplicaSet", "replicasets", Namespace, Subresource),
        ("apps", "StatefulSet", "statefulsets", Namespace, Subresource),
        ("apps", "Deployment", "deployments", Namespace, Subresource),
        ("apps", "DaemonSet", "daemonsets", Namespace, Subresource),
        ("batch", "Job", "jobs", Namespace, Subresource),
        ("batch", "CronJob", "cronjobs", Namespace, Subresource),
        ("coordination.k8s.io", "Lease", "leases", Namespace, None),
        ("events.k8s.io", "Event", "events", Namespace, None),
        ("node.k8s.io", "RuntimeClass", "runtimeclasses", Cluster, None),
        ("policy", "PodDisruptionBudget", "poddisruptionbudgets", Namespace, Subresource),
        ("resource.k8s.io", "DeviceClass", "deviceclasses", Cluster, None),
        ("resource.k8s.io", "DeviceTaintRule", "devicetaintrules", Cluster, Subresource),
        ("resource.k8s.io", "ResourceClaim", "resourceclaims", Namespace, Subresource),
        ("resource.k8s.io", "ResourceClaimTemplate", "resourceclaimtemplates", Namespace, None),
        ("resource.k8s.io", "ResourceSlice", "resourceslices", Cluster, None),
        ("scheduling.k8s.io", "PriorityClass", "priorityclasses", Cluster, None),
        ("scheduling.k8s.io", "PodGroup", "podgroups", Namespace, Subresource),
        ("scheduling.k8s.io", "CompositePodGroup", "compositepodgroups", Namespace, Subresource),
        ("scheduling.k8s.io", "Workload", "workloads", Namespace, None),
        ("storage.k8s.io", "CSIDriver", "csidrivers", Cluster, None),
        ("storage.k8s.io", "CSINode", "csinodes", Cluster, None),
        ("storage.k8s.io", "CSIStorageCapacity", "csistoragecapacities", Namespace, None),
        ("storage.k8s.io", "StorageClass", "storageclasses", Cluster, None),
        ("storage.k8s.io", "VolumeAttachment", "volumeattachments", Cluster, Subresource),
        (
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            "customresourcedefinitions",
            Cluster,
            Subresource,
        ),
    ]
};

/// The group of an `apiVersion`: `apps` of `apps/v1`, nothing of `v1`.
#[must_use]
pub fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// The resource of a built-in kind.
#[must_use]
pub fn resource_for(api_version: &str, kind: &str) -> Option<ResourceInfo> {
    let group = group_of(api_version);
    let &(_, _, plural, scope, status) =
        BUILT_IN.iter().find(|&&(of_group, of_kind, ..)| of_group == group && of_kind == kind)?;
    Some(ResourceInfo {
        group: group.to_owned(),
        plural: plural.to_owned(),
        namespaced: scope == Scope::Namespace,
        has_status: status == Status::Subresource,
    })
}

/// The resource of any kind. For one that is not built in, the plural follows English, the kind
/// lives in namespaces if this object names one, and its status is part of the object.
#[must_use]
pub fn resource_or_guess(api_version: &str, kind: &str, namespace: Option<&str>) -> ResourceInfo {
    resource_for(api_version, kind).unwrap_or_else(|| ResourceInfo {
        group: group_of(api_version).to_owned(),
        plural: plural_of(&kind.to_lowercase()),
        namespaced: namespace.is_some_and(|namespace| !namespace.is_empty()),
        has_status: false,
    })
}

/// Upstream: apimachinery/pkg/api/meta/restmapper.go `UnsafeGuessKindToResource`.
fn plural_of(singular: &str) -> String {
    if let Some(stem) = singular.strip_suffix('y') {
        return format!("{stem}ies");
    }
    let ending = if singular.ends_with('s') { "es" } else { "s" };
    format!("{singular}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_resources() {
        let cases = [
            ("v1", "Pod", None, "pods", "namespaced"),
            ("v1", "Node", None, "nodes", "cluster"),
            ("apps/v1", "ReplicaSet", None, "replicasets.apps", "namespaced"),
            ("storage.k8s.io/v1", "CSINode", None, "csinodes.storage.k8s.io", "cluster"),
            ("scheduling.k8s.io/v1beta1", "PodGroup", None, "podgroups.scheduling.k8s.io", "namespaced"),
            ("example.com/v1", "Policy", Some("a"), "policies.example.com", "namespaced"),
            ("example.com/v1", "Glass", None, "glasses.example.com", "cluster"),
            ("apps/v1", "Pod", None, "pods.apps", "cluster"),
        ];
        for (api_version, kind, namespace, qualified, scope) in cases {
            let info = resource_or_guess(api_version, kind, namespace);
            assert_eq!(info.qualified(), qualified, "case: {api_version} {kind}");
            assert_eq!(info.namespaced, scope == "namespaced", "case: {api_version} {kind}");
        }
        assert_eq!(resource_for("example.com/v1", "Policy"), None);
    }
}
