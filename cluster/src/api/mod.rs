//! The cluster as its clients see it: one trait, and the values that cross it.
//!
//! Two ways lead to a pod. The cold one is the Kubernetes API's own: objects by kind, namespace
//! and name. The hot one is by id: a [`StoredPodRow`] comes with the watch event, and bindings, status
//! patches and deletions name the pod by its [`PodUid`] and nodes by their [`NodeNameId`]. Ids
//! belong to the target that gave them out; a remote target keeps its own table from ids to names.
//!
//! Every call of a verb counts as one API call, also inside a batch. The side tables
//! ([`Api::pod_spec`] and the like) are the client's own memory and do not count.

mod calls;
mod error;
mod object;
mod pod;
mod pod_event;
mod pod_group;
mod resource;
mod watch;

use std::sync::Arc;

use k8s_openapi::api::core::v1::{NodeStatus, Pod};
use schedlab_core::api_call::{PodGroupStatusPatch, VolumeWrites};
use schedlab_core::ids::PodUid;
use schedlab_core::input::{LabelSelectorInput, PodMeta};
use serde_json::json;

pub use calls::ApiCallCounts;
pub use error::{ApiError, StatusReason};
pub use object::{GenericObject, ListQuery, Object, ObjectKey, ObjectList};
pub(crate) use pod::TemplatePins;
pub use pod::{
    Binding, ConditionEdit, ConditionPatch, ConditionSetId, ConditionStatus, CreatedPods, DISRUPTION_TARGET,
    NameId, NamedBinding, NamespaceId, NodeNameId, NominatedNodeNamePatch, PREEMPTION_BY_SCHEDULER,
    PodConditionEntry, PodFlags, PodName, PodPhase, PodRowList, PodSpecEntry, PodStatusPatch, PodTemplate,
    PodTemplateRef, SpecId, StoredPodRow, format_pod_uid, parse_pod_uid,
};
pub use pod_event::{PodEventMessage, PodEventPost, PodEventRef};
pub use pod_group::set_pod_group_condition;
pub use resource::{ResourceInfo, group_of, resource_for, resource_or_guess};
pub use watch::{EventKind, NodeEntry, RunningWatch, Watch, WatchEvent, WatchedObject};

/// Which pods a list covers.
#[derive(Clone, Copy, Debug, Default)]
pub struct PodFilter<'a> {
    /// Only this namespace; all namespaces when absent.
    pub namespace: Option<&'a str>,
    /// Only pods whose labels match; all when absent.
    pub labels: Option<&'a LabelSelectorInput>,
}

/// A Kubernetes API as the op executor and the scheduler's runtime need it.
pub trait Api: Send + Sync {
    /// POST. Applies the API server's defaulting and admission, and returns the stored object.
    fn create(&self, object: Object) -> Result<Object, ApiError>;

    /// GET.
    fn get(&self, key: &ObjectKey) -> Result<Object, ApiError>;

    /// LIST. A watch from the list's resource version on misses nothing.
    fn list(&self, query: &ListQuery) -> Result<ObjectList, ApiError>;

    /// PUT on the object itself. The status of kinds that have a status subresource is kept. A
    /// stale `metadata.resourceVersion` is a conflict; an empty one makes the update unconditional.
    fn update(&self, object: Object) -> Result<Object, ApiError>;

    /// PUT on the status subresource: only the status is taken from `object`.
    fn update_status(&self, object: Object) -> Result<Object, ApiError>;

    /// DELETE. With a UID, only if the object still has it.
    fn delete(&self, key: &ObjectKey, uid: Option<&str>) -> Result<(), ApiError>;

    /// Prepares pods that differ only in name: defaulting, admission and conversion happen here,
    /// once. Not an API call.
    fn pod_template(&self, pod: Pod, namespace: &str) -> Result<PodTemplateRef, ApiError>;

    /// POSTs `count` pods of a template. Stops at the first pod that is refused.
    fn create_pods(&self, template: &PodTemplateRef, count: u32) -> Result<CreatedPods, ApiError>;

