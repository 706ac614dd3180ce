//! The queue against its plain twin, and the situations of upstream's scheduling_queue_test.go.

mod transitions;
mod twin;

use super::*;
use crate::ids::ClassId;
use crate::queue::ProfileNumber;
use crate::queue::event::{ASSIGNED_POD_DELETE, ActionType, ClusterEvent, EventResource};

/// Plugins that hold pods back, in the order in which they are asked.
const GATES: [PluginNumber; 2] = [PluginNumber(0), PluginNumber(1)];

/// Answers from two lists.
#[derive(Clone, Debug, Default)]
struct Fake {
    /// Which plugin holds which class back.
    closed: Vec<(PluginNumber, ClassId)>,
    /// Whether a plugin thinks that an event helps a class.
    helps: Vec<(PluginNumber, ClassId, ClusterEvent)>,
    /// How often hints were asked.
    asked: usize,
}

impl QueuePlugins for Fake {
    fn run_pre_enqueue_plugins(
        &mut self,
        pod: &QueuedPod,
        first: Option<PluginNumber>,
    ) -> Option<PluginNumber> {
        let others = GATES.into_iter().filter(|&plugin| Some(plugin) != first);
        first.into_iter().chain(others).find(|&plugin| self.closed.contains(&(plugin, pod.class)))
    }

    fn queueing_hint(&mut self, plugin: PluginNumber, pod: &QueuedPod, event: &Event) -> bool {
        self.asked += 1;
        self.helps.contains(&(plugin, pod.class, event.what))
    }
}

fn set(plugins: &[u8]) -> PluginNumberSet {
    plugins.iter().map(|&plugin| PluginNumber(plugin)).collect()
}

const fn event(resource: EventResource, action: ActionType) -> ClusterEvent {
    ClusterEvent { resource, action }
}
