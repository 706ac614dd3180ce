//! PreScore, Score and NormalizeScore, by the twins of the profile's plugins.

use std::collections::{BTreeMap, BTreeSet};

use super::super::plugin_twin::{Asked, NaivePreScore, ScoreTwin};
use super::super::{NaiveCluster, NaiveNode};
use super::NaiveProfile;
use crate::input::PodInput;
use crate::plugins::descriptor;

/// A feasible node's scores by plugin; skipped plugins are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NaiveNodeScore {
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

/// What PreScore plugins found.
#[derive(Debug)]
pub struct NaiveScoreState {
    by_plugin: BTreeMap<&'static str, NaivePreScore>,
}

impl NaiveScoreState {
    /// As PreScore leaves it for these feasible nodes.
    #[must_use]
    pub fn new(
        profile: &NaiveProfile,
        cluster: &NaiveCluster,
        pod: &PodInput,
        feasible: &[&NaiveNode],
    ) -> NaiveScoreState {
        let asked = Asked { profile, cluster, pod };
        let found = |&(plugin, _): &(&'static str, i64)| (plugin, (twin(plugin).pre_score)(asked, feasible));
        NaiveScoreState { by_plugin: profile.score_plugins.iter().map(found).collect() }
    }

    /// Plugins whose PreScore returns Skip.
    #[must_use]
    pub fn skipped(&self) -> BTreeSet<&'static str> {
        let skipped = self.by_plugin.iter().filter(|(_, found)| matches!(found, NaivePreScore::Skip));
        skipped.map(|(plugin, _)| *plugin).collect()
    }
}

fn twin(plugin: &str) -> &'static ScoreTwin {
    let twin = descriptor(plugin).and_then(|descriptor| descriptor.twin.score.as_ref());
    twin.unwrap_or_else(|| panic!("{plugin} has no naive Score"))
}

/// Scores of feasible nodes, in their order.
///
/// # Errors
///
/// When a PreScore fails.
pub fn score_nodes(
    profile: &NaiveProfile,
    cluster: &NaiveCluster,
    pod: &PodInput,
    nodes: &[&NaiveNode],
) -> Result<Vec<NaiveNodeScore>, ScoreError> {
    score_nodes_keeping(profile, cluster, pod, nodes, &BTreeMap::new())
}

/// The same, with raw scores that some nodes have already.
///
/// # Errors
///
/// When a PreScore fails.
pub fn score_nodes_keeping(
    profile: &NaiveProfile,
    cluster: &NaiveCluster,
    pod: &PodInput,
    nodes: &[&NaiveNode],
    kept: &BTreeMap<String, BTreeMap<&'static str, i64>>,
) -> Result<Vec<NaiveNodeScore>, ScoreError> {
    let state = NaiveScoreState::new(profile, cluster, pod, nodes);
    let asked = Asked { profile, cluster, pod };
    let names: Vec<&str> = nodes.iter().map(|node| node.input.name.as_str()).collect();
    let mut scores: Vec<NaiveNodeScore> =
        names.iter().map(|name| NaiveNodeScore { node: (*name).to_owned(), ..Default::default() }).collect();
    for (plugin, weight) in &profile.score_plugins {
        let found = &state.by_plugin[plugin];
        match found {
            NaivePreScore::Skip => continue,
            NaivePreScore::Fail => return Err(ScoreError { plugin }),
            NaivePreScore::Run(_) => {}
        }
        let kept_raw = |node: &NaiveNode| kept.get(&node.input.name)?.get(plugin).copied();
        let raw_of = |node: &&NaiveNode| kept_raw(node).unwrap_or_else(|| score(plugin, asked, &state, node));
        let raw: Vec<i64> = nodes.iter().map(raw_of).collect();
        let normal = (twin(plugin).normalize)(found, &names, &raw);
        for ((node, raw), normal) in scores.iter_mut().zip(&raw).zip(normal) {
            node.raw.insert(plugin, *raw);
            node.weighted.insert(plugin, normal * weight);
            node.total += normal * weight;
        }
    }
    Ok(scores)
}

pub(crate) fn score(plugin: &str, asked: Asked<'_>, state: &NaiveScoreState, node: &NaiveNode) -> i64 {
    (twin(plugin).score)(asked, &state.by_plugin[plugin], node)
}
