//! Pods that wait for something to happen, grouped by what may help them.
//!
//! ```text
//! group:  profile, who rejected the pod, who holds it back
//!   bucket:  class
//!     pods
//! ```
//!
//! An event looks at the groups whose rejecting plugins want to hear of it, asks the hints once per
//! class, and touches a pod only to move it. Ten thousand pods behind one scheduling gate are one
//! group: an event that does not concern them costs one comparison.

use std::ops::{Index, IndexMut};

use rustc_hash::FxHashMap;

use crate::ids::{ClassId, PodId};

use super::plugin_set::{PluginNumber, PluginNumberSet};
use super::queued_pod_info::{NONE, ProfileNumber, QueuedPodInfo};

/// What the pods of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct GroupKey {
    pub profile: ProfileNumber,
    pub unschedulable: PluginNumberSet,
    pub pending: PluginNumberSet,
    pub gate: Option<PluginNumber>,
}

impl GroupKey {
    pub(super) fn of(entry: &QueuedPodInfo) -> GroupKey {
        GroupKey {
            profile: entry.profile,
            unschedulable: entry.unschedulable,
            pending: entry.pending,
            gate: entry.gating_plugin(),
        }
    }

    pub(super) fn rejector_plugins(&self) -> PluginNumberSet {
        self.unschedulable.union(self.pending)
    }
}

#[derive(Clone, Debug)]
struct Group {
    key: GroupKey,
    /// Buckets that have pods.
    buckets: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Bucket {
    group: u32,
    /// Its place in the group's list.
    slot: u32,
    class: ClassId,
    pods: Vec<PodId>,
}

/// Pods that wait.
#[derive(Clone, Debug, Default)]
pub(super) struct UnschedulablePods {
    groups: Vec<Group>,
    group_of_key: FxHashMap<GroupKey, u32>,
    buckets: Vec<Bucket>,
    bucket_of_class: FxHashMap<(u32, ClassId), u32>,
    /// Buckets without pods, to be given out again.
    free: Vec<u32>,
    len: usize,
}

fn id(at: usize) -> u32 {
    u32::try_from(at).expect("fewer than 2^32")
}

impl UnschedulablePods {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Pods that wait.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Panics where groups, buckets and the pods' entries do not agree.
    pub(super) fn check(&self, entries: &impl Index<usize, Output = QueuedPodInfo>) {
        let mut listed = 0;
        for (at, bucket) in self.buckets.iter().enumerate() {
            if bucket.pods.is_empty() {
                assert!(self.free.contains(&id(at)), "a bucket without pods is free");
                continue;
            }
            listed += bucket.pods.len();
            let group = &self.groups[bucket.group as usize];
            assert_eq!(group.buckets[bucket.slot as usize], id(at), "a bucket is where it says in its group");
            let known = self.bucket_of_class.get(&(bucket.group, bucket.class));
            assert_eq!(known, Some(&id(at)), "a bucket is found by its class");
            for (slot, &pod) in bucket.pods.iter().enumerate() {
                let entry = &entries[pod.index()];
                assert_eq!((entry.bucket, entry.slot), (id(at), id(slot)), "a pod is where its entry says");
                assert_eq!(entry.class, bucket.class, "the pods of a bucket are of one class");
                assert_eq!(GroupKey::of(entry), group.key, "the same may help all pods of a group");
            }
        }
        assert_eq!(listed, self.len, "pods that wait are counted");
        assert_eq!(
            self.bucket_of_class.len() + self.free.len(),
            self.buckets.len(),
            "a bucket is used or free"
        );
        assert_eq!(self.group_of_key.len(), self.groups.len(), "a group has one key");
    }

    /// Adds a pod, and writes its place into its entry.
    pub(super) fn insert(&mut self, pod: PodId, entry: &mut QueuedPodInfo) {
        let bucket = self.bucket_for(GroupKey::of(entry), entry.class);
        let pods = &mut self.buckets[bucket as usize].pods;
        debug_assert_eq!(entry.bucket, NONE, "a pod waits in one bucket");
        entry.bucket = bucket;
        entry.slot = id(pods.len());
        pods.push(pod);
        self.len += 1;
    }

