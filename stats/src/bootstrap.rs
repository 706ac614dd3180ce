//! Bootstrap intervals of ratios.
//!
//! The percentile bootstrap, on logarithms, so that `A/B` and `B/A` say the same. It assumes
//! nothing about the distribution, which a run time does not have a nice one of. With fewer than
//! [`crate::SAMPLES_MIN`] samples it undercovers; the verdict refuses those.

use schedlab_core::cycle::select::Draws;
use serde::{Deserialize, Serialize};

use crate::order::{median, median_in_place, quantile_of_sorted};

/// Enough that the ends of a 95 % interval move by less than a tenth of its width from seed to seed.
const RESAMPLES: usize = 2000;

/// A value and the interval that holds it with 95 % confidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Estimate {
    /// Every run said the same: there is no interval to speak of.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.high - self.low <= self.value.abs() * 1e-9
    }

    /// Half the width of the interval, as a share of the value.
    #[must_use]
    pub fn relative_half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.value.abs()
    }

    /// The interval with an uncertainty added that the samples cannot show, as a share of the value:
    /// each end moves as two independent errors add up.
    #[must_use]
    pub fn widened(self, share: f64) -> Estimate {
        let unseen = self.value.abs() * share;
        let end = |seen: f64| seen.hypot(unseen);
        Estimate {
            value: self.value,
            low: self.value - end(self.value - self.low),
            high: self.value + end(self.high - self.value),
        }
    }
}

/// A ratio and the interval that holds it with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The estimate.
    pub ratio: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// A ratio that is known, not estimated.
    #[must_use]
    pub fn exact(ratio: f64) -> Interval {
        Interval { ratio, low: ratio, high: ratio }
    }

    /// Half the width, on the logarithm.
    #[must_use]
    pub fn half_width_ln(&self) -> f64 {
        (self.high.ln() - self.low.ln()) / 2.0
    }
}

/// The ratio of medians `head / base` of two independent samples.
///
/// # Panics
/// When a sample is empty or a value is not above 0.
#[must_use]
pub fn ratio_of_medians(base: &[f64], head: &[f64], seed: u64) -> Interval {
    let (base, head) = (logarithms(base), logarithms(head));
    let mut draws = Draws::new(seed);
    let mut scratch = vec![0.0; base.len().max(head.len())];
    let differences = (0..RESAMPLES).map(|_| {
        let base = resampled_median(&base, &mut scratch[..base.len()], &mut draws);
        resampled_median(&head, &mut scratch[..head.len()], &mut draws) - base
    });
    interval(median(&head) - median(&base), differences.collect())
}

/// The median of ratios that were each measured as a pair or an ABBA round.
///
/// # Panics
/// When there is no ratio or one is not above 0.
#[must_use]
pub fn ratio_of_pairs(ratios: &[f64], seed: u64) -> Interval {
    let ratios = logarithms(ratios);
    let mut draws = Draws::new(seed);
    let mut scratch = vec![0.0; ratios.len()];
    let medians = (0..RESAMPLES).map(|_| resampled_median(&ratios, &mut scratch, &mut draws));
    interval(median(&ratios), medians.collect())
}

/// The median of values, whatever their sign.
///
/// # Panics
/// When there is no value.
#[must_use]
pub fn median_estimate(values: &[f64], seed: u64) -> Estimate {
    let mut draws = Draws::new(seed);
    let mut scratch = vec![0.0; values.len()];
    let mut medians: Vec<f64> =
        (0..RESAMPLES).map(|_| resampled_median(values, &mut scratch, &mut draws)).collect();
    medians.sort_by(f64::total_cmp);
    Estimate {
        value: median(values),
        low: quantile_of_sorted(&medians, 0.025),
        high: quantile_of_sorted(&medians, 0.975),
    }
}

fn logarithms(values: &[f64]) -> Vec<f64> {
    assert!(values.iter().all(|&value| 0.0 < value && value.is_finite()), "{values:?}");
    values.iter().map(|value| value.ln()).collect()
}

fn resampled_median(values: &[f64], scratch: &mut [f64], draws: &mut Draws) -> f64 {
    scratch.iter_mut().for_each(|slot| *slot = values[draws.below(values.len())]);
    median_in_place(scratch)
}

