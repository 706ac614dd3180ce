//! NodeName: a pod that names its node fits there only.
//! Upstream: plugins/nodename/node_name.go.

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
use crate::framework::descriptor::{PluginDescriptor, no_args};
use crate::framework::plugin::{FilterPlugin, Plugin, PreFilter, Reads, SignPod};
use crate::framework::points::EnqueueExtensions;
use crate::framework::status::{Code, Reason};
use crate::world::World;

/// Upstream's name.
pub const NAME: &str = "NodeName";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(0),
    default_args: no_args,
    factory: |_, _| Ok(Arc::new(NodeName)),
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: cases::CASES,
};

const REASON: Reason = Reason::Text("node(s) didn't match the requested node name");

/// Compares `spec.nodeName` with the node's name.
#[derive(Clone, Copy, Debug)]
pub struct NodeName;

impl Plugin for NodeName {
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

impl FilterPlugin for NodeName {
    fn reads(&self) -> Reads {
        Reads::Static
    }

    fn pre_filter<'a>(&self, _: &'a World, class: &'a PodClass) -> PreFilter<'a> {
        match &class.node_name {
            Some(name) => PreFilter::Nodes(Cow::Borrowed(std::slice::from_ref(name))),
            None => PreFilter::Run,
        }
    }

    fn filter(&self, world: &World, class: &PodClass, first_word: usize, words: &mut [u64]) {
        let Some(name) = class.node_name else { return };
        let names = &world.nodes().columns().name;
        crate::framework::plugin::retain_rows(first_word, words, |row| names[row] == name);
    }

    fn verdict(&self, world: &World, class: &PodClass, row: usize, reasons: &mut Vec<Reason>) -> Code {
        if class.node_name.is_none_or(|name| world.nodes().columns().name[row] == name) {
            return Code::Success;
        }
        reasons.push(REASON);
        Code::UnschedulableAndUnresolvable
    }

    fn only_rejection(&self) -> Option<(Code, Reason)> {
        Some((Code::UnschedulableAndUnresolvable, REASON))
    }
}
