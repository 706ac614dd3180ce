//! The one door: every object of the API, pods and nodes included, enters the scheduler as an
//! [`ObjectEvent`] through [`Scheduler::on_event`]. Nobody else changes what it knows of the cluster.
//!
//! ```text
//! Added, Modified (ObjectInput) ─┐                      ┌▶ world: columns, counters, tables
//!                                ├─▶ Scheduler::on_event ┤
//! Deleted (ObjectKey) ───────────┘                      └▶ ClusterEvent ▶ queue, PreBind waits
//! ```
//!
//! [`KINDS`] has a row for each kind: its names in the API, what is read of it and the event it raises.
//! Upstream: eventhandlers.go `addAllEventHandlers`.

use std::sync::Arc;

use super::{PodUpdate, Scheduler};
use crate::framework::points::EventResource;
use crate::ids::{NodeId, PodUid};
use crate::input::dra::{DraInput, DraKind};
use crate::input::pod_group::PodGroupInput;
use crate::input::storage::{StorageInput, StorageKey, StorageKind};
use crate::input::{DisruptionBudgetInput, Labels, NodeInput, ServiceInput, WorkloadInput, WorkloadKind};

/// A kind of object that the scheduler is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names are the API's own")]
pub enum ObjectKind {
    Pod,
    Node,
    Namespace,
    Service,
    Workload(WorkloadKind),
    PodDisruptionBudget,
    Storage(StorageKind),
    PodGroup,
    Dra(DraKind),
}

/// A row of [`KINDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindRow {
    /// Which kind.
    pub kind: ObjectKind,
    /// `apiVersion`.
    pub api_version: &'static str,
    /// `kind`.
    pub name: &'static str,
    /// The resource in paths of the API.
    pub resource: &'static str,
    /// What the engine reads of it.
    pub reads: &'static str,
    /// What its events are about; `None` when no plugin can wait for it.
    pub event: Option<EventResource>,
}

