//! Waiting: until pods are scheduled, or until it is clear that they never will be.

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
use super::runtime::{Runtime, WallSide};
use super::stagnation::{Look, Reached, Stagnation};
use super::under_test::{UnderTestError, UnderTestSide};
use super::virtual_side::VirtualSide;
use crate::ops::barrier::StageRequirement;

/// Between two looks at the cluster. Waiting shares the cores with the scheduler, so it sleeps.
pub(super) const POLL: Duration = Duration::from_micros(500);
/// The scheduler must be found at rest this many times in a row, with nothing changed between,
/// before a wait is given up.
const REST_READINGS: u32 = 20;
/// A wait is given up when nothing got anywhere for this long although the scheduler is not at rest.
/// Upstream's waits end after ten minutes, whatever happens.
pub(super) const PATIENCE_MIN: Duration = Duration::from_secs(30);
/// A scheduler under test that has made no call for this long when a wait is given up hangs.
const SILENT_MIN: Duration = Duration::from_secs(15);
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
        let Some(side) = self.runtime.as_wall() else { return true };
        !self.is_interrupted() || side.halt(HALT_WAIT_MAX)
    }

    /// Whether an answer of the scheduler is still waited for: from an interruption on only shortly.
    pub(super) fn waits(&self) -> impl Fn() -> bool {
        waits(self.control.interrupt)
    }

    /// Waits until `wanted` pods of a namespace are scheduled, whoever created them.
    pub(crate) fn wait_scheduled(&self, namespace: &str, wanted: u64) -> Result<Ending, OpError> {
        let mut count = || Ok(self.cluster.scheduled_count(namespace)?);
        self.wait_for((namespace, StageRequirement::Scheduled), wanted, &mut count)
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
        let mut count = || {
            let filter = PodFilter { namespace: Some(namespace), labels: Some(&selector) };
            let mut is_tried = |id| *tried.entry(id).or_insert_with(|| self.has_been_tried(id));
            let mut is_there = |row: &StoredPodRow| {
                row.node.is_some() || (stage == StageRequirement::Attempted && is_tried(row.conditions))
            };
            Ok(self.cluster.pods_now(filter).iter().filter(|row| is_there(row)).count() as u64)
        };
        self.wait_for((namespace, stage), wanted, &mut count)
    }

    /// Upstream: util.go `isAttempted`.
    fn has_been_tried(&self, conditions: ConditionSetId) -> bool {
        self.cluster.pod_conditions(conditions).iter().any(|condition| &*condition.type_ == "PodScheduled")
    }

    fn wait_for(
        &self,
        what: (&str, StageRequirement),
        wanted: u64,
        count: Count<'_>,
    ) -> Result<Ending, OpError> {
        match &self.runtime {
            Runtime::Wall(side) => self.wait_on_the_clock(side, what, wanted, count),
            Runtime::Virtual(side) => self.wait_virtually(side, what, wanted, count),
            Runtime::UnderTest(side) => self.wait_for_under_test(side, what, wanted, count),
        }
    }

    fn wait_on_the_clock(
        &self,
        side: &WallSide,
        what: (&str, StageRequirement),
        wanted: u64,
        count: Count<'_>,
    ) -> Result<Ending, OpError> {
        let mut rested = Rested::default();
        let mut hope = Hope::new(Instant::now(), wanted);
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
            self.runtime.check_alive()?;
            let version = self.cluster.resource_version();
            let is_at_rest = side.background.activity() == Activity::None
                && side.are_schedulers_quiescent(version)
                && side.controllers.are_quiescent(version)
                && !side.controllers.have_timers();
            if rested.reading(is_at_rest, version) {
                return Ok(self.at_rest(what, (done, wanted)));
            }
            if let Some(stuck) = self.hopeless(&mut hope, what, (look, done, side.runtime.rounds())) {
                return Ok(stuck);
            }
            std::thread::sleep(POLL.max(look.elapsed() * LOOKING_SHARE));
        }
    }

    /// A scheduler under test does not say when it is at rest, so the wait ends when nothing gets anywhere.
    fn wait_for_under_test(
        &self,
        side: &UnderTestSide,
        what: (&str, StageRequirement),
        wanted: u64,
        count: Count<'_>,
    ) -> Result<Ending, OpError> {
        let begun = Instant::now();
        let mut hope = Hope::new(begun, wanted);
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
            self.runtime.check_alive()?;
            let silent_for = side.silent_for();
            // What it is in the middle of nobody knows: every look counts as a round.
            let rounds = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
            if let Some(stuck) = self.hopeless(&mut hope, what, (look, done, rounds)) {
                let lines = side.scheduler().last_lines();
                return match stuck {
                    Ending::Stuck(_) if SILENT_MIN <= silent_for => {
                        let seconds = silent_for.as_secs();
                        Err(OpError::UnderTest(UnderTestError(format!(
                            "the scheduler hangs: it has made no call for {seconds} s, and pods wait\n{lines}"
                        ))))
                    }
                    Ending::Stuck(why) => Ok(Ending::Stuck(format!("{why}\n{lines}"))),
                    other => Ok(other),
                };
            }
            std::thread::sleep(POLL.max(look.elapsed() * LOOKING_SHARE));
        }
    }

    /// Every pod that gets where the wait wants it takes a call of the scheduler, so there is no need to
    /// count before so many were answered as pods are missing.
    fn wait_virtually(
        &self,
        side: &VirtualSide,
        what: (&str, StageRequirement),
        wanted: u64,
        count: Count<'_>,
    ) -> Result<Ending, OpError> {
        let mut hope = Hope::new(side.now(), wanted);
        let mut is_over = false;
        loop {
            let done = count()?;
            self.control.progress.pods(done, wanted);
            if done >= wanted {
                return Ok(Ending::Completed);
            }
            if is_over || side.is_settled(self.cluster.resource_version()) {
                return Ok(self.at_rest(what, (done, wanted)));
            }
            let enough = side.runtime().calls_done() + (wanted - done);
            loop {
                if self.is_interrupted() {
                    return Ok(Ending::Interrupted);
                }
                is_over = !side.pump(None)?;
                let is_settled = side.is_settled(self.cluster.resource_version());
                if is_over || is_settled || enough <= side.runtime().calls_done() {
                    break;
                }
                if let Some(stuck) = self.hopeless(&mut hope, what, (side.now(), done, side.steps())) {
                    return Ok(stuck);
                }
            }
        }
    }

    fn at_rest(&self, (namespace, stage): (&str, StageRequirement), (done, wanted): (u64, u64)) -> Ending {
        let missing = Missing { namespace, stage, count: wanted - done, wanted };
        let why = "and never will be: nothing is left to try and nothing changes the cluster";
        Ending::Stuck(self.diagnosis(&missing, why))
    }

    /// Whether nothing has got anywhere for too long.
    fn hopeless(
        &self,
        hope: &mut Hope,
        (namespace, stage): (&str, StageRequirement),
        (now, done, rounds): (Instant, u64, u64),
    ) -> Option<Ending> {
        let activity = self.runtime.activity();
        hope.stagnation.done(done, now);
        if activity == Activity::Passing {
            hope.stagnation.progressed(now);
        }
        let patience = patience(self.backoff_max, activity);
        let Hope { stagnation, tried, wanted } = hope;
        let seen = Look { now, patience, rounds };
        if !stagnation.is_hopeless(seen, || self.how_far_pods_are(tried)) {
            return None;
        }
        let missing = Missing { namespace, stage, count: *wanted - done, wanted: *wanted };
        let seconds = patience.as_secs();
        let why = format!("and for {seconds} s no pod was scheduled, evicted or tried for the first time");
        Some(Ending::Stuck(self.diagnosis(&missing, &why)))
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
            let version = self.cluster.resource_version();
            let is_at_rest = match &self.runtime {
                Runtime::Virtual(_) => true,
                Runtime::Wall(side) => side.are_schedulers_quiescent(version),
                Runtime::UnderTest(side) => side.has_read(version),
            };
            if is_at_rest {
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

/// How many pods are where a wait wants them.
type Count<'a> = &'a mut dyn FnMut() -> Result<u64, OpError>;

/// Whether a wait may still end well.
struct Hope {
    stagnation: Stagnation,
    /// Pods share their conditions, so each distinct list is looked at once.
    tried: BTreeMap<ConditionSetId, bool>,
    wanted: u64,
}

impl Hope {
    fn new(now: Instant, wanted: u64) -> Hope {
        Hope { stagnation: Stagnation::new(now), tried: BTreeMap::new(), wanted }
    }
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
