//! DefaultPreemption: which pods have to go so that a pod of higher priority can run.
//!
//! ```text
//! eligible? -> potential nodes: rejected as Unschedulable
//!   -> on each: all pods of lower priority go, then as many as possible come back
//!     -> the best of the candidates
//! ```
//!
//! Upstream: plugins/defaultpreemption/default_preemption.go, framework/preemption.

use std::cmp::Reverse;

use super::schedule::{NaiveDecision, NaiveProfile, Search};
use super::selector::Selector;
use super::{NaiveCluster, NaiveCode, NaiveNode, NaivePod, NaiveVerdict, nominated_pods};
use crate::input::{DisruptionBudgetInput, PreemptionPolicy};

pub mod cases;

/// How many candidates to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NaivePreemptionArgs {
    /// `minCandidateNodesPercentage`.
    pub candidates_min_percent: usize,
    /// `minCandidateNodesAbsolute`.
    pub candidates_min: usize,
}

impl Default for NaivePreemptionArgs {
    fn default() -> NaivePreemptionArgs {
        NaivePreemptionArgs { candidates_min_percent: 10, candidates_min: 100 }
    }
}

/// What preemption finds out, and would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NaivePreemption {
    /// Why the pod may not preempt, and nothing else was looked at.
    pub ineligible: Option<&'static str>,
    /// Nodes that evictions might help, in list order.
    pub potential_nodes: Vec<String>,
    /// Nodes that evictions help, in list order.
    pub candidates: Vec<NaiveCandidate>,
    /// Potential nodes that evictions do not help, and why not, in list order.
    pub failed: Vec<(String, NaiveVerdict)>,
    /// The best candidates, in list order. Upstream takes any of them; here it is the first.
    pub best: Vec<String>,
    /// Pods that lose their nomination, as `namespace/name`, in order of nomination.
    pub nominations_cleared: Vec<String>,
}

/// A node, and who has to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NaiveCandidate {
    /// The node.
    pub node: String,
    /// The victims, most important first.
    pub victims: Vec<NaivePod>,
    /// How many of them a budget protects.
    pub violations: usize,
}

/// What preemption does for a pod that no node was feasible for. The search for candidates begins
/// `offset` nodes into the potential ones; upstream draws it at random.
///
/// Differs: upstream dry-runs nodes side by side and may find more candidates than it asked for
/// (`naive_preemption_answers_every_case`).
#[must_use]
pub fn preempt(
    profile: &NaiveProfile,
    args: &NaivePreemptionArgs,
    cluster: &NaiveCluster,
    pod: &NaivePod,
    decision: &NaiveDecision,
    offset: usize,
) -> NaivePreemption {
    let mut found =
        NaivePreemption { ineligible: why_ineligible(cluster, pod, decision), ..Default::default() };
    if found.ineligible.is_some() {
        return found;
    }
    let is_potential = |node: &&NaiveNode| code_of(decision, &node.input.name) == NaiveCode::Unschedulable;
    let potential: Vec<&NaiveNode> = cluster.nodes.iter().filter(is_potential).collect();
    found.potential_nodes = potential.iter().map(|node| node.input.name.clone()).collect();
    let search = Search::new(profile, cluster, pod, &decision.pre_filter.skip);
    let wanted = candidates_to_find(args, potential.len());
    for at in 0..potential.len() {
        let node = potential[(offset + at) % potential.len()];
        match victims_on(&search, node) {
            Ok(candidate) => {
                let is_alike = |it: &&NaiveCandidate| (it.violations == 0) == (candidate.violations == 0);
                if found.candidates.iter().filter(is_alike).count() < wanted {
                    found.candidates.push(candidate);
                }
            }
            Err(verdict) => found.failed.push((node.input.name.clone(), verdict)),
        }
        let has_harmless = found.candidates.iter().any(|candidate| candidate.violations == 0);
        if has_harmless && found.candidates.len() >= wanted {
            break;
        }
    }
    let place = |name: &String| found.potential_nodes.iter().position(|node| node == name);
    found.candidates.sort_by_key(|candidate| place(&candidate.node));
    found.failed.sort_by_key(|(node, _)| place(node));
    found.best = best(&found.candidates);
    found.nominations_cleared = nominations_cleared(cluster, pod, found.best.first());
    found
}

/// How many candidates are enough.
#[must_use]
pub fn candidates_to_find(args: &NaivePreemptionArgs, potential_count: usize) -> usize {
    let share = potential_count * args.candidates_min_percent / 100;
    share.max(args.candidates_min).min(potential_count)
}

/// A pod waits while victims of an earlier preemption are on their way out.
fn why_ineligible(cluster: &NaiveCluster, pod: &NaivePod, decision: &NaiveDecision) -> Option<&'static str> {
    if pod.preemption == PreemptionPolicy::Never {
        return Some("not eligible due to preemptionPolicy=Never.");
    }
    let nominated = pod.meta.nominated_node_name.as_ref()?;
    if code_of(decision, nominated) == NaiveCode::UnschedulableAndUnresolvable {
        return None;
    }
    let node = cluster.nodes.iter().find(|node| node.input.name == *nominated)?;
    let is_leaving = |other: &NaivePod| {
        other.priority < pod.priority && other.meta.is_terminating && other.meta.is_preempted
    };
    node.pods.iter().any(is_leaving).then_some("not eligible due to a terminating pod on the nominated node.")
}

/// Why a node is not feasible. Nodes that were not filtered cannot be helped, unless PreFilter
/// rejected them all.
fn code_of(decision: &NaiveDecision, node: &str) -> NaiveCode {
    let verdict = decision.rejected.get(node).or(decision.pre_filter.rejected.as_ref());
    verdict.map_or(NaiveCode::UnschedulableAndUnresolvable, |verdict| verdict.code)
}

