//! How long the parts of an attempt take that lie around the search: extension points from PostFilter
//! to PostBind, queueing hints, waiting at Permit, whole attempts that fail in their binding cycle.
//!
//! The scheduler has no clock of its own: who measures gives it one ([`Scheduler::time_plugins`]),
//! turns timing on ([`Scheduler::set_timing`]) and takes the spans after each round
//! ([`Scheduler::take_spans`]). Here a span is only noted; histograms are made where it is taken to.
//!
//! Upstream: metrics/metrics.go. Every span carries the labels of the metric it belongs to.

use super::Scheduler;
use crate::cycle::plugin_times::PluginSpan;
use crate::framework::points::{ClusterEvent, PostFilterVerdict, StatusCode};
use crate::queue::ProfileNumber;

/// Spans of a kind that comes up with nearly every pod are all timed at first, so that short runs
/// have numbers.
const SPANS_TIMED_MIN: u32 = 64;
/// After those, one PreEnqueue or hint of this many: two clock readings cost more than most of them.
const CALLS_EVERY: u32 = 256;
/// After those, one PostFilter of this many.
const POST_FILTERS_EVERY: u32 = 8;
/// After those, one binding cycle of this many: Reserve and PreBindPreFlight are four clock readings,
/// which of every eighth pod were 1.7 % of a cached cycle.
const BINDING_CYCLES_EVERY: u32 = 256;
/// After those, one of this many binding cycles that wait at Permit or have PreBind work, which take
/// far longer than a look at the clock.
const WAITS_EVERY: u32 = 8;
/// Spans kept at most: a round makes a few hundred, and who does not take them wants none.
const SPANS_MAX: usize = 1 << 16;

/// Upstream's values of the label `status`, `result` or `hint`.
pub mod label {
    /// A plugin let the pod pass.
    pub const SUCCESS: &str = "Success";
    /// A Permit plugin holds the pod back.
    pub const WAIT: &str = "Wait";
    /// The pod does not fit for now.
    pub const UNSCHEDULABLE: &str = "Unschedulable";
    /// The same, and evicting pods would not help.
    pub const UNRESOLVABLE: &str = "UnschedulableAndUnresolvable";
    /// The plugin waits for something outside.
    pub const PENDING: &str = "Pending";
    /// Something went wrong.
    pub const ERROR: &str = "Error";
    /// A hint brought the pod back.
    pub const QUEUE: &str = "Queue";
    /// A hint left the pod where it is.
    pub const QUEUE_SKIP: &str = "QueueSkip";
}

/// What was timed, with the labels of its metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timed {
    /// All plugins of an extension point, of one pod.
    Point {
        /// Upstream's spelling: `PreBind`, `PreBindPreFlight`, `Unreserve`.
        point: &'static str,
        /// How it ended.
        status: &'static str,
        /// The pod's profile.
        profile: ProfileNumber,
    },
    /// One plugin at an extension point.
    Plugin {
        /// The plugin.
        plugin: &'static str,
        /// As in [`Timed::Point`].
        point: &'static str,
        /// How it ended.
        status: &'static str,
    },
    /// A queueing hint of a plugin.
    Hint {
        /// The plugin.
        plugin: &'static str,
        /// What happened.
        event: ClusterEvent,
        /// [`label::QUEUE`] or [`label::QUEUE_SKIP`].
        hint: &'static str,
    },
    /// From being held back by Permit until let go or rejected.
    PermitWait {
        /// How it ended.
        result: &'static str,
    },
    /// An attempt that failed in its binding cycle, from the start of its scheduling cycle.
    FailedAttempt {
        /// It failed with an error, and was not rejected.
        is_error: bool,
        /// The pod's profile.
        profile: ProfileNumber,
    },
    /// Victims of a preemption are let go beside the loop.
    AsyncPreemption {
        /// All calls succeeded.
        is_success: bool,
    },
}

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// What was timed.
    pub timed: Timed,
    /// How long it took.
    pub elapsed_ns: u64,
}

/// Decides which of many like spans are timed.
#[derive(Clone, Copy, Debug, Default)]
struct Sampled(u32);

impl Sampled {
    #[inline]
    fn next(&mut self, every: u32) -> bool {
        self.0 = self.0.wrapping_add(1);
        self.0 <= SPANS_TIMED_MIN || self.0.is_multiple_of(every)
    }
}

/// The spans, and what they are timed with.
#[derive(Debug, Default)]
pub(super) struct Timing {
    clock: Option<fn() -> u64>,
    is_on: bool,
    spans: Vec<Span>,
    calls: Sampled,
    post_filters: Sampled,
    binding_cycles: Sampled,
    waits: Sampled,
}

impl Timing {
    /// The time, if there is a clock.
    #[inline]
    pub(super) fn now_ns(&self) -> Option<u64> {
        self.clock.map(|now_ns| now_ns())
    }

    /// The time, if the span that begins is to be timed.
    #[inline]
    pub(super) fn start_call(&mut self) -> Option<u64> {
        if !self.is_on || !self.calls.next(CALLS_EVERY) {
            return None;
        }
        self.now_ns()
    }

