//! NodeDeclaredFeatures: a node came or declares other features, or the pod asks for others.
//! Upstream: nodedeclaredfeatures/nodedeclaredfeatures.go.

use super::{Action, EventResource, Registration, either};

pub(super) const EVENTS: &[Registration] = &[
    Registration::always(EventResource::Node, either(Action::ADD, Action::UPDATE_NODE_DECLARED_FEATURE)),
    Registration::always(EventResource::TargetPod, Action::UPDATE),
];
