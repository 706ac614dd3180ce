//! PodTopologySpread: pods that a selector matches are to be even over the domains of a topology.
//!
//! Upstream: plugins/podtopologyspread/{common,filtering,scoring}.go, plugins/helper/spread.go.
//!
//! Differs: a selector that cannot be read selects nothing; upstream ends the cycle with an error.
//! The API server refuses such pods (`unreadable_cases`).

use std::collections::{BTreeMap, BTreeSet};

use super::NAME;
use crate::input::{Labels, NodeInput, PodInput, SpreadConstraintInput};
use crate::naive::selector::Selector;
use crate::naive::{NODE_SCORE_MAX, NaiveCluster, NaiveCode, NaiveNode, NaivePod, NaiveVerdict};
use crate::plugins::node_affinity::naive::is_selected;
use crate::plugins::taint_toleration::naive as taint_toleration;

const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";
pub(super) const TOO_SKEWED: &str = "node(s) didn't match pod topology spread constraints";
pub(super) const NO_LABEL: &str =
    "node(s) didn't match pod topology spread constraints (missing required label)";

/// What spreads pods without constraints of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NaiveDefaulting {
    /// `System`: softly, over nodes and zones.
    #[default]
    System,
    /// `List`: by these constraints, which have no selectors.
    List(Vec<SpreadConstraintInput>),
}

/// A constraint with its selector read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    max_skew: i64,
    topology_key: String,
    selector: Selector,
    min_domains: usize,
    ignore_node_affinity: bool,
    honor_node_taints: bool,
}

/// What PreFilter finds: how many pods match in each domain, for each hard constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NaiveSpreadCounts {
    constraints: Vec<Constraint>,
    /// By constraint, then by the domain's value.
    by_domain: Vec<BTreeMap<String, i64>>,
}

/// Counts the pods that hard constraints look at. None means Skip: there are no such constraints.
#[must_use]
pub fn pre_filter(
    defaulting: &NaiveDefaulting,
    cluster: &NaiveCluster,
    pod: &PodInput,
) -> Option<NaiveSpreadCounts> {
    let constraints = constraints(defaulting, cluster, pod, Action::DoNotSchedule);
    if constraints.is_empty() {
        return None;
    }
    let mut by_domain = vec![BTreeMap::new(); constraints.len()];
    for node in &cluster.nodes {
        if !has_all_keys(&node.input.labels, &constraints) {
            continue;
        }
        for (constraint, counts) in constraints.iter().zip(&mut by_domain) {
            if includes(constraint, pod, &node.input) {
                let domain = node.input.labels[&constraint.topology_key].clone();
                *counts.entry(domain).or_default() += matching(node, &constraint.selector, pod);
            }
        }
    }
    Some(NaiveSpreadCounts { constraints, by_domain })
}

impl NaiveSpreadCounts {
    /// Counts another pod on the node.
    ///
    /// Unlike PreFilter, upstream does not look here whether the pod is terminating, and an empty
    /// selector does match.
    pub fn add_pod(&mut self, pod: &PodInput, added: &PodInput, node: &NodeInput) {
        self.change(pod, added, node, 1);
    }

    /// Discounts a pod on the node, also one that PreFilter did not count.
    pub fn remove_pod(&mut self, pod: &PodInput, removed: &PodInput, node: &NodeInput) {
        self.change(pod, removed, node, -1);
    }

    /// Upstream: filtering.go `updateWithPod`.
    fn change(&mut self, pod: &PodInput, other: &PodInput, node: &NodeInput, by: i64) {
        if other.namespace != pod.namespace || !has_all_keys(&node.labels, &self.constraints) {
            return;
        }
        for (constraint, counts) in self.constraints.iter().zip(&mut self.by_domain) {
            if constraint.selector.matches(&other.labels) && includes(constraint, pod, node) {
                let domain = node.labels[&constraint.topology_key].clone();
                *counts.entry(domain).or_default() += by;
            }
        }
    }

    /// The fewest pods in a domain; 0 when there are fewer domains than there should be.
    ///
    /// Upstream keeps only the two lowest domains as pods come and go. That is enough, because all
    /// pods of one question come and go on one node.
    fn fewest(&self, at: usize) -> i64 {
        let counts = &self.by_domain[at];
        if counts.len() < self.constraints[at].min_domains {
            return 0;
        }
        counts.values().copied().min().unwrap_or(i64::from(i32::MAX))
    }
}