const fn row(
    kind: ObjectKind,
    (api_version, name, resource): (&'static str, &'static str, &'static str),
    event: Option<EventResource>,
    reads: &'static str,
) -> KindRow {
    KindRow { kind, api_version, name, resource, reads, event }
}

/// Every kind there is, one row each.
#[rustfmt::skip]
pub const KINDS: &[KindRow] = &[
    row(ObjectKind::Pod, ("v1", "Pod", "pods"), Some(EventResource::Pod), "spec as a PodClass, node, nominated node, phase"),
    row(ObjectKind::Node, ("v1", "Node", "nodes"), Some(EventResource::Node), "labels, taints, allocatable, images, declared features"),
    row(ObjectKind::Namespace, ("v1", "Namespace", "namespaces"), Some(EventResource::Namespace), "labels, for namespaceSelector"),
    row(ObjectKind::Service, ("v1", "Service", "services"), None, "selector, for default topology spreading"),
    row(ObjectKind::Workload(WorkloadKind::ReplicationController), ("v1", "ReplicationController", "replicationcontrollers"), None, "selector, for default topology spreading"),
    row(ObjectKind::Workload(WorkloadKind::ReplicaSet), ("apps/v1", "ReplicaSet", "replicasets"), None, "selector, for default topology spreading"),
    row(ObjectKind::Workload(WorkloadKind::StatefulSet), ("apps/v1", "StatefulSet", "statefulsets"), None, "selector, for default topology spreading"),
    row(ObjectKind::PodDisruptionBudget, ("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"), None, "selector, disruptionsAllowed, disruptedPods"),
    row(ObjectKind::Storage(StorageKind::PersistentVolume), ("v1", "PersistentVolume", "persistentvolumes"), Some(EventResource::PersistentVolume), "class, capacity, node affinity, claimRef, source"),
    row(ObjectKind::Storage(StorageKind::PersistentVolumeClaim), ("v1", "PersistentVolumeClaim", "persistentvolumeclaims"), Some(EventResource::PersistentVolumeClaim), "class, request, volume, selected node"),
    row(ObjectKind::Storage(StorageKind::StorageClass), ("storage.k8s.io/v1", "StorageClass", "storageclasses"), Some(EventResource::StorageClass), "binding mode, provisioner, allowed topologies"),
    row(ObjectKind::Storage(StorageKind::CsiNode), ("storage.k8s.io/v1", "CSINode", "csinodes"), Some(EventResource::CsiNode), "drivers and their limits"),
    row(ObjectKind::Storage(StorageKind::CsiDriver), ("storage.k8s.io/v1", "CSIDriver", "csidrivers"), Some(EventResource::CsiDriver), "storageCapacity"),
    row(ObjectKind::Storage(StorageKind::CsiStorageCapacity), ("storage.k8s.io/v1", "CSIStorageCapacity", "csistoragecapacities"), Some(EventResource::CsiStorageCapacity), "class, capacity, node topology"),
    row(ObjectKind::Storage(StorageKind::VolumeAttachment), ("storage.k8s.io/v1", "VolumeAttachment", "volumeattachments"), Some(EventResource::VolumeAttachment), "attacher, node, volume"),
    row(ObjectKind::Dra(DraKind::ResourceClaim), ("resource.k8s.io/v1", "ResourceClaim", "resourceclaims"), Some(EventResource::ResourceClaim), "requests, constraints, config, owner, allocation, reservedFor, device conditions"),
    row(ObjectKind::Dra(DraKind::ResourceClaimTemplate), ("resource.k8s.io/v1", "ResourceClaimTemplate", "resourceclaimtemplates"), None, "nothing: claims are made of it by a controller"),
    row(ObjectKind::Dra(DraKind::ResourceSlice), ("resource.k8s.io/v1", "ResourceSlice", "resourceslices"), Some(EventResource::ResourceSlice), "pool, devices, counters, nodes"),
    row(ObjectKind::Dra(DraKind::DeviceClass), ("resource.k8s.io/v1", "DeviceClass", "deviceclasses"), Some(EventResource::DeviceClass), "selectors, config, extended resource"),
    row(ObjectKind::Dra(DraKind::DeviceTaintRule), ("resource.k8s.io/v1", "DeviceTaintRule", "devicetaintrules"), Some(EventResource::ResourceSlice), "device selector, taint"),
    row(ObjectKind::PodGroup, ("scheduling.k8s.io/v1beta1", "PodGroup", "podgroups"), Some(EventResource::PodGroup), "priority, policy, topology key, disruption mode, preemption policy, condition PodGroupInitiallyScheduled"),
];

impl ObjectKind {
    /// The kind of an object of the API; `None` when scheduling has nothing to do with it. The version
    /// does not matter: what is read is the same in all of them.
    #[must_use]
    pub fn of(api_version: &str, kind: &str) -> Option<ObjectKind> {
        let group = |api_version: &str| api_version.split_once('/').map_or(0, |(group, _)| group.len());
        let is_it = |row: &&KindRow| {
            let (one, other) = (group(row.api_version), group(api_version));
            row.name == kind && row.api_version[..one] == api_version[..other]
        };
        KINDS.iter().find(is_it).map(|row| row.kind)
    }

    /// Its row of [`KINDS`].
    #[must_use]
    pub fn row(self) -> &'static KindRow {
        KINDS.iter().find(|row| row.kind == self).expect("every kind has a row")
    }
}

