//! What a workload's scheduler runs in: threads and the wall clock, virtual time on the op's own thread, or a
//! process of its own.

use std::time::Duration;

use schedlab_cluster::controllers::ControllerReport;
use schedlab_cluster::runtime::{RuntimeStatus, WallRuntime};

use super::background::{Activity, Background, BackgroundJob};
use super::controllers::Controllers;
use super::error::{ExecuteError, OpError};
use super::under_test::UnderTestSide;
use super::virtual_side::VirtualSide;
use crate::measure::{BindMeter, CycleMeter, Live, Meters};

/// On the wall clock.
pub(crate) struct WallSide {
    pub(super) runtime: WallRuntime<CycleMeter, BindMeter>,
    /// The schedulers beside the first.
    pub(super) others: Vec<WallRuntime<CycleMeter, BindMeter>>,
    pub(super) controllers: Controllers,
    pub(super) background: Background,
    pub(super) live: Live,
    pub(super) meters: Meters,
}

impl WallSide {
    /// All schedulers.
    fn runtimes(&self) -> impl Iterator<Item = &WallRuntime<CycleMeter, BindMeter>> {
        std::iter::once(&self.runtime).chain(&self.others)
    }

    /// Every scheduler has dealt with everything up to this version; see [`WallRuntime::is_quiescent`].
    pub(super) fn are_schedulers_quiescent(&self, resource_version: u64) -> bool {
        self.runtimes().all(|runtime| runtime.is_quiescent(resource_version))
    }

    /// No scheduler begins another attempt. Whether all have ended theirs.
    pub(super) fn halt(&self, at_most: Duration) -> bool {
        let halted: Vec<bool> = self.runtimes().map(|runtime| runtime.halt(at_most)).collect();
        halted.into_iter().all(|has_halted| has_halted)
    }
}

/// What a scheduler runs in.
pub(crate) enum Runtime {
    /// On the wall clock: throughput is measured here.
    Wall(Box<WallSide>),
    /// In virtual time: the same run, every time.
    Virtual(Box<VirtualSide>),
    /// On the wall clock, and not ours: measured from outside.
    UnderTest(Box<UnderTestSide>),
}

impl Runtime {
    /// The wall-clock one, if it is that.
    pub(super) fn as_wall(&self) -> Option<&WallSide> {
        match self {
            Runtime::Wall(side) => Some(side),
            Runtime::Virtual(_) | Runtime::UnderTest(_) => None,
        }
    }

    /// Starts a job of an op.
    pub(super) fn start_job(&mut self, op: (usize, &'static str), job: BackgroundJob) {
        match self {
            Runtime::Wall(side) => side.background.start(op, job),
            Runtime::Virtual(side) => side.start(op, job),
            Runtime::UnderTest(side) => side.background.start(op, job),
        }
    }

    /// What jobs may still do.
    pub(super) fn activity(&self) -> Activity {
        match self {
            Runtime::Wall(side) => side.background.activity(),
            Runtime::Virtual(side) => side.activity(),
            Runtime::UnderTest(side) => side.background.activity(),
        }
    }

    /// Ends all jobs; what went wrong in one first, if anything did.
    pub(super) fn end_jobs(&mut self) -> Option<OpError> {
        let background = match self {
            Runtime::Wall(side) => &mut side.background,
            Runtime::UnderTest(side) => &mut side.background,
            Runtime::Virtual(side) => {
                side.end_jobs();
                return None;
            }
        };
        background.end();
        background.take_error()
    }

    /// An error if a thread ended by itself, or a job failed.
    pub(super) fn check_alive(&self) -> Result<(), OpError> {
        let (controllers, background) = match self {
            Runtime::Virtual(_) => return Ok(()),
            Runtime::Wall(side) if side.runtimes().any(WallRuntime::has_died) => return Err(OpError::Died),
            Runtime::Wall(side) => (&side.controllers, &side.background),
            Runtime::UnderTest(side) => {
                side.check_alive()?;
                (&side.controllers, &side.background)
            }
        };
        controllers.check_alive()?;
        background.take_error().map_or(Ok(()), Err)
    }

    /// Scheduling attempts so far.
    pub(super) fn attempts(&self) -> u64 {
        match self {
            Runtime::Wall(side) => side.runtimes().map(WallRuntime::attempts).sum(),
            Runtime::Virtual(side) => side.runtime().attempts(),
            // Its metrics tell, where they are asked for.
            Runtime::UnderTest(_) => 0,
        }
    }

    /// Calls of the scheduler that failed so far.
    pub(super) fn failed_calls(&self) -> u64 {
        match self {
            Runtime::Wall(side) => side.runtimes().map(WallRuntime::failed_calls).sum(),
            Runtime::Virtual(side) => side.runtime().failed_calls(),
            // Those that got an error, conflicts included, stand with its calls.
            Runtime::UnderTest(_) => 0,
        }
    }

    /// Where the scheduler stands; `None` when it does not answer while it is waited for.
    pub(super) fn status_while(&self, waits: &dyn Fn() -> bool) -> Option<RuntimeStatus> {
        match self {
            Runtime::Wall(side) => side.runtime.status_while(waits),
            Runtime::Virtual(side) => Some(side.runtime().status()),
            Runtime::UnderTest(_) => None,
        }
    }

    /// What several schedulers did; nothing of one.
    pub(super) fn report_of_schedulers(&self) -> Option<ControllerReport> {
        let count = match self {
            Runtime::Wall(side) => 1 + side.others.len(),
            Runtime::Virtual(side) => side.runtime().scheduler_count(),
            Runtime::UnderTest(_) => 1,
        };
        let counters = [("count", count as u64), ("calls_refused", self.failed_calls())];
        let report = ControllerReport { controller: "schedulers", ..ControllerReport::of(&counters) };
        (1 < count).then_some(report)
    }

    /// Ends everything; what the controllers did.
    pub(super) fn stop(self, waits: &dyn Fn() -> bool) -> Result<Vec<ControllerReport>, ExecuteError> {
        match self {
            Runtime::Wall(side) => {
                let WallSide { runtime, others, controllers, .. } = *side;
                runtime.stop_while(waits)?;
                for other in others {
                    other.stop_while(waits)?;
                }
                Ok(controllers.stop()?)
            }
            Runtime::Virtual(side) => {
                Ok(side.runtime().controllers().iter().map(|controller| controller.report()).collect())
            }
            Runtime::UnderTest(side) => {
                let (scheduler, controllers) = side.into_parts();
                drop(scheduler);
                Ok(controllers.stop()?)
            }
        }
    }
}