    /// The same of PostFilter.
    #[inline]
    pub(super) fn start_post_filter(&mut self) -> Option<u64> {
        if !self.is_on || !self.post_filters.next(POST_FILTERS_EVERY) {
            return None;
        }
        self.now_ns()
    }

    /// Whether the extension points of the binding cycle that begins are to be timed.
    #[inline]
    pub(super) fn times_binding_cycle(&mut self) -> bool {
        self.is_on && self.clock.is_some() && self.binding_cycles.next(BINDING_CYCLES_EVERY)
    }

    /// The same, now that the binding cycle is known to wait at Permit or to have PreBind work.
    #[inline]
    pub(super) fn times_wait(&mut self) -> bool {
        self.is_on && self.clock.is_some() && self.waits.next(WAITS_EVERY)
    }

    /// The time, if `is_timed`.
    #[inline]
    pub(super) fn start_if(&self, is_timed: bool) -> Option<u64> {
        if is_timed && self.is_on { self.now_ns() } else { None }
    }

    /// A span that was begun is over.
    #[inline]
    pub(super) fn end(&mut self, start_ns: Option<u64>, timed: Timed) {
        if let (Some(start_ns), Some(now_ns)) = (start_ns, self.clock.filter(|_| start_ns.is_some())) {
            self.note(timed, now_ns().saturating_sub(start_ns));
        }
    }

    /// Notes a span.
    pub(super) fn note(&mut self, timed: Timed, elapsed_ns: u64) {
        if self.is_on && self.spans.len() < SPANS_MAX {
            self.spans.push(Span { timed, elapsed_ns });
        }
    }
}

impl Scheduler {
    /// Times plugins and the parts of attempts by this clock, in the cycles whose probe asks for it and
    /// while [`Scheduler::set_timing`] has it on.
    pub fn time_plugins(&mut self, now_ns: fn() -> u64) {
        self.timing.clock = Some(now_ns);
        self.engine.time_plugins(now_ns);
    }

    /// Whether spans are noted from now on.
    #[inline]
    pub fn set_timing(&mut self, is_on: bool) {
        self.timing.is_on = is_on;
    }

    /// Takes the spans noted since the last time.
    pub fn take_spans(&mut self, into: &mut Vec<Span>) {
        into.append(&mut self.timing.spans);
        let Some(times) = self.engine.plugin_times() else { return };
        times.take(|PluginSpan { plugin, point, elapsed_ns }| {
            let timed = Timed::Plugin { plugin, point: point.label(), status: label::SUCCESS };
            into.push(Span { timed, elapsed_ns });
        });
    }
}

/// Upstream's name of a refusal.
pub(super) fn status_label(code: StatusCode) -> &'static str {
    match code {
        StatusCode::Unschedulable => label::UNSCHEDULABLE,
        StatusCode::UnschedulableAndUnresolvable => label::UNRESOLVABLE,
        StatusCode::Pending => label::PENDING,
        StatusCode::Error => label::ERROR,
    }
}

/// Upstream's name of how PostFilter ended.
pub(super) fn verdict_label(verdict: PostFilterVerdict) -> &'static str {
    match verdict {
        PostFilterVerdict::Success => label::SUCCESS,
        PostFilterVerdict::Unschedulable => label::UNSCHEDULABLE,
        PostFilterVerdict::UnschedulableAndUnresolvable => label::UNRESOLVABLE,
        PostFilterVerdict::Error => label::ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_durations_are_all_recorded_and_later_ones_sampled() {
        let mut timing = Timing { clock: Some(|| 7), is_on: true, ..Timing::default() };
        let timed = |timing: &mut Timing, count: u32| {
            (0..count).filter(|_| timing.start_call().is_some()).count() as u32
        };
        assert_eq!(timed(&mut timing, SPANS_TIMED_MIN), SPANS_TIMED_MIN);
        assert_eq!(timed(&mut timing, 10 * CALLS_EVERY), 10);
        timing.is_on = false;
        assert_eq!(timed(&mut timing, SPANS_TIMED_MIN), 0, "turned off");
    }

    #[test]
    fn binding_cycles_that_wait_are_timed_more_often_than_others() {
        let mut timing = Timing { clock: Some(|| 7), is_on: true, ..Timing::default() };
        let count = 10 * BINDING_CYCLES_EVERY;
        let plain = (0..SPANS_TIMED_MIN + count).filter(|_| timing.times_binding_cycle()).count() as u32;
        let waits = (0..SPANS_TIMED_MIN + count).filter(|_| timing.times_wait()).count() as u32;
        assert_eq!((plain, waits), (SPANS_TIMED_MIN + 10, SPANS_TIMED_MIN + count / WAITS_EVERY));
    }

    #[test]
    fn durations_that_are_never_taken_stay_within_the_limit() {
        let mut timing = Timing { clock: Some(|| 7), is_on: true, ..Timing::default() };
        for _ in 0..SPANS_MAX + 5 {
            timing.note(Timed::PermitWait { result: label::SUCCESS }, 1);
        }
        assert_eq!(timing.spans.len(), SPANS_MAX);
    }
}
