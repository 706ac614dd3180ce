//! A yardstick: the same small work on every machine.
//!
//! A throughput divided by the yardstick's rate, both measured in the same run, says how fast the
//! scheduler is in units of the machine it ran on: a laptop's and a CI machine's scores can stand
//! in one chart. It mimics what the engine does most: walk columns that fit the second cache, add,
//! compare, keep the best.

use serde::{Deserialize, Serialize};

use crate::stats::{Interval, ratio_of_pairs};

/// Steps of one call of the kernel: about a millisecond on any machine of this decade, as a turn of
/// the gate's kernels is.
pub const REFERENCE_STEPS: u64 = 1_000_000;

/// Rows of the kernel's columns: three columns of 8 bytes are 240 kB.
const ROWS: usize = 10_000;

/// Runs the kernel and returns its answer, which must be used so that the work is not removed.
#[must_use]
pub fn reference_kernel(seed: u32) -> u64 {
    let seed = u64::from(seed);
    let column = |salt: u64| -> Vec<u64> {
        (0..ROWS as u64)
            .map(|row| row.wrapping_add(salt << 20).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40)
            .collect()
    };
    let (free, mut used, weight) = (column(3 * seed), column(3 * seed + 1), column(3 * seed + 2));
    let mut sum = 0_u64;
    for turn in 0..REFERENCE_STEPS / ROWS as u64 {
        let request = turn & 1023;
        let (mut best, mut best_row) = (0, 0);
        for row in 0..ROWS {
            let fits = u64::from(used[row].wrapping_add(request) <= free[row]);
            let total = (weight[row] & 1023).wrapping_add(free[row].wrapping_sub(used[row]) & 4095) * fits;
            if best < total {
                (best, best_row) = (total, row);
            }
        }
        used[best_row] = used[best_row].wrapping_add(request);
        sum = sum.wrapping_add(best).rotate_left(7);
    }
    sum
}

/// A throughput in units of the yardstick.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Turns (pods, decisions) per million reference steps.
    pub score: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
}

/// The score of rates (turns/s) and of the yardstick's rates (steps/s), each pair measured side by
/// side, so that what slows one slows the other.
///
/// # Panics
/// When there is no pair, or a value is not above 0.
#[must_use]
pub fn score(turns_per_s: &[f64], steps_per_s: &[f64], seed: u64) -> Score {
    let ratios: Vec<f64> = turns_per_s.iter().zip(steps_per_s).map(|(turns, steps)| turns / steps).collect();
    let Interval { ratio, low, high } = ratio_of_pairs(&ratios, seed);
    Score { score: ratio * 1e6, low: low * 1e6, high: high * 1e6 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::testing::Sampler;

    #[test]
    fn the_kernel_gives_the_same_answer_everywhere() {
        assert_eq!(reference_kernel(1), reference_kernel(1));
        assert_ne!(reference_kernel(1), reference_kernel(2));
    }

    #[test]
    fn a_machine_twice_as_fast_has_the_same_score() {
        let mut sampler = Sampler::new(4);
        let mut of = |speed: f64| {
            let pods = sampler.many(30, |s| s.normal(500_000.0 * speed, 5_000.0 * speed));
            let steps = sampler.many(30, |s| s.normal(1e9 * speed, 1e7 * speed));
            score(&pods, &steps, 1)
        };
        let (slow, fast) = (of(1.0), of(2.0));
        assert!((slow.score - 500.0).abs() < 5.0, "{slow:?}");
        assert!(slow.low < fast.score && fast.score < slow.high, "{slow:?} {fast:?}");
    }

    #[test]
    fn a_machine_that_is_slow_half_of_the_time_has_the_same_score() {
        let mut sampler = Sampler::new(5);
        let speeds = sampler.many(40, |s| if s.normal(0.0, 1.0) < 0.0 { 1.0 } else { 0.5 });
        let of = |sampler: &mut Sampler, rate: f64| -> Vec<f64> {
            speeds.iter().map(|speed| rate * speed * sampler.normal(1.0, 0.01)).collect()
        };
        let score = score(&of(&mut sampler, 500_000.0), &of(&mut sampler, 1e9), 1);
        assert!((score.score - 500.0).abs() < 5.0, "{score:?}");
        assert!(score.high - score.low < 10.0, "{score:?}");
    }
}
