//! PreScore, Score and NormalizeScore: which plugin says what.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{NaiveCluster, NaiveNode, PreFilter, normalize, normalize_reversed};
use super::Profile;
use crate::input::PodInput;
use crate::plugins::image_locality::naive as image_locality;
use crate::plugins::inter_pod_affinity::naive as inter_pod_affinity;
use crate::plugins::node_affinity::naive as node_affinity;
use crate::plugins::node_affinity::naive::PreScore;
use crate::plugins::node_resources_balanced_allocation::naive as node_resources_balanced_allocation;
use crate::plugins::node_resources_fit::naive as node_resources_fit;
use crate::plugins::node_volume_limits::naive as node_volume_limits;
use crate::plugins::pod_topology_spread::naive as pod_topology_spread;
use crate::plugins::taint_toleration::naive as taint_toleration;
use crate::plugins::volume_binding::naive as volume_binding;

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

/// Plugins whose PreScore returns Skip.
#[must_use]
pub fn skipped_scores(profile: &Profile, pod: &PodInput, state: &ScoreState) -> BTreeSet<&'static str> {
    let added = profile.added_affinity.as_ref();
    let is_skipped = |plugin: &str| match plugin {
        node_affinity::NAME => node_affinity::pre_score(pod, added) == Ok(PreScore::Skip),
        node_resources_balanced_allocation::NAME => {
            let asks_for_volumes =
                profile.balanced_volumes && node_volume_limits::pre_filter(pod) != PreFilter::Skip;
            !asks_for_volumes
                && node_resources_balanced_allocation::is_skipped(pod, &profile.balanced_resources)
        }
        pod_topology_spread::NAME => state.spread.is_none(),
        inter_pod_affinity::NAME => state.inter_pod.is_none(),
        _ => false,
    };
    let plugins = profile.score_plugins.iter().map(|(plugin, _)| *plugin);
    plugins.filter(|plugin| is_skipped(plugin)).collect()
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
            let volumes =
                profile.balanced_volumes.then(|| node_volume_limits::volume_load(cluster, pod, node));
            node_resources_balanced_allocation::score_with_volumes(
                pod,
                &profile.balanced_resources,
                node,
                volumes.flatten(),
            )
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
