//! Many seeds on several threads, panics caught, sums kept.

use std::cell::RefCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use schedlab_cluster::controllers::{ControllerDescriptor, ControllerMutants};
use schedlab_core::mutants::Mutants;

use super::faults::{FaultCounts, FaultProfile};
use super::generate;
use super::run::{SimulationOutcome, run};
use super::scenario::Scenario;
use super::violation::{CheckCounts, Invariant, Violation};

/// One seed in so many is run twice, and must give the same bytes.
const TWICE_EVERY: u64 = 32;

/// Which scenarios.
#[derive(Clone, Debug, Default)]
pub struct SeedPlan {
    /// The seeds.
    pub seeds: Range<u64>,
    /// The faults; `None` takes another profile with every seed.
    pub profile: Option<FaultProfile>,
    /// How many threads.
    pub threads: usize,
    /// The defect that schedulers are given; none, without the feature `mutants`.
    pub mutants: Mutants,
    /// The defect that controllers are given; none, without the feature `mutants`.
    pub controller_mutants: ControllerMutants,
    /// Controllers that run beside those of the scenario.
    pub controllers: Vec<&'static ControllerDescriptor>,
}

/// Whether more seeds are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// They are.
    On,
    /// They are not.
    Stop,
}

impl SeedPlan {
    /// The profile of a seed.
    #[must_use]
    pub fn profile_of(&self, seed: u64) -> FaultProfile {
        self.profile.unwrap_or_else(|| mixed_profile(seed))
    }

    /// The scenario of a seed.
    #[must_use]
    pub fn scenario_of(&self, seed: u64) -> Scenario {
        let mut scenario = generate(seed, self.profile_of(seed));
        scenario.setup.mutants = self.mutants;
        scenario.setup.controller_mutants = self.controller_mutants;
        scenario.run_controllers(&self.controllers);
        scenario
    }
}

/// Storms are the most frequent, quiet seeds the rarest.
#[must_use]
pub fn mixed_profile(seed: u64) -> FaultProfile {
    const TURN: [FaultProfile; 10] = [
        FaultProfile::Storm,
        FaultProfile::Api,
        FaultProfile::Watch,
        FaultProfile::Nodes,
        FaultProfile::Restart,
        FaultProfile::Storm,
        FaultProfile::Rivals,
        FaultProfile::None,
        FaultProfile::Storm,
        FaultProfile::Api,
    ];
    TURN[(seed % 10) as usize]
}

/// A seed that failed.
#[derive(Clone, Debug)]
pub struct SeedFailure {
    /// The seed.
    pub seed: u64,
    /// Its profile.
    pub profile: FaultProfile,
    /// What did not hold.
    pub violation: Violation,
    /// Controllers that ran beside those of the scenario.
    pub controllers: Vec<&'static ControllerDescriptor>,
}

/// What all seeds came to.
#[derive(Clone, Debug, Default)]
pub struct SeedSummary {
    /// Seeds that were run.
    pub seeds: u64,
    /// Events of all of them.
    pub events: u64,
    /// Virtual time of all of them.
    pub virtual_ns: u128,
    /// Faults that happened.
    pub faults: FaultCounts,
    /// Checks that were made.
    pub checks: CheckCounts,
    /// The failure with the lowest seed.
    pub failure: Option<SeedFailure>,
}

impl SeedSummary {
    fn add(&mut self, other: &SeedSummary) {
        self.seeds += other.seeds;
        self.events += other.events;
        self.virtual_ns += other.virtual_ns;
        self.faults.add(&other.faults);
        self.checks.add(&other.checks);
        self.note_failure(other.failure.clone());
    }

    fn note_outcome(&mut self, outcome: &SimulationOutcome) {
        self.events += outcome.events;
        self.virtual_ns += u128::from(outcome.virtual_ns);
        self.faults.add(&outcome.faults);
        self.checks.add(&outcome.checks);
    }

    fn note_failure(&mut self, failure: Option<SeedFailure>) {
        let is_first = |new: &SeedFailure| self.failure.as_ref().is_none_or(|known| new.seed < known.seed);
        if let Some(failure) = failure.filter(is_first) {
            self.failure = Some(failure);
        }
    }
}

