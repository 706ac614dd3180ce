//! Which plugins of a profile want to hear of which event.

use super::event::{
    ACTION_COUNT, ClusterEvent, RESOURCE_COUNT, RESOURCES, WILDCARD, action_index, incoming_actions,
};
use super::plugin_set::{PluginNumber, PluginNumberSet};

/// Plugins by event: a lookup costs one load, whatever is registered.
#[derive(Clone, Debug)]
pub struct EventsOfInterest {
    table: Box<[[PluginNumberSet; ACTION_COUNT]; RESOURCE_COUNT]>,
    anything: PluginNumberSet,
    /// Plugins whose hints look at more of a pod than its class.
    asks_each: PluginNumberSet,
}

impl Default for EventsOfInterest {
    fn default() -> Self {
        EventsOfInterest {
            table: Box::new([[PluginNumberSet::NONE; ACTION_COUNT]; RESOURCE_COUNT]),
            anything: PluginNumberSet::NONE,
            asks_each: PluginNumberSet::NONE,
        }
    }
}

impl EventsOfInterest {
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
    pub fn call_hints_per_pod(&mut self, plugin: PluginNumber) {
        self.asks_each.insert(plugin);
    }

    /// Plugins whose hints must be asked about each pod.
    #[must_use]
    pub fn plugins_called_per_pod(&self) -> PluginNumberSet {
        self.asks_each
    }

    /// The plugins that want to hear of an incoming event.
    #[inline]
    #[must_use]
    pub fn of(&self, event: ClusterEvent) -> PluginNumberSet {
        if event == WILDCARD {
            return self.anything;
        }
        self.table[event.resource as usize][action_index(event.action)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::event::{ActionType, EventResource};

    #[test]
    fn plugins_of_an_event_equal_registrations_that_cover_it() {
        let on = |resource, action| ClusterEvent { resource, action };
        let registrations = [
            (0, on(EventResource::Node, ActionType::ADD | ActionType::UPDATE_NODE_LABEL)),
            (1, WILDCARD),
            (2, on(EventResource::Pod, ActionType::UPDATE)),
            (0, on(EventResource::AssignedPod, ActionType::DELETE)),
        ];
        let mut interest = EventsOfInterest::default();
        for (plugin, event) in registrations {
            interest.register(PluginNumber(plugin), event);
        }
        for resource in RESOURCES {
            for action in incoming_actions() {
                let incoming = on(resource, action);
                let covering = registrations.iter().filter(|(_, event)| event.covers(incoming));
                let expected: PluginNumberSet = covering.map(|&(plugin, _)| PluginNumber(plugin)).collect();
                assert_eq!(interest.of(incoming), expected, "{incoming:?}");
            }
        }
        assert_eq!(interest.of(WILDCARD), PluginNumberSet::one(PluginNumber(1)));
    }
}