/// Rejects a node without the label of a hard constraint, or where the pod would make a domain
/// exceed the emptiest one by more than the skew allowed.
#[must_use]
pub fn filter(counts: &NaiveSpreadCounts, pod: &PodInput, node: &NodeInput) -> Option<NaiveVerdict> {
    for (at, constraint) in counts.constraints.iter().enumerate() {
        let Some(domain) = node.labels.get(&constraint.topology_key) else {
            return Some(NaiveVerdict::new(NAME, NaiveCode::UnschedulableAndUnresolvable, NO_LABEL));
        };
        let in_domain = counts.by_domain[at].get(domain).copied().unwrap_or(0);
        let itself = i64::from(constraint.selector.matches(&pod.labels));
        if in_domain + itself - counts.fewest(at) > constraint.max_skew {
            return Some(NaiveVerdict::new(NAME, NaiveCode::Unschedulable, TOO_SKEWED));
        }
    }
    None
}

/// What PreScore finds, for the soft constraints.
#[derive(Clone, Debug, PartialEq)]
pub struct NaiveSpreadScoreState {
    constraints: Vec<Constraint>,
    /// Feasible nodes that lack a constraint's key.
    ignored: BTreeSet<String>,
    /// By constraint, then by the domains of feasible nodes. Empty for `kubernetes.io/hostname`:
    /// Score counts on the node.
    by_domain: Vec<BTreeMap<String, i64>>,
    /// By constraint: the more domains, the more a pod in one of them weighs.
    weights: Vec<f64>,
}

/// Counts the pods that soft constraints look at. None means Skip: there are no such constraints.
#[must_use]
pub fn pre_score(
    defaulting: &NaiveDefaulting,
    cluster: &NaiveCluster,
    pod: &PodInput,
    feasible: &[&NaiveNode],
) -> Option<NaiveSpreadScoreState> {
    let constraints = constraints(defaulting, cluster, pod, Action::ScheduleAnyway);
    if constraints.is_empty() {
        return None;
    }
    // With the system's constraints, nodes without a zone are still spread over by name.
    let needs_all_keys = !pod.spread_constraints.is_empty() || *defaulting != NaiveDefaulting::System;
    let is_ignored = |node: &NaiveNode| needs_all_keys && !has_all_keys(&node.input.labels, &constraints);
    let counted: Vec<&NaiveNode> = feasible.iter().copied().filter(|node| !is_ignored(node)).collect();
    let mut by_domain = Vec::new();
    let mut weights = Vec::new();
    for constraint in &constraints {
        let key = &constraint.topology_key;
        let mut counts: BTreeMap<String, i64> = BTreeMap::new();
        if key != HOSTNAME {
            counts.extend(counted.iter().map(|node| (domain(node, key), 0)));
            for node in cluster.nodes.iter().filter(|node| !is_ignored(node)) {
                if includes(constraint, pod, &node.input)
                    && let Some(count) = counts.get_mut(&domain(node, key))
                {
                    *count += matching(node, &constraint.selector, pod);
                }
            }
        }
        let domain_count = if key == HOSTNAME { counted.len() } else { counts.len() };
        weights.push(((domain_count + 2) as f64).ln());
        by_domain.push(counts);
    }
    let ignored = feasible.iter().filter(|node| is_ignored(node)).map(|node| node.input.name.clone());
    let ignored = ignored.collect();
    Some(NaiveSpreadScoreState { constraints, ignored, by_domain, weights })
}

/// How many pods are in the node's domains, weighed: fewer is better.
#[must_use]
pub fn score(state: &NaiveSpreadScoreState, pod: &PodInput, node: &NaiveNode) -> i64 {
    if state.ignored.contains(&node.input.name) {
        return 0;
    }
    let mut score = 0.0;
    for (at, constraint) in state.constraints.iter().enumerate() {
        let Some(domain) = node.input.labels.get(&constraint.topology_key) else { continue };
        let count = if constraint.topology_key == HOSTNAME {
            matching(node, &constraint.selector, pod)
        } else {
            state.by_domain[at][domain]
        };
        score += count as f64 * state.weights[at] + (constraint.max_skew - 1) as f64;
    }
    score.round() as i64
}

/// Turns scores round; nodes that lack a key get 0. `nodes` names the nodes of `raw`.
#[must_use]
pub fn normalize(state: &NaiveSpreadScoreState, nodes: &[&str], raw: &[i64]) -> Vec<i64> {
    let is_ignored = |node: &str| state.ignored.contains(node);
    let counted = || nodes.iter().zip(raw).filter(|(node, _)| !is_ignored(node)).map(|(_, raw)| *raw);
    let lowest = counted().min().unwrap_or(0);
    let highest = counted().max().unwrap_or(0);
    let normal = |(node, raw): (&&str, &i64)| {
        if is_ignored(node) {
            0
        } else if highest == 0 {
            NODE_SCORE_MAX
        } else {
            NODE_SCORE_MAX * (highest + lowest - raw) / highest
        }
    };
    nodes.iter().zip(raw).map(normal).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    DoNotSchedule,
    ScheduleAnyway,
}

