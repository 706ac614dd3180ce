//! How many samples a verdict needs.

use crate::bootstrap::Interval;
use crate::fence::Fence;

/// The fewest samples a side, or rounds, that a verdict is given on: the range of six values is
/// the first that holds the true median with more than 95 % (1 - 2 / 2^6).
pub const SAMPLES_MIN: usize = 6;

/// Nobody waits for more; the difference then lies on the fence itself.
const SAMPLES_MAX: f64 = 100_000.0;

/// How many more samples (rounds) are needed until the interval has a place on one side of the
/// fence, if the estimate stays where it is: its width shrinks with the root of the count.
/// `None` when no reasonable number is enough.
#[must_use]
pub fn more_samples_needed(interval: &Interval, fence: &Fence, count: usize) -> Option<usize> {
    let missing = SAMPLES_MIN.saturating_sub(count);
    let distance = (interval.ratio.ln().abs() - fence.ln()).abs();
    let half_width = interval.half_width_ln();
    let wanted = count as f64 * (half_width / distance).powi(2) * SAFETY;
    if !wanted.is_finite() || SAMPLES_MAX < wanted {
        return (half_width == 0.0).then_some(missing);
    }
    Some((wanted.ceil() as usize).saturating_sub(count).max(missing).max(1))
}

/// The half width is itself an estimate; a tenth more samples than it asks for spares most second
/// rounds.
const SAFETY: f64 = 1.1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::ratio_of_pairs;
    use crate::testing::Sampler;

    #[test]
    fn four_times_the_width_needs_sixteen_times_the_samples() {
        let fence = Fence::given(0.0);
        let interval = Interval { ratio: 0.01_f64.exp(), low: (-0.03_f64).exp(), high: 0.05_f64.exp() };
        let more = more_samples_needed(&interval, &fence, 10).expect("a finite number");
        assert!((166..=167).contains(&more), "{more} is not 16 * 10 * 1.1 - 10");
    }

    #[test]
    fn difference_at_the_threshold_has_no_sample_size() {
        let fence = Fence::given(0.02);
        let interval = Interval { ratio: 1.02, low: 1.0, high: 1.04 };
        assert_eq!(more_samples_needed(&interval, &fence, 10), None);
    }

    #[test]
    fn too_few_samples_need_at_least_the_minimum() {
        let interval = Interval { ratio: 1.5, low: 1.49, high: 1.51 };
        assert_eq!(more_samples_needed(&interval, &Fence::given(0.01), 2), Some(SAMPLES_MIN - 2));
    }

    #[test]
    fn estimated_sample_size_is_enough_more_often_than_not() {
        let fence = Fence::given(0.005);
        let mut sampler = Sampler::new(40);
        let (mut asked, mut enough) = (0, 0);
        for _ in 0..200 {
            let mut ratios = sampler.many(8, |s| s.normal(0.02, 0.04).exp());
            let interval = ratio_of_pairs(&ratios, 1);
            let Some(more) = more_samples_needed(&interval, &fence, ratios.len()) else { continue };
            if 2000 < more || interval.ratio < 1.0 {
                continue;
            }
            asked += 1;
            ratios.extend(sampler.many(more, |s| s.normal(0.02, 0.04).exp()));
            let after = ratio_of_pairs(&ratios, 1);
            enough += usize::from(fence.ln() < after.low.ln() || after.high.ln() < fence.ln());
        }
        assert!(60 < asked, "{asked}");
        assert!(asked < 2 * enough, "{enough} of {asked}");
    }
}
