//! NodeAffinity: node selector, required and preferred node affinity, and what the scheduler's
//! configuration adds. Upstream: plugins/nodeaffinity/node_affinity.go.

#[cfg(test)]
mod cases;
#[cfg(test)]
mod hint_cases;
mod hints;
#[cfg(any(test, feature = "naive"))]
pub mod naive;

use std::borrow::Cow;
use std::sync::Arc;

use crate::class::PodClass;
use crate::class::selector::{NameSubset, NodeSelector, PreferredTerms};
use crate::framework::args::{NodeAffinityArgs, PluginArgs};
use crate::framework::descriptor::{InTreeFactored, PluginDescriptor, other_args};
use crate::framework::plugin::{
    FilterPlugin, Normalization, Plugin, PreFilter, PreScore, Reads, ScorePlugin, SignPod, retain_rows,
};
use crate::framework::points::EnqueueExtensions;
use crate::framework::status::{Code, Reason};
use crate::input::NodeAffinityInput;
use crate::interner::Vocabulary;
use crate::world::World;

/// Upstream's name.
pub const NAME: &str = "NodeAffinity";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(2),
    default_args: || PluginArgs::NodeAffinity(NodeAffinityArgs::default()),
    factory,
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: cases::CASES,
};

fn factory(args: &PluginArgs, vocabulary: &mut Vocabulary) -> InTreeFactored {
    let PluginArgs::NodeAffinity(args) = args else { return Err(other_args("NodeAffinityArgs")) };
    Ok(Arc::new(match &args.added_affinity {
        Some(added) => NodeAffinity::with_added(added, vocabulary),
        None => NodeAffinity::default(),
    }))
}

const REASON_POD: Reason = Reason::Text("node(s) didn't match Pod's node affinity/selector");
const REASON_ENFORCED: Reason = Reason::Text("node(s) didn't match scheduler-enforced node affinity");
const REASON_CONFLICT: Reason = Reason::Text("pod affinity terms conflict");

/// Compares node selectors with nodes' labels and names.
#[derive(Clone, Debug, Default)]
pub struct NodeAffinity {
    /// `addedAffinity.requiredDuringSchedulingIgnoredDuringExecution`.
    pub added_required: Option<NodeSelector>,
    /// `addedAffinity.preferredDuringSchedulingIgnoredDuringExecution`.
    pub added_preferred: Option<PreferredTerms>,
}

impl NodeAffinity {
    /// A plugin with `addedAffinity`. An empty list of preferences is none at all, an empty list
    /// of required terms matches no node.
    #[must_use]
    pub fn with_added(added: &NodeAffinityInput, vocabulary: &mut Vocabulary) -> NodeAffinity {
        let preferred = added.preferred.as_deref().filter(|terms| !terms.is_empty());
        NodeAffinity {
            added_required: added.required.as_deref().map(|terms| NodeSelector::compile(terms, vocabulary)),
            added_preferred: preferred.map(|terms| PreferredTerms::compile(terms, vocabulary)),
        }
    }

    fn matches_added(&self, world: &World, row: usize) -> bool {
        let columns = world.nodes().columns();
        self.added_required.as_ref().is_none_or(|selector| {
            selector.matches(columns.name[row], columns.label_set[row], &world.vocabulary)
        })
    }

    fn matches_pod(world: &World, class: &PodClass, row: usize) -> bool {
        let columns = world.nodes().columns();
        class.required_node_affinity.as_ref().is_none_or(|affinity| {
            affinity.matches(columns.name[row], columns.label_set[row], &world.vocabulary)
        })
    }
}

impl Plugin for NodeAffinity {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sign_pod(&self, _: &PodClass) -> SignPod {
        SignPod::Spec
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl FilterPlugin for NodeAffinity {
    fn reads(&self) -> Reads {
        Reads::Static
    }

    fn pre_filter<'a>(&self, _: &'a World, class: &'a PodClass) -> PreFilter<'a> {
        if class.required_node_affinity.is_none() && self.added_required.is_none() {
            return PreFilter::Skip;
        }
        match &class.affinity_names {
            NameSubset::All => PreFilter::Run,
            NameSubset::Names(names) => PreFilter::Nodes(Cow::Borrowed(names)),
            NameSubset::Conflict => PreFilter::Reject(Code::UnschedulableAndUnresolvable, REASON_CONFLICT),
        }
    }

    fn filter(&self, world: &World, class: &PodClass, first_word: usize, words: &mut [u64]) {
        retain_rows(first_word, words, |row| {
            self.matches_added(world, row) && Self::matches_pod(world, class, row)
        });
    }

    fn verdict(&self, world: &World, class: &PodClass, row: usize, reasons: &mut Vec<Reason>) -> Code {
        if !self.matches_added(world, row) {
            reasons.push(REASON_ENFORCED);
        } else if !Self::matches_pod(world, class, row) {
            reasons.push(REASON_POD);
        } else {
            return Code::Success;
        }
        Code::UnschedulableAndUnresolvable
    }

    fn only_rejection(&self) -> Option<(Code, Reason)> {
        self.added_required.is_none().then_some((Code::UnschedulableAndUnresolvable, REASON_POD))
    }
}

impl ScorePlugin for NodeAffinity {
    fn reads(&self) -> Reads {
        Reads::Static
    }

    fn pre_score(&self, _: &World, class: &PodClass) -> PreScore {
        if class.preferred_node_affinity.is_none() && self.added_preferred.is_none() {
            PreScore::Skip
        } else {
            PreScore::Run
        }
    }

    fn score(&self, world: &World, class: &PodClass, rows: &[u32], scores: &mut [i64]) {
        let columns = world.nodes().columns();
        scores.fill(0);
        for terms in [&self.added_preferred, &class.preferred_node_affinity].into_iter().flatten() {
            for (&row, score) in rows.iter().zip(&mut *scores) {
                let row = row as usize;
                *score += terms.score(columns.name[row], columns.label_set[row], &world.vocabulary);
            }
        }
    }

    fn normalization(&self) -> Normalization {
        Normalization::Highest
    }
}
