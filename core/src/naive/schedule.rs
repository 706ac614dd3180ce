//! A whole scheduling cycle, one pod and one node at a time.
//!
//! ```text
//! PreFilter: skips, node names, rejection
//!   -> Filter: nodes in rotation order, until enough are feasible
//!     -> PreScore: skips -> Score -> normalise -> weigh -> add -> pick
//! ```
//!
//! Upstream: pkg/scheduler/schedule_one.go, framework/runtime/framework.go.

use std::collections::{BTreeMap, BTreeSet};

use super::node_affinity::PreScore;
use super::node_resources_fit::{FitArgs, ResourceSpec, default_resources};
use super::{
    Code, NaiveCluster, NaiveNode, NaivePod, PreFilter, Verdict, image_locality, inter_pod_affinity,
    node_affinity, node_declared_features, node_name, node_ports, node_resources_balanced_allocation,
    node_resources_fit, node_unschedulable, node_volume_limits, nominated, normalize, normalize_reversed,
    pod_topology_spread, taint_toleration, volume_binding, volume_restrictions, volume_zone,
};
use crate::input::{NodeAffinityInput, PodInput};

#[cfg(test)]
mod tests;

/// At least so many feasible nodes are looked for, if there are as many.
const FEASIBLE_NODES_MIN: usize = 100;
/// At least so many percent of the nodes are looked for, when the percentage adapts.
const FEASIBLE_PERCENT_MIN: i64 = 5;

/// How to schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The plugins that run at PreFilter and Filter, in order.
    pub filter_plugins: Vec<&'static str>,
    /// The plugins that run at PreScore and Score, in order, and their weights.
    pub score_plugins: Vec<(&'static str, i64)>,
    /// How many percent of the nodes to find; 0 adapts to the size of the cluster.
    pub percentage_of_nodes_to_score: i32,
    /// Arguments of NodeResourcesFit.
    pub fit: FitArgs,
    /// What NodeResourcesBalancedAllocation looks at.
    pub balanced_resources: Vec<ResourceSpec>,
    /// `addedAffinity` of NodeAffinity. Its terms are taken as readable.
    pub added_affinity: Option<NodeAffinityInput>,
    /// Default constraints of PodTopologySpread.
    pub spread_defaulting: pod_topology_spread::Defaulting,
    /// Arguments of InterPodAffinity.
    pub inter_pod: inter_pod_affinity::InterPodArgs,
}

/// Which of several best nodes is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The first in the order in which they were found.
    First,
    /// The one that this random number falls on.
    Draw(u64),
}

/// Everything a cycle found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What PreFilter said.
    pub pre_filter: PreFilterOutcome,
    /// Rejections by Filter, by node name. Nodes that were not reached are absent.
    pub rejected: BTreeMap<String, Verdict>,
    /// Feasible nodes in the order in which they were found.
    pub feasible: Vec<String>,
    /// Where the next cycle starts to look.
    pub next_start: usize,
    /// Scores of the feasible nodes, in their order; empty when none is feasible. Upstream does
    /// not score a single feasible node.
    pub scores: Result<Vec<NodeScore>, ScoreError>,
    /// Plugins whose PreScore returned Skip.
    pub skip_score: BTreeSet<&'static str>,
    /// The feasible nodes of the highest total.
    pub ties: Vec<String>,
    /// The node taken.
    pub chosen: Option<String>,
    /// The pod's nominated node passed, and no other was looked at.
    pub via_nominated: bool,
    /// Plugins that rejected a node or narrowed the nodes.
    pub unschedulable_plugins: BTreeSet<&'static str>,
    /// The event's text when no node is feasible, without the part of PostFilter.
    pub message: Option<String>,
}

/// What the PreFilter plugins said together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreFilterOutcome {
    /// Plugins whose Filter does not run.
    pub skip: BTreeSet<&'static str>,
    /// Only nodes of these names are filtered.
    pub nodes: Option<BTreeSet<String>>,
    /// The plugins that narrowed the nodes.
    pub nodes_by: BTreeSet<&'static str>,
    /// No node will do.
    pub rejected: Option<Verdict>,
}

/// A feasible node's scores by plugin; skipped plugins are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeScore {
    /// The node.
    pub node: String,
    /// As the plugin gave it.
    pub raw: BTreeMap<&'static str, i64>,
    /// Normalised and weighed.
    pub weighted: BTreeMap<&'static str, i64>,
    /// The sum of the weighted scores.
    pub total: i64,
}

