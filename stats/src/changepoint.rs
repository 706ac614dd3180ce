//! Where a series of measurements changed for good.
//!
//! E-divisive means: Matteson and James, "A Nonparametric Approach for Multiple Change Point Analysis
//! of Multivariate Data" (2014), the method behind MongoDB's and Apache Otava's (Hunter's) alerts on
//! performance: Daly and others, "The Use of Change Point Detection to Identify Software Performance
//! Regressions in a Continuous Integration System" (2020).
//!
//! ```text
//! series ─▶ split where the energy distance of the two sides is largest
//!             │  does a shuffled series ever split as well? (permutation test)
//!             ├─ often: no change point, done with this part
//!             └─ hardly ever: a change point; the same again, left and right of it
//! ```
//!
//! Why not a crate? `edivisive` has had one release, in 2021; `augurs-changepoint` and `changepoint`
//! are well kept, but bring a third of a million lines for Bayesian detectors that want a prior of
//! every workload and have no error rate of their own.
//!
//! Differs from the paper: a split always reaches to the end of its part, and each part is tested by
//! itself. A pass is a walk along the series with sorted sums, `n log n` instead of `n²`: a shuffled
//! series costs as little as the real one.

use schedlab_core::cycle::select::Draws;

/// The fewest measurements on either side of a change point: two that stand alone may be outliers.
pub const SEGMENT_MIN: usize = 3;

/// Shuffled series that a split is held against.
const PERMUTATIONS: usize = 499;
/// So many of them may split as well as the real one: p is at most (9 + 1) / (499 + 1) = 0.02. With
/// 0.01 a step that is only three runs old is missed in every fourth series of fifteen.
const EXCEEDING_MAX: usize = 9;
/// A split that none of so many matches is believed at once: p is at most 1 / 200.
const CLEAR_AFTER: usize = 199;

/// Where each new level begins: indices into `values`, in order. The same values and the same seed
/// give the same answer.
///
/// Times and rates should come as logarithms, so that a change of a tenth counts the same at any
/// height.
///
/// # Panics
/// When a value is not finite.
#[must_use]
pub fn change_points(values: &[f64], seed: u64) -> Vec<usize> {
    assert!(values.iter().all(|value| value.is_finite()), "{values:?}");
    let mut draws = Draws::new(seed);
    let mut found = Vec::new();
    let whole = 0..values.len();
    let mut parts = vec![whole];
    while let Some(part) = parts.pop() {
        if let Some(split) = significant_split(&values[part.clone()], &mut draws) {
            let at = part.start + split;
            found.push(at);
            parts.push(part.start..at);
            parts.push(at..part.end);
        }
    }
    found.sort_unstable();
    found
}

fn significant_split(values: &[f64], draws: &mut Draws) -> Option<usize> {
    if values.len() < 2 * SEGMENT_MIN {
        return None;
    }
    let mut walk = Walk::new(values);
    let best = walk.best_split();
    if best.energy <= 0.0 {
        return None;
    }
    let mut exceeding = 0;
    for done in 0..PERMUTATIONS {
        if exceeding == 0 && done == CLEAR_AFTER {
            break;
        }
        walk.shuffle(draws);
        exceeding += usize::from(best.energy <= walk.best_split().energy);
        // Most series have no change point and are done after a handful.
        if EXCEEDING_MAX < exceeding {
            return None;
        }
    }
    Some(best.at)
}

/// A split and how far apart its sides are.
#[derive(Clone, Copy, Debug)]
struct Split {
    at: usize,
    energy: f64,
}

/// A series as ranks into its sorted values, with the sums that a walk along it needs.
struct Walk {
    sorted: Vec<f64>,
    /// The series: places in `sorted`.
    ranks: Vec<usize>,
    /// Sum of the distances of each sorted value to all others.
    to_all: Vec<f64>,
    /// Sum of the distances of all pairs.
    all_pairs: f64,
    /// Count and sum of the values on the left, by rank.
    left: SortedSums,
}

