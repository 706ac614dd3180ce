//! Events about pods, `events.k8s.io/v1`, in the terms of ids.

use std::sync::Arc;

use schedlab_core::ids::PodUid;
use schedlab_core::scheduler::PodEventReason;

use super::{NamespaceId, NodeNameId, PodName};

/// `note` of an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PodEventMessage {
    /// This.
    Text(Arc<str>),
    /// That the pod was assigned to a node; written when somebody reads it.
    AssignedTo(NodeNameId),
}

/// An event to be posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodEventPost {
    /// The pod it is about.
    pub pod: PodUid,
    /// Namespace and name of a pod that may be gone when the event arrives; otherwise whoever stores
    /// the event knows.
    pub named: Option<(NamespaceId, PodName)>,
    /// `reason`; `action` and `type` follow from it.
    pub reason: PodEventReason,
    /// `note`.
    pub note: PodEventMessage,
}

/// An event that was posted. Its object is called after the pod and `number`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodEventRef {
    /// The version it was written at.
    pub resource_version: u64,
    /// Counts the events of the cluster, from 1.
    pub number: u64,
    /// `metadata.namespace`.
    pub namespace: NamespaceId,
    /// The pod's name.
    pub pod_name: PodName,
}

impl PodEventRef {
    /// `metadata.name` of the event with a number.
    #[must_use]
    pub fn name(pod_name: &str, number: u64) -> String {
        format!("{pod_name}.{number:x}")
    }
}