/// Scoring broke off: the pod is not scheduled, although nodes are feasible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoreError {
    /// Whose PreScore failed.
    pub plugin: &'static str,
}

impl Default for Profile {
    fn default() -> Profile {
        Profile {
            filter_plugins: vec![
                node_name::NAME,
                node_unschedulable::NAME,
                taint_toleration::NAME,
                node_affinity::NAME,
                node_ports::NAME,
                node_resources_fit::NAME,
                volume_restrictions::NAME,
                node_volume_limits::NAME,
                volume_binding::NAME,
                volume_zone::NAME,
                pod_topology_spread::NAME,
                inter_pod_affinity::NAME,
                node_declared_features::NAME,
            ],
            score_plugins: vec![
                (taint_toleration::NAME, 3),
                (node_affinity::NAME, 2),
                (node_resources_fit::NAME, 1),
                (volume_binding::NAME, 1),
                (pod_topology_spread::NAME, 2),
                (inter_pod_affinity::NAME, 2),
                (node_resources_balanced_allocation::NAME, 1),
                (image_locality::NAME, 1),
            ],
            percentage_of_nodes_to_score: 0,
            fit: FitArgs::default(),
            balanced_resources: default_resources(),
            added_affinity: None,
            spread_defaulting: pod_topology_spread::Defaulting::default(),
            inter_pod: inter_pod_affinity::InterPodArgs::default(),
        }
    }
}

/// Decides where a pod without a name or nomination goes; see [`schedule_pod`].
#[must_use]
pub fn schedule(
    profile: &Profile,
    cluster: &NaiveCluster,
    pod: &PodInput,
    start: usize,
    pick: Pick,
) -> Decision {
    schedule_pod(profile, cluster, &pod.clone().into(), start, pick)
}

/// Decides where a pod goes.
///
/// Differs: upstream runs workers side by side, so that how far it looks beyond the last node it
/// needs is a matter of luck. Here the search ends with that node, and the feasible nodes are the
/// first in rotation order. When PreFilter names nodes, upstream makes a list of them in random
/// order and applies the start index to that; here the list is in the order of the node list.
#[must_use]
pub fn schedule_pod(
    profile: &Profile,
    cluster: &NaiveCluster,
    pod: &NaivePod,
    start: usize,
    pick: Pick,
) -> Decision {
    let mut decision = Decision {
        pre_filter: PreFilterOutcome::default(),
        rejected: BTreeMap::new(),
        feasible: Vec::new(),
        next_start: start,
        scores: Ok(Vec::new()),
        skip_score: BTreeSet::new(),
        ties: Vec::new(),
        chosen: None,
        via_nominated: false,
        unschedulable_plugins: BTreeSet::new(),
        message: None,
    };
    if cluster.nodes.is_empty() {
        decision.message = Some("no nodes available to schedule pods".to_owned());
        return decision;
    }
    decision.pre_filter = run_pre_filter(profile, cluster, pod);
    if decision.pre_filter.rejected.is_none() {
        let search = Search::new(profile, cluster, pod, &decision.pre_filter.skip);
        try_nominated(&search, &mut decision);
        if !decision.via_nominated {
            find_feasible(&search, &mut decision);
        }
    }
    decision.unschedulable_plugins = unschedulable_plugins(&decision);
    if decision.feasible.is_empty() {
        decision.message = Some(fit_error(&decision, cluster.nodes.len()));
        return decision;
    }
    let nodes = nodes_named(cluster, &decision.feasible);
    let state = ScoreState::new(profile, cluster, pod, &nodes);
    decision.skip_score = skipped_scores(profile, pod, &state);
    decision.scores = score_nodes(profile, cluster, pod, &nodes);
    choose(&mut decision, pick);
    decision
}

/// What is the same for every node of a search.
#[derive(Clone, Debug)]
pub struct Search<'a> {
    /// How to schedule.
    pub profile: &'a Profile,
    /// Where.
    pub cluster: &'a NaiveCluster,
    /// What.
    pub pod: &'a NaivePod,
    /// Plugins whose Filter does not run.
    pub skip: BTreeSet<&'static str>,
    /// What PreFilter counted.
    pub state: FilterState,
}

