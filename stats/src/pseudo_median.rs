//! The middle of paired ratios with an exact interval.
//!
//! Hodges and Lehmann's estimator: the median of the means of all pairs of values, each value with
//! itself too. Its interval is what Wilcoxon's signed ranks leave over: every ratio that the test
//! would not reject. Where values lie evenly about their middle, as ratios of interleaved runs do
//! because either side is as likely to be the lucky one, the interval holds the middle at least as
//! often as it says for any number of values and any tail; the bootstrap of a dozen values does
//! not, and is wider by a quarter.

use crate::bootstrap::Interval;
use crate::order::median_in_place;
use crate::rank::signed_rank_shares;

/// The middle of ratios that were each measured as a pair, with an interval of this confidence.
/// With fewer values than [`pairs_needed`] there is no such interval, and it is the range.
///
/// # Panics
/// When there is no ratio or one is not above 0.
#[must_use]
pub fn middle_of_pairs(ratios: &[f64], confidence: f64) -> Interval {
    assert!(!ratios.is_empty());
    assert!(ratios.iter().all(|&ratio| 0.0 < ratio && ratio.is_finite()), "{ratios:?}");
    let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let mut means = pair_means(&logarithms);
    let middle = median_in_place(&mut means);
    means.sort_by(f64::total_cmp);
    let cut = left_out(ratios.len(), confidence);
    Interval { ratio: middle.exp(), low: means[cut].exp(), high: means[means.len() - 1 - cut].exp() }
}

/// The fewest pairs with an interval of this confidence: the range of n values misses the middle
/// with 2 / 2^n.
#[must_use]
pub fn pairs_needed(confidence: f64) -> usize {
    assert!((0.0..1.0).contains(&confidence));
    // The tolerance keeps 1 - 0.05 from being a hair less than 0.95.
    (1 - (1.0 - confidence + 1e-12).log2().floor() as i64).max(1) as usize
}

fn pair_means(values: &[f64]) -> Vec<f64> {
    let count = values.len();
    let mut means = Vec::with_capacity(count * (count + 1) / 2);
    for (at, one) in values.iter().enumerate() {
        means.extend(values[at..].iter().map(|other| f64::midpoint(*one, *other)));
    }
    means
}

/// How many of the means to leave out at either end.
fn left_out(count: usize, confidence: f64) -> usize {
    let tail = (1.0 - confidence) / 2.0;
    let mut below = 0.0;
    let mut is_in_tail = |share: &f64| {
        below += share;
        below <= tail + 1e-12
    };
    // The lowest sum, 0, leaves out nothing.
    signed_rank_shares(count).iter().take_while(|share| is_in_tail(share)).count().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sampler;

    #[test]
    fn intervals_as_r_gives_them() {
        // R: wilcox.test(log(x), conf.int = TRUE) of x = exp(c(1, 2, 4, 7, 11, 16)): the range, with
        // 96.9 %; the pseudo-median is the 11th of 21 means, 6.5.
        let ratios: Vec<f64> = [1.0, 2.0, 4.0, 7.0, 11.0, 16.0].map(f64::exp).to_vec();
        let got = middle_of_pairs(&ratios, 0.95);
        let near = |got: f64, wanted: f64| assert!((got.ln() - wanted).abs() < 1e-9, "{got}");
        near(got.low, 1.0);
        near(got.high, 16.0);
        near(got.ratio, 6.5);
        // Of 12 values R leaves out 13 means at either end: qsignrank(0.025, 12) is 14, and it takes the 14th.
        assert_eq!(left_out(12, 0.95), 13);
        assert_eq!((pairs_needed(0.95), pairs_needed(0.9875), pairs_needed(0.5)), (6, 8, 2));
        assert_eq!(middle_of_pairs(&[1.0; 9], 0.95), Interval::exact(1.0));
    }

    #[test]
    fn a_dozen_pairs_with_heavy_tails_hold_the_middle_as_often_as_promised() {
        let mut sampler = Sampler::new(3);
        let mut held = |confidence: f64| {
            (0..2000)
                .filter(|_| {
                    // One pair of ten is five times as far out.
                    let ratios = sampler.many(12, |s| {
                        let deviation = if s.uniform() < 0.1 { 0.05 } else { 0.01 };
                        s.normal(0.02, deviation).exp()
                    });
                    let got = middle_of_pairs(&ratios, confidence);
                    got.low.ln() <= 0.02 && 0.02 <= got.high.ln()
                })
                .count()
        };
        // A count strays by less than four deviations: 39 at 95 %, 20 at 98.75 %.
        for (confidence, at_least) in [(0.95, 1900 - 39), (0.9875, 1975 - 20)] {
            let count = held(confidence);
            assert!(at_least <= count, "{count} of 2000 at {confidence}");
        }
    }

    #[test]
    fn the_interval_is_narrower_than_the_bootstrap_of_the_median() {
        let mut sampler = Sampler::new(8);
        let mut sums = [0.0, 0.0];
        for seed in 0..200 {
            let ratios = sampler.many(24, |s| s.normal(0.0, 0.01).exp());
            sums[0] += middle_of_pairs(&ratios, 0.95).half_width_ln();
            sums[1] += crate::ratio_of_pairs(&ratios, seed).half_width_ln();
        }
        assert!(sums[0] < 0.9 * sums[1], "{sums:?}");
    }
}
