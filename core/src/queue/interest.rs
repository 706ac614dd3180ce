//! Which plugins of a profile want to hear of which event.

use super::event::{
    ACTION_COUNT, ClusterEvent, RESOURCE_COUNT, RESOURCES, WILDCARD, action_index, incoming_actions,
};
use super::plugin_set::{PluginNumber, PluginSet};

/// Plugins by event: a lookup costs one load, whatever is registered.
#[derive(Clone, Debug)]
pub struct Interest {
    table: Box<[[PluginSet; ACTION_COUNT]; RESOURCE_COUNT]>,
    anything: PluginSet,
    /// Plugins whose hints look at more of a pod than its class.
    asks_each: PluginSet,
}

impl Default for Interest {
    fn default() -> Self {
        Interest {
            table: Box::new([[PluginSet::NONE; ACTION_COUNT]; RESOURCE_COUNT]),
            anything: PluginSet::NONE,
            asks_each: PluginSet::NONE,
        }
    }
}

impl Interest {
    /// Notes that a plugin wants to hear of an event.
    pub fn register(&mut self, plugin: PluginNumber, event: ClusterEvent) {
        for resource in RESOURCES {
            for action in incoming_actions() {
                if event.covers(ClusterEvent { resource, action }) {
                    self.table[resource as usize][action_index(action)].insert(plugin);
                }
            }
        }
        if event == WILDCARD {
            self.anything.insert(plugin);
        }
    }

    /// Notes that a plugin's hints must be asked about each pod, not once per class.
    pub fn ask_each(&mut self, plugin: PluginNumber) {
        self.asks_each.insert(plugin);
    }

    /// Plugins whose hints must be asked about each pod.
    #[must_use]
    pub fn asks_each(&self) -> PluginSet {
        self.asks_each
    }

    /// The plugins that want to hear of an incoming event.
    #[inline]
    #[must_use]
    pub fn of(&self, event: ClusterEvent) -> PluginSet {
        if event == WILDCARD {
            return self.anything;
        }
        self.table[event.resource as usize][action_index(event.action)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::event::{Action, EventResource};

    #[test]
    fn the_table_says_what_the_registrations_say() {
        let on = |resource, action| ClusterEvent { resource, action };
        let registrations = [
            (0, on(EventResource::Node, Action::ADD | Action::UPDATE_NODE_LABEL)),
            (1, WILDCARD),
            (2, on(EventResource::Pod, Action::UPDATE)),
            (0, on(EventResource::AssignedPod, Action::DELETE)),
        ];
        let mut interest = Interest::default();
        for (plugin, event) in registrations {
            interest.register(PluginNumber(plugin), event);
        }
        for resource in RESOURCES {
            for action in incoming_actions() {
                let incoming = on(resource, action);
                let covering = registrations.iter().filter(|(_, event)| event.covers(incoming));
                let expected: PluginSet = covering.map(|&(plugin, _)| PluginNumber(plugin)).collect();
                assert_eq!(interest.of(incoming), expected, "{incoming:?}");
            }
        }
        assert_eq!(interest.of(WILDCARD), PluginSet::one(PluginNumber(1)));
    }
}
