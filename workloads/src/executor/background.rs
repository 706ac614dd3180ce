//! What goes on beside the ops: churn, and deletions that nobody waits for.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::error::OpError;

/// How often a sleeping job looks whether it should stop.
const LOOK: Duration = Duration::from_millis(20);

/// When a job ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lasts {
    /// By itself.
    ForAWhile,
    /// With the workload; it repeats itself after this time.
    ToTheEnd(Duration),
}

/// What a job does again and again; after [`ControlFlow::Break`] it is over.
pub(crate) type JobStep = Box<dyn FnMut() -> Result<ControlFlow<()>, OpError> + Send>;

/// Something that goes on beside the ops: a step at every tick, the first after one interval.
pub(crate) struct BackgroundJob {
    /// When it ends.
    pub(crate) lasts: Lasts,
    /// Between two steps.
    pub(crate) interval: Duration,
    /// What is done then.
    pub(crate) step: JobStep,
}

impl BackgroundJob {
    /// Steps until the job is over or it is told to stop.
    fn run(mut self, stop: &AtomicBool) -> Result<(), OpError> {
        let mut ticker = Ticker::every(self.interval);
        while ticker.wait(stop) {
            if (self.step)()?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// What the jobs may still do to the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// Nothing.
    None,
    /// Some will end by themselves, and until then they may change anything.
    Passing,
    /// All that are left go on to the end; the slowest repeats itself after this time.
    Endless(Duration),
}

impl Activity {
    /// Of jobs that are under way.
    pub(super) fn of(jobs: impl Iterator<Item = Lasts>) -> Activity {
        jobs.fold(Activity::None, |so_far, lasts| match (so_far, lasts) {
            (Activity::Passing, _) | (_, Lasts::ForAWhile) => Activity::Passing,
            (Activity::None, Lasts::ToTheEnd(cycle)) => Activity::Endless(cycle),
            (Activity::Endless(longest), Lasts::ToTheEnd(cycle)) => Activity::Endless(longest.max(cycle)),
        })
    }
}

struct Job {
    thread: JoinHandle<()>,
    lasts: Lasts,
}

/// The jobs of a workload. They are stopped with it.
#[derive(Default)]
pub(super) struct Background {
    jobs: Vec<Job>,
    stop: Arc<AtomicBool>,
    error: Arc<Mutex<Option<OpError>>>,
}

impl Background {
    /// Starts a job of an op, on a thread of its own.
    pub(super) fn start(&mut self, (index, opcode): (usize, &'static str), job: BackgroundJob) {
        let (stop, error) = (Arc::clone(&self.stop), Arc::clone(&self.error));
        let lasts = job.lasts;
        let thread = std::thread::spawn(move || {
            if let Err(source) = job.run(&stop) {
                let mut first = error.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(OpError::Background { index, opcode, source: Box::new(source) });
            }
        });
        self.jobs.push(Job { thread, lasts });
    }

    /// What may still happen.
    pub(super) fn activity(&self) -> Activity {
        let running = self.jobs.iter().filter(|job| !job.thread.is_finished());
        Activity::of(running.map(|job| job.lasts))
    }

    /// What went wrong first, if anything did.
    pub(super) fn take_error(&self) -> Option<OpError> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Ends all jobs.
    pub(super) fn end(&mut self) {
        self.stop.store(true, Ordering::Release);
        for job in self.jobs.drain(..) {
            if job.thread.join().is_err() {
                let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(OpError::Died);
            }
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.end();
    }
}

/// Ticks at an interval, as Go's ticker: the first time after one interval, and never to make up
/// for lost time.
pub(crate) struct Ticker {
    next: Instant,
    interval: Duration,
}

impl Ticker {
    pub(crate) fn every(interval: Duration) -> Ticker {
        Ticker { next: Instant::now() + interval, interval }
    }

    /// Waits for the next tick; `false` if it was told to stop before.
    pub(crate) fn wait(&mut self, stop: &AtomicBool) -> bool {
        loop {
            if stop.load(Ordering::Acquire) {
                return false;
            }
            let left = self.next.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.next = (self.next + self.interval).max(Instant::now());
                return true;
            }
            std::thread::sleep(left.min(LOOK));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHURN: (usize, &str) = (3, "churn");

    fn until_stopped(lasts: Lasts) -> BackgroundJob {
        let step = Box::new(|| Ok(ControlFlow::Continue(())));
        BackgroundJob { lasts, interval: Duration::from_millis(1), step }
    }

    #[test]
    fn finite_background_job_outweighs_endless_ones() {
        let mut background = Background::default();
        assert_eq!(background.activity(), Activity::None);
        for seconds in [2, 5, 3] {
            background.start(CHURN, until_stopped(Lasts::ToTheEnd(Duration::from_secs(seconds))));
        }
        assert_eq!(background.activity(), Activity::Endless(Duration::from_secs(5)));
        background.start(CHURN, until_stopped(Lasts::ForAWhile));
        assert_eq!(background.activity(), Activity::Passing);
        background.end();
        assert_eq!(background.activity(), Activity::None);
        assert!(background.take_error().is_none());
    }

    #[test]
    fn the_first_error_is_kept_with_its_op() {
        let mut background = Background::default();
        let step: JobStep = Box::new(|| Err(OpError::UnknownNamespace { name: "nowhere".to_owned() }));
        background.start(CHURN, BackgroundJob { lasts: Lasts::ForAWhile, interval: Duration::ZERO, step });
        // A step that is told to stop before it begins fails no more.
        while background.activity() != Activity::None {
            std::thread::yield_now();
        }
        background.end();
        let error = background.take_error().expect("the job failed").to_string();
        assert!(error.starts_with("op 3 (churn), in the background: namespace \"nowhere\""), "{error}");
    }

    #[test]
    fn ticker_stops_on_stop_flag() {
        let mut ticker = Ticker::every(Duration::from_secs(3600));
        assert!(!ticker.wait(&AtomicBool::new(true)));
        assert!(Ticker::every(Duration::from_micros(1)).wait(&AtomicBool::new(false)));
    }
}
