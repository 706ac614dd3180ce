//! The taints that conditions stand for.

use k8s_openapi::api::core::v1::{Node, Taint};

use crate::controllers::{ControllerMutant, ControllerMutants};

const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Condition, status, and the taint that stands for it.
/// Upstream: node_lifecycle_controller.go `nodeConditionToTaintKeyStatusMap`.
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
    let taint =
        |key: &str| Taint { key: key.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() };
    wanted_keys(node).map(taint).collect()
}

fn wanted_keys(node: &Node) -> impl Iterator<Item = &'static str> {
    let conditions = || node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let holds =
        move |kind: &str, status: &str| conditions().any(|it| it.type_ == kind && it.status == status);
    let by_condition =
        TAINTS.iter().filter(move |(kind, status, _)| holds(kind, status)).map(|(_, _, key)| *key);
    let is_cordoned = node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true));
    by_condition.chain(is_cordoned.then_some(UNSCHEDULABLE))
}

/// A taint that this controller sets and takes away.
fn is_ours(taint: &Taint) -> bool {
    let mut keys = TAINTS.iter().map(|(_, _, key)| *key).chain([UNSCHEDULABLE]);
    taint.effect == "NoSchedule" && keys.any(|key| key == taint.key)
}

fn taints_of(node: &Node) -> impl Iterator<Item = &Taint> {
    node.spec.iter().flat_map(|spec| spec.taints.iter().flatten())
}

fn has(node: &Node, key: &str) -> bool {
    taints_of(node).any(|taint| is_ours(taint) && taint.key == key)
}

fn is_superfluous(taint: &Taint, node: &Node, mutants: ControllerMutants) -> bool {
    is_ours(taint)
        && !wanted_keys(node).any(|key| key == taint.key)
        && !mutants.has(ControllerMutant::ConditionTaintStays)
}

/// Whether the taints are what the conditions say.
pub(super) fn is_in_line(node: &Node, mutants: ControllerMutants) -> bool {
    wanted_keys(node).all(|key| has(node, key))
        && !taints_of(node).any(|taint| is_superfluous(taint, node, mutants))
}

/// How many taints come and go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TaintChange {
    pub(super) added: u64,
    pub(super) removed: u64,
}

/// The node with the taints that its conditions say. Those that are right stay as they are.
pub(super) fn brought_in_line(node: &Node, mutants: ControllerMutants) -> (Node, TaintChange) {
    let added: Vec<Taint> =
        condition_taints(node).into_iter().filter(|taint| !has(node, &taint.key)).collect();
    let mut changed = node.clone();
    let taints = changed.spec.get_or_insert_default().taints.get_or_insert_default();
    let before = taints.len();
    taints.retain(|taint| !is_superfluous(taint, node, mutants));
    let change = TaintChange { added: added.len() as u64, removed: (before - taints.len()) as u64 };
    taints.extend(added);
    (changed, change)
}
