//! Scores by how much of a node is taken: LeastAllocated and BalancedAllocation over CPU and memory.
//!
//! Upstream divides Go's int64 for the one and float64 for the other. Here both are float64 divisions,
//! of which a vector holds several:
//!
//! - Amounts below 2^46 are exact as doubles, and a hundred times such an amount is, being below 2^53.
//! - The quotient of two such integers, rounded, never reaches an integer that the true quotient is below:
//!   a true quotient a/b below k is at most k - 1/b, and 1/b is more than half the distance of k to the double
//!   before it, k * 2^-54, because k * b <= a + b < 2^54. So the floor of the rounded quotient is the
//!   integer division.
//! - The floor of q in 0..2^51 is what adding and taking off 2^52 leaves of it (the nearest integer), less
//!   one where that is above q. The integer then stands in the low bits of the sum with 2^52.
//!
//! Amounts beyond 2^46 (64 TiB of memory), negative ones included, are left to the caller.

use super::{ROWS_MAX, kernel};

/// 2^52: from here on the last place of a double is 1.
const TWO_TO_52: f64 = 4_503_599_627_370_496.0;
const TWO_TO_52_BITS: u64 = TWO_TO_52.to_bits();
/// Amounts of fewer bits are within range.
const EXACT_BITS: u32 = 46;

/// The highest score. Upstream: framework/interface.go `MaxNodeScore`.
const MAX_NODE_SCORE: f64 = 100.0;

/// An integer of at most 52 bits as a double.
#[inline(always)]
fn exact(value: i64) -> f64 {
    f64::from_bits(value.cast_unsigned() | TWO_TO_52_BITS) - TWO_TO_52
}

/// The floor of a number from 0 to 2^51.
#[inline(always)]
fn floor(value: f64) -> i64 {
    let nearest = (value + TWO_TO_52) - TWO_TO_52;
    let floor = if nearest > value { nearest - 1.0 } else { nearest };
    ((floor + TWO_TO_52).to_bits() ^ TWO_TO_52_BITS).cast_signed()
}

/// What a kernel reads of one resource: amounts of the rows, and what the pod adds.
#[derive(Clone, Copy, Debug)]
pub struct ResourceColumns<'a> {
    /// What the nodes' pods request.
    pub requested: &'a [i64],
    /// What the nodes have.
    pub allocatable: &'a [i64],
    /// What the pod requests.
    pub amount: i64,
}

impl<'a> ResourceColumns<'a> {
    /// Those of these rows.
    #[inline]
    #[must_use]
    pub fn rows(self, rows: std::ops::Range<usize>) -> ResourceColumns<'a> {
        let (requested, allocatable) = (&self.requested[rows.clone()], &self.allocatable[rows]);
        ResourceColumns { requested, allocatable, ..self }
    }
}

kernel! {
    /// LeastAllocated over two resources of equal weight: the free share of each in percent, rounded
    /// down, and the mean of these. A resource that a node has none of does not count. `false` when an
    /// amount is out of range; the scores then say nothing.
    /// Upstream: plugins/noderesources/least_allocated.go.
    pub fn least_allocated(scores: &mut [i64], cpu: ResourceColumns<'_>, memory: ResourceColumns<'_>) -> bool {
        let row_count = scores.len();
        assert!(row_count <= ROWS_MAX);
        let (cpu_used, cpu_all) = (&cpu.requested[..row_count], &cpu.allocatable[..row_count]);
        let (memory_used, memory_all) = (&memory.requested[..row_count], &memory.allocatable[..row_count]);
        let mut all_bits = 0;
        for row in 0..row_count {
            let share = |used: i64, all: i64| {
                let (used, capacity) = (exact(used), exact(all));
                let free = if used > capacity { 0.0 } else { capacity - used };
                let divisor = if all == 0 { 1.0 } else { capacity };
                floor(free * MAX_NODE_SCORE / divisor)
            };
            let cpu_used = cpu_used[row].wrapping_add(cpu.amount);
            let memory_used = memory_used[row].wrapping_add(memory.amount);
            all_bits |= cpu_used | memory_used | cpu_all[row] | memory_all[row];
            let sum = share(cpu_used, cpu_all[row]).wrapping_add(share(memory_used, memory_all[row]));
            let counts_both = cpu_all[row] != 0 && memory_all[row] != 0;
            scores[row] = (sum.cast_unsigned() >> u32::from(counts_both)).cast_signed();
        }
        all_bits.cast_unsigned() >> EXACT_BITS == 0
    }
}

/// How evenly two resources of a node are taken, in percent, rounded down: 100 less half the difference of their
/// shares. A node that lacks one of them has nothing to balance. Upstream's own float arithmetic, step by step.
#[inline]
#[must_use]
pub fn evenness((cpu_used, cpu_all): (i64, i64), (memory_used, memory_all): (i64, i64)) -> i64 {
    if cpu_all == 0 || memory_all == 0 {
        return 100;
    }
    let percent = percent_even((cpu_used as f64, cpu_all as f64), (memory_used as f64, memory_all as f64));
    percent as i64
}

