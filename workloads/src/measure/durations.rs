//! Durations by what was timed, while they are recorded: small keys with numbers for profiles, so that
//! recording allocates nothing. Labels are made when somebody reads ([`Durations::series`]).

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use schedlab_cluster::runtime::record::{CallEnd, CallKind};
use schedlab_core::queue::ProfileNumber;
use schedlab_core::scheduler::Timed;

use crate::metrics::{MetricSpread, MetricValues, new_histogram, table};

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AttemptEnd {
    /// The pod is bound.
    Scheduled,
    /// The pod was rejected.
    Unschedulable,
    /// Something went wrong.
    Error,
}

impl AttemptEnd {
    /// Upstream's value of the label `result`.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            AttemptEnd::Scheduled => "scheduled",
            AttemptEnd::Unschedulable => "unschedulable",
            AttemptEnd::Error => "error",
        }
    }
}

/// What was timed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DurationKind {
    /// A pod's wait in the active queue.
    QueueWait,
    /// The scheduling algorithm.
    Algorithm,
    /// An attempt, from the start of its scheduling cycle to its end.
    Attempt(AttemptEnd, ProfileNumber),
    /// From creation to binding, by the number of attempts up to [`ATTEMPTS_MAX`].
    Sli(u8),
    /// Handling an event, by upstream's name.
    Event(String),
    /// An API call that is no successful binding: those are extension point `Bind`.
    Call(CallKind, CallEnd),
    /// What the scheduler noted.
    Span(Timed),
}

/// From so many attempts on the label says `15+`. Upstream: schedule_one.go `getAttemptsLabel`.
pub const ATTEMPTS_MAX: u8 = 15;

impl DurationKind {
    /// Of the scheduler's spans. Attempts that fail in their binding cycle are attempts like others.
    #[must_use]
    pub fn of(timed: Timed) -> DurationKind {
        match timed {
            Timed::FailedAttempt { is_error: true, profile } => {
                DurationKind::Attempt(AttemptEnd::Error, profile)
            }
            Timed::FailedAttempt { is_error: false, profile } => {
                DurationKind::Attempt(AttemptEnd::Unschedulable, profile)
            }
            other => DurationKind::Span(other),
        }
    }

    /// A pod that took so many attempts.
    #[must_use]
    pub fn sli(attempts: u32) -> DurationKind {
        DurationKind::Sli(u8::try_from(attempts).unwrap_or(ATTEMPTS_MAX).min(ATTEMPTS_MAX))
    }

    fn add_to(&self, series: &mut MetricValues, profiles: &[String], spread: MetricSpread) {
        let name =
            |profile: ProfileNumber| profiles.get(usize::from(profile.0)).map_or("", |name| name.as_str());
        match self {
            DurationKind::QueueWait => series.spread(&table::QUEUE_WAIT, &[], spread),
            DurationKind::Algorithm => series.spread(&table::ALGORITHM_DURATION, &[], spread),
            DurationKind::Attempt(end, profile) => {
                series.spread(&table::ATTEMPT_DURATION, &[end.label(), name(*profile)], spread);
            }
            DurationKind::Sli(ATTEMPTS_MAX) => series.spread(&table::SLI_DURATION, &["15+"], spread),
            DurationKind::Sli(attempts) => {
                series.spread(&table::SLI_DURATION, &[&attempts.to_string()], spread)
            }
            DurationKind::Event(event) => series.spread(&table::EVENT_HANDLING, &[event], spread),
            DurationKind::Call(kind, end) => {
                series.spread(&table::API_CALL_DURATION, &[kind.label(), end.label()], spread);
            }
            DurationKind::Span(timed) => add_span(series, *timed, name, spread),
        }
    }
}

fn add_span<'a>(
    series: &mut MetricValues,
    timed: Timed,
    name: impl Fn(ProfileNumber) -> &'a str,
    spread: MetricSpread,
) {
    match timed {
        Timed::Point { point: "Bind", status, profile } => {
            // The Bind plugin is the call.
            let result = CallEnd::Success.label();
            series.spread(&table::API_CALL_DURATION, &[CallKind::PodBinding.label(), result], spread.clone());
            series.spread(&table::POINT_DURATION, &["Bind", status, name(profile)], spread);
        }
        Timed::Point { point, status, profile } => {
            series.spread(&table::POINT_DURATION, &[point, status, name(profile)], spread);
        }
        Timed::Plugin { plugin, point, status } => {
            series.spread(&table::PLUGIN_DURATION, &[plugin, point, status], spread);
        }
        Timed::Hint { plugin, event, hint } => {
            series.spread(&table::HINT_DURATION, &[plugin, &event.label(), hint], spread);
        }
        Timed::PermitWait { result } => series.spread(&table::PERMIT_WAIT, &[result], spread),
        Timed::FailedAttempt { is_error, profile } => {
            let end = if is_error { AttemptEnd::Error } else { AttemptEnd::Unschedulable };
            series.spread(&table::ATTEMPT_DURATION, &[end.label(), name(profile)], spread);
        }
        Timed::AsyncPreemption { is_success } => {
            let end = if is_success { CallEnd::Success } else { CallEnd::Error };
            series.spread(&table::PREEMPTION_GOROUTINES_DURATION, &[end.label()], spread);
        }
    }
}