/// What happened to an object.
#[derive(Clone, Copy, Debug)]
pub enum ObjectEvent<'a> {
    /// It is new.
    Added(ObjectInput<'a>),
    /// It changed.
    Modified(ObjectInput<'a>),
    /// It is gone. A pod that has finished counts as gone: it takes no room any more.
    Deleted(ObjectRef<'a>),
}

/// An object, as far as the engine reads it.
#[derive(Clone, Copy, Debug)]
pub enum ObjectInput<'a> {
    /// A pod.
    Pod(PodUpdate),
    /// What a pod's status says of its `nominatedNodeName`, in a version of the pod; whoever wrote it.
    NominatedNodeName {
        /// The pod.
        pod: PodUid,
        /// The node, which need not exist.
        node: Option<NodeId>,
        /// `metadata.resourceVersion` of the pod.
        resource_version: u64,
    },
    /// A node.
    Node(&'a Arc<NodeInput>),
    /// A namespace.
    Namespace {
        /// `metadata.name`.
        name: &'a str,
        /// `metadata.labels`.
        labels: &'a Labels,
    },
    /// A service.
    Service(&'a ServiceInput),
    /// A workload that owns pods.
    Workload(&'a WorkloadInput),
    /// A disruption budget, and which of the pods that it names are known.
    PodDisruptionBudget {
        /// The budget.
        budget: &'a DisruptionBudgetInput,
        /// Those of `status.disruptedPods` that are known.
        disrupted: &'a [PodUid],
    },
    /// A volume, a claim or another object of storage.
    Storage(&'a StorageInput),
    /// A pod group.
    PodGroup(&'a Arc<PodGroupInput>),
    /// A slice of devices, a claim for devices or another object of dynamic resource allocation.
    Dra(&'a DraInput),
    /// An object of which nothing is read: it raises its event.
    Named(NamedObject<'a>),
}

/// Which object.
#[derive(Clone, Copy, Debug)]
pub enum ObjectRef<'a> {
    /// A pod.
    Pod(PodUid),
    /// A node, by its name.
    Node(&'a str),
    /// Any other object.
    Named(NamedObject<'a>),
}

/// An object by its kind and name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedObject<'a> {
    /// The kind.
    pub kind: ObjectKind,
    /// `metadata.namespace`, empty for kinds of the whole cluster.
    pub namespace: &'a str,
    /// `metadata.name`.
    pub name: &'a str,
}

impl<'a> ObjectEvent<'a> {
    /// A pod was added or changed.
    #[inline]
    #[must_use]
    pub fn pod(update: PodUpdate) -> ObjectEvent<'a> {
        ObjectEvent::Modified(ObjectInput::Pod(update))
    }

    /// A pod is gone, or has finished.
    #[inline]
    #[must_use]
    pub fn pod_deleted(pod: PodUid) -> ObjectEvent<'a> {
        ObjectEvent::Deleted(ObjectRef::Pod(pod))
    }

    /// A pod's status names a node, or none.
    #[must_use]
    pub fn nominated_node_name(pod: PodUid, node: Option<NodeId>, resource_version: u64) -> ObjectEvent<'a> {
        ObjectEvent::Modified(ObjectInput::NominatedNodeName { pod, node, resource_version })
    }

    /// A node was added or changed.
    #[must_use]
    pub fn node(node: &'a Arc<NodeInput>) -> ObjectEvent<'a> {
        ObjectEvent::Modified(ObjectInput::Node(node))
    }

    /// A node is gone.
    #[must_use]
    pub fn node_deleted(name: &'a str) -> ObjectEvent<'a> {
        ObjectEvent::Deleted(ObjectRef::Node(name))
    }

    /// An object of storage is gone.
    #[must_use]
    pub fn storage_deleted(key: &'a StorageKey) -> ObjectEvent<'a> {
        let StorageKey { kind, namespace, name } = key;
        ObjectEvent::Deleted(ObjectRef::Named(NamedObject {
            kind: ObjectKind::Storage(*kind),
            namespace,
            name,
        }))
    }
}

impl Scheduler {
    /// The watch says what became of an object.
    #[inline]
    pub fn on_event(&mut self, event: ObjectEvent<'_>, now_ns: u64) {
        self.see(now_ns);
        self.news += 1;
        // Pods come by the thousand: they are read where they stand, not copied out of the event.
        match &event {
            ObjectEvent::Added(ObjectInput::Pod(update))
            | ObjectEvent::Modified(ObjectInput::Pod(update)) => {
                self.add_or_update_pod(update);
            }
            ObjectEvent::Deleted(ObjectRef::Pod(pod)) => self.delete_pod(*pod),
            _ => self.on_other_event(event),
        }
        self.check_now_and_then();
    }

    #[inline(never)]
    fn on_other_event(&mut self, event: ObjectEvent<'_>) {
        match event {
            ObjectEvent::Added(object) => self.add_or_update(object, false),
            ObjectEvent::Modified(object) => self.add_or_update(object, true),
            ObjectEvent::Deleted(ObjectRef::Pod(pod)) => self.delete_pod(pod),
            ObjectEvent::Deleted(ObjectRef::Node(name)) => self.delete_node_from_cache(name),
            ObjectEvent::Deleted(ObjectRef::Named(object)) => self.delete_object(object),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_kind_has_one_row_and_is_found_by_its_names() {
        for (at, row) in KINDS.iter().enumerate() {
            assert_eq!(ObjectKind::of(row.api_version, row.name), Some(row.kind), "{}", row.name);
            assert_eq!(row.kind.row(), row);
            let twin =
                KINDS[at + 1..].iter().find(|other| other.kind == row.kind || other.resource == row.resource);
            assert_eq!(twin, None, "{} has two rows", row.name);
        }
    }

    #[test]
    fn kind_is_found_in_any_version_of_its_group_only() {
        assert_eq!(
            ObjectKind::of("resource.k8s.io/v1beta2", "DeviceClass"),
            Some(ObjectKind::Dra(DraKind::DeviceClass))
        );
        assert_eq!(ObjectKind::of("v1", "StatefulSet"), None);
        assert_eq!(ObjectKind::of("apps/v1", "Pod"), None);
        assert_eq!(ObjectKind::of("batch/v1", "Job"), None);
    }
}