#[inline(always)]
fn percent_even((cpu_used, cpu_all): (f64, f64), (memory_used, memory_all): (f64, f64)) -> f64 {
    let share = |used: f64, all: f64| {
        let share = used / all;
        if share > 1.0 { 1.0 } else { share }
    };
    let deviation = ((share(cpu_used, cpu_all) - share(memory_used, memory_all)) / 2.0).abs();
    (1.0 - deviation) * MAX_NODE_SCORE
}

kernel! {
    /// BalancedAllocation over two resources: how much more [`evenness`] there is with the pod than without
    /// it, which the caller knows; from 50 to 100. `false` when an amount is out of range; the scores then say
    /// nothing. Upstream: plugins/noderesources/balanced_allocation.go.
    pub fn balanced_allocation(
        scores: &mut [i64],
        cpu: ResourceColumns<'_>,
        memory: ResourceColumns<'_>,
        without: &[i64],
    ) -> bool {
        let row_count = scores.len();
        assert!(row_count <= ROWS_MAX);
        let (cpu_used, cpu_all) = (&cpu.requested[..row_count], &cpu.allocatable[..row_count]);
        let (memory_used, memory_all) = (&memory.requested[..row_count], &memory.allocatable[..row_count]);
        let without = &without[..row_count];
        let mut all_bits = 0;
        for row in 0..row_count {
            let cpu_with = cpu_used[row].wrapping_add(cpu.amount);
            let memory_with = memory_used[row].wrapping_add(memory.amount);
            all_bits |= cpu_all[row] | memory_all[row] | cpu_with | memory_with | without[row];
            let has_both = cpu_all[row] != 0 && memory_all[row] != 0;
            // Any divisor will do where nothing is balanced.
            let divisor = |all: i64| if has_both { exact(all) } else { 1.0 };
            let with = floor(percent_even(
                (exact(cpu_with), divisor(cpu_all[row])),
                (exact(memory_with), divisor(memory_all[row])),
            ));
            let gain = if has_both { with.wrapping_sub(without[row]) } else { 0 };
            // Within range no sum is negative.
            scores[row] = (gain.wrapping_add(50).cast_unsigned() >> 1).cast_signed().wrapping_add(50);
        }
        all_bits.cast_unsigned() >> EXACT_BITS == 0
    }
}

