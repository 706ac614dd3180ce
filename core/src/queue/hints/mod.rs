//! Queueing hints: whether an event may help a pod that a plugin rejected. One file a plugin.
//!
//! A hint of a plugin that ships with the engine reads the pod's class and nothing else of the pod,
//! so it is asked once for all pods of a class. Where the event does not say enough, the hint says
//! yes: a needless attempt costs a microsecond, a missed one leaves a pod waiting.

mod default_preemption;
mod inter_pod_affinity;
mod node_affinity;
mod node_declared_features;
mod node_name;
mod node_ports;
mod node_resources_fit;
mod node_unschedulable;
mod node_volume_limits;
mod pod_topology_spread;
mod scheduling_gates;
mod selector;
mod taint_toleration;
mod volume_binding;
mod volume_restrictions;
mod volume_zone;
mod volumes;

use std::sync::Arc;

use crate::class::PodClass;
use crate::framework::plugin::Plugin;
use crate::framework::points::{PodRef, QueueingHint, RegisteredEvent};
use crate::framework::profile::Profile;
use crate::known_gaps::KnownGaps;
use crate::world::World;

use super::entry::QueuedPod;
use super::event::{Action, ClusterEvent, Event, EventObject, EventResource, NodeState, PodFacts, WILDCARD};
use super::interest::Interest;
use super::plugin_set::{PLUGINS_MAX, PluginNumber};

/// Whether an event may help pods of a class.
type Hint = fn(&World, &PodClass, &Event) -> bool;

/// An event that a plugin wants to hear of; without a hint it always helps.
#[derive(Clone, Copy, Debug)]
struct Registration {
    event: ClusterEvent,
    hint: Option<Hint>,
}

impl Registration {
    const fn always(resource: EventResource, action: Action) -> Registration {
        Registration { event: ClusterEvent { resource, action }, hint: None }
    }

    const fn hinted(resource: EventResource, action: Action, hint: Hint) -> Registration {
        Registration { event: ClusterEvent { resource, action }, hint: Some(hint) }
    }
}

const fn either(one: Action, other: Action) -> Action {
    Action(one.0 | other.0)
}

/// What the plugins that ship with the engine want to hear of, by name.
fn in_tree(plugin: &str, gaps: KnownGaps) -> Option<&'static [Registration]> {
    let events = match plugin {
        "InterPodAffinity" if gaps == KnownGaps::Upstream => inter_pod_affinity::UPSTREAM_EVENTS,
        "PodTopologySpread" if gaps == KnownGaps::Upstream => pod_topology_spread::UPSTREAM_EVENTS,
        "DefaultPreemption" => default_preemption::EVENTS,
        "InterPodAffinity" => inter_pod_affinity::EVENTS,
        "NodeAffinity" => node_affinity::EVENTS,
        "NodeDeclaredFeatures" => node_declared_features::EVENTS,
        "NodeName" => node_name::EVENTS,
        "NodePorts" => node_ports::EVENTS,
        "NodeResourcesFit" => node_resources_fit::EVENTS,
        "NodeUnschedulable" => node_unschedulable::EVENTS,
        "NodeVolumeLimits" => node_volume_limits::EVENTS,
        "PodTopologySpread" => pod_topology_spread::EVENTS,
        "SchedulingGates" => scheduling_gates::EVENTS,
        "TaintToleration" => taint_toleration::EVENTS,
        "VolumeBinding" => volume_binding::EVENTS,
        "VolumeRestrictions" => volume_restrictions::EVENTS,
        "VolumeZone" => volume_zone::EVENTS,
        _ => return None,
    };
    Some(events)
}

/// Where a plugin's hints come from.
#[derive(Clone, Debug)]
enum Source {
    /// The plugin says itself.
    Own(Arc<dyn Plugin>, Vec<RegisteredEvent>),
    /// This module.
    InTree(&'static [Registration]),
    /// It says nothing but may reject: every event helps.
    Everything,
    /// It never rejects.
    Nothing,
}

impl Source {
    fn of(plugin: &Arc<dyn Plugin>, gaps: KnownGaps) -> Source {
        if let Some(own) = plugin.as_enqueue_extensions() {
            return Source::Own(Arc::clone(plugin), own.events_to_register());
        }
        let may_reject = plugin.as_filter().is_some()
            || plugin.as_pre_enqueue().is_some()
            || plugin.as_post_filter().is_some()
            || plugin.as_reserve().is_some()
            || plugin.as_permit().is_some()
            || plugin.as_pre_bind().is_some()
            || plugin.as_bind().is_some();
        match in_tree(plugin.name(), gaps) {
            Some(events) => Source::InTree(events),
            // The default binder fails, but it never says that a pod does not fit.
            None if may_reject && plugin.name() != "DefaultBinder" => Source::Everything,
            None => Source::Nothing,
        }
    }

