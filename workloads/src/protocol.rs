//! The measuring protocol: how often a workload runs until its number can be quoted.
//!
//! ```text
//! run ─ warm-up, set aside ─▶ reference │ run │ reference │ run │ reference …
//!                                              └─▶ headline ± interval: narrow? budget left?
//! ```
//!
//! A workload that ends in milliseconds is repeated, on a fresh cluster each time, until the
//! bootstrap interval of the headline's median is as narrow as asked or the time is used up. Between
//! the runs the reference kernel says how fast the machine is at that moment; beside other processes
//! it runs as long as the measured part did, so that it is taken off its processor as often.

use std::time::{Duration, Instant};

use schedlab_core::reference::{Reference, STEPS_PER_TURN};

use crate::assemble::{Run, widest_half_width};
use crate::executor::{Ending, Outcome};
use crate::results::{Conditions, REFERENCE_RATE};

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
        let mut speedometer = Speedometer::default();
        let mut runs: Vec<Run> = Vec::new();
        let mut is_warm = false;
        let mut before = speedometer.read(Duration::ZERO);
        loop {
            let run_began = Instant::now();
            let outcome = match run() {
                Ok(outcome) => outcome,
                Err(error) => return (runs, Some(error)),
            };
            let has_completed = outcome.ending == Ending::Completed;
            let conditions: Vec<Conditions> = outcome.collected.iter().map(|part| part.conditions).collect();
            let after = speedometer.read(reading_time(&conditions));
            runs.push(Run { outcome, machine_speed: Some(before.and(after).speed()) });
            before = after;
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

/// Tells how fast the machine is right now, by the reference kernel.
#[derive(Default)]
struct Speedometer {
    reference: Reference,
}

/// Turns of a reading at least: two to three milliseconds, less than a tenth of a short run.
const TURNS_MIN: u32 = 50;
/// A reading takes no longer than this, however long the run was.
const READING_MAX: Duration = Duration::from_millis(50);
/// From this share of time without a processor on, other processes are there for good.
const WAITED_SHARE_BUSY: f64 = 0.03;

/// How long the kernel runs after a run. Other processes slow a run in two ways: beside it, on memory
/// and caches that are shared, and in its place, because it finds its caches emptied each time it gets
/// the processor back. A reading of milliseconds mostly fits between two such switches and would show
/// the first alone.
fn reading_time(conditions: &[Conditions]) -> Duration {
    match Conditions::over(conditions) {
        Some(over) if WAITED_SHARE_BUSY < over.waited_share() => {
            let ran_ms = (over.wall_ms - over.waited_ms).max(0.0);
            Duration::from_secs_f64(ran_ms / 1e3).min(READING_MAX)
        }
        _ => Duration::ZERO,
    }
}

/// What the reference kernel did.
#[derive(Clone, Copy, Debug)]
struct SpeedReading {
    turns: u32,
    cpu_ns: u64,
}

impl SpeedReading {
    /// Both together: the longer one weighs more.
    fn and(self, other: SpeedReading) -> SpeedReading {
        SpeedReading { turns: self.turns + other.turns, cpu_ns: self.cpu_ns + other.cpu_ns }
    }

    /// 1 is the machine of the reference speed.
    fn speed(self) -> f64 {
        let seconds = self.cpu_ns.max(1) as f64 / 1e9;
        f64::from(self.turns) * STEPS_PER_TURN as f64 / seconds / REFERENCE_RATE
    }
}

impl Speedometer {
    /// Runs the kernel for so long, or a little longer. Counted in the thread's own processor time:
    /// what it waits for a processor is taken off the measured interval as well.
    fn read(&mut self, at_least: Duration) -> SpeedReading {
        let began_ns = thread_cpu_ns();
        let mut turns = 0;
        loop {
            for _ in 0..TURNS_MIN {
                std::hint::black_box(self.reference.turn());
            }
            turns += TURNS_MIN;
            let cpu_ns = thread_cpu_ns().saturating_sub(began_ns);
            // Where the system has no such clock, the least is all.
            if cpu_ns == 0 || at_least <= Duration::from_nanos(cpu_ns) {
                return SpeedReading { turns, cpu_ns };
            }
        }
    }
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
    fn reading_lasts_as_long_as_asked_and_its_speed_is_positive_and_finite() {
        let mut speedometer = Speedometer::default();
        let (short, long) = (speedometer.read(Duration::ZERO), speedometer.read(Duration::from_millis(20)));
        assert_eq!(short.turns, TURNS_MIN);
        assert!(20_000_000 <= long.cpu_ns, "{long:?}");
        let speed = short.and(long).speed();
        assert!(0.0 < speed && speed.is_finite(), "{speed}");
    }

    #[test]
    fn both_readings_count_by_their_length() {
        let per_turn = |turns: u32, ns: u64| SpeedReading { turns, cpu_ns: u64::from(turns) * ns };
        let (short, long) = (per_turn(50, 40_000), per_turn(450, 80_000));
        let both = short.and(long);
        assert_eq!((both.turns, both.cpu_ns), (500, 38_000_000));
        assert!((short.speed() / long.speed() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn beside_other_processes_the_kernel_runs_as_long_as_the_run() {
        struct Case {
            name: &'static str,
            wall_ms: f64,
            waited_ms: f64,
            reading_ms: u64,
        }
        let cases = [
            Case { name: "quiet", wall_ms: 40.0, waited_ms: 0.4, reading_ms: 0 },
            Case { name: "beside a compiler", wall_ms: 60.0, waited_ms: 30.0, reading_ms: 30 },
            Case { name: "a long run", wall_ms: 9000.0, waited_ms: 4000.0, reading_ms: 50 },
        ];
        for Case { name, wall_ms, waited_ms, reading_ms } in cases {
            let conditions = Conditions { wall_ms, waited_ms, ..Conditions::default() };
            assert_eq!(reading_time(&[conditions]), Duration::from_millis(reading_ms), "case: {name}");
        }
        assert_eq!(reading_time(&[]), Duration::ZERO, "nothing was measured");
    }
}
