//! Intervals of a median from the order of the values alone.
//!
//! How many of `n` values lie below the true median is a fair coin thrown `n` times, whatever they are
//! distributed like. The interval between the k-th smallest and the k-th largest value therefore holds the
//! median with at least the asked confidence, for every `n`: nothing is drawn, and nothing is assumed but that
//! the values are independent. Too few values have no such interval, and get none.

use crate::bootstrap::Estimate;
use crate::order::median;

/// The median with the interval that holds it with this confidence, as 0.95; `None` when there are too few
/// values for one.
#[must_use]
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Estimate> {
    let outside = values_outside(values.len(), confidence)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(Estimate { value: median(values), low: sorted[outside], high: sorted[sorted.len() - 1 - outside] })
}

/// The fewest values that have an interval of this confidence.
#[must_use]
pub fn values_needed(confidence: f64) -> usize {
    const ENOUGH_FOR_ANYTHING: usize = 1000;
    (1..ENOUGH_FOR_ANYTHING).find(|count| values_outside(*count, confidence).is_some()).unwrap_or(usize::MAX)
}

/// How many values may be left out at either end.
fn values_outside(count: usize, confidence: f64) -> Option<usize> {
    let tail = (1.0 - confidence) / 2.0;
    // The chance that at most `below` of `count` fair coins show heads, from one `below` to the next.
    let (mut chance, mut at_most, mut outside) = (0.5_f64.powi(i32::try_from(count).ok()?), 0.0, None);
    for below in 0..count.div_ceil(2) {
        at_most += chance;
        if at_most > tail {
            break;
        }
        outside = Some(below);
        chance *= (count - below) as f64 / (below + 1) as f64;
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::SAMPLES_MIN;
    use crate::testing::Sampler;

    #[test]
    fn fewest_values_for_a_confidence() {
        assert_eq!(values_needed(0.95), SAMPLES_MIN);
        assert_eq!((values_needed(0.5), values_needed(0.99)), (2, 8));
        assert_eq!(median_interval(&[1.0; 5], 0.95), None);
        let of_six = median_interval(&[6.0, 1.0, 5.0, 2.0, 4.0, 3.0], 0.95).expect("six are enough");
        assert_eq!((of_six.value, of_six.low, of_six.high), (3.5, 1.0, 6.0));
    }

    #[test]
    fn ends_are_those_of_the_tables_of_the_sign_test() {
        // Values that may be left out at either end, of n, with 95 %.
        for (count, outside) in [(6, 0), (8, 0), (9, 1), (12, 2), (15, 3), (20, 5), (25, 7)] {
            assert_eq!(values_outside(count, 0.95), Some(outside), "{count}");
        }
    }

    #[test]
    fn median_of_a_lopsided_sample_is_held_as_often_as_it_says() {
        let mut sampler = Sampler::new(3);
        for count in [6, 9, 20] {
            let held = (0..400).filter(|_| {
                let values = sampler.many(count, |s| s.normal(0.0, 1.0).exp());
                let interval = median_interval(&values, 0.95).expect("enough");
                interval.low <= 1.0 && 1.0 <= interval.high
            });
            // At least 95 % of 400; a binomial count strays by more than five deviations never.
            let held = held.count();
            assert!(358 <= held, "{held} of 400 with {count}");
        }
    }
}
