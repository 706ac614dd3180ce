//! NodeAffinity: a node matches now and did not before.
//! Upstream: nodeaffinity/node_affinity.go `isSchedulableAfterNodeChange`.
//! Differs: the affinity that a profile adds is not asked, so that one needless attempt is possible
//! (`queueing_hints_answer_every_case`).

use super::NodeAffinity;
use crate::class::PodClass;
use crate::framework::event::{ActionType, Event, EventResource, NodeState};
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::known_gaps::KnownGaps;
use crate::world::World;

impl EnqueueExtensions for NodeAffinity {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        EVENTS.to_vec()
    }
}

const EVENTS: &[RegisteredEvent] = &[RegisteredEvent::by_class(
    EventResource::Node,
    ActionType::ADD.or(ActionType::UPDATE_NODE_LABEL),
    after_node_change,
)];

fn after_node_change(world: &World, class: &PodClass, event: &Event) -> bool {
    let Some((old, Some(new))) = event.nodes() else { return true };
    let matches = |node: &NodeState| {
        let required = class.required_node_affinity.as_ref();
        required.is_none_or(|required| required.matches(node.name, node.labels, &world.vocabulary))
    };
    matches(new) && old.is_none_or(|old| !matches(old))
}
