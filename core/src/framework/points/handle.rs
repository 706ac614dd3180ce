//! What a plugin sees of the scheduler, and how it asks for something.
//!
//! Upstream: `Handle` (`IterateOverWaitingPods`, `GetWaitingPod`, `RejectWaitingPod`, `Activate`).

use std::sync::Arc;

use crate::class::PodClass;
use crate::ids::{ClassId, NodeId, PodId, PodUid};
use crate::world::World;

/// The pod a plugin is asked about.
#[derive(Clone, Copy, Debug)]
pub struct PodRef<'a> {
    /// Its identity at the API: what a plugin remembers it by.
    pub uid: PodUid,
    /// Its row. Given out again after the pod is gone: not to be kept.
    pub id: PodId,
    /// The id of its class.
    pub class_id: ClassId,
    /// Its compiled spec.
    pub class: &'a PodClass,
}

impl<'a> PodRef<'a> {
    /// The pod in a row of the world's table.
    #[must_use]
    pub fn of(world: &'a World, id: PodId) -> PodRef<'a> {
        let row = world.pods().get(id);
        PodRef { uid: row.uid, id, class_id: row.class, class: world.class(row.class) }
    }
}

/// A pod that Permit plugins hold back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingPod {
    /// The pod.
    pub uid: PodUid,
    /// Its row.
    pub id: PodId,
    /// Its class.
    pub class_id: ClassId,
    /// The node it waits to be bound to.
    pub node: NodeId,
    /// The plugins it waits for; it goes on when the list is empty.
    pub pending: Vec<PendingPermit>,
}

/// A plugin that a pod waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingPermit {
    /// The plugin.
    pub plugin: &'static str,
    /// When the pod is rejected unless the plugin allows it before.
    pub deadline_ns: u64,
}

/// What a plugin wants of the loop. A request about a pod that does not wait any more, or of a
/// plugin that the pod does not wait for, is void.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The plugin no longer holds the pod back.
    Allow {
        /// The waiting pod.
        pod: PodUid,
        /// The plugin that allows.
        plugin: &'static str,
    },
    /// The waiting pod is unschedulable.
    Reject {
        /// The waiting pod.
        pod: PodUid,
        /// The plugin that rejects: events it registered for bring the pod back.
        plugin: &'static str,
        /// Why.
        message: Arc<str>,
    },
    /// The pod, which waits or is worked for by PreBind, gives up its node and is tried again,
    /// without being unschedulable.
    Preempt {
        /// The pod.
        pod: PodUid,
        /// The plugin that preempts.
        plugin: &'static str,
        /// Why.
        message: Arc<str>,
    },
    /// The pod moves to the active queue if it is in the queue at all.
    Activate {
        /// The pod.
        pod: PodUid,
    },
}

/// The scheduler as a plugin sees it during one call.
#[derive(Debug)]
pub struct Handle<'a> {
    /// Nodes, pods and classes.
    pub world: &'a World,
    /// The time.
    pub now_ns: u64,
    /// Pods that wait at Permit, in the order they began to wait.
    pub waiting: &'a [WaitingPod],
    requests: &'a mut Vec<Request>,
}

impl<'a> Handle<'a> {
    /// A handle that appends what the plugin asks for to `requests`.
    pub fn new(
        world: &'a World,
        now_ns: u64,
        waiting: &'a [WaitingPod],
        requests: &'a mut Vec<Request>,
    ) -> Handle<'a> {
        Handle { world, now_ns, waiting, requests }
    }

    /// The waiting pod with this identity.
    #[must_use]
    pub fn waiting_pod(&self, uid: PodUid) -> Option<&'a WaitingPod> {
        self.waiting.iter().find(|pod| pod.uid == uid)
    }

    /// Asks for a waiting pod to be let through, as far as `plugin` is concerned.
    pub fn allow(&mut self, pod: PodUid, plugin: &'static str) {
        self.requests.push(Request::Allow { pod, plugin });
    }

    /// Asks for a waiting pod to be rejected.
    pub fn reject(&mut self, pod: PodUid, plugin: &'static str, message: impl Into<Arc<str>>) {
        self.requests.push(Request::Reject { pod, plugin, message: message.into() });
    }

    /// Asks for a waiting pod to give up its node.
    pub fn preempt(&mut self, pod: PodUid, plugin: &'static str, message: impl Into<Arc<str>>) {
        self.requests.push(Request::Preempt { pod, plugin, message: message.into() });
    }

    /// Asks for a pod to be tried soon.
    pub fn activate(&mut self, pod: PodUid) {
        self.requests.push(Request::Activate { pod });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handle_shows_waiting_pods_and_keeps_requests_in_order() {
        let world = World::default();
        let waiting = [1, 2].map(|uid| WaitingPod {
            uid: PodUid(uid),
            id: PodId(0),
            class_id: ClassId(0),
            node: NodeId(0),
            pending: vec![PendingPermit { plugin: "Gang", deadline_ns: 7 }],
        });
        let mut requests = Vec::new();
        let mut handle = Handle::new(&world, 5, &waiting, &mut requests);
        assert_eq!(handle.waiting_pod(PodUid(2)), Some(&waiting[1]));
        assert_eq!(handle.waiting_pod(PodUid(3)), None);
        handle.allow(PodUid(1), "Gang");
        handle.reject(PodUid(2), "Gang", "late");
        handle.activate(PodUid(9));
        assert_eq!(
            requests,
            [
                Request::Allow { pod: PodUid(1), plugin: "Gang" },
                Request::Reject { pod: PodUid(2), plugin: "Gang", message: "late".into() },
                Request::Activate { pod: PodUid(9) },
            ]
        );
    }
}
