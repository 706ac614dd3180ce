//! What a workload's scheduler runs in: threads and the wall clock, virtual time on the op's own thread, or a
//! process of its own.

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
    pub(super) controllers: Controllers,
    pub(super) background: Background,
    pub(super) live: Live,
    pub(super) meters: Meters,
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
            Runtime::Wall(side) if side.runtime.has_died() => return Err(OpError::Died),
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
            Runtime::Wall(side) => side.runtime.attempts(),
            Runtime::Virtual(side) => side.runtime().attempts(),
            // Its metrics tell, where they are asked for.
            Runtime::UnderTest(_) => 0,
        }
    }

    /// Calls of the scheduler that failed so far.
    pub(super) fn failed_calls(&self) -> u64 {
        match self {
            Runtime::Wall(side) => side.runtime.failed_calls(),
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

    /// Ends everything; what the controllers did.
    pub(super) fn stop(
        self,
        waits: &dyn Fn() -> bool,
    ) -> Result<Vec<schedlab_cluster::controllers::ControllerReport>, ExecuteError> {
        match self {
            Runtime::Wall(side) => {
                let WallSide { runtime, controllers, .. } = *side;
                runtime.stop_while(waits)?;
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
