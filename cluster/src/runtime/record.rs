//! What a runtime reports while it runs. A recorder decides what to keep; the runtime reads the
//! clock only as often as the recorder asks for.

use schedlab_core::cycle::probe::{Mark, Probe};
use schedlab_core::ids::PodUid;

use crate::api::WatchEvent;

/// How a scheduling cycle ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CycleOutcome {
    /// The pod was placed.
    Assumed {
        /// Nodes looked at for it.
        evaluated: usize,
    },
    /// No node fitted.
    Unschedulable,
}

/// Listens to the scheduler thread.
pub trait CycleRecorder: Probe + Send {
    /// Cycles follow each other from here on, one begins where the last one ended.
    fn round_begins(&mut self);

    /// A cycle ended for a pod that entered the queue at `queued_ns`.
    fn cycle_ended(&mut self, queued_ns: u64, outcome: CycleOutcome);

    /// The scheduler has nothing to do: what was recorded may be handed in.
    fn rests(&mut self);

    /// Whether the next event is timed; [`CycleRecorder::event_handled`] then follows.
    #[inline]
    fn times_event(&mut self) -> bool {
        false
    }

    /// An event was handled in so many nanoseconds.
    fn event_handled(&mut self, _: &WatchEvent, _: u64) {}
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
    /// When the call was sent, if that was before the batch began: over a slow link.
    pub sent_ns: Option<u64>,
}

/// Listens to the binder thread.
pub trait BindRecorder: Send {
    /// A batch of bindings begins.
    fn binds_begin(&mut self);

    /// The batch ended; these pods were bound.
    fn binds_ended(&mut self, bound: &[Bound]);
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
    fn cycle_ended(&mut self, _: u64, _: CycleOutcome) {}

    #[inline]
    fn rests(&mut self) {}
}

impl BindRecorder for NoRecorder {
    #[inline]
    fn binds_begin(&mut self) {}

    #[inline]
    fn binds_ended(&mut self, _: &[Bound]) {}
}
