//! An entry that stands for a pod group: it moves from one leader to another, and comes back from an attempt
//! by rules of its own.
//!
//! Upstream: scheduling_queue.go `AddAttemptedPodGroupIfNeeded`, `addToPodGroupIfExists`,
//! `deletePodGroupMember`.

use super::super::backoff_queue::BackoffSettings;
use super::super::queue_incoming_pods::Cause;
use super::super::queued_pod_info::{NONE, QueuePlace, QueuedPod, QueuedPodInfo};
use super::{PluginNumberSet, QueuePlugins, QueueingStrategy, SchedulingQueue};
use crate::ids::PodId;

/// An entry that was taken out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entity {
    info: QueuedPodInfo,
    /// Where it was.
    pub(crate) place: QueuePlace,
}

/// How an attempt of a group ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupAttempt {
    /// The group has a place. Members that failed nevertheless keep its time.
    Success {
        /// Some member that was tried is back.
        has_failed_members: bool,
    },
    /// A plugin said no.
    Rejected,
    /// Something failed.
    Error,
}

impl SchedulingQueue {
    /// A member of a group is known from now on, although it has no place of its own.
    pub(crate) fn know_member(&mut self, pod: &QueuedPod, attempts: u32, now_ns: u64) {
        while self.entries.len() <= pod.pod.index() {
            self.entries.push(QueuedPodInfo::default());
        }
        debug_assert_eq!(self.place(pod.pod), QueuePlace::Out);
        self.orders += 1;
        let mut info = QueuedPodInfo::new(pod, now_ns, self.orders);
        (info.attempts, info.active_ns) = (attempts, now_ns);
        self.entries[pod.pod.index()] = info;
    }

    /// A member is tried.
    pub(crate) fn count_attempt(&mut self, pod: PodId, attempts: u32, active_ns: u64) {
        let entry = &mut self.entries[pod.index()];
        (entry.attempts, entry.active_ns) = (attempts, active_ns);
    }

    /// A new entry for a group, under its first member, which is known.
    pub(crate) fn add_entity(&mut self, leader: QueuedPod, now_ns: u64, plugins: &mut impl QueuePlugins) {
        let info = self.entries[leader.pod.index()];
        let entity = Entity { info, place: QueuePlace::Active };
        self.incoming.because(Cause::Event(super::UNSCHEDULED_POD_ADD));
        self.put_entity(entity, leader, now_ns, plugins);
    }

    /// Takes the entry of a group out, wherever it is.
    pub(crate) fn take_entity(&mut self, leader: PodId) -> Entity {
        let (info, place) = (self.entries[leader.index()], self.place(leader));
        self.delete_from_any_queue(leader);
        Entity { info, place }
    }

    /// Puts an entry back where it was, under a leader: PreEnqueue is asked again on the way to the
    /// active queue and, if pods may leave that early, into backoff.
    pub(crate) fn put_entity(
        &mut self,
        entity: Entity,
        leader: QueuedPod,
        now_ns: u64,
        plugins: &mut impl QueuePlugins,
    ) {
        let strategy = match entity.place {
            QueuePlace::Backoff | QueuePlace::ErrorBackoff => QueueingStrategy::AfterBackoff,
            QueuePlace::Gated | QueuePlace::Unschedulable => QueueingStrategy::Skip,
            QueuePlace::Active | QueuePlace::InFlight | QueuePlace::Out => QueueingStrategy::Immediately,
        };
        self.put_entity_by(entity, leader, strategy, now_ns, plugins);
    }

    /// As [`SchedulingQueue::put_entity`], to where an event or an attempt sends it.
    pub(crate) fn put_entity_by(
        &mut self,
        entity: Entity,
        leader: QueuedPod,
        strategy: QueueingStrategy,
        now_ns: u64,
        plugins: &mut impl QueuePlugins,
    ) {
        let own = &self.entries[leader.pod.index()];
        let mut info = entity.info;
        (info.uid, info.class) = (leader.uid, leader.class);
        (info.priority, info.profile) = (leader.priority, leader.profile);
        (info.attempts, info.place) = (own.attempts, QueuePlace::Out);
        (info.ticket, info.bucket, info.slot) = (NONE, NONE, NONE);
        (info.previous, info.next) = (NONE, NONE);
        self.entries[leader.pod.index()] = info;
        self.is_asleep = false;
        match strategy {
            QueueingStrategy::Skip => {
                let place = if entity.place == QueuePlace::Unschedulable {
                    QueuePlace::Unschedulable
                } else {
                    QueuePlace::Gated
                };
                self.add_to_unschedulable_pods(leader.pod, place);
            }
            _ => self.requeue_pod_with_queueing_strategy(leader.pod, strategy, now_ns, plugins),
        }
    }

    /// A group comes back from an attempt with members that wait: at once after a success, else after its
    /// backoff. No event is waited for.
    pub(crate) fn put_attempted(
        &mut self,
        entity: Entity,
        leader: QueuedPod,
        (attempt, size): (GroupAttempt, usize),
        now_ns: u64,
        plugins: &mut impl QueuePlugins,
    ) {
        let mut info = entity.info;
        let keeps_time = attempt == GroupAttempt::Success { has_failed_members: true };
        match attempt {
            GroupAttempt::Success { .. } => (info.errors, info.rejections) = (0, 0),
            GroupAttempt::Rejected => {
                info.rejections = info.rejections.saturating_add(1);
                info.errors = 0;
            }
            GroupAttempt::Error => info.errors = info.errors.saturating_add(1),
        }
        if !keeps_time {
            info.timestamp_ns = now_ns;
        }
        info.was_flushed = false;
        info.flushed_ns = 0;
        // Those who rejected members are the members' business: a group waits for no event.
        (info.unschedulable, info.pending) = (PluginNumberSet::NONE, PluginNumberSet::NONE);
        info.set_gating_plugin(None);
        let failures = if info.errors > 0 { info.errors } else { info.rejections };
        let end_ns = self.group_backoff(size).end_ns(failures, info.timestamp_ns);
        info.backoff_is_set = end_ns.is_some();
        info.backoff_end_ns = end_ns.unwrap_or(0);
        self.incoming.because(Cause::AttemptFailed);
        let strategy = match attempt {
            GroupAttempt::Success { .. } => QueueingStrategy::Immediately,
            GroupAttempt::Rejected | GroupAttempt::Error => QueueingStrategy::AfterBackoff,
        };
        self.put_entity_by(Entity { info, ..entity }, leader, strategy, now_ns, plugins);
    }

    /// The longest backoff grows with the root of the group's size. Upstream: `calculateBackoffDuration`.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "upstream's own float arithmetic"
    )]
    fn group_backoff(&self, size: usize) -> BackoffSettings {
        let settings = self.backoff.settings();
        let max_ns =
            if size > 1 { (settings.max_ns as f64 * (size as f64).sqrt()) as u64 } else { settings.max_ns };
        BackoffSettings { max_ns, ..*settings }
    }
}
