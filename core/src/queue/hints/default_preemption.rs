//! DefaultPreemption holds a pod back while its victims are being evicted. The eviction's end lets
//! it in; a deleted pod as such does not. The events are registered so that a pod held back here
//! is looked at when what it lacked comes free.
//! Upstream: defaultpreemption/default_preemption.go `isPodSchedulableAfterAssignedPodDeletion`.

use super::{Action, EventResource, Registration};

pub(super) const EVENTS: &[Registration] =
    &[Registration::hinted(EventResource::AssignedPod, Action::DELETE, |_, _, _| false)];
