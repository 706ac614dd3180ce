//! Where a cycle tells that it enters its next part. The engine has no clock: whoever measures
//! reads one in [`Probe::mark`].

/// A part of the cycle that just ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// PreFilter is done.
    PreFilter,
    /// PreFilter is done, and has rejected the pod.
    PreFilterRejected,
    /// Filter is done.
    Filter,
    /// PreScore is done.
    PreScore,
    /// Score, normalisation and selection are done.
    Score,
}

/// Listens to a cycle.
pub trait Probe {
    /// A part of the cycle ended.
    fn mark(&mut self, mark: Mark);

    /// Whether single plugins are timed in the cycle that begins.
    #[inline]
    fn times_plugins(&self) -> bool {
        false
    }
}

/// Listens to nothing, at no cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    #[inline]
    fn mark(&mut self, _: Mark) {}
}
