//! Members of pod groups on their way into the queue and out of it.
//!
//! Upstream: backend/queue/scheduling_queue.go `addPodGroupMember`, `deletePodGroupMember`, `AddPodGroup`,
//! `DeletePodGroup`, `Activate`.

use super::{PodCounts, Scheduler};
use crate::ids::{PodGroupId, PodId, PodUid};
use crate::input::pod_group::PodGroupPolicy;
use crate::mutants::Mutant;
use crate::queue::pod_group_queue::{QueuedMember, QueuedPodGroup};
use crate::queue::{QueuePlace, QueuedPod, QueueingStrategy};

/// Preemptors are known by the uids of pods, which never have this bit: one that has it is a group.
const GROUP_BIT: u64 = 1 << 63;

/// What a group is called among preemptors and in the order of calls.
pub(super) fn uid_of_group(group: PodGroupId) -> PodUid {
    PodUid(GROUP_BIT | u64::from(group.0))
}

/// The group that is called so.
pub(super) fn group_of_uid(uid: PodUid) -> Option<PodGroupId> {
    let number = uid.0.checked_sub(GROUP_BIT)?;
    u32::try_from(number).ok().map(PodGroupId)
}

impl Scheduler {
    /// The group of a pod, if it is scheduled as a member of one.
    #[inline]
    pub(super) fn group_of(&self, pod: PodId) -> Option<PodGroupId> {
        self.world.pod_groups().of_pod(pod)
    }

    /// Where a pod is in the queue; a member of a group is where its group is.
    pub(super) fn place_in_queue(&self, pod: PodId) -> QueuePlace {
        let Some(group) = self.group_of(pod) else { return self.queue.place(pod) };
        let Some(queued) = self.pod_group_queue.get(group) else { return QueuePlace::Out };
        if queued.is_incomplete(pod) {
            return QueuePlace::Gated;
        }
        match queued.leader {
            Some(leader) if queued.holds(pod) => self.queue.place(leader),
            _ => QueuePlace::Out,
        }
    }

    fn queued_member(&self, pod: PodId, attempts: u32) -> QueuedMember {
        QueuedMember { pod, uid: self.world.pods().get(pod).uid, attempts, timestamp_ns: self.now_ns }
    }

    /// The entry of a group, under this member.
    pub(super) fn entity(&mut self, group: PodGroupId, leader: PodId) -> QueuedPod {
        let queued = self.queued(leader);
        let object = self.world.pod_groups().get(group).object();
        let priority = object.map_or(queued.priority, |object| object.priority);
        QueuedPod { priority, ..queued }
    }

    /// A member is new, or came back from an attempt of its own.
    pub(super) fn add_pod_group_member_to_queue(&mut self, pod: PodId, group: PodGroupId, attempts: u32) {
        let now_ns = self.now_ns;
        let queued = self.queued(pod);
        self.queue.know_member(&queued, attempts, now_ns);
        let member = self.queued_member(pod, attempts);
        self.add_queued_member(group, member);
    }

    fn add_queued_member(&mut self, group: PodGroupId, member: QueuedMember) {
        let has_object = self.world.pod_groups().get(group).object().is_some();
        let queued = self.pod_group_queue.entry(group);
        if !has_object {
            return queued.add_incomplete(member);
        }
        if queued.is_in_flight {
            return queued.defer(member);
        }
        let leader = queued.leader;
        queued.insert(member);
        let Some(leader) = leader else {
            queued.leader = Some(member.pod);
            let entity = self.entity(group, member.pod);
            let now_ns = self.now_ns;
            return self.with_queue(|queue, plugins| queue.add_entity(entity, now_ns, plugins));
        };
        match self.queue.place(leader) {
            // An entry that waits for something goes on waiting: an event may tell it of the new member.
            QueuePlace::Gated | QueuePlace::Unschedulable => {}
            // The others passed PreEnqueue, and one more does not change that.
            QueuePlace::Active if self.passes_pre_enqueue(member.pod) => {}
            _ => self.requeue_group(group, None),
        }
    }

    fn passes_pre_enqueue(&mut self, pod: PodId) -> bool {
        let queued = self.queued(pod);
        self.with_queue(|_, plugins| plugins.passes(&queued))
    }

    /// Takes a group's entry out and puts it back under its first member: where it was, or where an event
    /// sends it.
    fn requeue_group(&mut self, group: PodGroupId, strategy: Option<QueueingStrategy>) {
        let queued = self.pod_group_queue.entry(group);
        let Some(old) = queued.leader else { return };
        let taken = self.queue.take_entity(old);
        queued.leader = queued.members().first().map(|member| member.pod);
        let Some(leader) = queued.leader else { return self.pod_group_queue.forget_if_empty(group) };
        let entity = self.entity(group, leader);
        let now_ns = self.now_ns;
        self.with_queue(|queue, plugins| match strategy {
            None => queue.put_entity(taken, entity, now_ns, plugins),
            Some(strategy) => queue.put_entity_by(taken, entity, strategy, now_ns, plugins),
        });
    }

