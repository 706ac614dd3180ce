//! Memory is flat when everything comes and goes under names that never repeat. All live bytes of the
//! heap are counted, whoever holds them: a test binary of its own, because it brings its own allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};

use schedlab_simulator::soak::Soak;

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

const FEW_WAVES: usize = 60;
/// As many times few waves until the store has filled its history of events and given back what that
/// spoke of for the second time.
const WARM: usize = 7;

/// One test, because other tests beside it would be counted, too.
#[test]
fn memory_is_flat_when_objects_churn_under_new_names() {
    let mut soak = Soak::default();
    let peaks: Vec<i64> = (0..WARM + 6).map(|_| peak_bytes(&mut soak, FEW_WAVES)).collect();
    assert!(soak.bound() > 40 * soak.waves(), "most pods find a node: {}", soak.bound());
    drop(soak);
    let most = |peaks: &[i64]| peaks.iter().copied().max().unwrap_or(0);
    let (early, late) = (most(&peaks[WARM..WARM + 3]), most(&peaks[WARM + 3..]));
    assert!(late as f64 <= early as f64 * 1.03, "live bytes, each after {FEW_WAVES} waves more: {peaks:?}");

    let mut leaky = Soak::default();
    leaky.set_reclaim_floor(u64::MAX / 16);
    let grown = peak_bytes(&mut leaky, FEW_WAVES) as f64 / peaks[0] as f64;
    assert!(grown > 1.08, "what is not given back is seen: {grown:.3}");
}
