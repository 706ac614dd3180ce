//! GangScheduling: another member came, or the group did, or it needs fewer members than before.
//! Upstream: gangscheduling.go `EventsToRegister`.

use super::GangScheduling;
use crate::framework::points::{
    ActionType, ClusterEvent, EnqueueExtensions, EventResource, ObjectChange, PodRef, QueueingHint,
    RegisteredEvent,
};
use crate::known_gaps::KnownGaps;
use crate::world::World;

impl EnqueueExtensions for GangScheduling {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        EVENTS.to_vec()
    }

    fn queueing_hint(
        &self,
        world: &World,
        pod: PodRef<'_>,
        event: ClusterEvent,
        change: &ObjectChange<'_>,
    ) -> QueueingHint {
        let groups = world.pod_groups();
        let Some(own) = groups.of_pod(pod.id) else { return QueueingHint::Skip };
        let is_same = match *change {
            ObjectChange::Pod { uid, .. } => {
                world.pods().find(uid).and_then(|added| groups.of_pod(added)) == Some(own)
            }
            ObjectChange::Object { namespace, name } => {
                let group = groups.get(own);
                let is_own = (group.namespace(), group.name()) == (namespace, name);
                is_own && (event.action == ActionType::ADD || groups.min_count_decreased() == Some(own))
            }
            ObjectChange::Node { .. } => false,
        };
        if is_same { QueueingHint::Queue } else { QueueingHint::Skip }
    }
}

const EVENTS: &[RegisteredEvent] = &[
    RegisteredEvent::hinted(EventResource::UnscheduledPod, ActionType::ADD),
    RegisteredEvent::hinted(EventResource::AssignedPod, ActionType::ADD),
    RegisteredEvent::hinted(EventResource::PodGroup, ActionType::ADD),
    RegisteredEvent::hinted(EventResource::PodGroup, ActionType::UPDATE),
];