impl<'a> Search<'a> {
    /// A search as it is after PreFilter.
    #[must_use]
    pub fn new(
        profile: &'a Profile,
        cluster: &'a NaiveCluster,
        pod: &'a NaivePod,
        skip: &BTreeSet<&'static str>,
    ) -> Search<'a> {
        let state = FilterState::new(profile, cluster, pod);
        Search { profile, cluster, pod, skip: skip.clone(), state }
    }
}

/// What PreFilter plugins counted over the cluster, for Filter. It follows pods that are thought
/// to be on a node, or not to be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterState {
    spread: Option<pod_topology_spread::Counts>,
    inter_pod: inter_pod_affinity::Counts,
    claims: volume_restrictions::ClaimUses,
}

impl FilterState {
    /// As PreFilter leaves it.
    #[must_use]
    pub fn new(profile: &Profile, cluster: &NaiveCluster, pod: &PodInput) -> FilterState {
        let has = |plugin| profile.filter_plugins.contains(&plugin);
        FilterState {
            spread: has(pod_topology_spread::NAME)
                .then(|| pod_topology_spread::pre_filter(&profile.spread_defaulting, cluster, pod))
                .flatten(),
            inter_pod: if has(inter_pod_affinity::NAME) {
                inter_pod_affinity::pre_filter(cluster, pod).1
            } else {
                inter_pod_affinity::Counts::default()
            },
            claims: volume_restrictions::claim_uses(cluster, pod),
        }
    }

    /// Puts another pod on the node, in the counts for `pod` too.
    pub fn add_pod(&mut self, pod: &PodInput, node: &mut NaiveNode, added: &NaivePod) {
        if let Some(spread) = &mut self.spread {
            spread.add_pod(pod, added, &node.input);
        }
        self.inter_pod.add_pod(pod, added, &node.input);
        self.claims.add_pod(added);
        node.add_pod(added.clone());
    }

    /// Takes a pod off the node, and out of the counts for `pod`.
    pub fn remove_pod(&mut self, pod: &PodInput, node: &mut NaiveNode, removed: &NaivePod) {
        if let Some(spread) = &mut self.spread {
            spread.remove_pod(pod, removed, &node.input);
        }
        self.inter_pod.remove_pod(pod, removed, &node.input);
        self.claims.remove_pod(removed);
        node.remove_pod(removed);
    }
}

/// What PreScore plugins found; none where one returned Skip.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreState {
    spread: Option<pod_topology_spread::ScoreState>,
    inter_pod: Option<inter_pod_affinity::Weights>,
}

impl ScoreState {
    /// As PreScore leaves it for these feasible nodes.
    #[must_use]
    pub fn new(
        profile: &Profile,
        cluster: &NaiveCluster,
        pod: &PodInput,
        feasible: &[&NaiveNode],
    ) -> ScoreState {
        let has = |plugin| profile.score_plugins.iter().any(|(name, _)| *name == plugin);
        let defaulting = &profile.spread_defaulting;
        ScoreState {
            spread: has(pod_topology_spread::NAME)
                .then(|| pod_topology_spread::pre_score(defaulting, cluster, pod, feasible))
                .flatten(),
            inter_pod: has(inter_pod_affinity::NAME)
                .then(|| inter_pod_affinity::pre_score(&profile.inter_pod, cluster, pod))
                .flatten(),
        }
    }
}

/// All PreFilter plugins in order, up to the first that rejects.
#[must_use]
pub fn run_pre_filter(profile: &Profile, cluster: &NaiveCluster, pod: &PodInput) -> PreFilterOutcome {
    let mut outcome = PreFilterOutcome::default();
    for plugin in &profile.filter_plugins {
        match pre_filter(plugin, profile, cluster, pod) {
            PreFilter::AllNodes => {}
            PreFilter::Skip => {
                outcome.skip.insert(plugin);
            }
            PreFilter::Reject(verdict) => {
                outcome.rejected = Some(verdict);
                return outcome;
            }
            PreFilter::Nodes(names) => {
                outcome.nodes_by.insert(plugin);
                let merged: BTreeSet<String> = match outcome.nodes.take() {
                    None => names,
                    Some(earlier) => earlier.intersection(&names).cloned().collect(),
                };
                if merged.is_empty() {
                    outcome.rejected = Some(disjoint(&outcome.nodes_by));
                    return outcome;
                }
                outcome.nodes = Some(merged);
            }
        }
    }
    outcome
}

