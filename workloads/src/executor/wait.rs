//! Waiting: until pods are scheduled, until a time is over, or until it is clear that neither
//! will happen.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use schedlab_cluster::api::{Api, ConditionSetId, PodFilter, StoredPodRow};
use schedlab_core::ids::PodUid;
use schedlab_core::input::LabelSelectorInput;

use super::background::Activity;
use super::context::OpContext;
use super::error::OpError;
use super::outcome::Ending;
use super::stagnation::{Look, Reached, Stagnation};
use crate::ops::barrier::StageRequirement;

/// Between two looks at the cluster. Waiting shares the cores with the scheduler, so it sleeps.
pub(super) const POLL: Duration = Duration::from_micros(500);
/// The scheduler must be found at rest this many times in a row, with nothing changed between,
/// before a wait is given up.
const REST_READINGS: u32 = 20;
/// A wait is given up when nothing got anywhere for this long although the scheduler is not at rest.
/// Upstream's waits end after ten minutes, whatever happens.
pub(super) const PATIENCE_MIN: Duration = Duration::from_secs(30);
/// Churn that takes longer than this to come round is not waited for.
const CYCLE_MAX: Duration = Duration::from_secs(60);
/// How long an interrupted run waits for the attempt under way, each of the few times that it wants to
/// know something of the scheduler; Ctrl-C ends a run within two seconds.
const HALT_WAIT_MAX: Duration = Duration::from_millis(300);
/// Looking may take this part of the time: listing pods holds the lock that the scheduler wants.
const LOOKING_SHARE: u32 = 4;

impl OpContext<'_> {
    /// Somebody wants the run to end.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.control.interrupt.load(Ordering::Relaxed)
    }

    /// An interrupted run begins no more attempts. Whether the scheduler answers: it may be inside a
    /// call of an extender, whose deadline is not waited for.
    pub(super) fn halt_if_interrupted(&self) -> bool {
        !self.is_interrupted() || self.runtime.halt(HALT_WAIT_MAX)
    }

    /// Whether an answer of the scheduler is still waited for: from an interruption on only shortly.
    pub(super) fn waits(&self) -> impl Fn() -> bool {
        waits(self.control.interrupt)
    }

    /// Waits for a while, or until the run is interrupted.
    pub(crate) fn sleep(&self, duration: Duration) -> Ending {
        let end = Instant::now() + duration;
        while !self.is_interrupted() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ending::Completed;
            }
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
        Ending::Interrupted
    }

    /// Waits until `wanted` pods of a namespace are scheduled, whoever created them.
    pub(crate) fn wait_scheduled(&self, namespace: &str, wanted: u64) -> Result<Ending, OpError> {
        self.wait_for((namespace, StageRequirement::Scheduled), wanted, || {
            Ok(self.cluster.scheduled_count(namespace)?)
        })
    }

    /// The same, of pods with some labels, up to some stage.
    pub(crate) fn wait_selected(
        &self,
        namespace: &str,
        labels: &BTreeMap<String, String>,
        stage: StageRequirement,
        wanted: u64,
    ) -> Result<Ending, OpError> {
        let selector = LabelSelectorInput { match_labels: labels.clone(), match_expressions: Vec::new() };
        // Pods share their conditions, so each distinct list is looked at once.
        let mut tried: BTreeMap<ConditionSetId, bool> = BTreeMap::new();
        self.wait_for((namespace, stage), wanted, || {
            let filter = PodFilter { namespace: Some(namespace), labels: Some(&selector) };
            let mut is_tried = |id| *tried.entry(id).or_insert_with(|| self.has_been_tried(id));
            let mut is_there = |row: &StoredPodRow| {
                row.node.is_some() || (stage == StageRequirement::Attempted && is_tried(row.conditions))
            };
            Ok(self.cluster.pods_now(filter).iter().filter(|row| is_there(row)).count() as u64)
        })
    }

    /// Upstream: util.go `isAttempted`.
    fn has_been_tried(&self, conditions: ConditionSetId) -> bool {
        self.cluster.pod_conditions(conditions).iter().any(|condition| &*condition.type_ == "PodScheduled")
    }

    fn wait_for(
        &self,
        (namespace, stage): (&str, StageRequirement),
        wanted: u64,
        mut count: impl FnMut() -> Result<u64, OpError>,
    ) -> Result<Ending, OpError> {
        let mut rested = Rested::default();
        let mut stagnation = Stagnation::new(Instant::now());
        // Pods share their conditions, so each distinct list is looked at once.
        let mut tried: BTreeMap<ConditionSetId, bool> = BTreeMap::new();
        loop {
            let look = Instant::now();
            let done = count()?;
            self.control.progress.pods(done, wanted);
            if done >= wanted {
                return Ok(Ending::Completed);
            }
            if self.is_interrupted() {
                return Ok(Ending::Interrupted);
            }
            if self.runtime.has_died() {
                return Err(OpError::Died);
            }
            self.controllers.check_alive()?;
            if let Some(error) = self.background.take_error() {
                return Err(error);
            }
            let activity = self.background.activity();
            stagnation.done(done, look);
            if activity == Activity::Passing {
                stagnation.progressed(look);
            }
            let version = self.cluster.resource_version();
            let is_at_rest = activity == Activity::None
                && self.runtime.is_quiescent(version)
                && self.controllers.are_quiescent(version)
                && !self.controllers.have_timers();
            let missing = Missing { namespace, stage, count: wanted - done, wanted };
            if rested.reading(is_at_rest, version) {
                let why = "nothing is left to try and nothing changes the cluster";
                return Ok(Ending::Stuck(self.diagnosis(&missing, &format!("and never will be: {why}"))));
            }
            let patience = patience(self.backoff_max, activity);
            let seen = Look { now: look, patience, rounds: self.runtime.rounds() };
            if stagnation.is_hopeless(seen, || self.how_far_pods_are(&mut tried)) {
                let seconds = patience.as_secs();
                let why =
                    format!("and for {seconds} s no pod was scheduled, evicted or tried for the first time");
                return Ok(Ending::Stuck(self.diagnosis(&missing, &why)));
            }
            std::thread::sleep(POLL.max(look.elapsed() * LOOKING_SHARE));
        }
    }

    fn how_far_pods_are(&self, tried: &mut BTreeMap<ConditionSetId, bool>) -> Vec<(PodUid, Reached)> {
        let mut reached = |row: &StoredPodRow| match row.node {
            Some(_) => Reached::Node,
            None if *tried.entry(row.conditions).or_insert_with(|| self.has_been_tried(row.conditions)) => {
                Reached::Tried
            }
            None => Reached::Created,
        };
        self.cluster.pods_now(PodFilter::default()).iter().map(|row| (row.uid, reached(row))).collect()
    }

    /// Gives the threads a moment to hand in what they recorded, and no more than that: beside
    /// churn they never rest.
    pub(super) fn rest_shortly(&self) {
        for _ in 0..100 {
            if self.runtime.is_quiescent(self.cluster.resource_version()) {
                return;
            }
            std::thread::sleep(POLL);
        }
    }

    fn diagnosis(&self, missing: &Missing<'_>, why: &str) -> String {
        let Missing { namespace, stage, count, wanted } = missing;
        let what = match stage {
            StageRequirement::Scheduled => "scheduled",
            StageRequirement::Attempted => "tried by the scheduler",
        };
        let mut text = format!("{count} of {wanted} pods of namespace {namespace:?} are not {what} {why}");
        let Some(status) = self.runtime.status_while(&self.waits()) else { return text };
        for (reason, count) in &status.waiting {
            text.push_str(&format!("\n  {count} pod(s) wait: {reason}"));
        }
        if 0 < status.counts.foreign {
            let count = status.counts.foreign;
            text.push_str(&format!("\n  {count} pod(s) name another scheduler in spec.schedulerName"));
        }
        text
    }
}