fn interval(estimate: f64, mut resampled: Vec<f64>) -> Interval {
    resampled.sort_by(f64::total_cmp);
    Interval {
        ratio: estimate.exp(),
        low: quantile_of_sorted(&resampled, 0.025).exp(),
        high: quantile_of_sorted(&resampled, 0.975).exp(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sampler;

    /// How many of 400 intervals hold the true ratio.
    fn covered(mut one: impl FnMut(&mut Sampler, u64) -> Interval, truth: f64) -> usize {
        let mut sampler = Sampler::new(11);
        (0..400)
            .filter(|&seed| {
                let got = one(&mut sampler, seed);
                got.low <= truth && truth <= got.high
            })
            .count()
    }

    #[test]
    fn unseen_error_widens_both_ends() {
        let seen = Estimate { value: 100.0, low: 97.0, high: 106.0 };
        let widened = seen.widened(0.04);
        assert_eq!((widened.value, widened.low), (100.0, 95.0));
        assert!((widened.high - (100.0 + 52.0_f64.sqrt())).abs() < 1e-9, "{widened:?}");
        assert_eq!(seen.widened(0.0), seen);
    }

    #[test]
    fn intervals_of_normal_samples_hold_the_true_ratio_as_often_as_they_say() {
        let unpaired = |sampler: &mut Sampler, seed| {
            let base = sampler.many(30, |s| s.normal(100.0, 5.0));
            let head = sampler.many(30, |s| s.normal(110.0, 5.0));
            ratio_of_medians(&base, &head, seed)
        };
        // 95 % of 400 is 380; a binomial count strays by more than 5 deviations never.
        let count = covered(unpaired, 1.1);
        assert!((358..=398).contains(&count), "{count} of 400");
        let paired = |sampler: &mut Sampler, seed| {
            ratio_of_pairs(&sampler.many(25, |s| s.normal(0.0, 0.03).exp() * 0.97), seed)
        };
        let count = covered(paired, 0.97);
        assert!((358..=398).contains(&count), "{count} of 400");
    }

    #[test]
    fn stalls_on_both_sides_do_not_widen_the_interval_beyond_the_jitter() {
        let mut sampler = Sampler::new(5);
        let base = sampler.many(60, |s| s.stalled(10.0));
        let head = sampler.many(60, |s| s.stalled(10.3));
        let got = ratio_of_medians(&base, &head, 1);
        assert!(got.low < 1.03 && 1.03 < got.high, "{got:?}");
        assert!(got.half_width_ln() < 0.015, "{got:?}");
    }

    #[test]
    fn the_interval_narrows_with_the_root_of_the_count() {
        let mut sampler = Sampler::new(9);
        let mut width = |count| {
            let widths = sampler.many(40, |s| {
                let ratios = s.many(count, |s| s.normal(0.0, 0.05).exp());
                ratio_of_pairs(&ratios, 3).half_width_ln()
            });
            median(&widths)
        };
        let (few, many) = (width(20), width(180));
        assert!((2.4..3.6).contains(&(few / many)), "{few} and {many} should differ threefold");
    }

    #[test]
    fn the_same_seed_gives_the_same_interval_and_the_ratio_turns_round() {
        let mut sampler = Sampler::new(2);
        let (base, head) =
            (sampler.many(15, |s| s.normal(50.0, 2.0)), sampler.many(21, |s| s.normal(60.0, 2.0)));
        let one = ratio_of_medians(&base, &head, 7);
        assert_eq!(one, ratio_of_medians(&base, &head, 7));
        let turned = ratio_of_medians(&head, &base, 7);
        assert!((one.ratio * turned.ratio - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_median_of_differences_may_be_negative_and_is_held_by_its_interval() {
        let mut sampler = Sampler::new(4);
        let mut held = 0;
        for seed in 0..200 {
            let estimate = median_estimate(&sampler.many(25, |s| s.normal(-3.0, 1.0)), seed);
            assert!(estimate.low <= estimate.value && estimate.value <= estimate.high);
            held += usize::from(estimate.low <= -3.0 && -3.0 <= estimate.high);
        }
        assert!((175..=200).contains(&held), "{held} of 200");
    }

    #[test]
    fn equal_samples_have_an_interval_without_width() {
        assert_eq!(ratio_of_pairs(&[1.0; 12], 1), Interval::exact(1.0));
        assert_eq!(ratio_of_medians(&[5.0; 4], &[5.0; 9], 1), Interval::exact(1.0));
    }
}
