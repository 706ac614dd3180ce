//! Pod groups in the queue: the members of a group are tried together, so the queue holds one entry for
//! them, under the row of one of them, its leader.
//!
//! ```text
//!                      ┌ incomplete: the group's object is not there
//! member comes ────────┼ members: it is, and the group's entry is in some queue
//!                      └ pending: the group is being tried; they come in when it comes back
//! ```
//!
//! Where the entry is (active, in backoff, gated) is the queue's own; this says whose entry it is.
//!
//! Upstream: backend/queue/pod_group_member_pods.go, workload_forest.go; framework/types.go
//! `QueuedPodGroupInfo`.

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ids::{PodGroupId, PodId, PodUid};

/// A member that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedMember {
    /// The pod.
    pub pod: PodId,
    /// Its identity.
    pub uid: PodUid,
    /// How often it was tried.
    pub attempts: u32,
    /// When it came, or came back last.
    pub timestamp_ns: u64,
}

impl QueuedMember {
    /// Upstream: `PodGroupMemberPodsOrderingFunc`; all have the group's priority.
    /// Differs: among those that came at the same time the one that was created first is first, not the one
    /// whose name is (`members_stand_by_attempts_then_by_age`).
    fn rank(&self) -> (Reverse<u32>, u64, PodUid) {
        (Reverse(self.attempts), self.timestamp_ns, self.uid)
    }
}

/// A group in the queue.
#[derive(Clone, Debug, Default)]
pub struct QueuedPodGroup {
    /// Whose row the entry is under.
    pub leader: Option<PodId>,
    /// The group is being tried.
    pub is_in_flight: bool,
    /// It was rejected when so much news had come.
    pub rejected_at: Option<u64>,
    members: Vec<QueuedMember>,
    pending: Vec<QueuedMember>,
    incomplete: Vec<QueuedMember>,
}

impl QueuedPodGroup {
    /// The members, in the order in which they are tried.
    #[must_use]
    pub fn members(&self) -> &[QueuedMember] {
        &self.members
    }

    /// Adds a member in its place.
    pub fn insert(&mut self, member: QueuedMember) {
        debug_assert!(!self.holds(member.pod), "a member comes in once");
        let at = self.members.partition_point(|known| known.rank() < member.rank());
        self.members.insert(at, member);
    }

    /// A member has to wait until the group comes back.
    pub fn defer(&mut self, member: QueuedMember) {
        self.pending.push(member);
    }

    /// A member has to wait for the group's object.
    pub fn add_incomplete(&mut self, member: QueuedMember) {
        self.incomplete.push(member);
    }

    /// The group is tried: each of its members is.
    pub fn begin(&mut self) {
        debug_assert!(!self.is_in_flight, "a group is tried once at a time");
        self.is_in_flight = true;
        self.members.iter_mut().for_each(|member| member.attempts += 1);
    }

    /// The group was tried: those that came back, or came meanwhile, are its members now. Whether one of
    /// them was tried.
    pub fn end(&mut self) -> bool {
        self.is_in_flight = false;
        self.leader = None;
        let tried: FxHashSet<PodUid> = self.members.drain(..).map(|member| member.uid).collect();
        let mut pending = std::mem::take(&mut self.pending);
        let has_failed = pending.iter().any(|member| tried.contains(&member.uid));
        pending.sort_by_key(QueuedMember::rank);
        self.members = pending;
        has_failed
    }

    /// The group's object came: those that waited for it.
    pub fn take_incomplete(&mut self) -> Vec<QueuedMember> {
        std::mem::take(&mut self.incomplete)
    }

    /// The group's object is gone: all wait for it.
    pub fn decompose(&mut self) {
        self.leader = None;
        self.incomplete.append(&mut self.members);
        self.incomplete.append(&mut self.pending);
    }

    /// Takes a member out. Whether it was among those of the entry.
    pub fn remove(&mut self, pod: PodId) -> bool {
        self.pending.retain(|member| member.pod != pod);
        self.incomplete.retain(|member| member.pod != pod);
        let before = self.members.len();
        self.members.retain(|member| member.pod != pod);
        self.members.len() < before
    }

    /// How many wait for the group's object.
    #[must_use]
    pub fn incomplete_count(&self) -> usize {
        self.incomplete.len()
    }

