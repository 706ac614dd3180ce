//! How much two measurements of the same thing differ on their own.
//!
//! As rustc-perf judges: a change counts only beyond the third quartile plus three interquartile
//! ranges of the changes that the workload's own history shows where nothing changed.

use serde::{Deserialize, Serialize};

use crate::order::quartiles;

/// Fewer changes than this say nothing about the quartiles.
pub const HISTORY_MIN: usize = 8;

/// The relative change up to which a difference is noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fence {
    /// 0.02 is two percent, either way.
    pub relative: f64,
    /// Where it comes from.
    pub source: FenceSource,
}

/// Where a fence comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FenceSource {
    /// Somebody set it.
    Given,
    /// Q3 + 3 IQR of so many changes between runs of the same revision.
    History {
        /// The changes it was made from.
        changes: usize,
    },
}

impl Fence {
    /// A fence somebody set.
    #[must_use]
    pub fn given(relative: f64) -> Fence {
        Fence { relative, source: FenceSource::Given }
    }

    /// The fence of ratios between measurements of the same thing, never below `floor`; `None`
    /// for fewer than [`HISTORY_MIN`].
    #[must_use]
    pub fn from_ratios(ratios: &[f64], floor: f64) -> Option<Fence> {
        if ratios.len() < HISTORY_MIN {
            return None;
        }
        let sizes: Vec<f64> = ratios.iter().map(|ratio| ratio.ln().abs()).collect();
        let (q1, q3) = quartiles(&sizes);
        let relative = (q3 + 3.0 * (q3 - q1)).exp() - 1.0;
        Some(Fence { relative: relative.max(floor), source: FenceSource::History { changes: ratios.len() } })
    }

    /// The same on the logarithm.
    #[must_use]
    pub fn ln(&self) -> f64 {
        self.relative.ln_1p()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sampler;

    #[test]
    fn a_short_history_has_no_fence_and_a_calm_one_has_the_floor() {
        assert_eq!(Fence::from_ratios(&[1.0; HISTORY_MIN - 1], 0.01), None);
        let calm = Fence::from_ratios(&[1.0; HISTORY_MIN], 0.01).expect("long enough");
        assert_eq!(calm.relative, 0.01);
        assert_eq!(calm.source, FenceSource::History { changes: HISTORY_MIN });
    }

    #[test]
    fn the_fence_is_the_third_quartile_and_three_ranges() {
        // Sizes 1..=9 percent on the logarithm: Q1 is 3, Q3 is 7, the fence 7 + 3 * 4.
        let ratios: Vec<f64> =
            (1..=9).map(|i| (f64::from(i) / 100.0 * [1.0, -1.0][i as usize % 2]).exp()).collect();
        let fence = Fence::from_ratios(&ratios, 0.0).expect("nine");
        assert!((fence.ln() - 0.19).abs() < 1e-9, "{fence:?}");
    }

    #[test]
    fn normal_noise_crosses_its_fence_almost_never() {
        let mut sampler = Sampler::new(8);
        let history = sampler.many(200, |s| s.normal(0.0, 0.01).exp());
        let fence = Fence::from_ratios(&history, 0.0).expect("200");
        // Of |z|: Q1 0.319, Q3 1.150, fence 3.645 deviations, crossed by 1 of 3,700.
        assert!((0.030..0.044).contains(&fence.ln()), "{fence:?}");
        let crossed = (0..20_000).filter(|_| fence.ln() < sampler.normal(0.0, 0.01).abs()).count();
        assert!(crossed < 30, "{crossed} of 20,000");
    }
}
