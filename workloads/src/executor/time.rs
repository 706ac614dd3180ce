//! The clock of ops: real, or virtual and then moved by whoever waits.

use std::time::Duration;

use schedlab_cluster::api::Watch;
use schedlab_cluster::clock::{monotonic_ns, unix_ns};

use super::context::OpContext;
use super::error::OpError;
use super::outcome::Ending;
use super::runtime::Runtime;
use super::virtual_side::ns;

/// On the wall clock, between two looks whether the run was interrupted.
const LOOK: Duration = Duration::from_millis(20);

/// When a time is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(u64);

/// Ticks at an interval, as Go's ticker: the first time after one interval, and never to make up for
/// lost time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    next_ns: u64,
    interval_ns: u64,
}

impl OpContext<'_> {
    /// The time.
    pub(crate) fn now_ns(&self) -> u64 {
        match &self.runtime {
            Runtime::Wall(_) => monotonic_ns(),
            Runtime::UnderTest(_) => unix_ns(),
            Runtime::Virtual(side) => side.now_ns(),
        }
    }

    /// So long from now.
    pub(crate) fn deadline(&self, duration: Duration) -> Deadline {
        Deadline(self.now_ns().saturating_add(ns(duration)))
    }

    pub(crate) fn is_over(&self, deadline: Deadline) -> bool {
        deadline.0 <= self.now_ns()
    }

    /// Waits for a while, or until the run is interrupted.
    pub(crate) fn sleep(&self, duration: Duration) -> Result<Ending, OpError> {
        let is_over = self.pass_until(self.now_ns().saturating_add(ns(duration)))?;
        Ok(if is_over { Ending::Completed } else { Ending::Interrupted })
    }

    /// Waits until a time; `false` if the run is interrupted before.
    pub(crate) fn wait_until(&self, at_ns: u64) -> Result<bool, OpError> {
        self.pass_until(at_ns)
    }

    /// Ticks from now on.
    pub(crate) fn ticks(&self, interval: Duration) -> Ticks {
        let interval_ns = ns(interval);
        Ticks { next_ns: self.now_ns().saturating_add(interval_ns), interval_ns }
    }

    /// Waits for the next tick; `false` if the run is interrupted before.
    pub(crate) fn wait_tick(&self, ticks: &mut Ticks) -> Result<bool, OpError> {
        if !self.pass_until(ticks.next_ns)? {
            return Ok(false);
        }
        ticks.next_ns = ticks.next_ns.saturating_add(ticks.interval_ns).max(self.now_ns());
        Ok(true)
    }

    /// Waits until there may be events to drain, for so long at most.
    pub(crate) fn wait_for_events(&self, watch: &mut dyn Watch, at_most: Duration) -> Result<(), OpError> {
        match &self.runtime {
            Runtime::Wall(_) | Runtime::UnderTest(_) => {
                self.runtime.check_alive()?;
                watch.wait(at_most);
            }
            Runtime::Virtual(side) => {
                side.pump(Some(side.now_ns().saturating_add(ns(at_most))))?;
            }
        }
        Ok(())
    }

    /// Lets time pass; `false` if the run is interrupted before.
    fn pass_until(&self, end_ns: u64) -> Result<bool, OpError> {
        loop {
            if self.is_interrupted() {
                return Ok(false);
            }
            let left_ns = end_ns.saturating_sub(self.now_ns());
            if left_ns == 0 {
                return Ok(true);
            }
            match &self.runtime {
                Runtime::Wall(_) | Runtime::UnderTest(_) => {
                    std::thread::sleep(Duration::from_nanos(left_ns).min(LOOK))
                }
                Runtime::Virtual(side) => {
                    side.pump(Some(end_ns))?;
                }
            }
        }
    }
}