/// Every rejection of a node by a plugin that is not skipped, in plugin order. Upstream stops at
/// the first.
#[must_use]
pub fn all_rejections(
    profile: &Profile,
    cluster: &NaiveCluster,
    pod: &PodInput,
    state: &FilterState,
    node: &NaiveNode,
    skip: &BTreeSet<&'static str>,
) -> Vec<Verdict> {
    profile
        .filter_plugins
        .iter()
        .filter(|plugin| !skip.contains(*plugin))
        .filter_map(|plugin| filter(plugin, profile, cluster, pod, state, node))
        .collect()
}

/// How many feasible nodes are enough.
///
/// Upstream: schedule_one.go `numFeasibleNodesToFind`.
#[must_use]
pub fn feasible_nodes_to_find(profile: &Profile, node_count: usize) -> usize {
    if profile.score_plugins.is_empty() {
        return 1;
    }
    if node_count < FEASIBLE_NODES_MIN {
        return node_count;
    }
    let percent = match i64::from(profile.percentage_of_nodes_to_score) {
        0 => (50 - node_count as i64 / 125).max(FEASIBLE_PERCENT_MIN),
        percent => percent,
    };
    let wanted = node_count as i64 * percent / 100;
    (wanted as usize).max(FEASIBLE_NODES_MIN)
}

pub(crate) fn pre_filter(
    plugin: &str,
    profile: &Profile,
    cluster: &NaiveCluster,
    pod: &PodInput,
) -> PreFilter {
    match plugin {
        volume_restrictions::NAME => volume_restrictions::pre_filter(cluster, pod),
        node_volume_limits::NAME => node_volume_limits::pre_filter(pod),
        volume_binding::NAME => volume_binding::pre_filter(cluster, pod),
        volume_zone::NAME => volume_zone::pre_filter(cluster, pod),
        node_declared_features::NAME => node_declared_features::pre_filter(pod),
        node_name::NAME => node_name::pre_filter(pod),
        node_affinity::NAME => node_affinity::pre_filter(pod, profile.added_affinity.as_ref()),
        node_ports::NAME => node_ports::pre_filter(pod),
        pod_topology_spread::NAME => {
            match pod_topology_spread::pre_filter(&profile.spread_defaulting, cluster, pod) {
                Some(_) => PreFilter::AllNodes,
                None => PreFilter::Skip,
            }
        }
        inter_pod_affinity::NAME => inter_pod_affinity::pre_filter(cluster, pod).0,
        _ => PreFilter::AllNodes,
    }
}

pub(crate) fn filter(
    plugin: &str,
    profile: &Profile,
    cluster: &NaiveCluster,
    pod: &PodInput,
    state: &FilterState,
    node: &NaiveNode,
) -> Option<Verdict> {
    match plugin {
        volume_restrictions::NAME => volume_restrictions::filter(&state.claims, pod, node),
        node_volume_limits::NAME => node_volume_limits::filter(cluster, pod, node),
        volume_binding::NAME => volume_binding::filter(cluster, pod, node),
        volume_zone::NAME => volume_zone::filter(cluster, pod, node),
        node_declared_features::NAME => node_declared_features::filter(pod, node),
        node_name::NAME => node_name::filter(pod, node),
        node_unschedulable::NAME => node_unschedulable::filter(pod, node),
        taint_toleration::NAME => taint_toleration::filter(pod, node),
        node_affinity::NAME => node_affinity::filter(pod, profile.added_affinity.as_ref(), node),
        node_ports::NAME => node_ports::filter(pod, node),
        node_resources_fit::NAME => node_resources_fit::filter(pod, &profile.fit, node),
        pod_topology_spread::NAME => {
            state.spread.as_ref().and_then(|counts| pod_topology_spread::filter(counts, pod, &node.input))
        }
        inter_pod_affinity::NAME => inter_pod_affinity::filter(&state.inter_pod, pod, &node.input),
        _ => panic!("{plugin} has no naive Filter"),
    }
}

