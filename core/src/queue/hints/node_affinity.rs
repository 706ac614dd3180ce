//! NodeAffinity: a node matches now and did not before.
//! Upstream: nodeaffinity/node_affinity.go `isSchedulableAfterNodeChange`.
//! Differs: the affinity that a profile adds is not asked, so that one needless attempt is possible.

use super::{Action, EventResource, NodeState, Registration, either, nodes};
use crate::class::PodClass;
use crate::queue::event::Event;
use crate::world::World;

pub(super) const EVENTS: &[Registration] = &[Registration::hinted(
    EventResource::Node,
    either(Action::ADD, Action::UPDATE_NODE_LABEL),
    after_node_change,
)];

fn after_node_change(world: &World, class: &PodClass, event: &Event) -> bool {
    let Some((old, Some(new))) = nodes(event) else { return true };
    let matches = |node: &NodeState| {
        let required = class.required_node_affinity.as_ref();
        required.is_none_or(|required| required.matches(node.name, node.labels, &world.vocabulary))
    };
    matches(new) && old.is_none_or(|old| !matches(old))
}