    /// Whether a pod waits for the group's object.
    #[must_use]
    pub fn is_incomplete(&self, pod: PodId) -> bool {
        self.incomplete.iter().any(|member| member.pod == pod)
    }

    /// Whether a pod is a member of the entry, or comes in when the group comes back.
    #[must_use]
    pub fn holds(&self, pod: PodId) -> bool {
        self.members.iter().chain(&self.pending).any(|member| member.pod == pod)
    }

    /// Panics where the lists do not agree. See `Scheduler::check`.
    fn check(&self) {
        assert!(
            self.members.is_sorted_by_key(QueuedMember::rank),
            "members stand in the order of their turns"
        );
        assert!(self.pending.is_empty() || self.is_in_flight, "nobody waits for a group that is not tried");
        let mut uids: Vec<PodUid> = self.members.iter().chain(&self.incomplete).map(|it| it.uid).collect();
        let all = uids.len();
        uids.sort_unstable();
        uids.dedup();
        assert_eq!(uids.len(), all, "a member waits in one place");
        if let Some(leader) = self.leader.filter(|_| !self.is_in_flight) {
            assert!(self.members.iter().any(|it| it.pod == leader), "an entry is under one of its members");
        }
    }

    fn is_empty(&self) -> bool {
        self.members.is_empty() && self.pending.is_empty() && self.incomplete.is_empty()
    }
}

/// All groups in the queue.
#[derive(Clone, Debug, Default)]
pub struct PodGroupQueue {
    groups: FxHashMap<PodGroupId, QueuedPodGroup>,
}

impl PodGroupQueue {
    /// No group is in the queue.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// A group, if any of its members waits.
    #[must_use]
    pub fn get(&self, group: PodGroupId) -> Option<&QueuedPodGroup> {
        self.groups.get(&group)
    }

    /// A group, to be changed.
    pub fn entry(&mut self, group: PodGroupId) -> &mut QueuedPodGroup {
        self.groups.entry(group).or_default()
    }

    /// Forgets a group of which nobody waits.
    pub fn forget_if_empty(&mut self, group: PodGroupId) {
        if self.groups.get(&group).is_some_and(|known| known.is_empty() && !known.is_in_flight) {
            self.groups.remove(&group);
        }
    }

    /// Panics where a group that nobody waits in is kept, or its lists do not agree.
    pub(crate) fn check(&self) {
        for group in self.groups.values() {
            assert!(!group.is_empty() || group.is_in_flight, "a group of which nobody waits is forgotten");
            group.check();
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.groups.clear();
    }

    /// All of them, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &QueuedPodGroup> + '_ {
        self.groups.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(pod: u32, attempts: u32, timestamp_ns: u64) -> QueuedMember {
        QueuedMember { pod: PodId(pod), uid: PodUid(u64::from(pod)), attempts, timestamp_ns }
    }

    fn pods(group: &QueuedPodGroup) -> Vec<u32> {
        group.members().iter().map(|member| member.pod.0).collect()
    }

    #[test]
    fn members_stand_by_attempts_then_by_age() {
        let mut group = QueuedPodGroup::default();
        for it in [member(4, 0, 7), member(2, 0, 5), member(1, 0, 7), member(9, 1, 8)] {
            group.insert(it);
        }
        assert_eq!(pods(&group), [9, 2, 1, 4]);
    }

    #[test]
    fn members_that_come_while_the_group_is_tried_come_in_with_those_that_failed() {
        let mut group = QueuedPodGroup::default();
        group.insert(member(1, 0, 1));
        group.insert(member(2, 0, 2));
        group.begin();
        group.defer(member(3, 0, 3));
        group.defer(member(2, 1, 3));
        assert!(group.end(), "pod 2 was tried and is back");
        assert_eq!(pods(&group), [2, 3]);
        group.begin();
        assert!(!group.end());
        assert!(group.is_empty());
    }

    #[test]
    fn group_whose_object_is_gone_is_decomposed() {
        let mut queue = PodGroupQueue::default();
        let id = PodGroupId(3);
        queue.entry(id).insert(member(1, 0, 1));
        queue.entry(id).decompose();
        assert!(queue.entry(id).is_incomplete(PodId(1)));
        assert_eq!(queue.entry(id).incomplete_count(), 1);
        assert_eq!(queue.entry(id).take_incomplete(), [member(1, 0, 1)]);
        queue.forget_if_empty(id);
        assert!(queue.is_empty());
    }
}
