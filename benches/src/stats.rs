//! Medians, and how sure of a ratio one can be.

use crate::SEED;

/// The median; 0 of nothing.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count if count.is_multiple_of(2) => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
        count => sorted[count / 2],
    }
}

/// A median and the interval that holds 95 % of the medians of resamples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BenchInterval {
    /// The median.
    pub median: f64,
    /// 2.5 % of resamples are below.
    pub low: f64,
    /// 2.5 % of resamples are above.
    pub high: f64,
}

/// The median of the values with a bootstrap interval (2,000 resamples, fixed seed).
#[must_use]
pub fn bootstrap_median(values: &[f64]) -> BenchInterval {
    const RESAMPLES: usize = 2000;
    let median_of_all = median(values);
    if values.is_empty() {
        return BenchInterval { median: median_of_all, low: 0.0, high: 0.0 };
    }
    let mut draws = schedlab_core::cycle::select::Draws::new(SEED);
    let mut resample = vec![0.0; values.len()];
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            resample.iter_mut().for_each(|value| *value = values[draws.below(values.len())]);
            median(&resample)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    BenchInterval {
        median: median_of_all,
        low: medians[RESAMPLES / 40],
        high: medians[RESAMPLES - 1 - RESAMPLES / 40],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_median_and_shrinks_with_the_spread() {
        let wide: Vec<f64> = (0..41).map(f64::from).collect();
        let narrow: Vec<f64> = wide.iter().map(|value| 20.0 + (value - 20.0) / 100.0).collect();
        let (wide, narrow) = (bootstrap_median(&wide), bootstrap_median(&narrow));
        assert_eq!(wide.median, 20.0);
        assert!(wide.low < 20.0 && 20.0 < wide.high, "{wide:?}");
        assert!(narrow.high - narrow.low < (wide.high - wide.low) / 50.0, "{narrow:?}");
    }

    #[test]
    fn median_of_even_count_is_the_mean_of_the_middle_two() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&[]), 0.0);
    }
}
