//! What the operating system knows of the scheduler thread and of the machine, read before and
//! after a measured part. On a system without `/proc` nothing is known, and nothing is taken off.

use std::fs;

use schedlab_cluster::clock::{monotonic_ns, own_thread_number};

use crate::results::Conditions;

/// Counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MachineReading {
    scheduler: ThreadTimes,
    involuntary_switches: u64,
    /// Since the process began.
    page_faults: u64,
    /// Since the machine started, over all processors, in ticks: given to other guests, and all.
    steal_ticks: u64,
    all_ticks: u64,
}

/// What a thread did since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ThreadTimes {
    ran_ns: u64,
    /// Runnable, without a processor.
    waited_ns: u64,
}

impl ThreadTimes {
    fn of(ThreadId(id): ThreadId) -> ThreadTimes {
        let schedstat = fs::read_to_string(format!("/proc/self/task/{id}/schedstat"));
        schedstat.ok().and_then(|text| thread_times(&text)).unwrap_or_default()
    }

    fn since(self, earlier: ThreadTimes) -> ThreadTimes {
        ThreadTimes {
            ran_ns: self.ran_ns.saturating_sub(earlier.ran_ns),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
        }
    }
}

/// Nanoseconds that the calling thread has been runnable without a processor, since it began.
#[must_use]
pub fn own_waited_ns() -> u64 {
    ThreadTimes::of(ThreadId::current()).waited_ns
}

/// A thread as `/proc` names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadId(pub u32);

impl ThreadId {
    /// The calling thread; one that nothing is known of where the system has no numbers.
    #[must_use]
    pub fn current() -> ThreadId {
        ThreadId(own_thread_number().unwrap_or(0))
    }
}

impl MachineReading {
    /// Reads everything for a scheduler thread.
    #[must_use]
    pub fn of(scheduler: ThreadId) -> MachineReading {
        let ThreadId(id) = scheduler;
        let read = |path: &str| fs::read_to_string(path).ok();
        let (steal_ticks, all_ticks) = read("/proc/stat").and_then(|text| ticks(&text)).unwrap_or_default();
        let status = read(&format!("/proc/self/task/{id}/status"));
        MachineReading {
            scheduler: ThreadTimes::of(scheduler),
            involuntary_switches: status.and_then(|text| involuntary_switches(&text)).unwrap_or(0),
            page_faults: read("/proc/self/stat").and_then(|text| page_faults(&text)).unwrap_or(0),
            steal_ticks,
            all_ticks,
        }
    }

    /// What happened since an earlier reading, in a measured part of `wall_ns`; while it created pods,
    /// the thread that does so waited `creator_waited_ns` for a processor.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "counts and times of a run are far below 2^53")]
    pub fn since(&self, earlier: &MachineReading, wall_ns: u64, creator_waited_ns: u64) -> Conditions {
        let ticks = self.all_ticks.saturating_sub(earlier.all_ticks);
        let steal = self.steal_ticks.saturating_sub(earlier.steal_ticks);
        Conditions {
            wall_ms: wall_ns as f64 / 1e6,
            waited_ms: self.waited_ns(earlier, wall_ns, creator_waited_ns) as f64 / 1e6,
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
            page_faults: self.page_faults.saturating_sub(earlier.page_faults),
            steal_share: (TICKS_MIN <= ticks).then(|| steal as f64 / ticks as f64),
            load_average: fs::read_to_string("/proc/loadavg").ok().and_then(|text| load_average(&text)),
            frequency_mhz: frequency_mhz("scaling_cur_freq"),
            frequency_max_mhz: frequency_mhz("cpuinfo_max_freq"),
            clock_read_ns: Some(clock_read_ns()),
        }
    }

    /// Time lost for want of a processor: the scheduler thread's own, and of the time in which it had
    /// nothing to do, as much as the creating thread waited while it had pods to create. On a machine
    /// with a core for each, and on one core without other processes, there is none of the second.
    fn waited_ns(&self, earlier: &MachineReading, wall_ns: u64, creator_waited_ns: u64) -> u64 {
        let scheduler = self.scheduler.since(earlier.scheduler);
        let idle_ns = wall_ns.saturating_sub(scheduler.ran_ns + scheduler.waited_ns);
        // At least the time it ran was its own.
        (scheduler.waited_ns + idle_ns.min(creator_waited_ns)).min(wall_ns.saturating_sub(scheduler.ran_ns))
    }
}

/// A frequency of the first processor, where the system tells. Linux: Documentation/admin-guide/pm/cpufreq.rst.
fn frequency_mhz(file: &str) -> Option<f64> {
    let text = fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cpufreq/{file}")).ok()?;
    text.trim().parse::<f64>().ok().map(|khz| khz / 1000.0)
}

