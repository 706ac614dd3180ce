//! Signals that end a run: what was measured is kept, and the exit code says which signal it was.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::progress::complain;

/// The first signal that came; 0 while none has.
static FIRST: AtomicI32 = AtomicI32::new(0);
/// Between two looks whether a sleep was interrupted.
const LOOK: Duration = Duration::from_millis(20);

/// Set by the first signal, once somebody listens.
static INTERRUPT: AtomicBool = AtomicBool::new(false);

/// Ctrl-C, SIGTERM (a cancelled CI job) and SIGHUP (a closed terminal) set the flag that is returned;
/// a second one ends the process.
pub(crate) fn listen() -> &'static AtomicBool {
    let installed = Signals::new(wanted(is_ignored(SIGHUP))).and_then(|mut signals| {
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in &mut signals {
                FIRST.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).ok();
                if INTERRUPT.swap(true, Ordering::SeqCst) {
                    std::process::exit(code_of(signal));
                }
                complain("\nschedlab: stopping; what was measured is kept (Ctrl-C again ends at once)");
            }
        })
    });
    if let Err(error) = installed {
        complain(&format!("schedlab: Ctrl-C will not keep partial results: {error}"));
    }
    &INTERRUPT
}

/// The flag that [`listen`] returns; never set while nobody listens.
pub(crate) fn flag() -> &'static AtomicBool {
    &INTERRUPT
}

/// Whether a signal has come that [`listen`] waits for.
pub(crate) fn is_interrupted() -> bool {
    INTERRUPT.load(Ordering::Relaxed)
}

/// What a process ends with that a signal has interrupted.
pub(crate) fn exit_code() -> u8 {
    u8::try_from(code_of(FIRST.load(Ordering::SeqCst))).unwrap_or(u8::MAX)
}

/// Sleeps until the time is over or the flag is set.
pub(crate) fn sleep(duration: Duration, interrupt: &AtomicBool) {
    let begun = Instant::now();
    while !interrupt.load(Ordering::Relaxed) {
        let left = duration.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(LOOK));
    }
}

/// As a shell says of a program that the signal ended.
fn code_of(signal: i32) -> i32 {
    128 + if signal == 0 { SIGINT } else { signal }
}

/// `nohup` ignores SIGHUP for the programs it starts; they must go on when the terminal is closed.
fn wanted(is_hangup_ignored: bool) -> &'static [i32] {
    if is_hangup_ignored { &[SIGINT, SIGTERM] } else { &[SIGINT, SIGTERM, SIGHUP] }
}

/// Whether whoever started the process ignores the signal. Where the system does not say, nobody does.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    is_in_mask(&status, signal)
}

/// The line is a mask of 64 bits, signal 1 the lowest: `SigIgn: 0000000000000001`.
fn is_in_mask(status: &str, signal: i32) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        assert_eq!([SIGINT, SIGTERM, SIGHUP].map(code_of), [130, 143, 129]);
    }

    #[test]
    fn hangup_is_left_alone_where_nohup_ignores_it() {
        let status = |mask: &str| format!("Name:\tschedlab\nSigBlk:\t0000000000000001\nSigIgn:\t{mask}\n");
        assert!(is_in_mask(&status("0000000000001001"), SIGHUP));
        assert!(!is_in_mask(&status("0000000000001000"), SIGHUP));
        assert!(!is_in_mask("", SIGHUP));
        assert!(!wanted(true).contains(&SIGHUP));
        assert!(wanted(false).contains(&SIGHUP));
    }
}
