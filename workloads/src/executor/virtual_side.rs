//! A workload in virtual time: the op runs, and whenever it waits, the scheduler, the controllers and the
//! jobs in the background take their steps on the same thread.
//!
//! ```text
//! op ──wait, sleep, tick──▶ pump ─▶ a job whose tick has come ─▶ VirtualRuntime::step ─▶ the clock jumps
//! ```
//!
//! Creating objects takes no time, so everything that an op creates is there before the scheduler's next cycle.

use std::cell::{Cell, RefCell, RefMut};
use std::time::{Duration, Instant};

use schedlab_cluster::ApiError;
use schedlab_cluster::controllers::Remaining;
use schedlab_cluster::runtime::{VirtualBound, VirtualRuntime, VirtualStep};

use super::background::{Activity, BackgroundJob};
use super::error::OpError;
use crate::measure::{Burst, PodScope, Readings};
use crate::placements::PlacementReader;

/// Placements are read along, so that the store need not keep every event.
const STEPS_PER_READING: u64 = 64;

/// A job, and when its next tick is.
struct TimedJob {
    next_ns: u64,
    op: (usize, &'static str),
    job: BackgroundJob,
}

/// The scheduler of a workload in virtual time, and what goes on beside it.
pub(crate) struct VirtualSide {
    runtime: RefCell<VirtualRuntime>,
    jobs: RefCell<Vec<TimedJob>>,
    /// Where virtual time begins, for what reckons in instants.
    origin: Instant,
    steps: Cell<u64>,
    measured: RefCell<Measured>,
    bound: RefCell<Vec<VirtualBound>>,
    placements: Option<RefCell<PlacementReader>>,
}

/// Bindings of the measured part under way.
#[derive(Default)]
struct Measured {
    is_on: bool,
    /// Which pods count; all with `None`.
    scope: Option<PodScope>,
    bursts: Vec<Burst>,
}

impl VirtualSide {
    pub(super) fn new(runtime: VirtualRuntime, placements: Option<PlacementReader>) -> VirtualSide {
        VirtualSide {
            runtime: RefCell::new(runtime),
            jobs: RefCell::default(),
            origin: Instant::now(),
            steps: Cell::new(0),
            measured: RefCell::default(),
            bound: RefCell::default(),
            placements: placements.map(RefCell::new),
        }
    }

    /// The scheduler and its controllers.
    pub(super) fn runtime(&self) -> RefMut<'_, VirtualRuntime> {
        self.runtime.borrow_mut()
    }

    /// The time.
    pub(super) fn now_ns(&self) -> u64 {
        self.runtime.borrow().now_ns()
    }

    /// The time, as an instant.
    pub(super) fn now(&self) -> Instant {
        self.origin + Duration::from_nanos(self.now_ns())
    }

    /// Steps so far.
    pub(super) fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Starts a job of an op.
    pub(super) fn start(&self, op: (usize, &'static str), job: BackgroundJob) {
        let next_ns = self.now_ns().saturating_add(ns(job.interval));
        self.jobs.borrow_mut().push(TimedJob { next_ns, op, job });
    }

    /// What the jobs may still do.
    pub(super) fn activity(&self) -> Activity {
        Activity::of(self.jobs.borrow().iter().map(|timed| timed.job.lasts))
    }

    /// Ends all jobs.
    pub(super) fn end_jobs(&self) {
        self.jobs.borrow_mut().clear();
    }

    /// Nothing will change the cluster any more, but an op.
    pub(super) fn is_settled(&self, resource_version: u64) -> bool {
        self.jobs.borrow().is_empty() && self.runtime.borrow().is_settled(resource_version)
    }

    /// There are events that were not dealt with, or a controller has work to do.
    pub(super) fn has_work_now(&self, resource_version: u64) -> bool {
        let runtime = self.runtime.borrow();
        let is_behind = runtime.handled_version() < resource_version;
        is_behind || runtime.controllers().iter().any(|it| it.remaining() == Remaining::Work)
    }

    /// Lets the next thing happen, at the latest at `limit_ns`. Whether there was anything, or time passed.
    pub(super) fn pump(&self, limit_ns: Option<u64>) -> Result<bool, OpError> {
        self.steps.set(self.steps.get() + 1);
        if self.run_due_job()? {
            return Ok(true);
        }
        let next_job_ns = self.jobs.borrow().iter().map(|timed| timed.next_ns).min();
        let limit_ns = limit_ns.into_iter().chain(next_job_ns).min();
        let mut runtime = self.runtime.borrow_mut();
        let step = runtime.step(limit_ns)?;
        let mut bound = self.bound.borrow_mut();
        runtime.take_bound(&mut bound);
        drop(runtime);
        self.note_bound(&mut bound);
        if self.steps.get().is_multiple_of(STEPS_PER_READING) {
            self.read_placements()?;
        }
        Ok(step != VirtualStep::Nothing)
    }

    /// Does a step of the job whose tick has come, the earliest first.
    fn run_due_job(&self) -> Result<bool, OpError> {
        let now_ns = self.now_ns();
        let mut jobs = self.jobs.borrow_mut();
        let due = jobs.iter().enumerate().filter(|(_, timed)| timed.next_ns <= now_ns);
        let Some((at, _)) = due.min_by_key(|(_, timed)| timed.next_ns) else { return Ok(false) };
        let timed = &mut jobs[at];
        let (index, opcode) = timed.op;
        let result = (timed.job.step)();
        let goes_on =
            result.map_err(|source| OpError::Background { index, opcode, source: Box::new(source) })?;
        // As Go's ticker: never to make up for lost time.
        timed.next_ns = timed.next_ns.saturating_add(ns(timed.job.interval)).max(now_ns);
        if goes_on.is_break() {
            jobs.remove(at);
        }
        Ok(true)
    }

    fn note_bound(&self, bound: &mut Vec<VirtualBound>) {
        if bound.is_empty() {
            return;
        }
        let mut measured = self.measured.borrow_mut();
        let Measured { is_on, scope, bursts } = &mut *measured;
        for VirtualBound { pod, at_ns, attempts } in bound.drain(..) {
            if let Some(placements) = &self.placements {
                placements.borrow().log().tried(pod, attempts);
            }
            if *is_on && scope.as_mut().is_none_or(|scope| scope.covers(pod)) {
                bursts.push(Burst { at_ns, pods: 1 });
            }
        }
    }

    /// Takes in where pods went.
    pub(super) fn read_placements(&self) -> Result<(), ApiError> {
        self.placements.as_ref().map_or(Ok(()), |placements| placements.borrow_mut().read())
    }

    /// Counts bindings of these pods from now on; of all with `None`.
    pub(super) fn start_measuring(&self, scope: Option<PodScope>) {
        *self.measured.borrow_mut() = Measured { is_on: true, scope, bursts: Vec::new() };
    }

    /// What was counted.
    pub(super) fn stop_measuring(&self) -> Readings {
        let Measured { bursts, .. } = std::mem::take(&mut *self.measured.borrow_mut());
        Readings { bursts, ..Readings::default() }
    }
}

/// In nanoseconds; longer than five hundred years is that.
pub(super) fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
