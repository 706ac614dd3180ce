//! TaintToleration: a node's taints are tolerated now and were not before, or the pod tolerates
//! more.
//! Upstream: tainttoleration/taint_toleration.go.

use super::TaintToleration;
use crate::class::PodClass;
use crate::framework::event::{ActionType, Event, EventResource, NodeState};
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::interner::TaintEffect;
use crate::known_gaps::KnownGaps;
use crate::world::World;

impl EnqueueExtensions for TaintToleration {
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
    RegisteredEvent::always(EventResource::TargetPod, ActionType::UPDATE_POD_TOLERATION),
];

fn after_node_change(world: &World, class: &PodClass, event: &Event) -> bool {
    let Some((old, Some(new))) = event.nodes() else { return true };
    let is_tolerated = |node: &NodeState| {
        let keeps_out = |effect| matches!(effect, TaintEffect::NoSchedule | TaintEffect::NoExecute);
        let mut taints = world.vocabulary.taints(node.taints).iter().filter(|taint| keeps_out(taint.effect));
        taints.all(|taint| class.tolerations.iter().any(|toleration| toleration.tolerates(taint)))
    };
    is_tolerated(new) && old.is_none_or(|old| !is_tolerated(old))
}
