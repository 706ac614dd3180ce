//! Memory is flat when everything comes and goes under names that never repeat. All live bytes of the
//! heap are counted, whoever holds them: a test binary of its own, because it brings its own allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};

use schedlab_cluster::simulate::soak::Soak;

static LIVE_BYTES: AtomicI64 = AtomicI64::new(0);

/// The system's allocator, counted.
struct Counting;

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[allow(unsafe_code, reason = "an allocator can be counted only by being one")]
// SAFETY: every call goes to the system's allocator unchanged; counting touches an atomic integer.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE_BYTES.fetch_add(signed(layout.size()), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(signed(layout.size()), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE_BYTES.fetch_add(signed(size) - signed(layout.size()), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LIVE_BYTES.fetch_add(signed(layout.size()), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that are live after any of so many waves.
fn peak_bytes(soak: &mut Soak, waves: usize) -> i64 {
    let mut peak = 0;
    for _ in 0..waves {
        soak.wave().expect("the store takes what the soak does");
        peak = peak.max(LIVE_BYTES.load(Ordering::Relaxed));
    }
    peak
}

/// Waves after which the store's history of events is full and tables have found their size.
const WARM_WAVES: usize = 180;
const FEW_WAVES: usize = 50;

/// One test, because other tests beside it would be counted, too.
#[test]
fn memory_is_flat_when_everything_comes_and_goes_under_other_names() {
    let mut soak = Soak::default();
    let few = peak_bytes(&mut soak, FEW_WAVES);
    peak_bytes(&mut soak, WARM_WAVES - FEW_WAVES);
    let early = peak_bytes(&mut soak, 100);
    let late = peak_bytes(&mut soak, 100);
    assert!(soak.bound() > 40 * soak.waves(), "most pods find a node: {}", soak.bound());
    drop(soak);
    let growth = late as f64 / early as f64;
    assert!(growth < 1.03, "{growth:.3} times the memory after as many events again");

    let mut leaky = Soak::default();
    leaky.set_reclaim_floor(u64::MAX / 16);
    let grown = peak_bytes(&mut leaky, FEW_WAVES) as f64 / few as f64;
    assert!(grown > 1.2, "what is not given back is seen: {grown:.3}");
}