    /// A member came, or its group's object changed: a gang that GangScheduling holds back may be complete.
    ///
    /// The plugin's hint says so of the events of a member's own group and of no other, so that no other group
    /// need be asked.
    pub(super) fn wake_gated_group(&mut self, group: PodGroupId) {
        let Some(leader) = self.pod_group_queue.get(group).and_then(|queued| queued.leader) else { return };
        if self.queue.place(leader) != QueuePlace::Gated || self.settings.mutants.has(Mutant::GangUnheard) {
            return;
        }
        let state = self.world.pod_groups().get(group);
        let is_complete = state.object().is_some_and(|object| match object.policy {
            PodGroupPolicy::Basic => true,
            PodGroupPolicy::Gang { .. } => state.members().len() >= object.policy.min_count(),
        });
        if is_complete {
            self.requeue_group(group, Some(QueueingStrategy::AfterBackoff));
        }
    }

    /// A member of a group changed while it waits. What holds its group back may not hold any more.
    pub(super) fn update_pod_group_member(&mut self, pod: PodId, group: PodGroupId) {
        let Some(queued) = self.pod_group_queue.get(group) else {
            return self.add_pod_group_member_to_queue(pod, group, 0);
        };
        if !queued.holds(pod) && !queued.is_incomplete(pod) {
            return self.add_pod_group_member_to_queue(pod, group, 0);
        }
        let Some(leader) = queued.leader.filter(|_| queued.holds(pod)) else { return };
        match self.queue.place(leader) {
            QueuePlace::Gated => self.requeue_group(group, Some(QueueingStrategy::AfterBackoff)),
            // Its class is the entry's.
            _ if leader == pod => self.requeue_group(group, None),
            _ => {}
        }
    }

    /// A pod leaves the queue: it is gone, or on a node.
    pub(super) fn delete_from_queue(&mut self, pod: PodId) {
        let Some(group) = self.group_of(pod) else { return self.queue.delete(pod) };
        if self.pod_group_queue.get(group).is_none() {
            return;
        }
        let queued = self.pod_group_queue.entry(group);
        let was_queued = queued.remove(pod);
        let (leader, is_in_flight) = (queued.leader, queued.is_in_flight);
        if was_queued
            && !is_in_flight
            && let Some(leader) = leader
        {
            let waits = matches!(self.queue.place(leader), QueuePlace::Gated | QueuePlace::Unschedulable);
            if leader == pod || !waits {
                self.requeue_group(group, None);
            }
        }
        self.pod_group_queue.forget_if_empty(group);
    }

    /// A group's object came: its members may be queued.
    pub(super) fn release_incomplete_pod_group(&mut self, group: PodGroupId) {
        if self.pod_group_queue.get(group).is_none() {
            return;
        }
        for member in self.pod_group_queue.entry(group).take_incomplete() {
            self.add_queued_member(group, member);
        }
    }

    /// A group's object is gone: its members wait for another.
    pub(super) fn decompose_pod_group(&mut self, group: PodGroupId) {
        self.preemption_executor.end(uid_of_group(group));
        let Some(queued) = self.pod_group_queue.get(group) else { return };
        if let Some(leader) = queued.leader {
            self.queue.take_entity(leader);
        }
        self.pod_group_queue.entry(group).decompose();
        self.pod_group_queue.forget_if_empty(group);
    }

    /// A plugin asks for a pod, or a group, to be tried again now.
    pub(super) fn activate_in_queue(&mut self, uid: PodUid) {
        let pod = self.world.pods().find(uid);
        let group = group_of_uid(uid).or_else(|| self.group_of(pod?));
        let pod = match group {
            None => pod,
            Some(group) => self.pod_group_queue.get(group).and_then(|queued| queued.leader),
        };
        let Some(pod) = pod.filter(|&pod| group.is_none() || self.queue.place(pod) != QueuePlace::InFlight)
        else {
            return;
        };
        let now_ns = self.now_ns;
        self.with_queue(|queue, queue_plugins| queue.activate(pod, now_ns, queue_plugins));
    }

    /// Groups in backoff that were rejected, and of which nothing new was heard since: the next attempt would
    /// end as the last one did.
    pub(super) fn hopeless_group_count(&self) -> usize {
        let is_hopeless = |queued: &&QueuedPodGroup| {
            let place = queued.leader.map(|leader| self.queue.place(leader));
            queued.rejected_at == Some(self.news)
                && matches!(place, Some(QueuePlace::Backoff | QueuePlace::ErrorBackoff))
        };
        self.pod_group_queue.iter().filter(is_hopeless).count()
    }

    /// Members that the queue does not count, because their leader stands for them.
    pub(super) fn members_behind_leaders(&self) -> PodCounts {
        let mut counts = PodCounts::default();
        for queued in self.pod_group_queue.iter() {
            counts.gated += queued.incomplete_count();
            let behind = queued.members().len().saturating_sub(1);
            match queued.leader.map_or(QueuePlace::Out, |leader| self.queue.place(leader)) {
                QueuePlace::Active => counts.queued += behind,
                QueuePlace::Backoff | QueuePlace::ErrorBackoff => counts.backoff += behind,
                QueuePlace::Gated => counts.gated += behind,
                QueuePlace::Unschedulable | QueuePlace::InFlight | QueuePlace::Out => {}
            }
        }
        counts
    }
}
