//! PostFilter by preemption: victims are deleted, the pod is nominated to their node.
//!
//! Upstream: framework/preemption/executor.go. With `SchedulerAsyncPreemption` upstream deletes
//! victims beside the scheduling loop; here deletions are calls like any other, and the pod waits
//! in the queue for its victims to go either way.

use super::{ApiCall, Scheduler, StatusPatch};
use crate::cycle::engine::Pending;
use crate::framework::extension_point::ExtensionPoint;
use crate::framework::points::{Nomination, Request};
use crate::ids::{PodId, PodUid};
use crate::preemption::{PreemptionArgs, nominations_to_clear};
use crate::queue::ProfileNumber;

/// Whom a waiting victim is told by.
const PLUGIN: &str = "DefaultPreemption";

impl Scheduler {
    /// Asks the profile's preemption, if it has one. What becomes of the pod's nomination.
    pub(super) fn post_filter(&mut self, pod: PodId, profile: ProfileNumber) -> Nomination {
        let plugins = &self.parts[usize::from(profile.0)].profile;
        let args = plugins.plugins_at(ExtensionPoint::PostFilter).find_map(|plugin| plugin.preemption());
        match args {
            Some(args) => self.preempt(pod, profile, args),
            None => Nomination::Clear,
        }
    }

    fn preempt(&mut self, pod: PodId, profile: ProfileNumber, args: PreemptionArgs) -> Nomination {
        let Scheduler { world, engine, parts, .. } = self;
        let row = world.pods().get(pod);
        let pending = Pending { class: row.class, pod: Some(row.uid), nominated: row.nominated() };
        let profile = &parts[usize::from(profile.0)].profile;
        let found = engine.preempt(world, profile, pending, args);
        if found.ineligible.is_some() {
            // Victims of an earlier preemption are on their way out, or it may not preempt at all.
            return Nomination::Keep;
        }
        let Some(candidate) = engine.take_candidate(&found) else { return Nomination::Clear };
        let node = world.nodes().columns().id[candidate.row];
        let cleared = nominations_to_clear(world, pending, candidate.row);
        for &victim in &candidate.victims {
            self.evict(victim);
        }
        for uid in cleared {
            self.lose_nomination(uid);
        }
        Nomination::Node(node)
    }

    /// Lets a victim go: one that waits at Permit gives up its node, any other is deleted.
    fn evict(&mut self, victim: PodId) {
        let row = self.world.pods_mut().get_mut(victim);
        let uid = row.uid;
        if self.bindings.waiting().iter().any(|waiting| waiting.uid == uid) {
            let message = "preempted".into();
            self.requests.push(Request::Preempt { pod: uid, plugin: PLUGIN, message });
            return;
        }
        row.is_preempted = true;
        let class = row.class;
        if !self.world.class(class).is_terminating {
            self.dispatcher.enqueue(ApiCall::DeletePod { pod: uid });
        }
    }

    /// A pod of lower priority may no longer fit on the node it is nominated to.
    fn lose_nomination(&mut self, uid: PodUid) {
        let Some(pod) = self.world.pods().find(uid) else { return };
        self.note_nomination(pod, None);
        let patch = StatusPatch { pod: uid, condition: None, nomination: Nomination::Clear };
        self.dispatcher.enqueue(ApiCall::PatchStatus(patch));
    }
}
