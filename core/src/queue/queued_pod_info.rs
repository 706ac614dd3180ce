//! What the queue knows about one pod.

use crate::framework::plugin::QueueKey;
use crate::ids::{ClassId, PodId, PodUid};

use super::order::{SortKey, Ticket};
use super::plugin_set::{PluginNumber, PluginNumberSet};

/// A profile's place in the scheduler's list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProfileNumber(pub u8);

/// Where a pod is, seen from the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueuePlace {
    /// Not in the queue.
    #[default]
    Out,
    /// Ready to be tried.
    Active,
    /// Was rejected and waits before it is tried again.
    Backoff,
    /// Failed without a rejection and waits before it is tried again.
    ErrorBackoff,
    /// Was rejected and waits for an event.
    Unschedulable,
    /// A PreEnqueue plugin holds it back.
    Gated,
    /// Popped, and not yet done with.
    InFlight,
}

/// No neighbour, bucket or ticket.
pub(super) const NONE: u32 = u32::MAX;
const NO_GATING_PLUGIN: u8 = u8::MAX;

/// What the queue is told about a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedPod {
    /// The pod.
    pub pod: PodId,
    /// Its identity.
    pub uid: PodUid,
    /// Its spec.
    pub class: ClassId,
    /// `spec.priority`.
    pub priority: i32,
    /// Whose it is.
    pub profile: ProfileNumber,
}

/// What the queue knows about one pod.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuedPodInfo {
    pub uid: PodUid,
    /// When it was added or failed last: what QueueSort compares.
    pub timestamp_ns: u64,
    /// When it became ready last.
    pub active_ns: u64,
    /// Ascends with every pod that is added.
    pub order: u64,
    /// When its backoff ends. Meaningless unless `backoff_is_set`.
    pub backoff_end_ns: u64,
    /// When it was flushed out of waiting last.
    pub flushed_ns: u64,
    /// In flight: the number of the first event it has not seen.
    pub since: u64,
    /// Who rejected it.
    pub unschedulable: PluginNumberSet,
    /// Who rejected it and waits for something to happen.
    pub pending: PluginNumberSet,
    pub class: ClassId,
    pub priority: i32,
    pub attempts: u32,
    /// Failures with a rejection.
    pub rejections: u32,
    /// Failures without a rejection, since the last rejection.
    pub errors: u32,
    pub ticket: u32,
    /// Waiting: its bucket and its place there.
    pub bucket: u32,
    pub slot: u32,
    /// In flight: its neighbours in order of popping.
    pub previous: u32,
    pub next: u32,
    pub place: QueuePlace,
    pub profile: ProfileNumber,
    gate: u8,
    pub backoff_is_set: bool,
    pub was_flushed: bool,
}

impl Default for QueuedPodInfo {
    fn default() -> Self {
        QueuedPodInfo {
            uid: PodUid(0),
            timestamp_ns: 0,
            active_ns: 0,
            order: 0,
            backoff_end_ns: 0,
            flushed_ns: 0,
            since: 0,
            unschedulable: PluginNumberSet::NONE,
            pending: PluginNumberSet::NONE,
            class: ClassId(0),
            priority: 0,
            attempts: 0,
            rejections: 0,
            errors: 0,
            ticket: NONE,
            bucket: NONE,
            slot: NONE,
            previous: NONE,
            next: NONE,
            place: QueuePlace::Out,
            profile: ProfileNumber(0),
            gate: NO_GATING_PLUGIN,
            backoff_is_set: false,
            was_flushed: false,
        }
    }
}

// With a pod's row (48 bytes) and its place in a lane (24) this is well under 256 bytes a pod.
const _: () = assert!(size_of::<QueuedPodInfo>() <= 128);

impl QueuedPodInfo {
    /// A pod that was never tried.
    pub(super) fn new(pod: &QueuedPod, now_ns: u64, order: u64) -> QueuedPodInfo {
        QueuedPodInfo {
            uid: pod.uid,
            class: pod.class,
            priority: pod.priority,
            profile: pod.profile,
            timestamp_ns: now_ns,
            order,
            ..QueuedPodInfo::default()
        }
    }

    /// The pod as the host is shown it.
    pub(super) fn pod(&self, pod: PodId) -> QueuedPod {
        let QueuedPodInfo { uid, class, priority, profile, .. } = *self;
        QueuedPod { pod, uid, class, priority, profile }
    }

    pub(super) fn sort_key(&self) -> SortKey {
        let plugin = QueueKey { priority: self.priority, queued_ns: self.timestamp_ns };
        SortKey { plugin, order: self.order }
    }

    /// The PreEnqueue plugin that holds it back.
    pub(super) fn gating_plugin(&self) -> Option<PluginNumber> {
        (self.gate != NO_GATING_PLUGIN).then_some(PluginNumber(self.gate))
    }

    pub(super) fn set_gating_plugin(&mut self, gate: Option<PluginNumber>) {
        self.gate = gate.map_or(NO_GATING_PLUGIN, |plugin| plugin.0);
    }

    pub(super) fn rejector_plugins(&self) -> PluginNumberSet {
        self.unschedulable.union(self.pending)
    }

    /// Whether a ticket of a queue is this entry's.
    pub(super) fn holds(&self, place: QueuePlace, ticket: Ticket) -> bool {
        self.place == place && self.ticket == ticket.number
    }
}
