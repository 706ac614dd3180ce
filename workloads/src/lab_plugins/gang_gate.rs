//! LabGangGate: the pods of a group do not enter the queue before all of them are there, and their status says how
//! many are missing.
//!
//! What KEP-5501 describes for gang scheduling of one's own: without it such pods are just pending. A pod joins a
//! group of its namespace by the labels `schedlab.dev/gang: NAME` and `schedlab.dev/gang-size: N`. It places them
//! one by one all the same: a plugin that waits at Permit is in `examples/src/gang.rs`.

use std::sync::Arc;

use schedlab_core::class::PodClass;
use schedlab_core::framework::args::PluginArgs;
use schedlab_core::framework::plugin::{Plugin, PreEnqueuePlugin, PreEnqueueResult};
use schedlab_core::framework::points::{
    ActionType, EnqueueExtensions, EventResource, PodRef, RegisteredEvent,
};
use schedlab_core::framework::registry::Factored;
use schedlab_core::interner::Vocabulary;
use schedlab_core::known_gaps::KnownGaps;
use schedlab_core::world::World;

/// The plugin's name in configuration files.
pub const NAME: &str = "LabGangGate";
/// The label that names a pod's group.
pub const GROUP: &str = "schedlab.dev/gang";
/// The label that says how many pods the group has.
pub const SIZE: &str = "schedlab.dev/gang-size";

/// Holds pods back until their group is there.
#[derive(Clone, Copy, Debug)]
pub struct GangGate;

/// Makes the plugin; it has no arguments.
pub fn factory(_: &PluginArgs, _: &mut Vocabulary) -> Factored {
    Ok(Arc::new(GangGate))
}

/// Namespace, group and size.
fn membership(class: &PodClass) -> Option<(&str, &str, usize)> {
    let labels = &class.input.labels;
    let size = labels.get(SIZE)?.parse().ok()?;
    Some((&class.input.namespace, labels.get(GROUP)?, size))
}

impl Plugin for GangGate {
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

impl PreEnqueuePlugin for GangGate {
    fn pre_enqueue(&self, _: &World, _: &PodClass) -> Option<PreEnqueueResult> {
        None
    }

    fn pre_enqueue_pod(&self, world: &World, pod: PodRef<'_>) -> Option<PreEnqueueResult> {
        let own = membership(pod.class)?;
        let others = world.pods().ids().map(|id| world.pods().get(id)).filter(|row| row.uid != pod.uid);
        let members = 1 + others.filter(|row| membership(world.class(row.class)) == Some(own)).count();
        let missing = own.2.checked_sub(members).filter(|missing| 0 < *missing)?;
        let message = format!("waiting for {missing} more pod(s) of gang {:?}", own.1);
        Some(PreEnqueueResult::rejected_with_message(&message))
    }
}

impl EnqueueExtensions for GangGate {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        // Of pods on no node the queue hears with the feature gate GenericWorkload only; the member that makes the
        // gang complete is let through, and is heard of when it is on a node.
        vec![
            RegisteredEvent::always(EventResource::UnscheduledPod, ActionType::ADD),
            RegisteredEvent::always(EventResource::AssignedPod, ActionType::ADD),
        ]
    }
}
