//! The deprecated mode for critical add-ons: a node is tainted for one of them, pods leave it, and the taint goes
//! when the add-on has come.
//!
//! Upstream: kubernetes/contrib rescheduler/rescheduler.go; the annotation and the taint are those of
//! "Guaranteed scheduling of critical add-on pods".

use k8s_openapi::api::core::v1::{Node, Pod, Taint};
use schedlab_core::ids::PodUid;

use crate::api::NodeNameId;

const ANNOTATION: &str = "scheduler.alpha.kubernetes.io/critical-pod";
const TAINT: &str = "CriticalAddonsOnly";
const EFFECT: &str = "NoSchedule";

/// A node that is being made ready for a critical pod.
#[derive(Clone, Debug)]
pub(super) struct Preparing {
    pub(super) pod: PodUid,
    pub(super) node: NodeNameId,
    /// Given up then.
    pub(super) until_ns: u64,
    pub(super) stage: Stage,
    /// The version of the node that the last write was made from: nothing is written from it again.
    pub(super) tried_version: Option<u64>,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The taint is to be set, and then these pods evicted.
    SetTaint,
    /// The pods are going; the add-on is to come.
    Waiting,
    /// The add-on is there, or will not come.
    RemoveTaint,
}

/// A pod that asks for it: in the namespace of the system, with the annotation, tolerating the taint.
pub(super) fn is_critical(pod: &Pod, namespace: &str) -> bool {
    let annotations = pod.metadata.annotations.as_ref();
    let is_annotated = annotations.and_then(|all| all.get(ANNOTATION)).is_some_and(String::is_empty);
    let tolerations = pod.spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
    let tolerates = tolerations
        .iter()
        .any(|it| it.key.as_deref() == Some(TAINT) && it.operator.as_deref() == Some("Exists"));
    pod.metadata.namespace.as_deref() == Some(namespace) && is_annotated && tolerates
}

pub(super) fn is_tainted(node: &Node) -> bool {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default();
    taints.iter().any(|taint| taint.key == TAINT)
}

/// The node with the taint, or without it.
pub(super) fn with_taint(node: &Node, is_tainted: bool) -> Node {
    let mut node = node.clone();
    let taints = node.spec.get_or_insert_default().taints.get_or_insert_default();
    taints.retain(|taint| taint.key != TAINT);
    if is_tainted {
        taints.push(Taint { key: TAINT.to_owned(), effect: EFFECT.to_owned(), ..Taint::default() });
    }
    node
}
