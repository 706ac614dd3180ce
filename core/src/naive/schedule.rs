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

use super::{NaiveCluster, NaiveNode, NaivePod, NaiveVerdict, nominated_pods};
use crate::framework::args::PluginArgs;
use crate::input::PodInput;
use crate::nominator::TryNominated;
use crate::plugins::IN_TREE;

mod filtering;
mod scoring;
#[cfg(test)]
mod tests;

use filtering::go_list;
pub use filtering::{FilterState, PreFilterOutcome, Search, all_rejections, run_pre_filter};
pub(crate) use filtering::{filter, pre_filter};
#[cfg(test)]
pub(crate) use scoring::score;
pub use scoring::{NaiveNodeScore, NaiveScoreState, ScoreError, score_nodes, score_nodes_keeping};

/// At least so many feasible nodes are looked for, if there are as many.
const FEASIBLE_NODES_MIN: usize = 100;
/// At least so many percent of the nodes are looked for, when the percentage adapts.
const FEASIBLE_PERCENT_MIN: i64 = 5;

/// How to schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct NaiveProfile {
    /// The plugins that run at PreFilter and Filter, in order.
    pub filter_plugins: Vec<&'static str>,
    /// The plugins that run at PreScore and Score, in order, and their weights.
    pub score_plugins: Vec<(&'static str, i64)>,
    /// How many percent of the nodes to find; 0 adapts to the size of the cluster.
    pub percentage_of_nodes_to_score: i32,
    /// Arguments of the plugins, by name.
    pub args: BTreeMap<&'static str, PluginArgs>,
    /// What becomes of a pod's own nominated node.
    pub try_nominated: TryNominated,
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
pub struct NaiveDecision {
    /// What PreFilter said.
    pub pre_filter: PreFilterOutcome,
    /// Rejections by Filter, by node name. Nodes that were not reached are absent.
    pub rejected: BTreeMap<String, NaiveVerdict>,
    /// Feasible nodes in the order in which they were found.
    pub feasible: Vec<String>,
    /// Where the next cycle starts to look.
    pub next_start: usize,
    /// Scores of the feasible nodes, in their order; empty when none is feasible. Upstream does
    /// not score a single feasible node.
    pub scores: Result<Vec<NaiveNodeScore>, ScoreError>,
    /// Plugins whose PreScore returned Skip.
    pub skip_score: BTreeSet<&'static str>,
    /// The feasible nodes of the highest total.
    pub ties: Vec<String>,
    /// The node taken.
    pub chosen: Option<String>,
    /// The pod's nominated node passed, and no other was looked at.
    pub via_nominated: bool,
    /// It did not pass, and no other was looked at.
    pub missed_nominated: bool,
    /// Plugins that rejected a node or narrowed the nodes.
    pub unschedulable_plugins: BTreeSet<&'static str>,
    /// The event's text when no node is feasible, without the part of PostFilter.
    pub message: Option<String>,
}

impl Default for NaiveProfile {
    fn default() -> NaiveProfile {
        NaiveProfile {
            filter_plugins: default_filters(),
            score_plugins: default_scores(),
            percentage_of_nodes_to_score: 0,
            args: IN_TREE.iter().map(|plugin| (plugin.name, (plugin.default_args)())).collect(),
            try_nominated: TryNominated::default(),
        }
    }
}

/// The plugins of the default profile that filter, in order.
fn default_filters() -> Vec<&'static str> {
    let enabled = IN_TREE.iter().filter(|plugin| plugin.default_weight.is_some());
    enabled.filter(|plugin| plugin.twin.filter.is_some()).map(|plugin| plugin.name).collect()
}

/// The plugins of the default profile that score, in order. Upstream takes no weight for a weight of 1.
fn default_scores() -> Vec<(&'static str, i64)> {
    let scoring = IN_TREE.iter().filter(|plugin| plugin.twin.score.is_some());
    scoring.filter_map(|plugin| Some((plugin.name, i64::from(plugin.default_weight?.max(1))))).collect()
}

impl NaiveProfile {
    /// The arguments of a plugin.
    ///
    /// # Panics
    ///
    /// When no such plugin ships with the engine.
    #[must_use]
    pub fn args(&self, plugin: &str) -> &PluginArgs {
        self.args.get(plugin).expect("arguments of a plugin in the tree")
    }
}

/// Decides where a pod without a name or nomination goes; see [`schedule_pod`].
#[must_use]
pub fn schedule(
    profile: &NaiveProfile,
    cluster: &NaiveCluster,
    pod: &PodInput,
    start: usize,
    pick: Pick,
) -> NaiveDecision {
    schedule_pod(profile, cluster, &pod.clone().into(), start, pick)
}

