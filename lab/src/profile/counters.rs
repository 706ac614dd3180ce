//! What the machine counts while the measured part runs, as `perf stat` shows it.
//!
//! Counters are opened before the run's threads start and are inherited by them. A virtual machine
//! often has no hardware counters, and a kernel may forbid them: then the message says which and
//! what to do, and the others are still shown.

use std::collections::BTreeMap;

use perf_event::events::{Event, Hardware, Software};
use perf_event::{Builder, Counter};

/// The counters that could be opened, and why the others could not.
pub(super) struct Counters {
    open: Vec<(&'static str, Counter)>,
    refused: Vec<(&'static str, std::io::Error)>,
}

/// What the machine has counted.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// Counts by name.
    pub counts: Vec<(&'static str, u64)>,
    /// Names of counters that could not be read, by the reason.
    pub refused: BTreeMap<String, Vec<&'static str>>,
}

fn wanted() -> [(&'static str, Event); 9] {
    [
        ("instructions", Hardware::INSTRUCTIONS.into()),
        ("cycles", Hardware::CPU_CYCLES.into()),
        ("cache references", Hardware::CACHE_REFERENCES.into()),
        ("cache misses", Hardware::CACHE_MISSES.into()),
        ("branch misses", Hardware::BRANCH_MISSES.into()),
        ("CPU time, ns", Software::TASK_CLOCK.into()),
        ("context switches", Software::CONTEXT_SWITCHES.into()),
        ("CPU migrations", Software::CPU_MIGRATIONS.into()),
        ("page faults", Software::PAGE_FAULTS.into()),
    ]
}

impl Counters {
    /// Opens what the machine and the kernel allow.
    pub(super) fn open() -> Counters {
        let mut counters = Counters { open: Vec::new(), refused: Vec::new() };
        for (name, event) in wanted() {
            let mut builder = Builder::new().kind(event);
            builder.inherit(true);
            if matches!(name, "context switches" | "CPU migrations") {
                // These happen in the kernel only.
                builder.include_kernel();
            }
            match builder.build() {
                Ok(counter) => counters.open.push((name, counter)),
                Err(error) => counters.refused.push((name, error)),
            }
        }
        counters
    }

    pub(super) fn go_on(&mut self) {
        self.each(Counter::enable);
    }

    pub(super) fn pause(&mut self) {
        self.each(Counter::disable);
    }

    /// A counter that fails is taken out: half a count would be wrong.
    fn each(&mut self, act: fn(&mut Counter) -> std::io::Result<()>) {
        for (name, mut counter) in std::mem::take(&mut self.open) {
            match act(&mut counter) {
                Ok(()) => self.open.push((name, counter)),
                Err(error) => self.refused.push((name, error)),
            }
        }
    }

    /// What was counted, and what could not be.
    pub(super) fn read(&mut self) -> Counted {
        let mut counted = Counted::default();
        for (name, error) in &self.refused {
            counted.refused.entry(reason(error)).or_default().push(name);
        }
        for (name, counter) in &mut self.open {
            match counter.read() {
                Ok(count) => counted.counts.push((name, count)),
                Err(error) => counted.refused.entry(reason(&error)).or_default().push(name),
            }
        }
        counted
    }
}

fn reason(error: &std::io::Error) -> String {
    const NO_ENTRY: i32 = 2;
    const NOT_PERMITTED: i32 = 1;
    const ACCESS: i32 = 13;
    const NOT_SUPPORTED: i32 = 95;
    match error.raw_os_error() {
        Some(NO_ENTRY | NOT_SUPPORTED) => {
            "this machine does not offer it, as most virtual machines".to_owned()
        }
        Some(NOT_PERMITTED | ACCESS) => {
            "the kernel forbids it; allow it with `sysctl kernel.perf_event_paranoid=2`".to_owned()
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_is_shown_or_its_absence_explained() {
        let mut counters = Counters::open();
        counters.go_on();
        let sum: u64 = (0..100_000_u64).map(std::hint::black_box).sum();
        assert!(0 < sum);
        counters.pause();
        let counted = counters.read();
        for (name, _) in wanted() {
            let is_counted = counted.counts.iter().any(|(counted, _)| *counted == name);
            let is_refused = counted.refused.values().any(|names| names.contains(&name));
            assert!(is_counted != is_refused, "{name} is missing, or there twice, in {counted:?}");
        }
    }

    #[test]
    fn refused_counter_error_gives_the_fix() {
        let text = |code| reason(&std::io::Error::from_raw_os_error(code));
        assert!(text(2).contains("does not offer it"));
        assert!(text(13).contains("perf_event_paranoid"));
        assert!(text(24).contains("os error 24"));
    }
}
