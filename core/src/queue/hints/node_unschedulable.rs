//! NodeUnschedulable: a node is not cordoned any more, or the pod tolerates it now.
//! Upstream: nodeunschedulable/node_unschedulable.go.

use super::{Action, EventResource, Registration, either, nodes};
use crate::class::PodClass;
use crate::interner::{EMPTY, Taint, TaintEffect};
use crate::queue::event::Event;
use crate::world::World;

pub(super) const EVENTS: &[Registration] = &[
    Registration::hinted(
        EventResource::Node,
        either(Action::ADD, Action::UPDATE_NODE_TAINT),
        after_node_change,
    ),
    Registration::hinted(EventResource::TargetPod, Action::UPDATE_POD_TOLERATION, after_toleration),
];

fn after_node_change(_: &World, _: &PodClass, event: &Event) -> bool {
    let Some((old, Some(new))) = nodes(event) else { return true };
    !new.is_unschedulable && old.is_none_or(|old| old.is_unschedulable)
}

fn after_toleration(world: &World, class: &PodClass, _: &Event) -> bool {
    // The plugin made the name known; without it nobody can say.
    let Some(key) = world.vocabulary.symbols.get("node.kubernetes.io/unschedulable") else { return true };
    let cordon = Taint { key, value: EMPTY, effect: TaintEffect::NoSchedule };
    class.tolerations.iter().any(|toleration| toleration.tolerates(&cordon))
}