/// What one look at the clock takes: the least of a few rounds, which nothing interrupted.
fn clock_read_ns() -> f64 {
    const ROUNDS: u32 = 5;
    const LOOKS: u32 = 32;
    let round = |_| {
        let began = monotonic_ns();
        (0..LOOKS).for_each(|_| {
            std::hint::black_box(monotonic_ns());
        });
        (monotonic_ns() - began) as f64 / f64::from(LOOKS)
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

/// Fewer ticks than this say nothing about a share: one of them would be a tenth.
const TICKS_MIN: u64 = 10;

/// Time on a processor and time runnable without one: the first two numbers of `schedstat`.
/// Linux: Documentation/scheduler/sched-stats.rst.
fn thread_times(schedstat: &str) -> Option<ThreadTimes> {
    let mut numbers = schedstat.split_whitespace().map(str::parse);
    let (ran_ns, waited_ns) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(ThreadTimes { ran_ns, waited_ns })
}

fn involuntary_switches(status: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with("nonvoluntary_ctxt_switches"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Minor and major faults: fields 10 and 12 of `stat`, counted behind the name, which may hold spaces.
fn page_faults(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(7);
    let minor: u64 = fields.next()?.parse().ok()?;
    let major: u64 = fields.nth(1)?.parse().ok()?;
    Some(minor + major)
}

/// Steal and the sum of all times of the first line, `cpu user nice system idle iowait irq softirq
/// steal guest guest_nice`; guests are in user and nice already.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let times: Vec<u64> = stat
        .lines()
        .next()?
        .split_whitespace()
        .skip(1)
        .take(8)
        .map_while(|field| field.parse().ok())
        .collect();
    Some((*times.get(7)?, times.iter().sum()))
}

fn load_average(loadavg: &str) -> Option<f64> {
    loadavg.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_proc_are_found() {
        let times = ThreadTimes { ran_ns: 991_644, waited_ns: 3_935_715 };
        assert_eq!(thread_times("991644 3935715 3\n"), Some(times));
        let status = "Name:\tscheduler\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t7\n";
        assert_eq!(involuntary_switches(status), Some(7));
        let stat = "12 (a b) c) R 1 2 3 4 5 6 100 200 3 400 5 6";
        assert_eq!(page_faults(stat), Some(103));
        assert_eq!(ticks("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 0\n"), Some((8, 36)));
        assert_eq!(load_average("4.48 3.01 1.49 3/120 99\n"), Some(4.48));
    }

    #[test]
    fn wait_time_counts_runnable_time_without_a_processor() {
        struct Case {
            name: &'static str,
            /// Ran, waited, in milliseconds.
            scheduler: (u64, u64),
            creator_waited: u64,
            waited_ms: f64,
        }
        let cases = [
            Case { name: "quiet", scheduler: (50, 0), creator_waited: 0, waited_ms: 0.0 },
            Case {
                name: "another process beside it",
                scheduler: (50, 30),
                creator_waited: 0,
                waited_ms: 30.0,
            },
            Case {
                name: "idle because pods were created late",
                scheduler: (50, 10),
                creator_waited: 15,
                waited_ms: 25.0,
            },
            Case {
                name: "one core: the creator waits while the scheduler runs",
                scheduler: (100, 0),
                creator_waited: 80,
                waited_ms: 0.0,
            },
            Case {
                name: "idle for a reason of its own",
                scheduler: (10, 0),
                creator_waited: 2,
                waited_ms: 2.0,
            },
            Case {
                name: "never more than the time it did not run",
                scheduler: (95, 400),
                creator_waited: 0,
                waited_ms: 5.0,
            },
        ];
        for case in cases {
            let ms = |ms: u64| ms * 1_000_000;
            let later = MachineReading {
                scheduler: ThreadTimes { ran_ns: ms(case.scheduler.0), waited_ns: ms(case.scheduler.1) },
                ..MachineReading::default()
            };
            let conditions = later.since(&MachineReading::default(), ms(100), ms(case.creator_waited));
            assert_eq!(
                (conditions.wall_ms, conditions.waited_ms),
                (100.0, case.waited_ms),
                "case: {}",
                case.name
            );
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn thread_of_this_process_can_be_read() {
        let reading = MachineReading::of(ThreadId::current());
        assert!(0 < reading.all_ticks);
        assert!(0 < reading.page_faults);
        let conditions = reading.since(&reading, 1_000_000, 0);
        assert!(conditions.clock_read_ns.is_some_and(|ns| 0.0 < ns && ns < 1e6), "{conditions:?}");
    }
}