kernel! {
    /// Brings the raw scores of the rows of `bits` to a scale on which the highest of them is 100, or, turned
    /// round, 0. `highest` is that highest and not 0. `false` when a raw score is out of range; the scores
    /// then say nothing. Upstream: plugins/helper/normalize_score.go `DefaultNormalizeScore`.
    pub fn scaled(scores: &mut [i64], raw: &[i64], bits: u64, highest: i64, is_turned: bool) -> bool {
        let row_count = scores.len();
        assert!(row_count <= ROWS_MAX);
        let raw = &raw[..row_count];
        let divisor = exact(highest);
        let mut all_bits = highest;
        for row in 0..row_count {
            let value = if bits >> row & 1 == 1 { raw[row] } else { 0 };
            all_bits |= value;
            let share = floor(exact(value) * MAX_NODE_SCORE / divisor);
            scores[row] = if is_turned { 100i64.wrapping_sub(share) } else { share };
        }
        all_bits.cast_unsigned() >> EXACT_BITS == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{Rng, for_each_seed};
    use crate::kernels::Level;

    const EDGES: [i64; 12] =
        [0, 1, 2, 99, 100, (1 << 46) - 1, 1 << 46, 1 << 53, i64::MAX / 100, i64::MAX - 1, i64::MAX, i64::MIN];

    /// Amounts as nodes have them, amounts a step beside a multiple of a percent, and anything else.
    fn amounts(rng: &mut Rng, row_count: usize) -> (Vec<i64>, Vec<i64>, i64) {
        let bits = rng.range(1..=46);
        let any = |rng: &mut Rng| (rng.next_u64() >> (64 - bits)).cast_signed();
        let wild = rng.chance(20);
        let amount = any(rng) >> rng.range(0..=10);
        let (mut requested, mut allocatable) = (Vec::new(), Vec::new());
        for _ in 0..row_count {
            let all = if rng.chance(5) { 0 } else { any(rng) };
            let used = match rng.range(0..=3) {
                // What is free is a whole number of percent, or one off.
                0 => all - all / 100 * rng.range(0..=100) as i64 - amount + rng.range(0..=2) as i64 - 1,
                1 => all,
                _ => any(rng),
            };
            requested.push(if wild && rng.chance(10) { *rng.pick(&EDGES) } else { used.max(0) });
            allocatable.push(if wild && rng.chance(10) { *rng.pick(&EDGES) } else { all });
        }
        (requested, allocatable, amount)
    }

    /// Go's int64, a resource at a time.
    fn plain_least_allocated(cpu: (i64, i64, i64), memory: (i64, i64, i64)) -> i64 {
        let (mut sum, mut count) = (0, 0);
        for (used, amount, all) in [cpu, memory] {
            let used = used.wrapping_add(amount);
            if all == 0 {
                continue;
            }
            count += 1;
            if used <= all {
                sum += all.wrapping_sub(used).wrapping_mul(100).wrapping_div(all);
            }
        }
        if count == 0 { 0 } else { sum / count }
    }

    /// Go's float64, with the pod and without it.
    fn plain_balanced_allocation(cpu: (i64, i64, i64), memory: (i64, i64, i64)) -> i64 {
        let balance = |with_pod: i64| {
            let counted = [cpu, memory].into_iter().filter(|&(_, _, all)| all != 0);
            let shares: Vec<f64> = counted
                .map(|(used, amount, all)| used.wrapping_add(with_pod * amount) as f64 / all as f64)
                .map(|share| if share > 1.0 { 1.0 } else { share })
                .collect();
            let deviation = if let [one, other] = shares[..] { ((one - other) / 2.0).abs() } else { 0.0 };
            ((1.0 - deviation) * 100.0) as i64
        };
        50 + (50 + balance(1) - balance(0)) / 2
    }

    type Kernel = fn(Level, &mut [i64], ResourceColumns<'_>, ResourceColumns<'_>) -> bool;
    type Plain = fn((i64, i64, i64), (i64, i64, i64)) -> i64;

    fn equals_plain(name: &str, kernel: Kernel, plain: Plain) {
        for_each_seed(name, 10_000, |rng| {
            let row_count = rng.range(1..=64);
            let (cpu_used, cpu_all, cpu) = amounts(rng, row_count);
            let (memory_used, memory_all, memory) = amounts(rng, row_count);
            let columns = |requested, allocatable, amount| ResourceColumns { requested, allocatable, amount };
            let is_small = |amount: i64| amount.cast_unsigned() >> EXACT_BITS == 0;
            let is_in_range = (0..row_count).all(|row| {
                let amounts = [
                    cpu_used[row].wrapping_add(cpu),
                    memory_used[row].wrapping_add(memory),
                    cpu_all[row],
                    memory_all[row],
                    cpu_used[row],
                    memory_used[row],
                ];
                amounts.into_iter().all(is_small)
            });
            for level in Level::available() {
                let mut scores = vec![-1; row_count];
                let is_exact = kernel(
                    level,
                    &mut scores,
                    columns(&cpu_used, &cpu_all, cpu),
                    columns(&memory_used, &memory_all, memory),
                );
                assert!(is_exact || !is_in_range, "{}: amounts in range are scored", level.name());
                if !is_exact {
                    continue;
                }
                for row in 0..row_count {
                    let expected = plain(
                        (cpu_used[row], cpu, cpu_all[row]),
                        (memory_used[row], memory, memory_all[row]),
                    );
                    assert_eq!(scores[row], expected, "{}: row {row}", level.name());
                }
            }
        });
    }

    #[test]
    fn least_allocated_equals_upstreams_integer_division_at_every_level() {
        let name = "least_allocated_equals_upstreams_integer_division_at_every_level";
        equals_plain(name, least_allocated, plain_least_allocated);
    }

    #[test]
    fn balanced_allocation_equals_upstreams_float_arithmetic_at_every_level() {
        let name = "balanced_allocation_equals_upstreams_float_arithmetic_at_every_level";
        let kernel: Kernel = |level, scores, cpu, memory| {
            let without: Vec<i64> = (0..scores.len())
                .map(|row| {
                    let of = |of: ResourceColumns<'_>| (of.requested[row], of.allocatable[row]);
                    evenness(of(cpu), of(memory))
                })
                .collect();
            balanced_allocation(level, scores, cpu, memory, &without)
        };
        equals_plain(name, kernel, plain_balanced_allocation);
    }

    #[test]
    fn scaled_scores_equal_default_normalize_score_at_every_level() {
        for_each_seed("scaled_scores_equal_default_normalize_score_at_every_level", 10_000, |rng| {
            let row_count = rng.range(1..=64);
            let bits = rng.next_u64() | rng.next_u64();
            let size = rng.range(1..=47);
            let raw: Vec<i64> = (0..row_count)
                .map(|_| match rng.range(0..=9) {
                    0 => -1,
                    1 => *rng.pick(&EDGES),
                    _ => (rng.next_u64() >> (64 - size)).cast_signed(),
                })
                .collect();
            let rows: Vec<usize> = (0..row_count).filter(|row| bits >> row & 1 == 1).collect();
            let highest = rows.iter().map(|&row| raw[row]).fold(0, i64::max);
            if highest == 0 {
                return;
            }
            let is_in_range = rows.iter().all(|&row| raw[row].cast_unsigned() >> EXACT_BITS == 0);
            for is_turned in [false, true] {
                for level in Level::available() {
                    let mut scores = vec![-1; row_count];
                    let is_exact = scaled(level, &mut scores, &raw, bits, highest, is_turned);
                    assert_eq!(is_exact, is_in_range, "{}", level.name());
                    for &row in rows.iter().filter(|_| is_exact) {
                        let share = 100 * raw[row] / highest;
                        let expected = if is_turned { 100 - share } else { share };
                        assert_eq!(scores[row], expected, "{}: row {row}", level.name());
                    }
                }
            }
        });
    }
}
