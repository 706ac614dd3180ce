//! NodePorts: two pods of a node cannot hold the same host port.
//! Upstream: plugins/nodeports/node_ports.go.

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
use crate::snapshot::mask::WORD_BITS;
use crate::world::World;

/// Upstream's name.
pub const NAME: &str = "NodePorts";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(0),
    default_args: no_args,
    factory: |_, _| Ok(Arc::new(NodePorts)),
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: cases::CASES,
};

const REASON: Reason = Reason::Text("node(s) didn't have free ports for the requested pod ports");

/// Rejects nodes on which a wanted host port is taken.
#[derive(Clone, Copy, Debug)]
pub struct NodePorts;

impl Plugin for NodePorts {
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

impl FilterPlugin for NodePorts {
    fn reads(&self) -> Reads {
        Reads::NodeLocal
    }

    fn pre_filter<'a>(&self, _: &'a World, class: &'a PodClass) -> PreFilter<'a> {
        if class.host_ports.is_empty() { PreFilter::Skip } else { PreFilter::Run }
    }

    fn filter(&self, world: &World, class: &PodClass, first_word: usize, words: &mut [u64]) {
        for port in &class.host_ports {
            for (at, word) in words.iter_mut().enumerate() {
                *word &= !world.nodes().ports().taken_word(port, first_word + at);
            }
        }
    }

    fn verdict(&self, world: &World, class: &PodClass, row: usize, reasons: &mut Vec<Reason>) -> Code {
        let ports = world.nodes().ports();
        let bit = 1u64 << (row % WORD_BITS);
        if class.host_ports.iter().all(|port| ports.taken_word(port, row / WORD_BITS) & bit == 0) {
            return Code::Success;
        }
        reasons.push(REASON);
        Code::Unschedulable
    }

    fn only_rejection(&self) -> Option<(Code, Reason)> {
        Some((Code::Unschedulable, REASON))
    }
}