impl Walk {
    fn new(values: &[f64]) -> Walk {
        let count = values.len();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|&one, &other| values[one].total_cmp(&values[other]));
        let mut ranks = vec![0; count];
        order.iter().enumerate().for_each(|(rank, &at)| ranks[at] = rank);
        // Relative to the middle value, so that sums of large values keep their digits.
        let middle = values[order[count / 2]];
        let sorted: Vec<f64> = order.iter().map(|&at| values[at] - middle).collect();
        let total: f64 = sorted.iter().sum();
        let mut below = 0.0;
        let mut to_all = Vec::with_capacity(count);
        for (rank, &value) in sorted.iter().enumerate() {
            let above = total - below - value;
            to_all.push(value * rank as f64 - below + above - value * (count - rank - 1) as f64);
            below += value;
        }
        let all_pairs = to_all.iter().sum::<f64>() / 2.0;
        Walk { sorted, ranks, to_all, all_pairs, left: SortedSums::new(count) }
    }

    /// The split whose sides are farthest apart, by the energy distance `q = nm / (n + m) * e` with
    /// `e = 2 between - within(left) - within(right)`, each a mean distance of pairs.
    fn best_split(&mut self) -> Split {
        let count = self.ranks.len();
        self.left.clear();
        // Sums of distances of pairs within the left, and between a left and a right value.
        let (mut within_left, mut between) = (0.0, 0.0);
        let mut best = Split { at: 0, energy: f64::NEG_INFINITY };
        for (at, &rank) in self.ranks.iter().enumerate() {
            let value = self.sorted[rank];
            let to_left = self.left.distance_to(rank, value);
            between += self.to_all[rank] - 2.0 * to_left;
            within_left += to_left;
            self.left.add(rank, value);
            let (left, right) = (at + 1, count - at - 1);
            if SEGMENT_MIN <= left && SEGMENT_MIN <= right {
                let within_right = self.all_pairs - within_left - between;
                let energy = energy(left, right, between, within_left, within_right);
                if best.energy < energy {
                    best = Split { at: left, energy };
                }
            }
        }
        best
    }

    /// Fisher and Yates.
    fn shuffle(&mut self, draws: &mut Draws) {
        for last in (1..self.ranks.len()).rev() {
            self.ranks.swap(last, draws.below(last + 1));
        }
    }
}

fn energy(left: usize, right: usize, between: f64, within_left: f64, within_right: f64) -> f64 {
    let (n, m) = (left as f64, right as f64);
    let pairs = |count: f64| count * (count - 1.0) / 2.0;
    let distance = 2.0 * between / (n * m) - within_left / pairs(n) - within_right / pairs(m);
    n * m / (n + m) * distance
}

/// How many values lie below a rank and what they sum to: two Fenwick trees in one.
struct SortedSums {
    tree: Vec<(f64, f64)>,
    all: (f64, f64),
}

impl SortedSums {
    fn new(count: usize) -> SortedSums {
        SortedSums { tree: vec![(0.0, 0.0); count + 1], all: (0.0, 0.0) }
    }

    fn clear(&mut self) {
        self.tree.fill((0.0, 0.0));
        self.all = (0.0, 0.0);
    }

    fn add(&mut self, rank: usize, value: f64) {
        let mut at = rank + 1;
        while at < self.tree.len() {
            self.tree[at].0 += 1.0;
            self.tree[at].1 += value;
            at += at & at.wrapping_neg();
        }
        self.all.0 += 1.0;
        self.all.1 += value;
    }

