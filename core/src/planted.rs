//! A slowdown for the proof of the gate, in no other build.
//!
//! `scripts/gate-proof` must show that a build which is slower by a known amount is caught. With
//! the feature `planted` the engine does useless work for every row that it scores; how much is set
//! from outside, so that one build serves every size of regression. It changes no decision.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

static STEPS_PER_KILOROW: AtomicU64 = AtomicU64::new(0);

/// How many steps of useless work are done for a thousand rows scored.
pub fn set_steps_per_kilorow(steps: u64) {
    STEPS_PER_KILOROW.store(steps, Ordering::Relaxed);
}

/// Does it. Each step waits for the one before, so that it costs time and not only instructions.
#[inline(never)]
pub(crate) fn work(row_count: usize) {
    let steps = STEPS_PER_KILOROW.load(Ordering::Relaxed) * row_count as u64 / 1000;
    let mut value = black_box(row_count as u64);
    for _ in 0..steps {
        value = black_box(value.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(7));
    }
    black_box(value);
}
