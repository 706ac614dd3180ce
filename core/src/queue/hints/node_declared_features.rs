//! NodeDeclaredFeatures: a node came or declares other features, or the pod asks for others.
//! Upstream: nodedeclaredfeatures/nodedeclaredfeatures.go.

use super::{Action, EventResource, Registration, either, pods};
use crate::class::PodClass;
use crate::queue::event::Event;
use crate::world::World;

pub(super) const EVENTS: &[Registration] = &[
    Registration::always(EventResource::Node, either(Action::ADD, Action::UPDATE_NODE_DECLARED_FEATURE)),
    Registration::hinted(EventResource::TargetPod, Action::UPDATE, after_own_change),
];

fn after_own_change(world: &World, _: &PodClass, event: &Event) -> bool {
    let Some((Some(old), Some(new))) = pods(event) else { return true };
    world.class(old.class).required_features != world.class(new.class).required_features
}
