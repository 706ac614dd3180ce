//! Events about pods, as values: what `kubectl describe pod` shows of the scheduler's work.
//!
//! Upstream: schedule_one.go (`FailedScheduling`, `Scheduled`), framework/preemption/executor.go
//! (`Preempted`), KEP-5501 (`NotReadyForScheduling`). Upstream's broadcaster writes them beside the
//! scheduling loop; a runtime takes them and does the same. `Scheduled` is not here: only who
//! performs a binding knows that it succeeded.

use std::sync::Arc;

use super::Scheduler;
use crate::ids::{NodeId, PodUid};

/// Which events are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventLevel {
    /// None, but for those of KEP-5501, which its gate switches.
    #[default]
    Off,
    /// Of pods that are not scheduled, or pushed out.
    Problems,
    /// Also one for every pod that is scheduled.
    All,
}

/// `reason` of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PodEventReason {
    /// The pod is on a node.
    Scheduled,
    /// An attempt failed.
    FailedScheduling,
    /// The pod makes room for another.
    Preempted,
    /// A PreEnqueue plugin holds the pod back.
    NotReadyForScheduling,
}

impl PodEventReason {
    /// As the API writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            PodEventReason::Scheduled => "Scheduled",
            PodEventReason::FailedScheduling => "FailedScheduling",
            PodEventReason::Preempted => "Preempted",
            PodEventReason::NotReadyForScheduling => "NotReadyForScheduling",
        }
    }

    /// `action`: what was being done.
    #[must_use]
    pub fn action(self) -> &'static str {
        match self {
            PodEventReason::Scheduled => "Binding",
            PodEventReason::FailedScheduling | PodEventReason::NotReadyForScheduling => "Scheduling",
            PodEventReason::Preempted => "Preempting",
        }
    }

    /// `type`.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            PodEventReason::Scheduled | PodEventReason::Preempted => "Normal",
            PodEventReason::FailedScheduling | PodEventReason::NotReadyForScheduling => "Warning",
        }
    }
}

/// What an event says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodEventNote {
    /// This.
    Text(Arc<str>),
    /// Who pushed the pod out, and where.
    PreemptedBy {
        /// The pod that takes the room.
        preemptor: PodUid,
        /// The node.
        node: NodeId,
    },
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodEvent {
    /// The pod it is about.
    pub pod: PodUid,
    /// `reason`.
    pub reason: PodEventReason,
    /// `note`.
    pub note: PodEventNote,
}

impl Scheduler {
    /// Takes the events that came up since the last time, oldest first.
    pub fn take_pod_events(&mut self, into: &mut Vec<PodEvent>) {
        into.append(&mut self.pod_events);
    }

    /// Notes an event of a pod that has a problem, if anybody wants it.
    pub(super) fn note_problem(&mut self, pod: PodUid, reason: PodEventReason, note: PodEventNote) {
        if self.settings.events >= EventLevel::Problems {
            self.pod_events.push(PodEvent { pod, reason, note });
        }
    }
}