thread_local! {
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps what a panic of a simulated scheduler says for its report instead of printing it. To be
/// called once, by a program that simulates and does nothing else.
pub fn keep_panics_quiet() {
    std::panic::set_hook(Box::new(|info| {
        LAST_PANIC.with(|last| *last.borrow_mut() = info.to_string());
    }));
}

/// Runs a scenario; a panic is a violation.
#[must_use]
pub fn run_caught(scenario: &Scenario) -> SimulationOutcome {
    LAST_PANIC.with(|last| last.borrow_mut().clear());
    catch_unwind(AssertUnwindSafe(|| run(scenario))).unwrap_or_else(|payload| {
        let said = payload.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        let known = LAST_PANIC.with(|last| last.borrow().clone());
        let message = if known.is_empty() { said.to_owned() } else { known.replace('\n', " ") };
        let violation = Some(Violation { invariant: Invariant::NoPanic, message, at_ns: 0, event: 0 });
        SimulationOutcome { violation, ..SimulationOutcome::default() }
    })
}

fn run_seed(seed: u64, plan: &SeedPlan, into: &mut SeedSummary) {
    let scenario = plan.scenario_of(seed);
    let profile = scenario.profile;
    let mut outcome = run_caught(&scenario);
    into.seeds += 1;
    into.note_outcome(&outcome);
    if seed.is_multiple_of(TWICE_EVERY) && outcome.violation.is_none() {
        let again = run_caught(&scenario);
        into.note_outcome(&again);
        into.checks.note(Invariant::SameBytes);
        if (again.hash, again.events) != (outcome.hash, outcome.events) {
            let message = format!("{} events, then {}; the logs differ", outcome.events, again.events);
            outcome.violation =
                Some(Violation { invariant: Invariant::SameBytes, message, at_ns: 0, event: 0 });
        }
    }
    let controllers = plan.controllers.clone();
    let failure = |violation| SeedFailure { seed, profile, violation, controllers };
    into.note_failure(outcome.violation.map(failure));
}

/// Runs all seeds, also behind those that fail, so that the sums are the same on any number of threads. The
/// failures are in the order of their seeds.
#[must_use]
pub fn run_every_seed(plan: &SeedPlan) -> (SeedSummary, Vec<SeedFailure>) {
    let count = plan.seeds.end.saturating_sub(plan.seeds.start);
    let next = AtomicU64::new(0);
    let work = || {
        let (mut sum, mut failures) = (SeedSummary::default(), Vec::new());
        loop {
            let offset = next.fetch_add(1, Ordering::Relaxed);
            if count <= offset {
                return (sum, failures);
            }
            let mut one = SeedSummary::default();
            run_seed(plan.seeds.start + offset, plan, &mut one);
            failures.extend(one.failure.clone());
            sum.add(&one);
        }
    };
    let (mut sum, mut failures) = (SeedSummary::default(), Vec::new());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.threads.max(1)).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            let (one, failed) = thread.join().expect("a panic of a scenario is caught");
            sum.add(&one);
            failures.extend(failed);
        }
    });
    failures.sort_by_key(|failure: &SeedFailure| failure.seed);
    (sum, failures)
}

/// Runs all seeds, or up to the first that fails. `progress` is told how many are done, and says
/// whether to go on.
pub fn run_seeds(plan: &SeedPlan, progress: &(dyn Fn(u64) -> Go + Sync)) -> SeedSummary {
    // Counted from the first seed: the last one may be the largest number there is.
    let count = plan.seeds.end.saturating_sub(plan.seeds.start);
    let next = AtomicU64::new(0);
    let done = AtomicU64::new(0);
    let failed = AtomicU64::new(u64::MAX);
    let work = || {
        let mut summary = SeedSummary::default();
        loop {
            let offset = next.fetch_add(1, Ordering::Relaxed);
            if count <= offset || failed.load(Ordering::Relaxed) < plan.seeds.start + offset {
                return summary;
            }
            let seed = plan.seeds.start + offset;
            run_seed(seed, plan, &mut summary);
            if let Some(failure) = &summary.failure {
                failed.fetch_min(failure.seed, Ordering::Relaxed);
            }
            if progress(done.fetch_add(1, Ordering::Relaxed) + 1) == Go::Stop {
                return summary;
            }
        }
    };
    let mut sum = SeedSummary::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.threads.max(1)).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            sum.add(&thread.join().expect("a panic of a scenario is caught"));
        }
    });
    sum
}
