//! The measuring protocol: how often a workload runs until its number can be quoted.
//!
//! ```text
//! run ─ warm-up, set aside ─▶ reference │ run │ reference │ run │ reference …
//!                                              └─▶ headline ± interval: narrow? budget left?
//! ```
//!
//! A workload that ends in milliseconds is repeated, on a fresh cluster each time, until the
//! bootstrap interval of the headline's median is as narrow as asked or the time is used up. Between
//! the runs the reference kernel says how fast the machine is at that moment.

use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use schedlab_core::reference::{Reference, STEPS_PER_TURN};

use crate::assemble::{Run, widest_half_width};
use crate::executor::{Ending, Outcome};
use crate::results::REFERENCE_RATE;

/// How often a workload runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Protocol {
    /// So many times.
    Exactly(u32),
    /// Until the interval is narrow or the time is over.
    UntilNarrow(Narrow),
}

/// When a workload has run often enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Narrow {
    /// Half the width of the headline's interval, as a share of the headline, that is narrow enough.
    pub precision: f64,
    /// Time for all runs of a workload, set-up included. A run that began is not cut short.
    pub budget: Duration,
}

/// Default of `--precision`.
pub const PRECISION_DEFAULT: f64 = 0.03;
/// Default of `--budget`.
pub const BUDGET_DEFAULT: Duration = Duration::from_secs(5);

/// Before so many runs the width of the interval is itself too uncertain to stop on: of 11 runs one
/// interval in three was narrow by luck and missed the median of ten processes.
const RUNS_MIN: usize = 25;
/// Beyond so many the interval does not get narrower in a way that anybody sees.
const RUNS_MAX: usize = 1000;
/// The first run pays for cold caches and for memory that the kernel must clear. Where it is this
/// small a part of the time, it is set aside.
const WARM_UP_SHARE_MAX: u32 = 8;

impl Protocol {
    /// Runs a workload as often as the protocol asks for. A run that did not complete is the last.
    pub fn measure<E>(self, mut run: impl FnMut() -> Result<Outcome, E>) -> (Vec<Run>, Option<E>) {
        let began = Instant::now();
        let mut runs: Vec<Run> = Vec::new();
        let mut is_warm = false;
        loop {
            let (run_began, before) = (Instant::now(), machine_speed());
            let outcome = match run() {
                Ok(outcome) => outcome,
                Err(error) => return (runs, Some(error)),
            };
            let has_completed = outcome.ending == Ending::Completed;
            let after = machine_speed();
            runs.push(Run { outcome, machine_speed: Some((before * after).sqrt()) });
            let times = Times { spent: began.elapsed(), last: run_began.elapsed() };
            if !has_completed {
                return (runs, None);
            }
            if !is_warm && self.is_warm_up(times) {
                runs.clear();
            } else if self.is_enough(runs.len(), widest_half_width(&runs), times) {
                return (runs, None);
            }
            is_warm = true;
        }
    }

    fn is_warm_up(self, first: Times) -> bool {
        match self {
            Protocol::Exactly(1) => false,
            Protocol::Exactly(_) => first.last * WARM_UP_SHARE_MAX < BUDGET_DEFAULT,
            Protocol::UntilNarrow(Narrow { budget, .. }) => first.last * WARM_UP_SHARE_MAX < budget,
        }
    }

    fn is_enough(self, runs: usize, half_width: Option<f64>, times: Times) -> bool {
        let Narrow { precision, budget } = match self {
            Protocol::Exactly(count) => return count as usize <= runs,
            Protocol::UntilNarrow(narrow) => narrow,
        };
        let is_narrow = RUNS_MIN <= runs && half_width.is_some_and(|half_width| half_width <= precision);
        is_narrow || RUNS_MAX <= runs || budget < times.spent + times.last
    }
}

/// How long a workload has been at it.
#[derive(Clone, Copy, Debug)]
struct Times {
    spent: Duration,
    last: Duration,
}

/// One kernel for all workloads of the process: its memory takes a run's time to fill.
static REFERENCE: LazyLock<Mutex<Reference>> = LazyLock::new(Mutex::default);

/// Turns of one block, about a millisecond.
const TURNS: u32 = 50;
/// Blocks of a reading, whose median counts: an interrupt falls into one of them.
const BLOCKS: usize = 3;
/// Turns before a reading, not timed: the run before has taken the columns and the table out of the
/// caches, a large one more of them than a small one.
const TURNS_BEFORE: u32 = 5;

/// How fast the machine is right now, by the reference kernel: 1 is the machine of the reference speed.
/// Counted in the thread's own processor time: what it waits for a processor is taken off the measured
/// interval as well.
fn machine_speed() -> f64 {
    let mut reference = REFERENCE.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..TURNS_BEFORE {
        std::hint::black_box(reference.turn());
    }
    let blocks: [f64; BLOCKS] = std::array::from_fn(|_| {
        let began_ns = thread_cpu_ns();
        for _ in 0..TURNS {
            std::hint::black_box(reference.turn());
        }
        thread_cpu_ns().saturating_sub(began_ns).max(1) as f64 / 1e9
    });
    f64::from(TURNS) * STEPS_PER_TURN as f64 / schedlab_stats::median(&blocks) / REFERENCE_RATE
}

/// Nanoseconds that the calling thread has had a processor.
fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(spent_ms: u64, last_ms: u64) -> Times {
        Times { spent: Duration::from_millis(spent_ms), last: Duration::from_millis(last_ms) }
    }

    #[test]
    fn runs_end_when_narrow_or_out_of_time() {
        let until = Protocol::UntilNarrow(Narrow { precision: 0.03, budget: Duration::from_secs(5) });
        struct Case {
            name: &'static str,
            protocol: Protocol,
            runs: usize,
            half_width: Option<f64>,
            times: Times,
            is_enough: bool,
        }
        let case = |name, runs, half_width, times, is_enough| Case {
            name,
            protocol: until,
            runs,
            half_width,
            times,
            is_enough,
        };
        let cases = [
            case("narrow and many", 25, Some(0.029), times(1250, 50), true),
            case("narrow by luck of three", 3, Some(0.001), times(150, 50), false),
            case("wide", 40, Some(0.2), times(2000, 50), false),
            case("wide and the next run would be over time", 40, Some(0.2), times(4980, 50), true),
            case("one long run", 1, None, times(6000, 6000), true),
            case("no interval without pods", 30, None, times(600, 20), false),
            Case {
                name: "a count is a count",
                protocol: Protocol::Exactly(3),
                runs: 3,
                half_width: Some(0.9),
                times: times(90_000, 30_000),
                is_enough: true,
            },
            Case {
                name: "a count is not cut by time",
                protocol: Protocol::Exactly(3),
                runs: 2,
                half_width: Some(0.0),
                times: times(90_000, 30_000),
                is_enough: false,
            },
        ];
        for case in cases {
            let got = case.protocol.is_enough(case.runs, case.half_width, case.times);
            assert_eq!(got, case.is_enough, "case: {}", case.name);
        }
    }

    #[test]
    fn short_first_run_is_a_warm_up_and_a_long_one_counts() {
        let until = Protocol::UntilNarrow(Narrow { precision: 0.03, budget: Duration::from_secs(5) });
        assert!(until.is_warm_up(times(50, 50)));
        assert!(!until.is_warm_up(times(3000, 3000)));
        assert!(!Protocol::Exactly(1).is_warm_up(times(5, 5)));
    }

    #[test]
    fn speed_is_positive_and_finite() {
        let speed = machine_speed();
        assert!(0.0 < speed && speed.is_finite(), "{speed}");
    }
}