fn disjoint(plugins: &BTreeSet<&'static str>) -> Verdict {
    let reason = match plugins.first() {
        Some(only) if plugins.len() == 1 => format!("node(s) didn't satisfy plugin {only}"),
        _ => format!("node(s) didn't satisfy plugin(s) {} simultaneously", go_list(plugins)),
    };
    Verdict::new("", Code::UnschedulableAndUnresolvable, reason)
}

/// Names as Go prints a list of them.
fn go_list(names: &BTreeSet<&'static str>) -> String {
    let names: Vec<&str> = names.iter().copied().collect();
    format!("[{}]", names.join(" "))
}

/// The pod's nominated node comes before all others, also when PreFilter did not name it.
fn try_nominated(search: &Search<'_>, decision: &mut Decision) {
    let Some(name) = &search.pod.meta.nominated_node_name else { return };
    let Some(node) = search.cluster.nodes.iter().find(|node| node.input.name == *name) else { return };
    decision.via_nominated = look_at(search, node, decision);
}

fn find_feasible(search: &Search<'_>, decision: &mut Decision) {
    let start = decision.next_start;
    let names = decision.pre_filter.nodes.as_ref();
    let nodes = &search.cluster.nodes;
    let candidates: Vec<&NaiveNode> =
        nodes.iter().filter(|node| names.is_none_or(|names| names.contains(&node.input.name))).collect();
    let wanted = feasible_nodes_to_find(search.profile, candidates.len());
    for offset in 0..candidates.len() {
        if decision.feasible.len() == wanted {
            break;
        }
        look_at(search, candidates[(start + offset) % candidates.len()], decision);
    }
    let processed = decision.feasible.len() + decision.rejected.len();
    decision.next_start = (start + processed) % nodes.len();
}

/// Filters a node and notes the answer.
fn look_at(search: &Search<'_>, node: &NaiveNode, decision: &mut Decision) -> bool {
    let name = node.input.name.clone();
    match nominated::rejection(search, &search.state, node) {
        Some(first) => {
            decision.rejected.insert(name, first);
            false
        }
        None => {
            decision.feasible.push(name);
            true
        }
    }
}

fn unschedulable_plugins(decision: &Decision) -> BTreeSet<&'static str> {
    let pre_filter = &decision.pre_filter;
    let verdicts = pre_filter.rejected.iter().chain(decision.rejected.values());
    let by_verdict = verdicts.map(|verdict| verdict.plugin);
    match &pre_filter.rejected {
        // A plugin that rejects all nodes is the only one to blame.
        Some(verdict) if !verdict.plugin.is_empty() => by_verdict.collect(),
        _ => by_verdict
            .chain(pre_filter.nodes_by.iter().copied())
            .filter(|plugin| !plugin.is_empty())
            .collect(),
    }
}

/// Upstream: framework/types.go `FitError.Error`.
fn fit_error(decision: &Decision, node_count: usize) -> String {
    let pre_filter = &decision.pre_filter;
    if let Some(verdict) = &pre_filter.rejected {
        let reasons = verdict.reasons.join(", ");
        return format!("0/{node_count} nodes are available: {reasons}.");
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for reason in decision.rejected.values().flat_map(|v| &v.reasons) {
        *counts.entry(reason.clone()).or_default() += 1;
    }
    let unfiltered = node_count - decision.rejected.len();
    if unfiltered > 0 && pre_filter.nodes.is_some() {
        let plugins = go_list(&pre_filter.nodes_by);
        let reason = format!("node(s) didn't satisfy plugin(s) {plugins}");
        *counts.entry(reason).or_default() += unfiltered;
    }
    let mut parts: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    parts.sort();
    let parts = parts.join(", ");
    format!("0/{node_count} nodes are available: {parts}.")
}

/// Plugins whose PreScore returns Skip.
#[must_use]
pub fn skipped_scores(profile: &Profile, pod: &PodInput, state: &ScoreState) -> BTreeSet<&'static str> {
    let added = profile.added_affinity.as_ref();
    let is_skipped = |plugin: &str| match plugin {
        node_affinity::NAME => node_affinity::pre_score(pod, added) == Ok(PreScore::Skip),
        node_resources_balanced_allocation::NAME => {
            node_resources_balanced_allocation::is_skipped(pod, &profile.balanced_resources)
        }
        pod_topology_spread::NAME => state.spread.is_none(),
        inter_pod_affinity::NAME => state.inter_pod.is_none(),
        _ => false,
    };
    let plugins = profile.score_plugins.iter().map(|(plugin, _)| *plugin);
    plugins.filter(|plugin| is_skipped(plugin)).collect()
}

