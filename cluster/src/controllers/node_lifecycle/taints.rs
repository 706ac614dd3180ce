//! The taints that conditions stand for.

use k8s_openapi::api::core::v1::{Node, Taint};

use super::zones::Ready;
use crate::controllers::{ControllerMutant, ControllerMutants};

/// Taints `NoExecute` of a node that is not ready, by the status of its condition.
const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

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

/// What a node's taints `NoExecute` are to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoExecute {
    /// What they are.
    AsItIs,
    /// The one of its condition.
    Tainted,
    /// None of a node that is not ready.
    Cleared,
}

/// `status` of condition `Ready`; true if nobody says anything.
pub(super) fn ready_of(node: &Node) -> Ready {
    let mut conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let ready = conditions.find(|condition| condition.type_ == "Ready");
    match ready.map_or("True", |condition| condition.status.as_str()) {
        "True" => Ready::True,
        "False" => Ready::False,
        _ => Ready::Unknown,
    }
}

/// The key that stands for the zone. Upstream: component-helpers node/topology `GetZoneKey`.
pub(super) fn zone_of(node: &Node) -> String {
    let label = |beta: &str, stable: &str| {
        let labels = node.metadata.labels.as_ref();
        let found = labels.and_then(|labels| labels.get(beta).or_else(|| labels.get(stable)));
        found.map_or("", String::as_str)
    };
    let zone = label("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone");
    let region = label("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region");
    if zone.is_empty() && region.is_empty() { String::new() } else { format!("{region}:\0:{zone}") }
}

/// Upstream: `isNodeExcludedFromDisruptionChecks`.
pub(super) fn is_excluded(node: &Node) -> bool {
    let labels = node.metadata.labels.as_ref();
    labels.is_some_and(|labels| labels.contains_key("node.kubernetes.io/exclude-disruption"))
}

/// The taint `NoExecute` of its condition, and the one that goes with the other.
fn own_and_opposite(node: &Node) -> (&'static str, &'static str) {
    match ready_of(node) {
        Ready::Unknown => (UNREACHABLE, NOT_READY),
        Ready::True | Ready::False => (NOT_READY, UNREACHABLE),
    }
}

fn is_no_execute(taint: &Taint, key: &str) -> bool {
    taint.effect == "NoExecute" && taint.key == key
}

/// Whether a node has the taint `NoExecute` of its condition, and the one of the other.
pub(super) fn no_execute_taints(node: &Node) -> (bool, bool) {
    let (own, opposite) = own_and_opposite(node);
    let has = |key: &str| taints_of(node).any(|taint| is_no_execute(taint, key));
    (has(own), has(opposite))
}

/// Whether a node has a taint `NoExecute` of a node that is not ready.
pub(super) fn has_no_execute(node: &Node) -> bool {
    taints_of(node).any(|taint| is_no_execute(taint, NOT_READY) || is_no_execute(taint, UNREACHABLE))
}

/// Whether the taints are what the conditions say, and the zone allows.
pub(super) fn is_in_line(node: &Node, no_execute: NoExecute, mutants: ControllerMutants) -> bool {
    let is_no_execute_in_line = match no_execute {
        NoExecute::AsItIs => true,
        NoExecute::Tainted => no_execute_taints(node) == (true, false),
        NoExecute::Cleared => !has_no_execute(node),
    };
    is_no_execute_in_line
        && wanted_keys(node).all(|key| has(node, key))
        && !taints_of(node).any(|taint| is_superfluous(taint, node, mutants))
}

/// How many taints come and go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TaintChange {
    pub(super) added: u64,
    pub(super) removed: u64,
    /// Of these, with effect `NoExecute`.
    pub(super) no_execute_added: u64,
    pub(super) no_execute_removed: u64,
}

/// The node with the taints that its conditions say. Those that are right stay as they are.
pub(super) fn brought_in_line(
    node: &Node,
    no_execute: NoExecute,
    mutants: ControllerMutants,
) -> (Node, TaintChange) {
    let mut added: Vec<Taint> =
        condition_taints(node).into_iter().filter(|taint| !has(node, &taint.key)).collect();
    let (own, opposite) = own_and_opposite(node);
    let goes = |taint: &Taint| match no_execute {
        NoExecute::AsItIs => false,
        NoExecute::Tainted => is_no_execute(taint, opposite),
        NoExecute::Cleared => is_no_execute(taint, own) || is_no_execute(taint, opposite),
    };
    let mut change = TaintChange::default();
    if no_execute == NoExecute::Tainted && !no_execute_taints(node).0 {
        let effect = "NoExecute".to_owned();
        added.push(Taint { key: own.to_owned(), effect, ..Taint::default() });
        change.no_execute_added = 1;
    }
    let mut changed = node.clone();
    let taints = changed.spec.get_or_insert_default().taints.get_or_insert_default();
    change.no_execute_removed = taints.iter().filter(|taint| goes(taint)).count() as u64;
    let before = taints.len();
    taints.retain(|taint| !goes(taint) && !is_superfluous(taint, node, mutants));
    change.added = added.len() as u64;
    change.removed = (before - taints.len()) as u64;
    taints.extend(added);
    (changed, change)
}
