//! Taints by condition: what a node's conditions say, told to schedulers as taints.
//!
//! Schedulers read no conditions. A node that is not ready, or short of something, gets a taint
//! `NoSchedule` for each such condition, and loses it when the condition ends. Other taints are left
//! alone.
//!
//! Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go `doNoScheduleTaintingPass`.
//! Differs: no taint `NoExecute` is set and nobody is evicted.

use k8s_openapi::api::core::v1::{Node, Taint};

use crate::api::{Api, ApiError, ListQuery, Object, ObjectKey};

const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Condition, status, and the taint that stands for it.
const TAINTS: [(&str, &str, &str); 6] = [
    ("Ready", "False", "node.kubernetes.io/not-ready"),
    ("Ready", "Unknown", "node.kubernetes.io/unreachable"),
    ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    ("NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
];

/// The taints that a node's conditions, and a cordon, stand for.
#[must_use]
pub fn condition_taints(node: &Node) -> Vec<Taint> {
    let conditions = || node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let holds = |kind: &str, status: &str| conditions().any(|it| it.type_ == kind && it.status == status);
    let by_condition = TAINTS.iter().filter(|(kind, status, _)| holds(kind, status)).map(|(_, _, key)| *key);
    let is_cordoned = node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true));
    let keys = by_condition.chain(is_cordoned.then_some(UNSCHEDULABLE));
    keys.map(|key| Taint { key: key.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() })
        .collect()
}

/// A taint that this controller sets and takes away.
fn is_ours(taint: &Taint) -> bool {
    let keys = TAINTS.iter().map(|(_, _, key)| *key).chain([UNSCHEDULABLE]);
    taint.effect == "NoSchedule" && keys.into_iter().any(|key| key == taint.key)
}

/// Brings the taints of a node in line with its conditions; whether it had to be written.
pub fn reconcile(api: &dyn Api, name: &str) -> Result<bool, ApiError> {
    let Some(mut node) = api.get(&ObjectKey::node(name))?.into_node() else { return Ok(false) };
    let wanted = condition_taints(&node);
    let taints = node.spec.get_or_insert_default().taints.get_or_insert_default();
    let key = |taint: &Taint| taint.key.clone();
    let mut had: Vec<String> = taints.iter().filter(|taint| is_ours(taint)).map(key).collect();
    let mut wants: Vec<String> = wanted.iter().map(key).collect();
    had.sort_unstable();
    wants.sort_unstable();
    if had == wants {
        return Ok(false);
    }
    taints.retain(|taint| !is_ours(taint));
    taints.extend(wanted);
    api.update(Object::Node(node)).map(|_| true)
}

/// Brings the taints of all nodes in line; how many had to be written.
pub fn reconcile_all(api: &dyn Api) -> Result<usize, ApiError> {
    let nodes = api.list(&ListQuery::all("v1", "Node"))?.items;
    let names = nodes.into_iter().filter_map(|node| node.metadata().name.clone());
    let mut written = 0;
    for name in names {
        written += usize::from(reconcile(api, &name)?);
    }
    Ok(written)
}
