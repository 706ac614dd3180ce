//! TaintToleration: a node's taints are tolerated now and were not before, or the pod tolerates
//! more.
//! Upstream: tainttoleration/taint_toleration.go.

use super::{Action, EventResource, NodeState, Registration, either, nodes};
use crate::class::PodClass;
use crate::interner::TaintEffect;
use crate::queue::event::Event;
use crate::world::World;

pub(super) const EVENTS: &[Registration] = &[
    Registration::hinted(
        EventResource::Node,
        either(Action::ADD, Action::UPDATE_NODE_TAINT),
        after_node_change,
    ),
    Registration::always(EventResource::TargetPod, Action::UPDATE_POD_TOLERATION),
];

fn after_node_change(world: &World, class: &PodClass, event: &Event) -> bool {
    let Some((old, Some(new))) = nodes(event) else { return true };
    let is_tolerated = |node: &NodeState| {
        let keeps_out = |effect| matches!(effect, TaintEffect::NoSchedule | TaintEffect::NoExecute);
        let mut taints = world.vocabulary.taints(node.taints).iter().filter(|taint| keeps_out(taint.effect));
        taints.all(|taint| class.tolerations.iter().any(|toleration| toleration.tolerates(taint)))
    };
    is_tolerated(new) && old.is_none_or(|old| !is_tolerated(old))
}
