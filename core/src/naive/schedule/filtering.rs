//! PreFilter and Filter, by the twins of the profile's plugins.

use std::collections::{BTreeMap, BTreeSet};

use super::super::plugin_twin::{Asked, FilterTwin, NaiveCounted};
use super::super::{NaiveCluster, NaiveCode, NaiveNode, NaivePod, NaivePreFilter, NaiveVerdict};
use super::NaiveProfile;
use crate::input::PodInput;
use crate::plugins::descriptor;

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
    pub rejected: Option<NaiveVerdict>,
}

/// What is the same for every node of a search.
#[derive(Clone, Debug)]
pub struct Search<'a> {
    /// How to schedule.
    pub profile: &'a NaiveProfile,
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
        profile: &'a NaiveProfile,
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
#[derive(Clone, Debug)]
pub struct FilterState {
    by_plugin: BTreeMap<&'static str, NaiveCounted>,
}

impl FilterState {
    /// As PreFilter leaves it.
    #[must_use]
    pub fn new(profile: &NaiveProfile, cluster: &NaiveCluster, pod: &PodInput) -> FilterState {
        let asked = Asked { profile, cluster, pod };
        let count = |&plugin: &&'static str| (plugin, (twin(plugin).count)(asked));
        FilterState { by_plugin: profile.filter_plugins.iter().map(count).collect() }
    }

    /// Puts another pod on the node, in the counts for `pod` too.
    pub fn add_pod(&mut self, pod: &PodInput, node: &mut NaiveNode, added: &NaivePod) {
        self.by_plugin.values_mut().for_each(|counted| counted.add_pod(pod, added, &node.input));
        node.add_pod(added.clone());
    }

    /// Takes a pod off the node, and out of the counts for `pod`.
    pub fn remove_pod(&mut self, pod: &PodInput, node: &mut NaiveNode, removed: &NaivePod) {
        self.by_plugin.values_mut().for_each(|counted| counted.remove_pod(pod, removed, &node.input));
        node.remove_pod(removed);
    }
}

fn twin(plugin: &str) -> &'static FilterTwin {
    let twin = descriptor(plugin).and_then(|descriptor| descriptor.twin.filter.as_ref());
    twin.unwrap_or_else(|| panic!("{plugin} has no naive Filter"))
}

/// All PreFilter plugins in order, up to the first that rejects.
#[must_use]
pub fn run_pre_filter(profile: &NaiveProfile, cluster: &NaiveCluster, pod: &PodInput) -> PreFilterOutcome {
    let mut outcome = PreFilterOutcome::default();
    for plugin in &profile.filter_plugins {
        match pre_filter(plugin, Asked { profile, cluster, pod }) {
            NaivePreFilter::AllNodes => {}
            NaivePreFilter::Skip => {
                outcome.skip.insert(plugin);
            }
            NaivePreFilter::Reject(verdict) => {
                outcome.rejected = Some(verdict);
                return outcome;
            }
            NaivePreFilter::Nodes(names) => {
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
    profile: &NaiveProfile,
    cluster: &NaiveCluster,
    pod: &PodInput,
    state: &FilterState,
    node: &NaiveNode,
    skip: &BTreeSet<&'static str>,
) -> Vec<NaiveVerdict> {
    profile
        .filter_plugins
        .iter()
        .filter(|plugin| !skip.contains(*plugin))
        .filter_map(|plugin| filter(plugin, Asked { profile, cluster, pod }, state, node))
        .collect()
}

pub(crate) fn pre_filter(plugin: &str, asked: Asked<'_>) -> NaivePreFilter {
    (twin(plugin).pre_filter)(asked)
}

pub(crate) fn filter(
    plugin: &str,
    asked: Asked<'_>,
    state: &FilterState,
    node: &NaiveNode,
) -> Option<NaiveVerdict> {
    (twin(plugin).filter)(asked, &state.by_plugin[plugin], node)
}

fn disjoint(plugins: &BTreeSet<&'static str>) -> NaiveVerdict {
    let reason = match plugins.first() {
        Some(only) if plugins.len() == 1 => format!("node(s) didn't satisfy plugin {only}"),
        _ => format!("node(s) didn't satisfy plugin(s) {} simultaneously", go_list(plugins)),
    };
    NaiveVerdict::new("", NaiveCode::UnschedulableAndUnresolvable, reason)
}

/// Names as Go prints a list of them.
pub(super) fn go_list(names: &BTreeSet<&'static str>) -> String {
    let names: Vec<&str> = names.iter().copied().collect();
    format!("[{}]", names.join(" "))
}