    fn events(&self) -> Vec<ClusterEvent> {
        match self {
            Source::Own(_, events) => events.iter().map(|registered| registered.event).collect(),
            Source::InTree(events) => events.iter().map(|registered| registered.event).collect(),
            Source::Everything => vec![WILDCARD],
            Source::Nothing => Vec::new(),
        }
    }
}

/// The hints of a profile's plugins.
#[derive(Clone, Debug)]
pub struct HintTable {
    sources: Vec<Source>,
}

impl HintTable {
    /// The hints of a profile, with or without those that upstream lacks.
    ///
    /// # Panics
    ///
    /// When the profile has more plugins than a set of them can hold.
    #[must_use]
    pub fn of(profile: &Profile, gaps: KnownGaps) -> HintTable {
        let plugins = profile.plugins();
        // One number is the extenders'.
        assert!(plugins.len() < PLUGINS_MAX, "a profile has fewer than {PLUGINS_MAX} plugins");
        HintTable { sources: plugins.iter().map(|plugin| Source::of(plugin, gaps)).collect() }
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
    pub fn with_extenders(mut self) -> HintTable {
        self.sources.push(Source::Everything);
        self
    }

    /// Which plugin wants to hear of which event.
    #[must_use]
    pub fn interest(&self) -> Interest {
        let mut interest = Interest::default();
        for (at, source) in self.sources.iter().enumerate() {
            let plugin = PluginNumber(u8::try_from(at).expect("few plugins"));
            source.events().into_iter().for_each(|event| interest.register(plugin, event));
            if let Source::Own(..) = source {
                interest.ask_each(plugin);
            }
        }
        interest
    }

    /// Some plugin has hints of its own about nodes, and is to be shown them.
    #[must_use]
    pub fn shows_nodes(&self) -> bool {
        let on_nodes = |registered: &RegisteredEvent| {
            let resource = registered.event.resource;
            registered.asks_hint && resource.covers(EventResource::Node)
        };
        self.sources
            .iter()
            .any(|source| matches!(source, Source::Own(_, events) if events.iter().any(on_nodes)))
    }

    /// Whether an event may help a pod that a plugin rejected.
    #[must_use]
    pub fn hint(&self, world: &World, plugin: PluginNumber, pod: &QueuedPod, event: &Event) -> bool {
        let class = world.class(pod.class);
        match &self.sources[usize::from(plugin.0)] {
            Source::InTree(events) => events.iter().any(|registered| {
                registered.event.covers(event.what)
                    && registered.hint.is_none_or(|hint| hint(world, class, event))
            }),
            Source::Own(plugin, events) => events.iter().any(|registered| {
                registered.event.covers(event.what)
                    && (!registered.asks_hint || own_hint(world, plugin.as_ref(), pod, event))
            }),
            Source::Everything => true,
            Source::Nothing => false,
        }
    }
}

fn own_hint(world: &World, plugin: &dyn Plugin, pod: &QueuedPod, event: &Event) -> bool {
    let (Some(own), Some(change)) = (plugin.as_enqueue_extensions(), event.change(world)) else {
        return true;
    };
    let pod = PodRef { uid: pod.uid, id: pod.pod, class_id: pod.class, class: world.class(pod.class) };
    own.queueing_hint(world, pod, event.what, &change) == QueueingHint::Queue
}

/// The node of an event before and after; `None` when it is not known.
fn nodes(event: &Event) -> Option<(Option<&NodeState>, Option<&NodeState>)> {
    match &event.object {
        EventObject::Node(diff) => Some((diff.old.as_deref(), diff.new.as_deref())),
        _ => None,
    }
}

/// The pod of an event before and after; `None` when it is not known.
fn pods(event: &Event) -> Option<(Option<PodFacts>, Option<PodFacts>)> {
    match &event.object {
        EventObject::Pod(diff) => Some((diff.old, diff.new)),
        _ => None,
    }
}

/// A pod counts where it is, or where room is held for it.
fn has_place(pod: &PodFacts) -> bool {
    pod.node.is_some() || pod.nominated.is_some()
}

#[cfg(test)]
mod tests;
