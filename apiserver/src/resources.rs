//! The resources of the API: what discovery tells, and where a path leads.
//!
//! The store knows kinds by group and kind, and gives the versions of a group the same objects; here are the
//! versions, short names and subresources beside them. A test holds the two tables together.

/// A resource of the API.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    /// API group, empty for the core group.
    pub(crate) group: &'static str,
    /// The versions it is served in, the preferred one first.
    pub(crate) versions: &'static [&'static str],
    pub(crate) kind: &'static str,
    /// In URLs.
    pub(crate) plural: &'static str,
    pub(crate) short_names: &'static [&'static str],
    pub(crate) scope: Scope,
    /// Parts with URLs of their own, `status` among them.
    pub(crate) subresources: &'static [&'static str],
    /// Part of `kubectl get all`.
    pub(crate) is_in_all: bool,
}

/// Where objects of a resource live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Namespaced,
    Cluster,
}

impl Resource {
    /// `pods`, `replicasets.apps`.
    pub(crate) fn qualified(&self) -> String {
        match self.group {
            "" => self.plural.to_owned(),
            group => format!("{}.{group}", self.plural),
        }
    }

    pub(crate) fn singular(&self) -> String {
        self.kind.to_lowercase()
    }

    pub(crate) fn is_namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    pub(crate) fn has_subresource(&self, name: &str) -> bool {
        self.subresources.contains(&name)
    }

    /// `v1`, `apps/v1`.
    pub(crate) fn api_version(&self, version: &str) -> String {
        match self.group {
            "" => version.to_owned(),
            group => format!("{group}/{version}"),
        }
    }
}

/// Which of the resources: its place in [`RESOURCES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ResourceId(pub(crate) usize);

impl ResourceId {
    pub(crate) fn info(self) -> &'static Resource {
        &RESOURCES[self.0]
    }
}

/// The resource of a path.
pub(crate) fn by_path(group: &str, version: &str, plural: &str) -> Option<ResourceId> {
    let is_it = |resource: &Resource| {
        resource.plural == plural && resource.group == group && resource.versions.contains(&version)
    };
    RESOURCES.iter().position(is_it).map(ResourceId)
}

/// The resource of a kind.
pub(crate) fn by_kind(group: &str, kind: &str) -> Option<ResourceId> {
    RESOURCES.iter().position(|resource| resource.kind == kind && resource.group == group).map(ResourceId)
}

/// The groups with their versions, in the order of the table, the core group left out.
pub(crate) fn groups() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut groups: Vec<(&'static str, Vec<&'static str>)> = Vec::new();
    let stored = RESOURCES.iter().flat_map(|it| it.versions.iter().map(|version| (it.group, *version)));
    for (group, version) in stored.chain(VIRTUAL.iter().map(|it| (it.group, it.version))) {
        if group.is_empty() {
            continue;
        }
        let at = groups.iter().position(|(known, _)| *known == group).unwrap_or_else(|| {
            groups.push((group, Vec::new()));
            groups.len() - 1
        });
        if !groups[at].1.contains(&version) {
            groups[at].1.push(version);
        }
    }
    for (_, versions) in &mut groups {
        versions.sort_by_key(|version| version_rank(version));
    }
    groups
}

/// Stable versions first, the newest of them first; then betas, then alphas.
fn version_rank(version: &str) -> (u8, std::cmp::Reverse<String>) {
    let stage = match version {
        _ if version.contains("alpha") => 2,
        _ if version.contains("beta") => 1,
        _ => 0,
    };
    (stage, std::cmp::Reverse(version.to_owned()))
}

/// Resources that keep nothing: a POST is answered and forgotten.
#[derive(Debug)]
pub(crate) struct VirtualResource {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) scope: Scope,
}

