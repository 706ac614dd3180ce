//! Nominated pods: room that was made for other pods is not given away.
//!
//! Upstream: framework/runtime/framework.go `RunFilterPluginsWithNominatedPods`.

use super::schedule::{FilterState, Search, all_rejections};
use super::{NaiveCluster, NaiveNode, NaivePod, Verdict};

/// The other pods nominated to a node that the pod must leave room for: those of no lower priority.
#[must_use]
pub fn nominated_before<'a>(cluster: &'a NaiveCluster, pod: &NaivePod, node: &str) -> Vec<&'a NaivePod> {
    cluster
        .nominated
        .iter()
        .filter(|other| other.meta.nominated_node_name.as_deref() == Some(node))
        .filter(|other| other.priority >= pod.priority && !other.is_same(pod))
        .collect()
}

/// The first rejection of a node: with the nominated pods on it, else without them. Without them,
/// because affinity may be to a nominated pod, and that may yet go elsewhere.
#[must_use]
pub fn rejection(search: &Search<'_>, state: &FilterState, node: &NaiveNode) -> Option<Verdict> {
    first_rejection(search, state, node, &search.profile.filter_plugins)
}

/// The same, by some of the plugins only.
#[must_use]
pub fn first_rejection(
    search: &Search<'_>,
    state: &FilterState,
    node: &NaiveNode,
    plugins: &[&'static str],
) -> Option<Verdict> {
    let Search { profile, cluster, pod, skip, .. } = search;
    let first = |state: &FilterState, node: &NaiveNode| {
        let rejections = all_rejections(profile, pod, state, node, skip);
        rejections.into_iter().find(|verdict| plugins.contains(&verdict.plugin))
    };
    let (mut full_state, mut full_node) = (state.clone(), node.clone());
    for other in nominated_before(cluster, pod, &node.input.name) {
        full_state.add_pod(pod, &mut full_node, other);
    }
    first(&full_state, &full_node).or_else(|| first(state, node))
}
