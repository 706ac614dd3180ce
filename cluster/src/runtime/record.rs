//! What a runtime reports while it runs. A recorder decides what to keep; the runtime reads the
//! clock only as often as the recorder asks for.

use schedlab_core::cycle::probe::{Mark, Probe};
use schedlab_core::ids::PodUid;
use schedlab_core::queue::ProfileNumber;
use schedlab_core::scheduler::Span;

use crate::api::WatchEvent;

/// How a scheduling cycle ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CycleOutcome {
    /// The pod was placed.
    Assumed {
        /// Nodes looked at for it.
        evaluated: usize,
    },
    /// No node fitted, or a plugin rejected the pod.
    Unschedulable,
    /// Something went wrong.
    Failed,
}

/// The pod that a cycle was for.
#[derive(Clone, Copy, Debug)]
pub struct CyclePod {
    /// When it entered the queue.
    pub queued_ns: u64,
    /// Its profile.
    pub profile: ProfileNumber,
}

/// Listens to the scheduler thread.
pub trait CycleRecorder: Probe + Send {
    /// Cycles follow each other from here on, one begins where the last one ended.
    fn round_begins(&mut self);

    /// A cycle ended. Of its pod only some recorders want to know, of some cycles.
    fn cycle_ended(&mut self, outcome: CycleOutcome, pod: impl FnOnce() -> CyclePod);

    /// The scheduler has nothing to do: what was recorded may be handed in.
    fn rests(&mut self);

    /// Whether the next event is timed; [`CycleRecorder::event_handled`] then follows.
    #[inline]
    fn times_event(&mut self) -> bool {
        false
    }

    /// An event was handled in so many nanoseconds.
    fn event_handled(&mut self, _: &WatchEvent, _: u64) {}

    /// Whether the scheduler is to note spans; [`CycleRecorder::spans`] then follows each round.
    #[inline]
    fn times_spans(&self) -> bool {
        false
    }

    /// What the scheduler noted in a round. The recorder empties the list.
    fn spans(&mut self, spans: &mut Vec<Span>) {
        spans.clear();
    }

    /// The names of the profiles, by number, until this is called again.
    fn profiles(&mut self, _: Vec<String>) {}
}

/// A pod that was bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The pod.
    pub pod: PodUid,
    /// When it was created.
    pub created_ns: u64,
    /// When the scheduling cycle that bound it began.
    pub begun_ns: u64,
    /// How often it was tried.
    pub attempts: u32,
    /// Whose it is.
    pub profile: ProfileNumber,
    /// When the call was sent, if that was before the batch began: over a slow link.
    pub sent_ns: Option<u64>,
}

/// Listens to the binder thread.
pub trait BindRecorder: Send {
    /// A batch of bindings begins.
    fn binds_begin(&mut self);

    /// The batch ended; these pods were bound.
    fn binds_ended(&mut self, bound: &[Bound]);

    /// What was recorded must be handed in: nothing else is under way, or somebody may look.
    #[inline]
    fn rests(&mut self) {}

    /// Whether other calls are timed; [`BindRecorder::call_ended`] then follows.
    #[inline]
    fn times_calls(&self) -> bool {
        false
    }

    /// A call that is no successful binding ended, so many nanoseconds after it was sent.
    fn call_ended(&mut self, _: CallKind, _: CallEnd, _: u64) {}
}

/// Kinds of calls that upstream's dispatcher makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallKind {
    /// A binding.
    PodBinding,
    /// A patch of a pod's status.
    PodStatusPatch,
}

impl CallKind {
    /// Upstream's value of the label `call_type`.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            CallKind::PodBinding => "pod_binding",
            CallKind::PodStatusPatch => "pod_status_patch",
        }
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallEnd {
    /// It was made.
    Success,
    /// The API refused it.
    Error,
}

impl CallEnd {
    /// Of a result.
    #[must_use]
    pub fn of<T, E>(result: &Result<T, E>) -> CallEnd {
        if result.is_ok() { CallEnd::Success } else { CallEnd::Error }
    }

    /// Upstream's value of the label `result`.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            CallEnd::Success => "success",
            CallEnd::Error => "error",
        }
    }
}

/// Records nothing, at no cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRecorder;

impl Probe for NoRecorder {
    #[inline]
    fn mark(&mut self, _: Mark) {}
}

impl CycleRecorder for NoRecorder {
    #[inline]
    fn round_begins(&mut self) {}

    #[inline]
    fn cycle_ended(&mut self, _: CycleOutcome, _: impl FnOnce() -> CyclePod) {}

    #[inline]
    fn rests(&mut self) {}
}

impl BindRecorder for NoRecorder {
    #[inline]
    fn binds_begin(&mut self) {}

    #[inline]
    fn binds_ended(&mut self, _: &[Bound]) {}
}
