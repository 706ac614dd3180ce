//! NodeUnschedulable: a node is not cordoned any more, or the pod tolerates it now.
//! Upstream: nodeunschedulable/node_unschedulable.go.

use super::NodeUnschedulable;
use crate::class::PodClass;
use crate::framework::event::{ActionType, Event, EventResource};
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::interner::{EMPTY, Taint, TaintEffect};
use crate::known_gaps::KnownGaps;
use crate::world::World;

impl EnqueueExtensions for NodeUnschedulable {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        EVENTS.to_vec()
    }
}

const EVENTS: &[RegisteredEvent] = &[
    RegisteredEvent::by_class(
        EventResource::Node,
        ActionType::ADD.or(ActionType::UPDATE_NODE_TAINT),
        after_node_change,
    ),
    RegisteredEvent::by_class(EventResource::TargetPod, ActionType::UPDATE_POD_TOLERATION, after_toleration),
];

fn after_node_change(_: &World, _: &PodClass, event: &Event) -> bool {
    let Some((old, Some(new))) = event.nodes() else { return true };
    !new.is_unschedulable && old.is_none_or(|old| old.is_unschedulable)
}

fn after_toleration(world: &World, class: &PodClass, _: &Event) -> bool {
    // The plugin made the name known; without it nobody can say.
    let Some(key) = world.vocabulary.symbols.get("node.kubernetes.io/unschedulable") else { return true };
    let cordon = Taint { key, value: EMPTY, effect: TaintEffect::NoSchedule };
    class.tolerations.iter().any(|toleration| toleration.tolerates(&cordon))
}