/// Decides where a pod goes.
///
/// Differs: upstream runs workers side by side, so that how far it looks beyond the last node it
/// needs is a matter of luck. Here the search ends with that node, and the feasible nodes are the
/// first in rotation order. When PreFilter names nodes, upstream makes a list of them in random
/// order and applies the start index to that; here the list is in the order of the node list
/// (`search_ends_at_num_feasible_nodes_to_find`).
#[must_use]
pub fn schedule_pod(
    profile: &NaiveProfile,
    cluster: &NaiveCluster,
    pod: &NaivePod,
    start: usize,
    pick: Pick,
) -> NaiveDecision {
    schedule_pod_within(profile, cluster, pod, start, (pick, None))
}

/// As [`schedule_pod`], with the nodes of a placement as candidates. Plugins see the whole cluster.
#[must_use]
pub fn schedule_pod_within(
    profile: &NaiveProfile,
    cluster: &NaiveCluster,
    pod: &NaivePod,
    start: usize,
    (pick, within): (Pick, Option<&BTreeSet<String>>),
) -> NaiveDecision {
    let is_inside = |node: &&NaiveNode| within.is_none_or(|names| names.contains(&node.input.name));
    let inside: Vec<&NaiveNode> = cluster.nodes.iter().filter(is_inside).collect();
    let mut decision = NaiveDecision {
        pre_filter: PreFilterOutcome::default(),
        rejected: BTreeMap::new(),
        feasible: Vec::new(),
        next_start: start,
        scores: Ok(Vec::new()),
        skip_score: BTreeSet::new(),
        ties: Vec::new(),
        chosen: None,
        via_nominated: false,
        missed_nominated: false,
        unschedulable_plugins: BTreeSet::new(),
        message: None,
    };
    if inside.is_empty() {
        decision.message = Some("no nodes available to schedule pods".to_owned());
        return decision;
    }
    decision.pre_filter = run_pre_filter(profile, cluster, pod);
    if decision.pre_filter.rejected.is_none() {
        let search = Search::new(profile, cluster, pod, &decision.pre_filter.skip);
        try_nominated(&search, &inside, &mut decision);
        if !decision.via_nominated && !decision.missed_nominated {
            find_feasible(&search, &inside, &mut decision);
        }
    }
    decision.unschedulable_plugins = unschedulable_plugins(&decision);
    if decision.feasible.is_empty() {
        decision.message = Some(fit_error(&decision, inside.len()));
        return decision;
    }
    let nodes = nodes_named(cluster, &decision.feasible);
    let state = NaiveScoreState::new(profile, cluster, pod, &nodes);
    decision.skip_score = state.skipped();
    decision.scores = score_nodes(profile, cluster, pod, &nodes);
    choose(&mut decision, pick);
    decision
}

/// How many feasible nodes are enough.
///
/// Upstream: schedule_one.go `numFeasibleNodesToFind`.
#[must_use]
pub fn feasible_nodes_to_find(profile: &NaiveProfile, node_count: usize) -> usize {
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

/// The pod's nominated node comes before all others, also when PreFilter did not name it.
fn try_nominated(search: &Search<'_>, nodes: &[&NaiveNode], decision: &mut NaiveDecision) {
    let Some(name) = &search.pod.meta.nominated_node_name else { return };
    if search.profile.try_nominated == TryNominated::Never {
        return;
    }
    let node = nodes.iter().find(|node| node.input.name == *name);
    decision.via_nominated = node.is_some_and(|node| look_at(search, node, decision));
    decision.missed_nominated =
        !decision.via_nominated && search.profile.try_nominated == TryNominated::FirstOrMiss;
}

fn find_feasible(search: &Search<'_>, nodes: &[&NaiveNode], decision: &mut NaiveDecision) {
    let start = decision.next_start;
    let names = decision.pre_filter.nodes.as_ref();
    let is_named = |node: &&NaiveNode| names.is_none_or(|names| names.contains(&node.input.name));
    let candidates: Vec<&NaiveNode> = nodes.iter().copied().filter(is_named).collect();
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
fn look_at(search: &Search<'_>, node: &NaiveNode, decision: &mut NaiveDecision) -> bool {
    let name = node.input.name.clone();
    match nominated_pods::rejection(search, &search.state, node) {
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

fn unschedulable_plugins(decision: &NaiveDecision) -> BTreeSet<&'static str> {
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
fn fit_error(decision: &NaiveDecision, node_count: usize) -> String {
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

fn nodes_named<'a>(cluster: &'a NaiveCluster, names: &[String]) -> Vec<&'a NaiveNode> {
    names.iter().filter_map(|name| cluster.nodes.iter().find(|node| node.input.name == *name)).collect()
}

fn choose(decision: &mut NaiveDecision, pick: Pick) {
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