fn nodes_named<'a>(cluster: &'a NaiveCluster, names: &[String]) -> Vec<&'a NaiveNode> {
    names.iter().filter_map(|name| cluster.nodes.iter().find(|node| node.input.name == *name)).collect()
}

/// Scores of feasible nodes, in their order.
///
/// # Errors
///
/// When a PreScore fails.
pub fn score_nodes(
    profile: &Profile,
    cluster: &NaiveCluster,
    pod: &PodInput,
    nodes: &[&NaiveNode],
) -> Result<Vec<NodeScore>, ScoreError> {
    let state = ScoreState::new(profile, cluster, pod, nodes);
    let skip = skipped_scores(profile, pod, &state);
    let names: Vec<&str> = nodes.iter().map(|node| node.input.name.as_str()).collect();
    let mut scores: Vec<NodeScore> =
        names.iter().map(|name| NodeScore { node: (*name).to_owned(), ..Default::default() }).collect();
    for (plugin, weight) in profile.score_plugins.iter().filter(|(plugin, _)| !skip.contains(plugin)) {
        let added = profile.added_affinity.as_ref();
        if *plugin == node_affinity::NAME && node_affinity::pre_score(pod, added).is_err() {
            return Err(ScoreError { plugin });
        }
        let raw: Vec<i64> =
            nodes.iter().map(|node| score(plugin, profile, cluster, pod, &state, node)).collect();
        let normal = normalized(plugin, &state, &names, &raw);
        for ((node, raw), normal) in scores.iter_mut().zip(&raw).zip(normal) {
            node.raw.insert(plugin, *raw);
            node.weighted.insert(plugin, normal * weight);
            node.total += normal * weight;
        }
    }
    Ok(scores)
}

pub(crate) fn score(
    plugin: &str,
    profile: &Profile,
    cluster: &NaiveCluster,
    pod: &PodInput,
    state: &ScoreState,
    node: &NaiveNode,
) -> i64 {
    match plugin {
        taint_toleration::NAME => taint_toleration::score(pod, node),
        node_affinity::NAME => node_affinity::score(pod, profile.added_affinity.as_ref(), node),
        node_resources_fit::NAME => node_resources_fit::score(pod, &profile.fit, node),
        node_resources_balanced_allocation::NAME => {
            node_resources_balanced_allocation::score(pod, &profile.balanced_resources, node)
        }
        image_locality::NAME => image_locality::score(pod, cluster, node),
        pod_topology_spread::NAME => {
            state.spread.as_ref().map_or(0, |spread| pod_topology_spread::score(spread, pod, node))
        }
        inter_pod_affinity::NAME => {
            state.inter_pod.as_ref().map_or(0, |weights| inter_pod_affinity::score(weights, &node.input))
        }
        volume_binding::NAME => volume_binding::score(cluster, pod, node),
        _ => panic!("{plugin} has no naive Score"),
    }
}

fn normalized(plugin: &str, state: &ScoreState, nodes: &[&str], raw: &[i64]) -> Vec<i64> {
    match plugin {
        taint_toleration::NAME => normalize_reversed(raw),
        node_affinity::NAME => normalize(raw),
        pod_topology_spread::NAME => match &state.spread {
            Some(spread) => pod_topology_spread::normalize(spread, nodes, raw),
            None => raw.to_vec(),
        },
        inter_pod_affinity::NAME => inter_pod_affinity::normalize(raw),
        _ => raw.to_vec(),
    }
}

fn choose(decision: &mut Decision, pick: Pick) {
    if let Ok(scores) = &decision.scores {
        let highest = scores.iter().map(|score| score.total).max();
        decision.ties = scores
            .iter()
            .filter(|score| Some(score.total) == highest)
            .map(|score| score.node.clone())
            .collect();
    } else if decision.feasible.len() == 1 {
        // Upstream takes a single feasible node without scoring it, so nothing can fail.
        decision.ties = decision.feasible.clone();
    }
    let position = match pick {
        Pick::First => 0,
        Pick::Draw(draw) => (draw % decision.ties.len().max(1) as u64) as usize,
    };
    decision.chosen = decision.ties.get(position).cloned();
}