/// Who has to go from a node. Pods come back in order of importance, those that a budget protects
/// before the others; each stays if the pod still fits.
fn victims_on(search: &Search<'_>, node: &NaiveNode) -> Result<NaiveCandidate, NaiveVerdict> {
    let (mut state, mut node) = (search.state.clone(), node.clone());
    let pod = search.pod;
    let mut all: Vec<NaivePod> =
        node.pods.iter().filter(|other| other.priority < pod.priority).cloned().collect();
    if all.is_empty() {
        let reason = "No preemption victims found for incoming pod";
        return Err(NaiveVerdict::new("", NaiveCode::UnschedulableAndUnresolvable, reason));
    }
    for other in &all {
        state.remove_pod(pod, &mut node, other);
    }
    if let Some(verdict) = nominated_pods::rejection(search, &state, &node) {
        return Err(verdict);
    }
    all.sort_by_key(importance);
    let (protected, others) = split_by_budgets(&all, &search.cluster.budgets);
    let mut victims = Vec::new();
    let mut violations = 0;
    for (at, other) in protected.iter().chain(&others).enumerate() {
        state.add_pod(pod, &mut node, other);
        if nominated_pods::rejection(search, &state, &node).is_some() {
            state.remove_pod(pod, &mut node, other);
            victims.push(other.clone());
            violations += usize::from(at < protected.len());
        }
    }
    if victims.is_empty() {
        // Then the pod fits as things are, and Filter was wrong to reject the node.
        let reason = format!("expected at least one victim pod on node \"{}\"", node.input.name);
        return Err(NaiveVerdict::new("", NaiveCode::Unschedulable, reason));
    }
    victims.sort_by_key(importance);
    Ok(NaiveCandidate { node: node.input.name, victims, violations })
}

/// Higher priority first, then who started earlier. A pod that has not started is the youngest.
fn importance(pod: &NaivePod) -> (Reverse<i32>, i64) {
    (Reverse(pod.priority), start_time_s(pod))
}

pub(super) fn start_time_s(pod: &NaivePod) -> i64 {
    pod.meta.start_time_s.unwrap_or(i64::MAX)
}

/// The pods whose eviction a budget does not allow, and the others. Each pod uses up some of its
/// budgets before the next is asked about.
///
/// Upstream: framework/preemption/util.go `FilterVictimsWithPDBViolation`.
fn split_by_budgets(pods: &[NaivePod], budgets: &[DisruptionBudgetInput]) -> (Vec<NaivePod>, Vec<NaivePod>) {
    let mut budgets = BudgetUse::new(budgets);
    pods.iter().cloned().partition(|pod| budgets.is_violating(pod))
}

/// How many disruptions budgets still allow while pods are asked about one after another.
pub(super) struct BudgetUse<'a> {
    budgets: &'a [DisruptionBudgetInput],
    allowed: Vec<i32>,
}

impl BudgetUse<'_> {
    pub(super) fn new(budgets: &[DisruptionBudgetInput]) -> BudgetUse<'_> {
        BudgetUse { budgets, allowed: budgets.iter().map(|budget| budget.disruptions_allowed).collect() }
    }

    /// Uses up some of the pod's budgets, up to the first that does not allow its eviction.
    pub(super) fn is_violating(&mut self, pod: &NaivePod) -> bool {
        for (budget, allowed) in self.budgets.iter().zip(&mut self.allowed) {
            if covers(budget, pod) {
                *allowed -= 1;
                if *allowed < 0 {
                    return true;
                }
            }
        }
        false
    }
}

/// An empty selector covers nothing, nor does any selector cover a pod without labels, or one that
/// is already being evicted.
fn covers(budget: &DisruptionBudgetInput, pod: &NaivePod) -> bool {
    let selector = Selector::read(budget.selector.as_ref()).unwrap_or(Selector::Nothing);
    budget.namespace == pod.namespace
        && !pod.labels.is_empty()
        && !selector.is_empty()
        && selector.matches(&pod.labels)
        && !budget.disrupted_pods.contains(&pod.meta.name)
}

/// The candidates that are best by all criteria, each asked only of those equal by the ones before.
fn best(candidates: &[NaiveCandidate]) -> Vec<String> {
    let score = |candidate: &NaiveCandidate| {
        let priorities = || candidate.victims.iter().map(|victim| i64::from(victim.priority));
        let highest = priorities().max();
        let of_highest = candidate.victims.iter().filter(|pod| Some(i64::from(pod.priority)) == highest);
        let earliest = of_highest.map(start_time_s).min();
        // Every victim counts for more than nothing, however low its priority.
        let sum: i64 = priorities().map(|priority| priority + (1 << 31)).sum();
        (candidate.violations, highest, sum, candidate.victims.len(), Reverse(earliest))
    };
    let lowest = candidates.iter().map(score).min();
    candidates.iter().filter(|it| Some(score(it)) == lowest).map(|it| it.node.clone()).collect()
}

/// Pods of lower priority lose their nomination to the chosen node; without a node, the pod loses
/// its own.
fn nominations_cleared(cluster: &NaiveCluster, pod: &NaivePod, chosen: Option<&String>) -> Vec<String> {
    let is_cleared = |other: &&NaivePod| match chosen {
        Some(node) => other.meta.nominated_node_name.as_ref() == Some(node) && other.priority < pod.priority,
        None => other.is_same(pod),
    };
    let cleared = cluster.nominated.iter().filter(is_cleared);
    cleared.map(|other| format!("{}/{}", other.namespace, other.meta.name)).collect()
}
