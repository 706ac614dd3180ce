//! NodeName: only a new node can be the one that is named.
//! Upstream: nodename/node_name.go.

use super::{Action, EventResource, Registration};

pub(super) const EVENTS: &[Registration] = &[Registration::always(EventResource::Node, Action::ADD)];