    /// POST on pods/binding, by name.
    fn bind(&self, binding: &NamedBinding<'_>) -> Result<(), ApiError>;

    /// POSTs on pods/binding, by id. Appends one result per binding, in order. The pod's UID is
    /// the precondition of each.
    fn bind_batch(&self, bindings: &[Binding], results: &mut Vec<Result<(), ApiError>>);

    /// PATCHes on pods/status. Appends one result per patch, in order: the resource version that the pod
    /// has then.
    fn patch_pod_status_batch(
        &self,
        patches: &[PodStatusPatch<'_>],
        results: &mut Vec<Result<u64, ApiError>>,
    );

    /// POSTs of events about pods. Appends one result per event, in order.
    fn post_pod_events(&self, events: &[PodEventPost], results: &mut Vec<Result<PodEventRef, ApiError>>);

    /// PATCH on nodes/status: the fields that `status` has are replaced, the others kept.
    fn patch_node_status(&self, name: &str, status: NodeStatus) -> Result<(), ApiError>;

    /// DELETEs of pods, by id. Appends one result per pod, in order.
    fn delete_pods_batch(&self, pods: &[PodUid], results: &mut Vec<Result<(), ApiError>>);

    /// POSTs on pods/eviction, by id. Appends one result per pod, in order. A pod that a disruption budget
    /// protects is refused with [`TooManyRequests`](StatusReason::TooManyRequests).
    fn evict_pods_batch(&self, pods: &[PodUid], results: &mut Vec<Result<(), ApiError>>);

    /// LIST of pods as rows, in the order of their creation.
    fn pods_in(&self, filter: PodFilter<'_>) -> Result<PodRowList, ApiError>;

    /// WATCH of every kind in one ordered stream: all that happened after `resource_version`.
    fn watch(&self, resource_version: u64) -> Result<Box<dyn Watch>, ApiError>;

    /// WATCH of nodes and of pods that ask something of their node while they run.
    fn watch_running(&self, resource_version: u64) -> Result<Box<dyn RunningWatch>, ApiError>;

    /// Wakes readers that wait, although nothing was written: something else is there for them. A
    /// nudge after a reader's last drain is not lost.
    fn nudge(&self) {}

    /// The calls so far. Subtract an earlier reading with [`ApiCallCounts::since`].
    fn call_counts(&self) -> ApiCallCounts;

    /// What a [`SpecId`] of a row stands for.
    fn pod_spec(&self, spec: SpecId) -> Arc<PodSpecEntry>;

    /// The name behind a [`NodeNameId`].
    fn node_name(&self, node: NodeNameId) -> Arc<str>;

    /// The id of a node's name; the node need not exist.
    fn node_name_id(&self, name: &str) -> NodeNameId;

    /// The name behind a [`NamespaceId`].
    fn namespace_name(&self, namespace: NamespaceId) -> Arc<str>;

    /// `metadata.uid` of a pod.
    fn pod_uid(&self, pod: PodUid) -> String {
        format_pod_uid(pod)
    }

    /// Waits until the claims of these writes are bound. The embedded cluster binds them in the same step.
    fn wait_for_volumes(&self, _: &VolumeWrites) -> Result<(), ApiError> {
        Ok(())
    }

    /// An event about a pod happened again, `count` times by now: it is a series.
    fn repeat_pod_event(&self, pod: PodUid, number: u64, count: u64) -> Result<(), ApiError> {
        // A pod that is gone has no second event.
        let Some(row) = self.pod_row(pod) else { return Ok(()) };
        let (namespace, pod_name) = (self.namespace_name(row.namespace), self.pod_name(row.name));
        let name = PodEventRef::name(&pod_name, number);
        let key = ObjectKey::namespaced("events.k8s.io/v1", "Event", &namespace, &name);
        let Object::Other(mut event) = self.get(&key)? else { return Ok(()) };
        event.body.insert("series".to_owned(), json!({ "count": count }));
        self.update(Object::Other(event)).map(drop)
    }

    /// The text of a pod's name.
    fn pod_name(&self, name: PodName) -> String;

    /// What a [`ConditionSetId`] of a row stands for.
    fn pod_conditions(&self, conditions: ConditionSetId) -> Arc<[PodConditionEntry]>;

    /// The row of a pod that exists.
    fn pod_row(&self, pod: PodUid) -> Option<StoredPodRow>;

    /// How many pods of a namespace are on a node. Whoever waits for pods asks this often: a store
    /// that can count should not list.
    fn scheduled_count(&self, namespace: &str) -> Result<u64, ApiError> {
        let filter = PodFilter { namespace: Some(namespace), labels: None };
        let rows = self.pods_in(filter)?.rows;
        Ok(rows.iter().filter(|row| row.node.is_some()).count() as u64)
    }

    /// PATCH on podgroups/status: the condition is added, or replaces the one of its type.
    fn patch_pod_group_status(&self, patch: &PodGroupStatusPatch) -> Result<(), ApiError> {
        let key =
            ObjectKey::namespaced("scheduling.k8s.io/v1beta1", "PodGroup", &patch.namespace, &patch.name);
        let Object::Other(mut group) = self.get(&key)? else { return Ok(()) };
        set_pod_group_condition(&mut group, &patch.condition, None);
        group.metadata.resource_version = None;
        self.update_status(Object::Other(group)).map(drop)
    }

    /// Binds one pod by id.
    fn bind_pod(&self, binding: Binding) -> Result<(), ApiError> {
        let mut results = Vec::with_capacity(1);
        self.bind_batch(&[binding], &mut results);
        results.pop().expect("a batch answers every binding")
    }

    /// Patches the status of one pod; its resource version then.
    fn patch_pod_status(&self, patch: PodStatusPatch<'_>) -> Result<u64, ApiError> {
        let mut results = Vec::with_capacity(1);
        self.patch_pod_status_batch(&[patch], &mut results);
        results.pop().expect("a batch answers every patch")
    }

    /// Deletes one pod by id.
    fn delete_pod(&self, pod: PodUid) -> Result<(), ApiError> {
        let mut results = Vec::with_capacity(1);
        self.delete_pods_batch(&[pod], &mut results);
        results.pop().expect("a batch answers every deletion")
    }

    /// Evicts one pod by id.
    fn evict_pod(&self, pod: PodUid) -> Result<(), ApiError> {
        let mut results = Vec::with_capacity(1);
        self.evict_pods_batch(&[pod], &mut results);
        results.pop().expect("a batch answers every eviction")
    }

    /// What the engine is told about a pod beside its class.
    fn pod_meta(&self, row: &StoredPodRow) -> PodMeta {
        let spec = self.pod_spec(row.spec);
        PodMeta {
            name: self.pod_name(row.name),
            uid: self.pod_uid(row.uid),
            pod_group: spec.pod_group.as_deref().map(str::to_owned),
            node_name: row.node.map(|node| self.node_name(node).to_string()),
            nominated_node_name: row.nominated.map(|node| self.node_name(node).to_string()),
            start_time_s: spec.start_time_s,
            creation_time_s: Some((row.created_ns / 1_000_000_000).cast_signed()),
            is_terminating: row.flags.contains(PodFlags::TERMINATING),
            is_preempted: row.flags.contains(PodFlags::PREEMPTED),
            is_finished: row.phase.is_finished(),
        }
    }
}
