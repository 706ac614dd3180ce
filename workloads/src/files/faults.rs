//! Disks that fail, for tests: one step of a write goes wrong as a real one can.

use std::cell::RefCell;
use std::io;

use super::FileStep;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFault {
    /// The system takes a part of the bytes, and the rest when asked again.
    ShortWrite,
    /// The disk fills up in the middle of a write (`ENOSPC`).
    FullMidway,
    /// The disk is full (`ENOSPC`).
    Full,
    /// The disk is broken (`EIO`).
    Broken,
    /// The step is done and says that it failed, as a rename over a network can (`EIO`).
    DoneButFailed,
    /// The process ends at this step, in the middle of a write: nothing after it happens.
    Crash,
}

impl FileFault {
    /// All of them.
    pub const ALL: [FileFault; 6] = [
        FileFault::ShortWrite,
        FileFault::FullMidway,
        FileFault::Full,
        FileFault::Broken,
        FileFault::DoneButFailed,
        FileFault::Crash,
    ];
}

const ENOSPC: i32 = 28;
const EIO: i32 = 5;

struct Plan {
    fault: FileFault,
    /// The step that fails, counted from 0.
    at: usize,
    steps: usize,
    has_crashed: bool,
    is_full: bool,
}

thread_local! {
    static PLAN: RefCell<Option<Plan>> = const { RefCell::new(None) };
}

/// Does something on this thread while step `at` of all its writes fails. What it returned, and whether
/// there was such a step.
pub fn with_fault<R>(fault: FileFault, at: usize, act: impl FnOnce() -> R) -> (R, bool) {
    let plan = Plan { fault, at, steps: 0, has_crashed: false, is_full: false };
    PLAN.with_borrow_mut(|slot| *slot = Some(plan));
    let result = act();
    let plan = PLAN.with_borrow_mut(Option::take);
    (result, plan.is_some_and(|plan| at < plan.steps))
}

/// Lets every fault happen at every step of a write. `check` gets what `act` returned, and whether
/// the process is taken to have ended; it is called with a name for messages. Returns how many faults
/// there were.
pub fn at_every_step<R>(mut act: impl FnMut() -> R, mut check: impl FnMut(&str, FileFault, R)) -> usize {
    let mut count = 0;
    for fault in FileFault::ALL {
        for at in 0.. {
            let (result, is_hit) = with_fault(fault, at, &mut act);
            if !is_hit {
                break;
            }
            count += 1;
            check(&format!("{fault:?} at step {at}"), fault, result);
        }
    }
    count
}

/// A step begins.
pub(super) fn before(step: FileStep) -> io::Result<()> {
    planned((), |plan| {
        let is_now = plan.steps == plan.at;
        plan.steps += 1;
        if plan.has_crashed {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        match plan.fault {
            FileFault::Crash if is_now => {
                plan.has_crashed = true;
                Err(io::Error::from_raw_os_error(EIO))
            }
            FileFault::Full if is_now && step != FileStep::Undo => Err(io::Error::from_raw_os_error(ENOSPC)),
            FileFault::Broken if is_now => Err(io::Error::from_raw_os_error(EIO)),
            _ => Ok(()),
        }
    })
}

/// A step is done.
pub(super) fn after(_: FileStep) -> io::Result<()> {
    planned((), |plan| {
        let is_now = plan.steps == plan.at + 1;
        if is_now && plan.fault == FileFault::DoneButFailed {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        Ok(())
    })
}

/// So many bytes are to be written. How many of them the system takes.
pub(super) fn length(wanted: usize) -> io::Result<usize> {
    planned(wanted, |plan| {
        let is_now = plan.steps == plan.at;
        plan.steps += 1;
        let part = wanted.div_ceil(2);
        if plan.has_crashed {
            // The part that was taken before is all there will be.
            return Err(io::Error::from_raw_os_error(EIO));
        }
        if plan.is_full {
            return Err(io::Error::from_raw_os_error(ENOSPC));
        }
        match plan.fault {
            FileFault::ShortWrite if is_now => Ok(part),
            FileFault::FullMidway if is_now => {
                plan.is_full = true;
                Ok(part)
            }
            FileFault::Crash if is_now => {
                plan.has_crashed = true;
                Ok(part)
            }
            FileFault::Full if is_now => Err(io::Error::from_raw_os_error(ENOSPC)),
            FileFault::Broken if is_now => Err(io::Error::from_raw_os_error(EIO)),
            _ => Ok(wanted),
        }
    })
}

/// Nothing fails where nobody planned it.
fn planned<T>(otherwise: T, act: impl FnOnce(&mut Plan) -> io::Result<T>) -> io::Result<T> {
    PLAN.with_borrow_mut(|plan| match plan {
        Some(plan) => act(plan),
        None => Ok(otherwise),
    })
}