/// What `kubectl auth can-i` and `kubectl auth whoami` ask.
pub(crate) const VIRTUAL: &[VirtualResource] = &[
    reviewer("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews", Scope::Cluster),
    reviewer("authorization.k8s.io", "SelfSubjectRulesReview", "selfsubjectrulesreviews", Scope::Cluster),
    reviewer("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews", Scope::Cluster),
    reviewer(
        "authorization.k8s.io",
        "LocalSubjectAccessReview",
        "localsubjectaccessreviews",
        Scope::Namespaced,
    ),
    reviewer("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews", Scope::Cluster),
    reviewer("authentication.k8s.io", "TokenReview", "tokenreviews", Scope::Cluster),
];

const fn reviewer(
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    scope: Scope,
) -> VirtualResource {
    VirtualResource { group, version: "v1", kind, plural, scope }
}

const V1: &[&str] = &["v1"];
const STATUS: &[&str] = &["status"];
const STATUS_SCALE: &[&str] = &["status", "scale"];

const fn namespaced(group: &'static str, kind: &'static str, plural: &'static str) -> Resource {
    Resource {
        group,
        versions: V1,
        kind,
        plural,
        short_names: &[],
        scope: Scope::Namespaced,
        subresources: &[],
        is_in_all: false,
    }
}

const fn cluster(group: &'static str, kind: &'static str, plural: &'static str) -> Resource {
    Resource { scope: Scope::Cluster, ..namespaced(group, kind, plural) }
}

impl Resource {
    const fn in_versions(self, versions: &'static [&'static str]) -> Self {
        Self { versions, ..self }
    }

    const fn short(self, short_names: &'static [&'static str]) -> Self {
        Self { short_names, ..self }
    }

    const fn with(self, subresources: &'static [&'static str]) -> Self {
        Self { subresources, ..self }
    }

    const fn in_all(self) -> Self {
        Self { is_in_all: true, ..self }
    }
}

/// Not `v1beta1`: its objects have another shape.
const RESOURCE_VERSIONS: &[&str] = &["v1", "v1beta2"];
const SCHEDULING_VERSIONS: &[&str] = &["v1beta1", "v1alpha3"];