    /// Sum of the distances of all values here to the value of this rank.
    fn distance_to(&self, rank: usize, value: f64) -> f64 {
        let (mut count, mut sum) = (0.0, 0.0);
        let mut at = rank + 1;
        while 0 < at {
            count += self.tree[at].0;
            sum += self.tree[at].1;
            at -= at & at.wrapping_neg();
        }
        value * count - sum + (self.all.1 - sum) - value * (self.all.0 - count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sampler;

    /// Logarithms of rates around 1,000 with a jitter of two percent; `level` by position.
    fn series(sampler: &mut Sampler, count: usize, level: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..count).map(|at| (1000.0 * level(at)).ln() + sampler.normal(0.0, 0.02)).collect()
    }

    /// The energy of a split, pair by pair as the paper writes it.
    fn plain_energy(values: &[f64], at: usize) -> f64 {
        let (left, right) = values.split_at(at);
        let within = |side: &[f64]| -> f64 {
            side.iter().enumerate().flat_map(|(i, a)| side[..i].iter().map(move |b| (a - b).abs())).sum()
        };
        let between = left.iter().flat_map(|a| right.iter().map(move |b| (a - b).abs())).sum();
        energy(left.len(), right.len(), between, within(left), within(right))
    }

    #[test]
    fn sorted_sums_equal_the_sums_over_pairs() {
        let mut sampler = Sampler::new(3);
        for count in 2 * SEGMENT_MIN..40 {
            // Rounded, so that some values are equal.
            let values: Vec<f64> =
                series(&mut sampler, count, |_| 1.0).iter().map(|v| (v * 50.0).round()).collect();
            let splits = SEGMENT_MIN..=count - SEGMENT_MIN;
            let wanted = splits.map(|at| plain_energy(&values, at)).fold(f64::NEG_INFINITY, f64::max);
            let got = Walk::new(&values).best_split();
            assert!((got.energy - wanted).abs() < 1e-9, "{count} values: {got:?}, {wanted}");
            assert!((plain_energy(&values, got.at) - wanted).abs() < 1e-9, "{count} values");
        }
    }

    #[test]
    fn planted_step_is_found_at_its_place() {
        let mut sampler = Sampler::new(1);
        for (count, place, factor) in [(40, 20, 0.85), (40, 36, 0.85), (15, 12, 0.8), (60, 5, 1.2)] {
            for seed in 0..50 {
                let values = series(&mut sampler, count, |at| if at < place { 1.0 } else { factor });
                let found = change_points(&values, seed);
                assert!(found.iter().any(|&at| at.abs_diff(place) <= 1), "{place} of {count}: {found:?}");
            }
        }
    }

    #[test]
    fn pure_noise_has_no_change_point_in_ninety_six_of_a_hundred_series() {
        let mut sampler = Sampler::new(2);
        for (name, draw) in [
            ("normal", (|s: &mut Sampler| s.normal(0.0, 0.02)) as fn(&mut Sampler) -> f64),
            ("stalls", |s| s.stalled(1.0).ln()),
        ] {
            let mut alarms = 0;
            for seed in 0..500 {
                let count = 8 + seed as usize % 60;
                alarms += usize::from(!change_points(&sampler.many(count, draw), seed).is_empty());
            }
            assert!(alarms <= 20, "{name}: {alarms} of 500");
        }
    }

    #[test]
    fn two_steps_are_found_whether_they_add_up_or_cancel() {
        let mut sampler = Sampler::new(4);
        for levels in [[1.0, 0.85, 0.7], [1.0, 0.8, 1.0], [1.0, 1.2, 1.0]] {
            for seed in 0..30 {
                let values = series(&mut sampler, 60, |at| levels[at / 20]);
                let found = change_points(&values, seed);
                for place in [20, 40] {
                    assert!(found.iter().any(|&at| at.abs_diff(place) <= 1), "{levels:?}: {found:?}");
                }
            }
        }
    }

    #[test]
    fn outliers_are_no_change_points() {
        let mut sampler = Sampler::new(5);
        let mut alarms = 0;
        for seed in 0..200 {
            let mut values = series(&mut sampler, 40, |_| 1.0);
            // Two runs beside a compiler, next to each other, at half the rate; and one in the end.
            for at in [20, 21, 39] {
                values[at] -= 0.7;
            }
            alarms += usize::from(!change_points(&values, seed).is_empty());
        }
        assert!(alarms <= 8, "{alarms} of 200");
    }

    #[test]
    fn drift_is_found_as_steps_in_its_direction_only() {
        let mut sampler = Sampler::new(6);
        for seed in 0..30 {
            let values = series(&mut sampler, 80, |at| 1.0 - 0.3 * at as f64 / 80.0);
            let found = change_points(&values, seed);
            assert!(!found.is_empty());
            let ends = found.iter().copied().chain([values.len()]);
            let mut from = 0;
            let mut before = f64::INFINITY;
            for end in ends {
                let level = crate::median(&values[from..end]);
                assert!(level < before, "a drift downwards has no step upwards: {found:?}");
                (before, from) = (level, end);
            }
        }
    }

    #[test]
    fn short_and_constant_series_have_none_and_the_answer_is_repeatable() {
        assert_eq!(change_points(&[], 1), []);
        assert_eq!(change_points(&[1.0, 1.0, 9.0, 9.0, 9.0], 1), []);
        assert_eq!(change_points(&[7.0; 50], 1), []);
        let values = series(&mut Sampler::new(8), 50, |at| if at < 30 { 1.0 } else { 0.96 });
        assert_eq!(change_points(&values, 3), change_points(&values, 3));
    }
}
