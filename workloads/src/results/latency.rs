//! Latency of one stage, from the histogram its collector filled.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::Stage;
use crate::metrics::{MetricSpread, MetricValues, Value, new_histogram};

/// Percentiles of one stage, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Recorded values.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile: upstream's data items carry it.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Highest value.
    pub max: f64,
    /// The distribution, ascending, for the chart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buckets: Vec<Bucket>,
}

/// Values above the bucket before and up to `le_us`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    /// Inclusive upper bound.
    pub le_us: f64,
    /// Values in this bucket alone.
    pub count: u64,
}

impl LatencySummary {
    /// Summary of a histogram of nanoseconds; `None` when nothing was recorded.
    pub fn from_nanos(histogram: &Histogram<u64>) -> Option<LatencySummary> {
        if histogram.is_empty() {
            return None;
        }
        let at = |percent: f64| us(histogram.value_at_percentile(percent));
        Some(LatencySummary {
            count: histogram.len(),
            mean: histogram.mean() / 1000.0,
            p50: at(50.0),
            p90: at(90.0),
            p95: at(95.0),
            p99: at(99.0),
            max: us(histogram.max()),
            buckets: buckets(histogram),
        })
    }
}

/// The latencies of a run by stage: every series of a stage's metric, added up.
pub fn by_stage(series: &MetricValues) -> BTreeMap<Stage, LatencySummary> {
    let mut stages: BTreeMap<Stage, Histogram<u64>> = BTreeMap::new();
    for (key, value) in series.iter() {
        let Value::Spread(MetricSpread::Durations(histogram)) = value else { continue };
        let Some(stage) = Stage::of_metric(key.metric.name, |label| key.value(label)) else { continue };
        let all = stages.entry(stage).or_insert_with(new_histogram);
        all.add(histogram).expect("all histograms have the same bounds");
    }
    let summary =
        |(stage, histogram): (Stage, Histogram<u64>)| Some((stage, LatencySummary::from_nanos(&histogram)?));
    stages.into_iter().filter_map(summary).collect()
}

fn us(nanos: u64) -> f64 {
    nanos as f64 / 1000.0
}

/// Four buckets an octave: fine enough for a strip 600 px wide over six decades.
const BUCKET_GROWTH: f64 = 1.189_207_115_002_721; // 2^(1/4)

fn buckets(histogram: &Histogram<u64>) -> Vec<Bucket> {
    let first_nanos = histogram.min().max(1);
    let steps = histogram.iter_log(first_nanos, BUCKET_GROWTH);
    steps
        .filter(|step| 0 < step.count_since_last_iteration())
        .map(|step| Bucket { le_us: us(step.value_iterated_to()), count: step.count_since_last_iteration() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(nanos: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).expect("three digits are valid");
        nanos.into_iter().for_each(|value| histogram.record(value).expect("in range"));
        histogram
    }

    #[test]
    fn empty_histogram_has_no_summary() {
        assert_eq!(LatencySummary::from_nanos(&histogram([])), None);
    }

    #[test]
    fn percentiles_are_microseconds_within_the_histograms_precision() {
        let summary = LatencySummary::from_nanos(&histogram((1..=1000).map(|us| us * 1000)))
            .expect("values were recorded");
        let near = |actual: f64, wanted: f64| (actual - wanted).abs() <= wanted * 0.001;
        assert_eq!(summary.count, 1000);
        assert!(near(summary.mean, 500.5), "mean {}", summary.mean);
        assert!(near(summary.p50, 500.0), "p50 {}", summary.p50);
        assert!(near(summary.p99, 990.0), "p99 {}", summary.p99);
        assert!(near(summary.max, 1000.0), "max {}", summary.max);
    }

    #[test]
    fn buckets_ascend_and_hold_every_value() {
        for values in [vec![0, 0, 7], vec![1], (0..5000).map(|i| i * i).collect()] {
            let summary =
                LatencySummary::from_nanos(&histogram(values.clone())).expect("values were recorded");
            let held: u64 = summary.buckets.iter().map(|bucket| bucket.count).sum();
            assert_eq!(held, values.len() as u64);
            assert!(summary.buckets.is_sorted_by(|a, b| a.le_us < b.le_us));
        }
    }
}
