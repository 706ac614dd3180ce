//! The wall clock of runs: nanoseconds since the process first asked. Only runtimes read it; the
//! engine and the store are given times.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds on a clock that never runs backwards.
#[must_use]
pub fn monotonic_ns() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let elapsed = ORIGIN.get_or_init(Instant::now).elapsed();
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}

/// Nanoseconds since the epoch, on a clock that never runs backwards: for a cluster whose times clients
/// compare with their own.
#[must_use]
pub fn unix_ns() -> u64 {
    static BASE: OnceLock<u64> = OnceLock::new();
    let base = BASE.get_or_init(|| {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX).saturating_sub(monotonic_ns())
    });
    base.saturating_add(monotonic_ns())
}

/// The operating system's number of the calling thread: Linux's `/proc/thread-self` leads to
/// `<process>/task/<thread>`. `None` where there is no such number.
#[must_use]
pub fn own_thread_number() -> Option<u32> {
    std::fs::read_link("/proc/thread-self").ok()?.file_name()?.to_str()?.parse().ok()
}