/// All resources that keep objects.
pub(crate) const RESOURCES: &[Resource] = &[
    namespaced("", "Pod", "pods").short(&["po"]).with(&["status", "binding", "eviction"]).in_all(),
    cluster("", "Node", "nodes").short(&["no"]).with(STATUS),
    cluster("", "Namespace", "namespaces").short(&["ns"]).with(STATUS),
    namespaced("", "Service", "services").short(&["svc"]).with(STATUS).in_all(),
    namespaced("", "ReplicationController", "replicationcontrollers")
        .short(&["rc"])
        .with(STATUS_SCALE)
        .in_all(),
    cluster("", "PersistentVolume", "persistentvolumes").short(&["pv"]).with(STATUS),
    namespaced("", "PersistentVolumeClaim", "persistentvolumeclaims").short(&["pvc"]).with(STATUS),
    namespaced("", "ConfigMap", "configmaps").short(&["cm"]),
    namespaced("", "Secret", "secrets"),
    namespaced("", "ServiceAccount", "serviceaccounts").short(&["sa"]),
    namespaced("", "Event", "events").short(&["ev"]),
    namespaced("", "Endpoints", "endpoints").short(&["ep"]),
    namespaced("", "LimitRange", "limitranges").short(&["limits"]),
    namespaced("", "ResourceQuota", "resourcequotas").short(&["quota"]).with(STATUS),
    namespaced("apps", "ReplicaSet", "replicasets").short(&["rs"]).with(STATUS_SCALE).in_all(),
    namespaced("apps", "StatefulSet", "statefulsets").short(&["sts"]).with(STATUS_SCALE).in_all(),
    namespaced("apps", "Deployment", "deployments").short(&["deploy"]).with(STATUS_SCALE).in_all(),
    namespaced("apps", "DaemonSet", "daemonsets").short(&["ds"]).with(STATUS).in_all(),
    namespaced("batch", "Job", "jobs").with(STATUS).in_all(),
    namespaced("batch", "CronJob", "cronjobs").short(&["cj"]).with(STATUS).in_all(),
    namespaced("coordination.k8s.io", "Lease", "leases"),
    namespaced("events.k8s.io", "Event", "events").short(&["ev"]),
    cluster("node.k8s.io", "RuntimeClass", "runtimeclasses"),
    namespaced("policy", "PodDisruptionBudget", "poddisruptionbudgets").short(&["pdb"]).with(STATUS),
    cluster("resource.k8s.io", "DeviceClass", "deviceclasses").in_versions(RESOURCE_VERSIONS),
    cluster("resource.k8s.io", "DeviceTaintRule", "devicetaintrules")
        .in_versions(RESOURCE_VERSIONS)
        .with(STATUS),
    namespaced("resource.k8s.io", "ResourceClaim", "resourceclaims")
        .in_versions(RESOURCE_VERSIONS)
        .with(STATUS),
    namespaced("resource.k8s.io", "ResourceClaimTemplate", "resourceclaimtemplates")
        .in_versions(RESOURCE_VERSIONS),
    cluster("resource.k8s.io", "ResourceSlice", "resourceslices").in_versions(RESOURCE_VERSIONS),
    cluster("scheduling.k8s.io", "PriorityClass", "priorityclasses").short(&["pc"]),
    namespaced("scheduling.k8s.io", "PodGroup", "podgroups").in_versions(SCHEDULING_VERSIONS).with(STATUS),
    namespaced("scheduling.k8s.io", "CompositePodGroup", "compositepodgroups")
        .in_versions(&["v1alpha3"])
        .with(STATUS),
    namespaced("scheduling.k8s.io", "Workload", "workloads").in_versions(SCHEDULING_VERSIONS),
    cluster("storage.k8s.io", "CSIDriver", "csidrivers"),
    cluster("storage.k8s.io", "CSINode", "csinodes"),
    namespaced("storage.k8s.io", "CSIStorageCapacity", "csistoragecapacities"),
    cluster("storage.k8s.io", "StorageClass", "storageclasses").short(&["sc"]),
    cluster("storage.k8s.io", "VolumeAttachment", "volumeattachments").with(STATUS),
    cluster("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions")
        .short(&["crd", "crds"])
        .with(STATUS),
];

/// Pods.
pub(crate) const PODS: ResourceId = ResourceId(0);
/// Nodes.
pub(crate) const NODES: ResourceId = ResourceId(1);

#[cfg(test)]
mod tests {
    use schedlab_cluster::api::resource_for;

    use super::*;

    #[test]
    fn table_agrees_with_the_kinds_of_the_store() {
        assert_eq!((PODS.info().kind, NODES.info().kind), ("Pod", "Node"));
        for resource in RESOURCES {
            let stored = resource_for(&resource.api_version(resource.versions[0]), resource.kind)
                .unwrap_or_else(|| panic!("the store does not know {}", resource.qualified()));
            assert_eq!(stored.plural, resource.plural);
            assert_eq!(stored.namespaced, resource.is_namespaced(), "{}", resource.kind);
            assert_eq!(stored.has_status, resource.has_subresource("status"), "{}", resource.kind);
        }
    }

    #[test]
    fn path_leads_to_a_resource_in_the_versions_it_has() {
        let found = |group, version, plural| by_path(group, version, plural).map(|id| id.info().kind);
        assert_eq!(found("", "v1", "pods"), Some("Pod"));
        assert_eq!(found("scheduling.k8s.io", "v1alpha3", "podgroups"), Some("PodGroup"));
        assert_eq!(found("apps", "v1beta1", "deployments"), None);
        assert_eq!(found("apps", "v1", "pods"), None);
    }

    #[test]
    fn groups_list_their_stable_version_first() {
        let groups = groups();
        let resource = groups.iter().find(|(group, _)| *group == "resource.k8s.io");
        let versions = resource.map(|(_, versions)| versions.clone());
        assert_eq!(versions, Some(vec!["v1", "v1beta2"]));
        assert!(groups.iter().all(|(group, _)| !group.is_empty()));
    }
}
