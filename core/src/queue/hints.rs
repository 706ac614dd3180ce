//! Queueing hints: whether an event may help a pod that a plugin rejected. What each plugin registers
//! for is its own, see [`EnqueueExtensions`](crate::framework::points::EnqueueExtensions).

use std::sync::Arc;

use crate::framework::plugin::Plugin;
use crate::framework::points::{Hint, PodRef, QueueingHint, RegisteredEvent};
use crate::framework::profile::Profile;
use crate::known_gaps::KnownGaps;
use crate::world::World;

use super::event::{ClusterEvent, Event, EventResource, WILDCARD};
use super::events_of_interest::EventsOfInterest;
use super::plugin_set::{PLUGINS_MAX, PluginNumber};
use super::queued_pod_info::QueuedPod;

/// Where a plugin's hints come from.
#[derive(Clone, Debug)]
enum Source {
    /// The plugin registered for these.
    Registered(Arc<dyn Plugin>, Vec<RegisteredEvent>),
    /// It says nothing but may reject: every event helps.
    Everything,
    /// It never rejects.
    Nothing,
}

impl Source {
    fn of(plugin: &Arc<dyn Plugin>, gaps: KnownGaps) -> Source {
        if let Some(extensions) = plugin.as_enqueue_extensions() {
            return Source::Registered(Arc::clone(plugin), extensions.events_to_register(gaps));
        }
        let may_reject = plugin.as_filter().is_some()
            || plugin.as_pre_enqueue().is_some()
            || plugin.as_post_filter().is_some()
            || plugin.as_reserve().is_some()
            || plugin.as_permit().is_some()
            || plugin.as_pre_bind().is_some()
            || plugin.as_bind().is_some();
        if may_reject { Source::Everything } else { Source::Nothing }
    }

    fn registered(&self) -> &[RegisteredEvent] {
        match self {
            Source::Registered(_, events) => events,
            Source::Everything | Source::Nothing => &[],
        }
    }

    fn events(&self) -> Vec<ClusterEvent> {
        match self {
            Source::Registered(_, events) => events.iter().map(|registered| registered.event).collect(),
            Source::Everything => vec![WILDCARD],
            Source::Nothing => Vec::new(),
        }
    }
}

/// The hints of a profile's plugins.
#[derive(Clone, Debug)]
pub struct QueueingHintMap {
    sources: Vec<Source>,
}

impl QueueingHintMap {
    /// The hints of a profile, with or without those that upstream lacks.
    ///
    /// # Panics
    ///
    /// When the profile has more plugins than a set of them can hold.
    #[must_use]
    pub fn of(profile: &Profile, gaps: KnownGaps) -> QueueingHintMap {
        let plugins = profile.plugins();
        // One number is the extenders'.
        assert!(plugins.len() < PLUGINS_MAX, "a profile has fewer than {PLUGINS_MAX} plugins");
        QueueingHintMap { sources: plugins.iter().map(|plugin| Source::of(plugin, gaps)).collect() }
    }

    /// The number that stands for the extenders of a scheduler when they have rejected a pod.
    #[must_use]
    pub fn extenders(profile: &Profile) -> PluginNumber {
        PluginNumber(u8::try_from(profile.plugins().len()).expect("few plugins"))
    }

    /// Lets every event bring back pods that extenders rejected: they cannot say what would help.
    ///
    /// Upstream: framework/runtime/framework.go `NewFramework`, `defaultEnqueueExtension`.
    #[must_use]
    pub fn with_extenders(mut self) -> QueueingHintMap {
        self.sources.push(Source::Everything);
        self
    }

    /// Which plugin wants to hear of which event.
    #[must_use]
    pub fn interest(&self) -> EventsOfInterest {
        let mut interest = EventsOfInterest::default();
        for (at, source) in self.sources.iter().enumerate() {
            let plugin = PluginNumber(u8::try_from(at).expect("few plugins"));
            source.events().into_iter().for_each(|event| interest.register(plugin, event));
            if source.registered().iter().any(|registered| matches!(registered.hint, Hint::ByPod)) {
                interest.call_hints_per_pod(plugin);
            }
        }
        interest
    }

    /// Some plugin has hints by pod about nodes, and is to be shown them.
    #[must_use]
    pub fn shows_nodes(&self) -> bool {
        let on_nodes = |registered: &RegisteredEvent| {
            let resource = registered.event.resource;
            matches!(registered.hint, Hint::ByPod) && resource.covers(EventResource::Node)
        };
        self.sources.iter().any(|source| source.registered().iter().any(on_nodes))
    }

    /// Whether an event may help a pod that a plugin rejected.
    #[must_use]
    pub fn hint(&self, world: &World, plugin: PluginNumber, pod: &QueuedPod, event: &Event) -> bool {
        let class = world.class(pod.class);
        debug_assert!(usize::from(plugin.0) < self.sources.len(), "hints are those of the profile's plugins");
        match &self.sources[usize::from(plugin.0)] {
            Source::Registered(plugin, events) => events.iter().any(|registered| {
                registered.event.covers(event.what)
                    && match registered.hint {
                        Hint::Always => true,
                        Hint::ByClass(hint) => hint(world, class, event),
                        Hint::ByPod => queueing_hint(world, plugin.as_ref(), pod, event),
                    }
            }),
            Source::Everything => true,
            Source::Nothing => false,
        }
    }
}

fn queueing_hint(world: &World, plugin: &dyn Plugin, pod: &QueuedPod, event: &Event) -> bool {
    let (Some(extensions), Some(change)) = (plugin.as_enqueue_extensions(), event.change(world)) else {
        return true;
    };
    let pod = PodRef { uid: pod.uid, id: pod.pod, class_id: pod.class, class: world.class(pod.class) };
    extensions.queueing_hint(world, pod, event.what, &change) == QueueingHint::Queue
}

#[cfg(test)]
mod tests;
