//! SchedulingGates: the pod lost its last gate.
//! Upstream: schedulinggates/scheduling_gates.go.

use super::{Action, EventResource, Registration};

pub(super) const EVENTS: &[Registration] =
    &[Registration::always(EventResource::TargetPod, Action::UPDATE_POD_SCHEDULING_GATES_ELIMINATED)];
