//! Order statistics.

/// The median; the mean of the middle two for an even count.
///
/// # Panics
/// When there is no value.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The `share` quantile, linear between neighbours: Hyndman and Fan's type 7, the default of R
/// and NumPy.
///
/// # Panics
/// When there is no value, or `share` is not within 0..=1.
#[must_use]
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_of_sorted(&sorted, share)
}

/// First and third quartile.
///
/// # Panics
/// When there is no value.
#[must_use]
pub fn quartiles(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (quantile_of_sorted(&sorted, 0.25), quantile_of_sorted(&sorted, 0.75))
}

pub(super) fn quantile_of_sorted(sorted: &[f64], share: f64) -> f64 {
    assert!(!sorted.is_empty());
    assert!((0.0..=1.0).contains(&share));
    let place = (sorted.len() - 1) as f64 * share;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

/// The median in place, by selection instead of sorting: the inner step of a bootstrap.
pub(super) fn median_in_place(values: &mut [f64]) -> f64 {
    let count = values.len();
    assert!(0 < count);
    let (below, &mut upper, _) = values.select_nth_unstable_by(count / 2, f64::total_cmp);
    if count % 2 == 1 {
        return upper;
    }
    let lower = below.iter().copied().max_by(f64::total_cmp).unwrap_or(upper);
    f64::midpoint(lower, upper)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sampler;

    #[test]
    fn quantiles_as_r_gives_them() {
        let values = [15.0, 20.0, 35.0, 40.0, 50.0];
        let cases = [(0.0, 15.0), (0.25, 20.0), (0.4, 29.0), (0.5, 35.0), (0.75, 40.0), (1.0, 50.0)];
        for (share, wanted) in cases {
            assert!((quantile(&values, share) - wanted).abs() < 1e-9, "share {share}");
        }
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(quartiles(&[1.0, 2.0, 3.0, 4.0, 5.0]), (2.0, 4.0));
        assert_eq!(quartiles(&[7.0]), (7.0, 7.0));
    }

    #[test]
    fn selection_equals_sorting() {
        let mut sampler = Sampler::new(3);
        for count in 1..70 {
            let mut values: Vec<f64> = (0..count).map(|_| sampler.normal(10.0, 3.0)).collect();
            assert_eq!(median(&values), median_in_place(&mut values), "{count} values");
        }
    }
}