/// The pod's constraints of a kind, or the default ones when the pod has none of either kind.
fn constraints(
    defaulting: &NaiveDefaulting,
    cluster: &NaiveCluster,
    pod: &PodInput,
    action: Action,
) -> Vec<Constraint> {
    let of_kind = |it: &&SpreadConstraintInput| it.schedule_anyway == (action == Action::ScheduleAnyway);
    if !pod.spread_constraints.is_empty() {
        return pod.spread_constraints.iter().filter(of_kind).map(|it| own_constraint(it, pod)).collect();
    }
    let selector = default_selector(cluster, pod);
    if selector.is_empty() {
        return Vec::new();
    }
    let defaults = match defaulting {
        NaiveDefaulting::System => system_constraints(),
        NaiveDefaulting::List(list) => list.clone(),
    };
    defaults.iter().filter(of_kind).map(|it| constraint(it, selector.clone())).collect()
}

fn system_constraints() -> Vec<SpreadConstraintInput> {
    let soft = |topology_key: &str, max_skew| SpreadConstraintInput {
        max_skew,
        topology_key: topology_key.to_owned(),
        schedule_anyway: true,
        ..Default::default()
    };
    vec![soft(HOSTNAME, 3), soft(ZONE, 5)]
}

/// Whatever of `matchLabelKeys` the pod has is asked for as well. The API server may have merged it
/// into the selector already: asking twice changes nothing.
fn own_constraint(input: &SpreadConstraintInput, pod: &PodInput) -> Constraint {
    let selector = Selector::read(input.label_selector.as_ref()).unwrap_or(Selector::Nothing);
    let keys = input.match_label_keys.iter();
    let labels = keys.filter_map(|key| Some((key.clone(), pod.labels.get(key)?.clone())));
    constraint(input, selector.and(Selector::from_labels(&labels.collect())))
}

fn constraint(input: &SpreadConstraintInput, selector: Selector) -> Constraint {
    Constraint {
        max_skew: i64::from(input.max_skew),
        topology_key: input.topology_key.clone(),
        selector,
        min_domains: usize::try_from(input.min_domains.unwrap_or(1)).unwrap_or(0),
        ignore_node_affinity: input.ignore_node_affinity,
        honor_node_taints: input.honor_node_taints,
    }
}

/// Selects the pods of the services and of the workload that the pod belongs to.
fn default_selector(cluster: &NaiveCluster, pod: &PodInput) -> Selector {
    let mut labels = Labels::new();
    let services = cluster.services.iter().filter(|service| service.namespace == pod.namespace);
    for selector in services.filter_map(|service| service.selector.as_ref()) {
        if Selector::from_labels(selector).matches(&pod.labels) {
            labels.extend(selector.clone());
        }
    }
    let workload = cluster.workloads.iter().find(|workload| {
        let Some(owner) = &pod.controller else { return false };
        (owner.api_version.as_str(), owner.kind.as_str()) == workload.kind.type_names()
            && owner.name == workload.name
            && pod.namespace == workload.namespace
    });
    let Some(workload) = workload else { return Selector::from_labels(&labels) };
    if workload.kind == crate::input::WorkloadKind::ReplicationController {
        // Its labels replace a service's: a map, not requirements.
        labels.extend(workload.selector.iter().flat_map(|it| it.match_labels.clone()));
        return Selector::from_labels(&labels);
    }
    // Without a selector, or with one that does not parse, nothing is added.
    let added = workload.selector.as_ref().and_then(|selector| Selector::read(Some(selector)).ok());
    match added {
        Some(selector) => Selector::from_labels(&labels).and(selector),
        None => Selector::from_labels(&labels),
    }
}

fn has_all_keys(labels: &Labels, constraints: &[Constraint]) -> bool {
    constraints.iter().all(|constraint| labels.contains_key(&constraint.topology_key))
}

/// Whether pods on the node count, by the constraint's policies.
fn includes(constraint: &Constraint, pod: &PodInput, node: &NodeInput) -> bool {
    let affinity_fits = constraint.ignore_node_affinity || is_selected(pod, node);
    let taints_fit = !constraint.honor_node_taints || taint_toleration::is_admitted(pod, node);
    affinity_fits && taints_fit
}

/// The node's value of a key; a node without it is in the domain of the empty value.
fn domain(node: &NaiveNode, key: &str) -> String {
    node.input.labels.get(key).cloned().unwrap_or_default()
}

/// How many pods of the node match. An empty selector matches none of them, and pods that are
/// about to go do not count.
fn matching(node: &NaiveNode, selector: &Selector, pod: &PodInput) -> i64 {
    if selector.is_empty() {
        return 0;
    }
    let is_counted = |other: &&NaivePod| !other.is_terminating && other.namespace == pod.namespace;
    node.pods.iter().filter(is_counted).filter(|other| selector.matches(&other.labels)).count() as i64
}
