//! What the plain twin of a plugin consists of. Every field is required, so that a part that is missing
//! does not compile; a part that a plugin does not need is said to be none.

use std::any::Any;
use std::fmt;

use super::bench::BenchPod;
use super::schedule::NaiveProfile;
use super::{NaiveCluster, NaiveNode, NaivePod, NaivePreFilter, NaiveVerdict};
use crate::fake::Rng;
use crate::framework::args::PluginArgs;
use crate::input::{NodeInput, PodInput};

/// The plain twin of a plugin, what its random inputs are like, and how it is measured.
#[derive(Clone, Copy, Debug)]
pub struct PluginTwin {
    /// PreFilter and Filter, of a plugin that filters.
    pub filter: Option<FilterTwin>,
    /// PreScore, Score and NormalizeScore, of a plugin that scores.
    pub score: Option<ScoreTwin>,
    /// What random clusters have for it.
    pub fakes: Fakes,
    /// What a node of the plugin benches has for it, by the node's number.
    pub bench_node: fn(usize, &mut NodeInput),
}

/// PreFilter and Filter of a twin.
#[derive(Clone, Copy, Debug)]
pub struct FilterTwin {
    /// What PreFilter answers.
    pub pre_filter: fn(Asked<'_>) -> NaivePreFilter,
    /// What PreFilter counts over the cluster for Filter, and AddPod and RemovePod keep up to date.
    pub count: fn(Asked<'_>) -> NaiveCounted,
    /// Why a node is rejected, if it is.
    pub filter: fn(Asked<'_>, &NaiveCounted, &NaiveNode) -> Option<NaiveVerdict>,
    /// The pods that Filter is measured with.
    pub benches: fn() -> Vec<BenchPod>,
}

/// PreScore, Score and NormalizeScore of a twin.
#[derive(Clone, Copy, Debug)]
pub struct ScoreTwin {
    /// What PreScore finds for these feasible nodes.
    pub pre_score: fn(Asked<'_>, &[&NaiveNode]) -> NaivePreScore,
    /// The raw score of a node.
    pub score: fn(Asked<'_>, &NaivePreScore, &NaiveNode) -> i64,
    /// The scores of the feasible nodes of these names on one scale.
    pub normalize: fn(&NaivePreScore, &[&str], &[i64]) -> Vec<i64>,
    /// The pods that Score is measured with.
    pub benches: fn() -> Vec<BenchPod>,
}

/// What is to be scheduled, where, and how.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// How.
    pub profile: &'a NaiveProfile,
    /// Where.
    pub cluster: &'a NaiveCluster,
    /// What.
    pub pod: &'a PodInput,
}

impl<'a> Asked<'a> {
    /// The arguments of a plugin.
    #[must_use]
    pub fn args(&self, plugin: &str) -> &'a PluginArgs {
        self.profile.args(plugin)
    }
}

/// Counts that follow pods which are thought to be on a node, or not to be there.
/// Upstream: `PreFilterExtensions`.
pub trait NaivePodCounts: Any + fmt::Debug {
    /// Counts a pod that is added to a node, for the pod that is to be scheduled.
    fn add_pod(&mut self, pod: &PodInput, added: &NaivePod, node: &NodeInput);

    /// No longer counts a pod that is taken off a node.
    fn remove_pod(&mut self, pod: &PodInput, removed: &NaivePod, node: &NodeInput);

    /// The same counts again.
    fn boxed(&self) -> Box<dyn NaivePodCounts>;
}

/// What PreFilter counted, if anything.
#[derive(Debug)]
pub struct NaiveCounted(Option<Box<dyn NaivePodCounts>>);

impl NaiveCounted {
    /// Filter needs no counts.
    #[must_use]
    pub fn nothing() -> NaiveCounted {
        NaiveCounted(None)
    }

    /// These counts, or none when Filter is skipped.
    #[must_use]
    pub fn of<T: NaivePodCounts>(counts: Option<T>) -> NaiveCounted {
        NaiveCounted(counts.map(|counts| Box::new(counts) as Box<dyn NaivePodCounts>))
    }

    /// The counts, of the type they were made with.
    #[must_use]
    pub fn get<T: NaivePodCounts>(&self) -> Option<&T> {
        let counts: &dyn Any = self.0.as_deref()?;
        counts.downcast_ref()
    }

    /// Counts another pod on a node.
    pub fn add_pod(&mut self, pod: &PodInput, added: &NaivePod, node: &NodeInput) {
        if let Some(counts) = &mut self.0 {
            counts.add_pod(pod, added, node);
        }
    }

    /// No longer counts a pod of a node.
    pub fn remove_pod(&mut self, pod: &PodInput, removed: &NaivePod, node: &NodeInput) {
        if let Some(counts) = &mut self.0 {
            counts.remove_pod(pod, removed, node);
        }
    }
}

impl Clone for NaiveCounted {
    fn clone(&self) -> NaiveCounted {
        NaiveCounted(self.0.as_ref().map(|counts| counts.boxed()))
    }
}

/// What PreScore found.
#[derive(Debug)]
pub enum NaivePreScore {
    /// Score contributes nothing.
    Skip,
    /// Scoring breaks off.
    Fail,
    /// Score runs, with what PreScore made for it.
    Run(Option<Box<dyn Any>>),
}

impl NaivePreScore {
    /// Score runs and needs nothing else.
    #[must_use]
    pub fn run() -> NaivePreScore {
        NaivePreScore::Run(None)
    }

    /// Score runs with this, or is skipped when there is nothing.
    #[must_use]
    pub fn of<T: Any>(found: Option<T>) -> NaivePreScore {
        match found {
            Some(found) => NaivePreScore::Run(Some(Box::new(found))),
            None => NaivePreScore::Skip,
        }
    }

    /// What PreScore made, of the type it was made with.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        match self {
            NaivePreScore::Run(Some(found)) => found.downcast_ref(),
            _ => None,
        }
    }
}

/// What random nodes, pods and profiles have for a plugin.
#[derive(Clone, Copy, Debug)]
pub struct Fakes {
    /// Gives a node what the plugin reads of nodes.
    pub node: fn(&mut Rng, &mut NodeInput),
    /// Gives any pod, placed or pending, what the plugin reads of pods.
    pub pod: fn(&mut Rng, &mut PodInput),
    /// Gives a pending pod what it may want of nodes.
    pub pending_pod: fn(&mut Rng, &mut PodInput),
    /// Arguments.
    pub args: fn(&mut Rng) -> PluginArgs,
}

impl Fakes {
    /// The plugin reads nothing that other plugins do not read as well, and takes no arguments.
    pub const NONE: Fakes =
        Fakes { node: |_, _| {}, pod: |_, _| {}, pending_pod: |_, _| {}, args: |_| PluginArgs::none() };
}

/// PreFilter of a plugin that has none: Filter looks at all nodes.
#[must_use]
pub fn all_nodes(_: Asked<'_>) -> NaivePreFilter {
    NaivePreFilter::AllNodes
}

/// Filter needs no counts.
#[must_use]
pub fn no_counts(_: Asked<'_>) -> NaiveCounted {
    NaiveCounted::nothing()
}

/// PreScore of a plugin that has none.
#[must_use]
pub fn always_score(_: Asked<'_>, _: &[&NaiveNode]) -> NaivePreScore {
    NaivePreScore::run()
}

/// NormalizeScore of a plugin that has none.
#[must_use]
pub fn as_it_is(_: &NaivePreScore, _: &[&str], raw: &[i64]) -> Vec<i64> {
    raw.to_vec()
}

/// The benches need nothing special of nodes.
pub fn any_node(_: usize, _: &mut NodeInput) {}
