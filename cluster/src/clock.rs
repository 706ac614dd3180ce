//! The wall clock of runs: nanoseconds since the process first asked. Only runtimes read it; the
//! engine and the store are given times.

use std::sync::OnceLock;
use std::time::Instant;

/// Nanoseconds on a clock that never runs backwards.
#[must_use]
pub fn monotonic_ns() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let elapsed = ORIGIN.get_or_init(Instant::now).elapsed();
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}
