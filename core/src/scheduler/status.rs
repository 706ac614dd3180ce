//! Where pods are, how many, and why they wait.

use rustc_hash::FxHashMap;

use super::Scheduler;
use super::pod_group_queueing::uid_of_group;
use crate::framework::points::PodRef;
use crate::ids::PodId;
use crate::pods::PodState;
use crate::queue::QueuePlace;

/// Where a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Ready to be tried.
    Queued,
    /// Failed, and waits for time to pass.
    Backoff,
    /// A PreEnqueue plugin holds it back.
    Gated,
    /// Rejected, and waits for the cluster to change.
    Unschedulable,
    /// Skipped: it is being deleted.
    Skipped,
    /// Placed by us, the API has not confirmed yet.
    Assumed,
    /// The API says it is on a node.
    Bound,
    /// Another scheduler's.
    Foreign,
}

/// How many pods are where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PodCounts {
    /// Ready to be tried.
    pub queued: usize,
    /// Failed, waiting for time to pass.
    pub backoff: usize,
    /// Held back before the queue.
    pub gated: usize,
    /// Waiting for the cluster to change.
    pub unschedulable: usize,
    /// Placed, not confirmed.
    pub assumed: usize,
    /// On a node.
    pub bound: usize,
    /// Another scheduler's.
    pub foreign: usize,
}

/// Pods by the state of their row; those that are pending are the queue's to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StageCounts {
    assumed: usize,
    bound: usize,
    foreign: usize,
}

impl StageCounts {
    fn of(&mut self, state: PodState) -> Option<&mut usize> {
        match state {
            PodState::Pending => None,
            PodState::Assumed => Some(&mut self.assumed),
            PodState::Bound => Some(&mut self.bound),
            PodState::Foreign => Some(&mut self.foreign),
        }
    }

    pub(super) fn enter(&mut self, state: PodState) {
        if let Some(count) = self.of(state) {
            *count += 1;
        }
    }

    pub(super) fn leave(&mut self, state: PodState) {
        if let Some(count) = self.of(state) {
            debug_assert!(*count > 0, "a pod was counted in its state");
            *count -= 1;
        }
    }
}

impl Scheduler {
    /// How many pods are where.
    #[must_use]
    pub fn counts(&self) -> PodCounts {
        let queue = self.queue.counts();
        // The queue has one entry for all members of a group.
        let behind = self.members_behind_leaders();
        PodCounts {
            queued: queue.active + behind.queued,
            backoff: queue.backoff + queue.error_backoff + behind.backoff,
            gated: queue.gated + behind.gated,
            unschedulable: queue.unschedulable,
            assumed: self.counts.assumed,
            bound: self.counts.bound,
            foreign: self.counts.foreign,
        }
    }

    /// Where a pod is.
    #[must_use]
    pub fn standing(&self, pod: PodId) -> Standing {
        match self.world.pods().get(pod).state {
            PodState::Assumed => Standing::Assumed,
            PodState::Bound => Standing::Bound,
            PodState::Foreign => Standing::Foreign,
            PodState::Pending => match self.place_in_queue(pod) {
                QueuePlace::Active | QueuePlace::InFlight => Standing::Queued,
                QueuePlace::Backoff | QueuePlace::ErrorBackoff => Standing::Backoff,
                QueuePlace::Gated => Standing::Gated,
                QueuePlace::Unschedulable => Standing::Unschedulable,
                QueuePlace::Out => Standing::Skipped,
            },
        }
    }

    /// Why each waiting pod waits, up to `limit` distinct reasons with counts, most frequent first.
    #[must_use]
    pub fn waiting_reasons(&self, limit: usize) -> Vec<(String, usize)> {
        let mut reasons: FxHashMap<String, usize> = FxHashMap::default();
        for pod in self.world.pods().ids() {
            let text = match self.standing(pod) {
                Standing::Unschedulable | Standing::Backoff => {
                    let said = self.conditions.get(self.world.pods().get(pod).condition);
                    said.map_or("not tried yet", |(_, message)| message.as_ref()).to_owned()
                }
                Standing::Gated => self.pre_enqueue_reason(pod),
                _ => continue,
            };
            *reasons.entry(text).or_default() += 1;
        }
        let mut sorted: Vec<(String, usize)> = reasons.into_iter().collect();
        sorted.sort_by(|(text, count), (other_text, other)| {
            other.cmp(count).then_with(|| text.cmp(other_text))
        });
        sorted.truncate(limit);
        sorted
    }

    fn pre_enqueue_reason(&self, pod: PodId) -> String {
        let row = self.world.pods().get(pod);
        if self.preemption_executor.is_pod_running_preemption(row.uid, &self.world) {
            return "waiting for the preemption for this pod to be finished".to_owned();
        }
        let group = self.group_of(pod).map(uid_of_group);
        if group.is_some_and(|group| self.preemption_executor.is_pod_running_preemption(group, &self.world)) {
            return "waiting for the preemption for this pod group to be finished".to_owned();
        }
        let class = self.world.class(row.class);
        let asked = PodRef { uid: row.uid, id: pod, class_id: row.class, class };
        let parts = self.parts.iter().find(|parts| parts.takes(class));
        let plugins = parts.into_iter().flat_map(|parts| parts.profile.pre_enqueue_plugins());
        let held = plugins.filter_map(|plugin| plugin.pre_enqueue_pod(&self.world, asked)).next();
        held.map(|held| held.reason).unwrap_or_default()
    }

    /// Bytes held for nodes, and for pods and the queue.
    #[must_use]
    pub fn memory_bytes(&self) -> (usize, usize) {
        let pods = self.world.pods().memory_bytes() + self.queue.memory_bytes();
        (self.world.nodes().memory_bytes(), pods)
    }

    pub(super) fn move_to(&mut self, pod: PodId, state: PodState) {
        let row = self.world.pods_mut().get_mut(pod);
        let old = std::mem::replace(&mut row.state, state);
        match (old, state) {
            (PodState::Foreign, PodState::Foreign) => {}
            (PodState::Foreign, _) => self.world.pod_groups_mut().join(pod),
            (_, PodState::Foreign) => self.world.pod_groups_mut().leave(pod),
            _ => {}
        }
        self.counts.leave(old);
        self.counts.enter(state);
    }
}
