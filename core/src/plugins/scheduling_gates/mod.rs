//! SchedulingGates: a pod with gates does not enter the queue.
//! Upstream: plugins/schedulinggates/scheduling_gates.go.

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
use crate::framework::plugin::{Plugin, PreEnqueuePlugin, PreEnqueueResult};
use crate::framework::points::EnqueueExtensions;
use crate::world::World;

/// Upstream's name.
pub const NAME: &str = "SchedulingGates";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(0),
    default_args: no_args,
    factory: |_, _| Ok(Arc::new(SchedulingGates)),
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: cases::CASES,
};

/// Holds back pods that carry `spec.schedulingGates`.
#[derive(Clone, Copy, Debug)]
pub struct SchedulingGates;

impl Plugin for SchedulingGates {
    fn name(&self) -> &'static str {
        NAME
    }

    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl PreEnqueuePlugin for SchedulingGates {
    fn pre_enqueue(&self, world: &World, class: &PodClass) -> Option<PreEnqueueResult> {
        if class.scheduling_gates.is_empty() {
            return None;
        }
        let names: Vec<&str> =
            class.scheduling_gates.iter().map(|&gate| world.vocabulary.symbols.text(gate)).collect();
        // The API server has written condition SchedulingGated when the pod was created.
        Some(PreEnqueueResult::rejected_without_message(format!(
            "waiting for scheduling gates: [{}]",
            names.join(" ")
        )))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::input::PodInput;

    #[test]
    fn scheduling_gates_reject_with_their_names() {
        let cases = [
            (vec![], None),
            (vec!["a"], Some("waiting for scheduling gates: [a]")),
            (vec!["a", "b"], Some("waiting for scheduling gates: [a b]")),
        ];
        for (gates, expected) in cases {
            let mut world = World::default();
            let gates = gates.into_iter().map(str::to_owned).collect();
            let class = world.compile(&Arc::new(PodInput { scheduling_gates: gates, ..PodInput::default() }));
            let held = SchedulingGates.pre_enqueue(&world, world.class(class));
            assert_eq!(
                held,
                expected.map(|reason| PreEnqueueResult::rejected_without_message(reason.to_owned()))
            );
        }
    }
}
