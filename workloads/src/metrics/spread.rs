//! Values of a histogram metric: durations in a fine histogram, or counts in upstream's own buckets.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::table::Buckets;

/// Many values of one thing.
#[derive(Clone, Debug)]
pub enum MetricSpread {
    /// Nanoseconds.
    Durations(Histogram<u64>),
    /// Values in upstream's buckets, counted exactly.
    Bucketed {
        /// By bucket, not added up; the last are beyond all bounds.
        counts: Vec<u64>,
        /// Of all values.
        sum: u64,
    },
}

/// What is told of a spread, in the unit that the metric's name says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HistogramSummary {
    /// How many values.
    pub count: u64,
    /// Of all values.
    pub sum: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// An empty histogram of durations: one nanosecond to one hour, two digits. 1 % of any value, 30 kB.
#[must_use]
pub fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 2).expect("constant bounds are valid")
}

#[allow(clippy::cast_precision_loss, reason = "counts and times of a run are far below 2^53")]
impl MetricSpread {
    /// Durations in nanoseconds, each with how often it came up.
    #[must_use]
    pub fn of_durations(durations: impl IntoIterator<Item = (u64, u64)>) -> MetricSpread {
        let mut histogram = new_histogram();
        for (elapsed_ns, count) in durations {
            histogram.saturating_record_n(elapsed_ns.max(1), count);
        }
        MetricSpread::Durations(histogram)
    }

    /// How many values.
    #[must_use]
    pub fn count(&self) -> u64 {
        match self {
            MetricSpread::Durations(histogram) => histogram.len(),
            MetricSpread::Bucketed { counts, .. } => counts.iter().sum(),
        }
    }

    /// Sum of the values, durations in seconds.
    #[must_use]
    pub fn sum(&self) -> f64 {
        match self {
            MetricSpread::Durations(histogram) => histogram.mean() * histogram.len() as f64 / 1e9,
            MetricSpread::Bucketed { sum, .. } => *sum as f64,
        }
    }

    /// Adds values of the same thing.
    pub fn merge(&mut self, other: &MetricSpread) {
        match (self, other) {
            (MetricSpread::Durations(all), MetricSpread::Durations(more)) => {
                all.add(more).expect("all histograms have the same bounds");
            }
            (
                MetricSpread::Bucketed { counts, sum },
                MetricSpread::Bucketed { counts: more, sum: more_sum },
            ) => {
                counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
                *sum += more_sum;
            }
            _ => unreachable!("a metric is of one kind"),
        }
    }

    /// Values up to each bound of upstream's buckets.
    #[must_use]
    pub fn cumulative(&self, buckets: Buckets) -> Vec<u64> {
        let bounds = buckets.bounds();
        match self {
            MetricSpread::Durations(histogram) => {
                let mut counts = vec![0; bounds.len()];
                for step in histogram.iter_recorded() {
                    let value_s = step.value_iterated_to() as f64 / 1e9;
                    // A value is known to a hundredth: it belongs to the bound it cannot be told from.
                    let first = bounds.partition_point(|bound_s| bound_s * 1.01 < value_s);
                    counts[first..].iter_mut().for_each(|count| *count += step.count_at_value());
                }
                counts
            }
            MetricSpread::Bucketed { counts, .. } => {
                let up_to = |below: &mut u64, count: &u64| {
                    *below += count;
                    Some(*below)
                };
                counts.iter().take(bounds.len()).scan(0, up_to).collect()
            }
        }
    }

    /// What is told of it; `None` of nothing.
    ///
    /// Differs: upstream interpolates percentiles between buckets, the first of which ends at 0.01 to
    /// 10 ms. Durations are read from the fine histogram, so that they resolve microseconds
    /// (`durations_fall_into_upstreams_buckets_and_keep_their_microseconds`).
    #[must_use]
    pub fn summary(&self, buckets: Buckets) -> Option<HistogramSummary> {
        let (count, sum) = (self.count(), self.sum());
        if count == 0 {
            return None;
        }
        let at = |percent: f64| match self {
            MetricSpread::Durations(histogram) => histogram.value_at_percentile(percent) as f64 / 1e9,
            MetricSpread::Bucketed { .. } => {
                interpolated(&self.cumulative(buckets), buckets, count, percent / 100.0)
            }
        };
        let mean = sum / count as f64;
        Some(HistogramSummary {
            count,
            sum,
            mean,
            p50: at(50.0),
            p90: at(90.0),
            p95: at(95.0),
            p99: at(99.0),
        })
    }
}

/// As Prometheus' `histogram_quantile`: values lie evenly in their bucket, and those beyond all bounds
/// at the last of them.
#[allow(clippy::cast_precision_loss, reason = "counts of a run are far below 2^53")]
fn interpolated(cumulative: &[u64], buckets: Buckets, count: u64, share: f64) -> f64 {
    let bounds = buckets.bounds();
    let rank = share * count as f64;
    let Some(at) = cumulative.iter().position(|&below| rank <= below as f64) else {
        return bounds.last().copied().unwrap_or(0.0);
    };
    let (low, before) = if at == 0 { (0.0, 0) } else { (bounds[at - 1], cumulative[at - 1]) };
    let inside = cumulative[at] - before;
    if inside == 0 {
        return bounds[at];
    }
    low + (bounds[at] - low) * (rank - before as f64) / inside as f64
}

#[cfg(test)]
mod tests {
    use super::super::table::Kind;
    use super::super::table::{ALGORITHM_DURATION, PREEMPTION_VICTIMS};
    use super::*;

    fn buckets(kind: Kind) -> Buckets {
        let Kind::Histogram(buckets) = kind else { panic!("a histogram") };
        buckets
    }

    #[test]
    fn durations_fall_into_upstreams_buckets_and_keep_their_microseconds() {
        let spread = MetricSpread::of_durations([(50_000, 4), (1_000_000, 3), (5_000_000_000, 1)]);
        let buckets = buckets(ALGORITHM_DURATION.kind);
        let cumulative = spread.cumulative(buckets);
        assert_eq!((cumulative[0], cumulative[1], cumulative[14]), (7, 7, 8), "1 ms is within 1 ms");
        let summary = spread.summary(buckets).expect("values");
        assert_eq!(summary.count, 8);
        assert!((summary.p50 - 50e-6).abs() < 1e-6 && (summary.p90 - 5.0).abs() < 0.05, "{summary:?}");
        assert!((summary.sum - 5.0032).abs() < 0.05, "{summary:?}");
    }

    #[test]
    fn percentiles_of_counts_are_interpolated_as_prometheus_does() {
        let spread = MetricSpread::Bucketed { counts: vec![2, 2, 4, 0, 0, 0, 0, 0], sum: 20 };
        let buckets = buckets(PREEMPTION_VICTIMS.kind);
        assert_eq!(spread.cumulative(buckets), [2, 4, 8, 8, 8, 8, 8]);
        let summary = spread.summary(buckets).expect("values");
        assert_eq!((summary.count, summary.mean, summary.p50), (8, 2.5, 2.0));
        assert!((summary.p90 - 3.6).abs() < 1e-9, "{summary:?}");
        let beyond = MetricSpread::Bucketed { counts: vec![0, 0, 0, 0, 0, 0, 0, 3], sum: 300 };
        assert_eq!(beyond.summary(buckets).expect("values").p50, 64.0, "the last bound");
        assert_eq!(MetricSpread::Bucketed { counts: vec![0; 8], sum: 0 }.summary(buckets), None);
    }
}