/// When a time is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// So long from now.
    pub(crate) fn after(duration: Duration) -> Deadline {
        Deadline(Instant::now() + duration)
    }

    pub(crate) fn is_over(self) -> bool {
        self.0 <= Instant::now()
    }
}

/// See [`OpContext::waits`].
pub(super) fn waits(interrupt: &AtomicBool) -> impl Fn() -> bool {
    let interrupted: Cell<Option<Instant>> = Cell::new(None);
    move || {
        if !interrupt.load(Ordering::Relaxed) {
            return true;
        }
        let since = interrupted.get().unwrap_or_else(Instant::now);
        interrupted.set(Some(since));
        since.elapsed() < HALT_WAIT_MAX
    }
}

/// How long nothing may be scheduled: longer than backoff and than churn takes to come round.
fn patience(backoff_max: Duration, activity: Activity) -> Duration {
    let cycle = match activity {
        Activity::Endless(cycle) => cycle,
        Activity::None | Activity::Passing => Duration::ZERO,
    };
    PATIENCE_MIN.max(backoff_max * 3).max(cycle.min(CYCLE_MAX) * 2)
}

/// What a wait did not get.
struct Missing<'a> {
    namespace: &'a str,
    stage: StageRequirement,
    count: u64,
    wanted: u64,
}

/// Counts readings in which nothing moved.
#[derive(Default)]
struct Rested {
    readings: u32,
    version: u64,
}

impl Rested {
    fn reading(&mut self, is_quiescent: bool, version: u64) -> bool {
        if !is_quiescent || version != self.version {
            *self = Rested { readings: 0, version };
            return false;
        }
        self.readings += 1;
        REST_READINGS <= self.readings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_timeout_covers_max_backoff_and_churn_interval() {
        let seconds = Duration::from_secs;
        let cases = [
            ("nothing special", seconds(10), Activity::None, seconds(30)),
            ("a long backoff", seconds(300), Activity::None, seconds(900)),
            ("quick churn", seconds(10), Activity::Endless(seconds(1)), seconds(30)),
            ("slow churn", seconds(10), Activity::Endless(seconds(40)), seconds(80)),
            ("churn of an hour", seconds(10), Activity::Endless(seconds(3600)), seconds(120)),
        ];
        for (name, backoff_max, activity, expected) in cases {
            assert_eq!(patience(backoff_max, activity), expected, "case: {name}");
        }
    }

    #[test]
    fn cluster_is_at_rest_after_many_equal_readings() {
        let mut rested = Rested::default();
        rested.reading(true, 5);
        assert!((1..REST_READINGS).all(|_| !rested.reading(true, 5)));
        assert!(rested.reading(true, 5));
        assert!(!rested.reading(true, 6), "something changed");
        assert!(!rested.reading(false, 6), "it is not at rest");
    }
}
