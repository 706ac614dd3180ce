//! NodeUnschedulable: cordoned nodes take only pods that tolerate the taint of that name.
//! Upstream: plugins/nodeunschedulable/node_unschedulable.go.

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
use crate::framework::plugin::{FilterPlugin, Plugin, PreFilter, Reads, SignPod};
use crate::framework::points::EnqueueExtensions;
use crate::framework::status::{Code, Reason};
use crate::interner::{EMPTY, Taint, TaintEffect, Vocabulary};
use crate::world::World;

/// Upstream's name.
pub const NAME: &str = "NodeUnschedulable";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(0),
    default_args: no_args,
    factory: |_, vocabulary| Ok(Arc::new(NodeUnschedulable::new(vocabulary))),
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: cases::CASES,
};

const REASON: Reason = Reason::Text("node(s) were unschedulable");

/// Rejects nodes with `spec.unschedulable`.
#[derive(Clone, Copy, Debug)]
pub struct NodeUnschedulable {
    taint: Taint,
}

impl NodeUnschedulable {
    /// Interns the taint that cordoned nodes stand for.
    pub fn new(vocabulary: &mut Vocabulary) -> NodeUnschedulable {
        let key = vocabulary.symbols.intern("node.kubernetes.io/unschedulable");
        NodeUnschedulable { taint: Taint { key, value: EMPTY, effect: TaintEffect::NoSchedule } }
    }

    fn is_tolerated(&self, class: &PodClass) -> bool {
        class.tolerations.iter().any(|toleration| toleration.tolerates(&self.taint))
    }
}

impl Plugin for NodeUnschedulable {
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

impl FilterPlugin for NodeUnschedulable {
    fn reads(&self) -> Reads {
        Reads::Static
    }

    fn pre_filter<'a>(&self, _: &'a World, _: &'a PodClass) -> PreFilter<'a> {
        PreFilter::Run
    }

    fn filter(&self, world: &World, class: &PodClass, first_word: usize, words: &mut [u64]) {
        if self.is_tolerated(class) {
            return;
        }
        let cordoned = &world.nodes().columns().unschedulable.words()[first_word..];
        for (word, cordoned) in words.iter_mut().zip(cordoned) {
            *word &= !cordoned;
        }
    }

    fn verdict(&self, world: &World, class: &PodClass, row: usize, reasons: &mut Vec<Reason>) -> Code {
        if !world.nodes().columns().unschedulable.contains(row) || self.is_tolerated(class) {
            return Code::Success;
        }
        reasons.push(REASON);
        Code::UnschedulableAndUnresolvable
    }

    fn only_rejection(&self) -> Option<(Code, Reason)> {
        Some((Code::UnschedulableAndUnresolvable, REASON))
    }
}
