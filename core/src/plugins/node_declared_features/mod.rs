//! NodeDeclaredFeatures: a node must declare the features that a pod's spec needs.
//! Upstream: plugins/nodedeclaredfeatures/nodedeclaredfeatures.go.

#[cfg(test)]
mod cases;
#[cfg(test)]
mod hint_cases;
mod hints;
#[cfg(any(test, feature = "naive"))]
pub mod naive;

use std::sync::Arc;

use crate::class::PodClass;
use crate::framework::descriptor::{PluginDescriptor, no_args};
use crate::framework::plugin::{FilterPlugin, Plugin, PreFilter, Reads, SignPod, retain_rows};
use crate::framework::points::EnqueueExtensions;
use crate::framework::status::{Code, Reason};
use crate::world::World;

/// Upstream's name.
pub const NAME: &str = "NodeDeclaredFeatures";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(0),
    default_args: no_args,
    factory: |_, _| Ok(Arc::new(NodeDeclaredFeatures)),
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: cases::CASES,
};

const REASON: Reason = Reason::Text("node(s) didn't match Pod's required features");

/// Rejects nodes that lack a feature.
#[derive(Clone, Copy, Debug)]
pub struct NodeDeclaredFeatures;

impl Plugin for NodeDeclaredFeatures {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sign_pod(&self, _: &PodClass) -> SignPod {
        SignPod::Spec
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl NodeDeclaredFeatures {
    fn fits(world: &World, class: &PodClass, row: usize) -> bool {
        class.required_features.is_subset_of(world.nodes().columns().declared_features[row])
    }
}

impl FilterPlugin for NodeDeclaredFeatures {
    fn reads(&self) -> Reads {
        Reads::Static
    }

    fn pre_filter<'a>(&self, _: &'a World, class: &'a PodClass) -> PreFilter<'a> {
        if class.required_features.is_empty() { PreFilter::Skip } else { PreFilter::Run }
    }

    fn filter(&self, world: &World, class: &PodClass, first_word: usize, words: &mut [u64]) {
        retain_rows(first_word, words, |row| Self::fits(world, class, row));
    }

    fn verdict(&self, world: &World, class: &PodClass, row: usize, reasons: &mut Vec<Reason>) -> Code {
        if Self::fits(world, class, row) {
            return Code::Success;
        }
        reasons.push(REASON);
        Code::UnschedulableAndUnresolvable
    }

    fn only_rejection(&self) -> Option<(Code, Reason)> {
        Some((Code::UnschedulableAndUnresolvable, REASON))
    }
}
