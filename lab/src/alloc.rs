//! An allocator for programs that profile themselves: mimalloc, and a count by call site while
//! somebody profiles allocations.
//!
//! Off, it costs one relaxed load of a flag an allocation; the scheduling cycle makes none at all.
//! On, an allocation walks its stack, some microseconds, so times say nothing: the CPU is profiled
//! in runs of its own. The first [`ALL_UP_TO`] allocations are all walked; after that one in
//! [`THEN_ONE_OF`] stands for as many, so that a run that allocates by the million still ends.
#![allow(unsafe_code, reason = "an allocator is unsafe by its trait; each block says why it holds")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use mimalloc::MiMalloc;

/// What the program allocates with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

/// `mi_option_purge_delay` of mimalloc.h: the bindings name only the one after it. Below 0 nothing is
/// purged.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = libmimalloc_sys::mi_option_use_numa_nodes - 1;

/// From now on freed memory stays with the process. Otherwise the kernel gets the memory of one run
/// back, and must clear it again inside the measured part of the next: several percent, now and then.
pub fn keep_freed_memory() {
    // SAFETY: sets a number that the allocator reads when it is about to purge; any value is valid.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, -1) };
}

/// Allocations from one stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocated {
    /// How many.
    pub count: u64,
    /// Bytes asked for in all.
    pub bytes: u64,
}

/// Return addresses, innermost first.
pub(crate) type Addresses = Vec<usize>;

/// Deeper frames are cut off: the loop of the scheduler is about thirty deep.
const FRAMES_MAX: usize = 96;

/// Allocations that are counted one by one.
pub const ALL_UP_TO: u64 = 100_000;
/// Of later ones, one in so many is counted, as so many.
pub const THEN_ONE_OF: u64 = 16;

static SEEN: AtomicU64 = AtomicU64::new(0);
static IS_ON: AtomicBool = AtomicBool::new(false);
static SITES: Mutex<BTreeMap<Addresses, Allocated>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// Counting allocates too; that is not counted.
    static IS_COUNTING: Cell<bool> = const { Cell::new(false) };
}

/// Counts from now on.
pub(crate) fn start_counting() {
    IS_ON.store(true, Ordering::SeqCst);
}

/// Counts no more; what was counted stays. A thread that is walking its stack meanwhile finds out under
/// the lock that it came too late, so that nothing is added after this has returned.
pub(crate) fn stop_counting() {
    let _sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    IS_ON.store(false, Ordering::SeqCst);
}

/// Takes what was counted.
pub(crate) fn take_counted() -> BTreeMap<Addresses, Allocated> {
    SEEN.store(0, Ordering::Relaxed);
    std::mem::take(&mut *SITES.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cold]
#[inline(never)]
fn count(bytes: usize) {
    // A thread that is ending has no marker left: what it allocates then is not counted.
    if !matches!(IS_COUNTING.try_with(|is_counting| is_counting.replace(true)), Ok(false)) {
        return;
    }
    let seen = SEEN.fetch_add(1, Ordering::Relaxed);
    let weight = if seen < ALL_UP_TO { 1 } else { THEN_ONE_OF };
    if !seen.is_multiple_of(weight) {
        return IS_COUNTING.set(false);
    }
    let mut addresses = Vec::with_capacity(FRAMES_MAX);
    // SAFETY: the callback neither unwinds nor calls back into the unwinder. What needs the crate's
    // lock is looking up names, and that is done when counting is over, on one thread.
    unsafe {
        backtrace::trace_unsynchronized(|frame| {
            addresses.push(frame.ip() as usize);
            addresses.len() < FRAMES_MAX
        });
    }
    add(addresses, Allocated { count: weight, bytes: bytes as u64 * weight });
    IS_COUNTING.set(false);
}

/// Adds to a call site, unless counting ended while the stack was walked.
fn add(addresses: Addresses, allocated: Allocated) {
    let mut sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    if !IS_ON.load(Ordering::Relaxed) {
        return;
    }
    let site = sites.entry(addresses).or_default();
    site.count += allocated.count;
    site.bytes += allocated.bytes;
}

// SAFETY: every call is passed on to mimalloc unchanged; counting only reads the size.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if IS_ON.load(Ordering::Relaxed) {
            count(layout.size());
        }
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { MiMalloc.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if IS_ON.load(Ordering::Relaxed) {
            count(layout.size());
        }
        // SAFETY: as above.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if IS_ON.load(Ordering::Relaxed) {
            // What is new of it; a block that shrinks counts as a call without bytes.
            count(new_size.saturating_sub(layout.size()));
        }
        // SAFETY: the caller's promises about block, layout and size are passed on.
        unsafe { MiMalloc.realloc(block, layout, new_size) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block came from mimalloc with this layout.
        unsafe { MiMalloc.dealloc(block, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that profiles itself declares it so.
    #[global_allocator]
    static ALLOCATOR: Allocator = Allocator;

    /// There is one count in the process: one test at a time.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    #[test]
    fn allocations_are_counted_by_stack_while_it_is_on() {
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        start_counting();
        let made: Vec<Vec<u8>> = (0..10).map(|_| Vec::with_capacity(100)).collect();
        stop_counting();
        drop(made);
        let counted = take_counted();
        // Other tests may allocate meanwhile: look for the stack that is ours by its sizes.
        let ours = Allocated { count: 10, bytes: 1000 };
        assert!(counted.values().any(|site| *site == ours), "{:?}", counted.values());
        let _more: Vec<u8> = Vec::with_capacity(77);
        assert!(take_counted().is_empty(), "nothing is counted when it is off");
    }

    #[test]
    fn allocation_whose_stack_was_walked_when_counting_stopped_is_not_counted() {
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        start_counting();
        stop_counting();
        take_counted();
        add(vec![1], Allocated { count: 1, bytes: 8 });
        assert!(take_counted().is_empty(), "it would be found in the next profile");
    }
}
