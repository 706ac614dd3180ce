//! Which plugins of a profile want to hear of which event.

use super::event::{ACTION_COUNT, ActionType, ClusterEvent, RESOURCE_COUNT, RESOURCES};
use super::plugin_set::{PluginNumber, PluginSet};

/// Plugins by event: a lookup costs one load, whatever is registered.
#[derive(Clone, Debug)]
pub struct Interest {
    table: Box<[[PluginSet; ACTION_COUNT]; RESOURCE_COUNT]>,
    anything: PluginSet,
}

impl Default for Interest {
    fn default() -> Self {
        Interest {
            table: Box::new([[PluginSet::NONE; ACTION_COUNT]; RESOURCE_COUNT]),
            anything: PluginSet::NONE,
        }
    }
}

impl Interest {
    /// Notes that a plugin wants to hear of an event.
    pub fn register(&mut self, plugin: PluginNumber, event: ClusterEvent) {
        for resource in RESOURCES {
            for action in ActionType::incoming() {
                if event.covers(ClusterEvent::new(resource, action)) {
                    self.table[resource as usize][action.index()].insert(plugin);
                }
            }
        }
        if event.is_wildcard() {
            self.anything.insert(plugin);
        }
    }

    /// The plugins that want to hear of an incoming event.
    #[inline]
    #[must_use]
    pub fn of(&self, event: ClusterEvent) -> PluginSet {
        if event.is_wildcard() {
            return self.anything;
        }
        self.table[event.resource as usize][event.action.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::event::EventResource;

    #[test]
    fn the_table_says_what_the_registrations_say() {
        let registrations = [
            (0, ClusterEvent::new(EventResource::Node, ActionType::ADD.or(ActionType::UPDATE_NODE_LABEL))),
            (1, ClusterEvent::WILDCARD),
            (2, ClusterEvent::new(EventResource::Pod, ActionType::UPDATE)),
            (0, ClusterEvent::new(EventResource::AssignedPod, ActionType::DELETE)),
        ];
        let mut interest = Interest::default();
        for (plugin, event) in registrations {
            interest.register(PluginNumber(plugin), event);
        }
        for resource in RESOURCES {
            for action in ActionType::incoming() {
                let incoming = ClusterEvent::new(resource, action);
                let covering = registrations.iter().filter(|(_, event)| event.covers(incoming));
                let expected: PluginSet = covering.map(|&(plugin, _)| PluginNumber(plugin)).collect();
                assert_eq!(interest.of(incoming), expected, "{incoming:?}");
            }
        }
        assert_eq!(interest.of(ClusterEvent::WILDCARD), PluginSet::one(PluginNumber(1)));
    }
}