/// Histograms of nanoseconds.
///
/// What is timed comes up in the same order round after round (Reserve, then PreBindPreFlight, then
/// the next pod's Reserve), so each histogram remembers which one was wanted after it: a look at that
/// one replaces a search that compares strings, which cost as much as the recording itself.
#[derive(Clone, Debug, Default)]
pub struct Durations {
    slots: Vec<Slot>,
    by_what: BTreeMap<DurationKind, usize>,
    /// The one recorded to last.
    last: usize,
}

#[derive(Clone, Debug)]
struct Slot {
    what: DurationKind,
    histogram: Histogram<u64>,
    /// The one that was wanted after this one, the last time.
    next: usize,
}

impl Durations {
    pub(super) fn of(&mut self, what: &DurationKind) -> &mut Histogram<u64> {
        let guess = self.slots.get(self.last).map_or(0, |last| last.next);
        let at = match self.slots.get(guess) {
            Some(slot) if slot.what == *what => guess,
            _ => self.find(what),
        };
        self.last = at;
        &mut self.slots[at].histogram
    }

    fn find(&mut self, what: &DurationKind) -> usize {
        let at = self.by_what.get(what).copied().unwrap_or_else(|| self.add(what));
        self.slots[self.last].next = at;
        at
    }

    #[cold]
    fn add(&mut self, what: &DurationKind) -> usize {
        let at = self.slots.len();
        self.slots.push(Slot { what: what.clone(), histogram: new_histogram(), next: at });
        self.by_what.insert(what.clone(), at);
        at
    }

    /// Adds `count` equal durations.
    #[inline]
    pub fn record(&mut self, what: &DurationKind, elapsed_ns: u64, count: u64) {
        self.of(what).saturating_record_n(elapsed_ns.max(1), count);
    }

    pub(super) fn record_all(&mut self, what: &DurationKind, elapsed_ns: impl Iterator<Item = u64>) {
        let histogram = self.of(what);
        elapsed_ns.for_each(|elapsed_ns| histogram.saturating_record(elapsed_ns.max(1)));
    }

    /// By metric and labels, with the profiles' names by number.
    #[must_use]
    pub fn series(&self, profiles: &[String]) -> MetricValues {
        let mut series = MetricValues::default();
        for Slot { what, histogram, .. } in self.slots.iter().filter(|slot| !slot.histogram.is_empty()) {
            what.add_to(&mut series, profiles, MetricSpread::Durations(histogram.clone()));
        }
        series
    }
}

#[cfg(test)]
mod tests {
    use schedlab_core::scheduler::label;

    use super::*;

    #[test]
    fn durations_get_their_labels_when_they_are_read() {
        let mut durations = Durations::default();
        let second = ProfileNumber(1);
        let bind = Timed::Point { point: "Bind", status: label::SUCCESS, profile: second };
        for what in [
            DurationKind::Attempt(AttemptEnd::Scheduled, second),
            DurationKind::of(Timed::FailedAttempt { is_error: true, profile: ProfileNumber(0) }),
            DurationKind::sli(1),
            DurationKind::sli(15),
            DurationKind::sli(400),
            DurationKind::Span(bind),
        ] {
            durations.record(&what, 1_000, 1);
        }
        let series = durations.series(&["default-scheduler".to_owned(), "other".to_owned()]);
        let text = |key: &crate::metrics::Key| format!("{} {}", key.metric.name, key.values.join(","));
        let told: Vec<String> = series.iter().map(|(key, _)| text(key)).collect();
        assert_eq!(
            told,
            [
                "scheduler_async_api_call_execution_duration_seconds pod_binding,success",
                "scheduler_framework_extension_point_duration_seconds Bind,Success,other",
                "scheduler_pod_scheduling_sli_duration_seconds 1",
                "scheduler_pod_scheduling_sli_duration_seconds 15+",
                "scheduler_scheduling_attempt_duration_seconds error,default-scheduler",
                "scheduler_scheduling_attempt_duration_seconds scheduled,other",
            ]
        );
    }
    #[test]
    fn every_duration_goes_to_its_own_histogram_in_whatever_order_they_come() {
        let whats = [
            DurationKind::Algorithm,
            DurationKind::QueueWait,
            DurationKind::Event("NodeAdd".to_owned()),
            DurationKind::Event("NodeUpdate".to_owned()),
            DurationKind::sli(1),
            DurationKind::sli(2),
        ];
        let mut durations = Durations::default();
        let mut counts = [0; 6];
        let mut at = 1_usize;
        for round in 0..500_usize {
            // Stretches of one order, then another.
            at = (at * if round % 100 < 50 { 1 } else { 5 } + 1) % whats.len();
            durations.record(&whats[at], 10 * (at as u64 + 1), 1);
            counts[at] += 1;
        }
        for (at, what) in whats.iter().enumerate() {
            let histogram = durations.of(what);
            assert_eq!(histogram.len(), counts[at], "{what:?}");
            assert!(histogram.is_empty() || histogram.min() == histogram.max(), "{what:?}");
        }
    }
}