    /// Takes a pod out.
    pub(super) fn remove(&mut self, pod: PodId, entries: &mut impl IndexMut<usize, Output = QueuedPodInfo>) {
        let QueuedPodInfo { bucket: at, slot, .. } = entries[pod.index()];
        let bucket = &mut self.buckets[at as usize];
        assert_eq!(bucket.pods[slot as usize], pod, "a waiting pod is where its entry says");
        bucket.pods.swap_remove(slot as usize);
        if let Some(moved) = bucket.pods.get(slot as usize) {
            entries[moved.index()].slot = slot;
        }
        let entry = &mut entries[pod.index()];
        entry.bucket = NONE;
        entry.slot = NONE;
        self.len -= 1;
        if bucket.pods.is_empty() {
            self.retire(at);
        }
    }

    /// The groups that have pods, and their pods, those of one class together.
    pub(super) fn groups(&self) -> impl Iterator<Item = (&GroupKey, impl Iterator<Item = &[PodId]>)> {
        self.groups.iter().filter(|group| !group.buckets.is_empty()).map(|group| {
            let buckets = group.buckets.iter().map(|&at| &self.buckets[at as usize]);
            (&group.key, buckets.map(|bucket| bucket.pods.as_slice()))
        })
    }

    /// All pods.
    pub(super) fn pods(&self) -> impl Iterator<Item = PodId> + '_ {
        self.buckets.iter().flat_map(|bucket| bucket.pods.iter().copied())
    }

    /// The classes of pods that wait.
    pub(super) fn classes(&self) -> impl Iterator<Item = ClassId> + '_ {
        self.bucket_of_class.keys().map(|&(_, class)| class)
    }

    /// Buckets without pods keep no room for pods.
    pub(super) fn shrink(&mut self) {
        self.buckets.iter_mut().for_each(|bucket| bucket.pods.shrink_to(2 * bucket.pods.len()));
        self.bucket_of_class.shrink_to(2 * self.bucket_of_class.len());
    }

    fn bucket_for(&mut self, key: GroupKey, class: ClassId) -> u32 {
        let groups = &mut self.groups;
        let group = *self.group_of_key.entry(key).or_insert_with(|| {
            groups.push(Group { key, buckets: Vec::new() });
            id(groups.len() - 1)
        });
        if let Some(&known) = self.bucket_of_class.get(&(group, class)) {
            return known;
        }
        let slot = id(self.groups[group as usize].buckets.len());
        let bucket = match self.free.pop() {
            Some(at) => {
                let bucket = &mut self.buckets[at as usize];
                (bucket.group, bucket.slot, bucket.class) = (group, slot, class);
                at
            }
            None => {
                self.buckets.push(Bucket { group, slot, class, pods: Vec::new() });
                id(self.buckets.len() - 1)
            }
        };
        self.groups[group as usize].buckets.push(bucket);
        self.bucket_of_class.insert((group, class), bucket);
        bucket
    }

    fn retire(&mut self, at: u32) {
        let Bucket { group, slot, class, .. } = self.buckets[at as usize];
        self.bucket_of_class.remove(&(group, class));
        let list = &mut self.groups[group as usize].buckets;
        debug_assert_eq!(list[slot as usize], at, "a bucket is where it says in its group");
        list.swap_remove(slot as usize);
        if let Some(&moved) = list.get(slot as usize) {
            self.buckets[moved as usize].slot = slot;
        }
        self.free.push(at);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let pods: usize = self.buckets.iter().map(|bucket| bucket.pods.capacity()).sum();
        pods * size_of::<PodId>()
            + self.buckets.capacity() * size_of::<Bucket>()
            + self.groups.capacity() * size_of::<Group>()
            + self.bucket_of_class.capacity() * size_of::<((u32, ClassId), u32)>()
    }
}
