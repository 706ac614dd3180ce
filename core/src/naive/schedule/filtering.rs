//! PreFilter and Filter: which plugin says what, and what they count for each other.

use std::collections::BTreeSet;

use super::super::{Code, NaiveCluster, NaiveNode, NaivePod, PreFilter, Verdict};
use super::Profile;
use crate::input::PodInput;
use crate::plugins::inter_pod_affinity::naive as inter_pod_affinity;
use crate::plugins::node_affinity::naive as node_affinity;
use crate::plugins::node_declared_features::naive as node_declared_features;
use crate::plugins::node_name::naive as node_name;
use crate::plugins::node_ports::naive as node_ports;
use crate::plugins::node_resources_fit::naive as node_resources_fit;
use crate::plugins::node_unschedulable::naive as node_unschedulable;
use crate::plugins::node_volume_limits::naive as node_volume_limits;
use crate::plugins::pod_topology_spread::naive as pod_topology_spread;
use crate::plugins::taint_toleration::naive as taint_toleration;
use crate::plugins::volume_binding::naive as volume_binding;
use crate::plugins::volume_restrictions::naive as volume_restrictions;
use crate::plugins::volume_zone::naive as volume_zone;

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
pub(super) fn go_list(names: &BTreeSet<&'static str>) -> String {
    let names: Vec<&str> = names.iter().copied().collect();
    format!("[{}]", names.join(" "))
}
