//! What plugins are told when they are made: upstream's plugin arguments as plain values. Their
//! defaults are upstream's.
//!
//! Upstream: kube-scheduler/config/v1/types_pluginargs.go; apis/config/v1/defaults.go.

use std::collections::BTreeMap;

use crate::input::{NodeAffinityInput, SpreadConstraintInput};
use crate::plugins::descriptor;
use crate::plugins::node_resources_fit::ScoringStrategy;

/// The arguments of one plugin.
#[derive(Clone, Debug, PartialEq)]
pub enum PluginArgs {
    /// `NodeResourcesFitArgs`.
    NodeResourcesFit(NodeResourcesFitArgs),
    /// `NodeResourcesBalancedAllocationArgs`.
    NodeResourcesBalancedAllocation(NodeResourcesBalancedAllocationArgs),
    /// `NodeAffinityArgs`.
    NodeAffinity(NodeAffinityArgs),
    /// `InterPodAffinityArgs`.
    InterPodAffinity(InterPodAffinityArgs),
    /// `PodTopologySpreadArgs`.
    PodTopologySpread(PodTopologySpreadArgs),
    /// `VolumeBindingArgs`.
    VolumeBinding(VolumeBindingArgs),
    /// `DefaultPreemptionArgs`.
    DefaultPreemption(DefaultPreemptionArgs),
    /// Whatever stands in the file for a plugin that is not upstream's; [`ArgValue::Null`] when
    /// nothing does.
    Other(ArgValue),
}

impl PluginArgs {
    /// What a plugin is told when the configuration has nothing for it.
    #[must_use]
    pub fn default_of(plugin: &str) -> PluginArgs {
        descriptor(plugin).map_or_else(PluginArgs::none, |descriptor| (descriptor.default_args)())
    }

    /// The arguments of a plugin that takes none.
    #[must_use]
    pub const fn none() -> PluginArgs {
        PluginArgs::Other(ArgValue::Null)
    }

    /// The value of a field, when these are arguments of a plugin that is not upstream's.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&ArgValue> {
        match self {
            PluginArgs::Other(value) => value.field(name),
            _ => None,
        }
    }
}

/// `NodeResourcesFitArgs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeResourcesFitArgs {
    /// `ignoredResources`.
    pub ignored_resources: Vec<String>,
    /// `ignoredResourceGroups`.
    pub ignored_resource_groups: Vec<String>,
    /// `scoringStrategy`, with the scores of a shape already on the engine's scale of 0 to 100.
    pub scoring_strategy: ScoringStrategy,
}

impl Default for NodeResourcesFitArgs {
    fn default() -> Self {
        NodeResourcesFitArgs {
            ignored_resources: Vec::new(),
            ignored_resource_groups: Vec::new(),
            scoring_strategy: ScoringStrategy::least_allocated(),
        }
    }
}

/// `NodeResourcesBalancedAllocationArgs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeResourcesBalancedAllocationArgs {
    /// Names of `resources`; their weight can only be 1.
    pub resources: Vec<String>,
    /// Attached CSI volumes are balanced like a resource: a proposal that no field of a file asks for.
    pub counts_volumes: bool,
}

impl Default for NodeResourcesBalancedAllocationArgs {
    fn default() -> Self {
        NodeResourcesBalancedAllocationArgs {
            resources: vec!["cpu".to_owned(), "memory".to_owned()],
            counts_volumes: false,
        }
    }
}

/// `NodeAffinityArgs`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeAffinityArgs {
    /// `addedAffinity`.
    pub added_affinity: Option<NodeAffinityInput>,
}

/// `InterPodAffinityArgs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterPodAffinityArgs {
    /// `hardPodAffinityWeight`.
    pub hard_pod_affinity_weight: i32,
    /// `ignorePreferredTermsOfExistingPods`.
    pub ignore_preferred_terms_of_existing_pods: bool,
}

impl Default for InterPodAffinityArgs {
    fn default() -> Self {
        InterPodAffinityArgs { hard_pod_affinity_weight: 1, ignore_preferred_terms_of_existing_pods: false }
    }
}

/// `PodTopologySpreadArgs`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodTopologySpreadArgs {
    /// `defaultConstraints`, meant only with [`Defaulting::List`].
    pub default_constraints: Vec<SpreadConstraintInput>,
    /// `defaultingType`.
    pub defaulting: Defaulting,
}

/// Where constraints of pods that have none come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Defaulting {
    /// Upstream's own constraints over host name and zone.
    #[default]
    System,
    /// `defaultConstraints`.
    List,
}

/// `VolumeBindingArgs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeBindingArgs {
    /// `bindTimeoutSeconds`.
    pub bind_timeout_seconds: i64,
    /// `shape` as (utilisation in percent, score of 0 to 10).
    pub shape: Vec<(i64, i64)>,
}

impl Default for VolumeBindingArgs {
    fn default() -> Self {
        VolumeBindingArgs { bind_timeout_seconds: 600, shape: vec![(0, 10), (100, 0)] }
    }
}

/// `DefaultPreemptionArgs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultPreemptionArgs {
    /// `minCandidateNodesPercentage`.
    pub min_candidate_nodes_percentage: i32,
    /// `minCandidateNodesAbsolute`.
    pub min_candidate_nodes_absolute: i32,
}

impl Default for DefaultPreemptionArgs {
    fn default() -> Self {
        DefaultPreemptionArgs { min_candidate_nodes_percentage: 10, min_candidate_nodes_absolute: 100 }
    }
}

/// A value of a configuration file, for plugins that read their own arguments.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the kinds of values a JSON document has")]
pub enum ArgValue {
    #[default]
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    List(Vec<ArgValue>),
    Map(BTreeMap<String, ArgValue>),
}

impl ArgValue {
    /// A field of a mapping; an absent one and a null one are the same.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&ArgValue> {
        match self {
            ArgValue::Map(fields) => fields.get(name).filter(|value| **value != ArgValue::Null),
            _ => None,
        }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            ArgValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The integer, if it is one.
    #[must_use]
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            ArgValue::Integer(value) => Some(*value),
            _ => None,
        }
    }
}

/// DefaultPreemptionArgs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreemptionArgs {
    /// `minCandidateNodesPercentage`.
    pub candidates_min_percent: usize,
    /// `minCandidateNodesAbsolute`.
    pub candidates_min: usize,
}

impl Default for PreemptionArgs {
    fn default() -> Self {
        PreemptionArgs { candidates_min_percent: 10, candidates_min: 100 }
    }
}

impl PreemptionArgs {
    /// How many candidates are enough.
    #[must_use]
    pub fn candidates_to_find(self, potential_count: usize) -> usize {
        let share = potential_count * self.candidates_min_percent / 100;
        share.max(self.candidates_min).min(potential_count)
    }
}
