//! What looks at a workload while its measured part runs, and only then.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pprof::{ProfilerGuard, Report};
use schedlab_workloads::executor::Progress;
use schedlab_workloads::ops::Measuring;
use schedlab_workloads::resolve::ResolvedWorkload;

use super::counters::Counters;
use crate::{LabError, alloc};

/// What is looked at.
pub(super) enum Look {
    /// Where the CPU is, so many times a second.
    Cpu {
        /// Samples a second of CPU time.
        frequency: i32,
        /// The machine's counters, where it has them.
        counters: Option<Counters>,
    },
    /// Who allocates.
    Allocations,
}

/// Listens to a run and looks while an op that is measured is under way.
pub(super) struct Sampler<'a> {
    workload: &'a ResolvedWorkload,
    state: Mutex<State>,
    /// Pods of the measured part that are on a node, as far as the run has said.
    pub(super) scheduled: AtomicU64,
}

pub(super) struct State {
    look: Look,
    running: Option<(Option<ProfilerGuard<'static>>, Instant)>,
    /// A startCollectingMetrics op has begun and none that ends it.
    is_collecting: bool,
    pub(super) report: Option<Report>,
    pub(super) sampled: Duration,
    failed: Option<String>,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(workload: &'a ResolvedWorkload, look: Look) -> Result<Sampler<'a>, LabError> {
        if let Look::Cpu { frequency, .. } = &look {
            // The first guard loads the unwinder's tables; better now than inside the measured part.
            drop(ProfilerGuard::new(*frequency).map_err(LabError::NoProfiler)?);
        }
        let state = State {
            look,
            running: None,
            is_collecting: false,
            report: None,
            sampled: Duration::ZERO,
            failed: None,
        };
        Ok(Sampler { workload, state: Mutex::new(state), scheduled: AtomicU64::new(0) })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends looking, if it is on, and keeps what was seen.
    pub(super) fn pause(&self) -> Result<(), LabError> {
        let mut state = self.lock();
        state.pause();
        state.is_collecting = false;
        match state.failed.take() {
            Some(why) => Err(LabError::Profiler(why)),
            None => Ok(()),
        }
    }
}

impl State {
    /// The counters, to be read when everything is over.
    pub(super) fn counters(&mut self) -> Option<&mut Counters> {
        match &mut self.look {
            Look::Cpu { counters, .. } => counters.as_mut(),
            Look::Allocations => None,
        }
    }

    fn begin(&mut self) {
        let guard = match &mut self.look {
            Look::Cpu { frequency, counters } => {
                let guard = match ProfilerGuard::new(*frequency) {
                    Ok(guard) => guard,
                    Err(error) => return self.failed = Some(error.to_string()),
                };
                counters.iter_mut().for_each(Counters::go_on);
                Some(guard)
            }
            Look::Allocations => {
                alloc::start_counting();
                None
            }
        };
        self.running = Some((guard, Instant::now()));
    }

    fn pause(&mut self) {
        let Some((guard, started)) = self.running.take() else { return };
        match &mut self.look {
            Look::Cpu { counters, .. } => counters.iter_mut().for_each(Counters::pause),
            Look::Allocations => alloc::stop_counting(),
        }
        self.sampled += started.elapsed();
        let Some(guard) = guard else { return };
        match guard.report().build() {
            Err(error) => self.failed = Some(error.to_string()),
            Ok(report) => match &mut self.report {
                None => self.report = Some(report),
                Some(all) => {
                    for (frames, count) in report.data {
                        *all.data.entry(frames).or_default() += count;
                    }
                    all.timing.duration += report.timing.duration;
                }
            },
        }
    }
}

impl Progress for Sampler<'_> {
    fn op_begins(&self, index: usize, _: usize, _: &str) {
        let mut state = self.lock();
        let measuring = self.workload.ops.get(index).map(|op| op.facts().measuring);
        let is_measured = match measuring {
            Some(Measuring::Begins) => {
                state.is_collecting = true;
                false
            }
            Some(Measuring::Ends) => {
                state.is_collecting = false;
                false
            }
            Some(Measuring::Itself) => true,
            Some(Measuring::AsBefore) | None => state.is_collecting,
        };
        state.pause();
        if is_measured {
            state.begin();
        }
    }

    fn pods(&self, scheduled: u64, _: u64) {
        self.scheduled.store(scheduled, Ordering::Relaxed);
    }

    fn notice(&self, _: &str) {}
}
