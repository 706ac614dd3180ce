//! Upstream's `SchedulingThroughput`: statistics over sample windows.

use serde::{Deserialize, Serialize};

/// Throughput of one window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// End of the window, since the measured part began.
    pub t_ms: f64,
    /// Pods scheduled in the window, per second.
    pub pods_per_s: f64,
}

/// Pods per second: statistics over the windows, and the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// Mean of the windows.
    pub average: f64,
    /// Median of the windows.
    pub p50: f64,
    /// 90th percentile of the windows.
    pub p90: f64,
    /// 95th percentile of the windows.
    pub p95: f64,
    /// 99th percentile of the windows.
    pub p99: f64,
    /// All scheduled pods over the whole measured part.
    pub total: f64,
}

impl Throughput {
    /// Statistics over the windows of a run.
    ///
    /// Upstream: test/integration/scheduler_perf/util.go `throughputCollector.collect`. The
    /// collector's part of the rule is in the samples: the first window with a scheduled pod
    /// is dropped, and an empty window takes the rate of the next window that is not empty,
    /// measured over both.
    ///
    /// Differs: without a single window upstream reports nothing. We take the whole as the
    /// only window (`run_shorter_than_a_window_is_its_own_window`).
    pub fn from_samples(samples: &[Sample], scheduled: u64, duration_ms: f64) -> Throughput {
        let total = pods_per_s(scheduled, duration_ms);
        let mut rates: Vec<f64> = samples.iter().map(|sample| sample.pods_per_s).collect();
        if rates.is_empty() {
            rates.push(total);
        }
        rates.sort_by(f64::total_cmp);
        Throughput {
            average: rates.iter().sum::<f64>() / rates.len() as f64,
            p50: percentile(&rates, 50),
            p90: percentile(&rates, 90),
            p95: percentile(&rates, 95),
            p99: percentile(&rates, 99),
            total,
        }
    }
}

/// Nearest rank: the value at `ceil(len * percent / 100) - 1`, as upstream indexes.
///
/// # Panics
/// When `sorted` is empty or `percent` is not within 1..=100.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    assert!(!sorted.is_empty());
    assert!((1..=100).contains(&percent));
    sorted[(sorted.len() * percent).div_ceil(100) - 1]
}

fn pods_per_s(scheduled: u64, duration_ms: f64) -> f64 {
    if duration_ms <= 0.0 {
        return 0.0;
    }
    scheduled as f64 * 1000.0 / duration_ms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(rates: &[f64]) -> Vec<Sample> {
        let sample = |(i, &pods_per_s): (usize, &f64)| Sample { t_ms: i as f64, pods_per_s };
        rates.iter().enumerate().map(sample).collect()
    }

    #[test]
    fn statistics_over_windows() {
        struct Case {
            name: &'static str,
            rates: Vec<f64>,
            average: f64,
            /// 50, 90, 95, 99.
            percentiles: [f64; 4],
        }
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        let cases = [
            Case {
                name: "one window is every percentile",
                rates: vec![7.0],
                average: 7.0,
                percentiles: [7.0; 4],
            },
            Case {
                name: "of two windows the median is the lower",
                rates: vec![30.0, 10.0],
                average: 20.0,
                percentiles: [10.0, 30.0, 30.0, 30.0],
            },
            Case {
                name: "rank is rounded up",
                rates: vec![5.0, 1.0, 4.0, 2.0, 3.0],
                average: 3.0,
                percentiles: [3.0, 5.0, 5.0, 5.0],
            },
            Case {
                name: "an exact rank is taken as it is",
                rates: hundred,
                average: 50.5,
                percentiles: [50.0, 90.0, 95.0, 99.0],
            },
        ];
        for case in &cases {
            let got = Throughput::from_samples(&samples(&case.rates), 0, 0.0);
            assert_eq!(got.average, case.average, "case: {}", case.name);
            let percentiles = [got.p50, got.p90, got.p95, got.p99];
            assert_eq!(percentiles, case.percentiles, "case: {}", case.name);
        }
    }

    #[test]
    fn integer_rank_equals_upstreams_float_rank() {
        for len in 1..=2000_usize {
            let sorted: Vec<f64> = (0..len).map(|i| i as f64).collect();
            for percent in [50, 90, 95, 99] {
                let rank = ((len * percent) as f64 / 100.0).ceil() as usize - 1;
                assert_eq!(percentile(&sorted, percent), rank as f64, "{percent} of {len}");
            }
        }
    }

    #[test]
    fn run_shorter_than_a_window_is_its_own_window() {
        let got = Throughput::from_samples(&[], 500, 250.0);
        assert_eq!(got.total, 2000.0);
        assert_eq!(got.average, 2000.0);
        assert_eq!(got.p99, 2000.0);
    }

    #[test]
    fn no_time_gives_zero_and_not_infinity() {
        assert_eq!(Throughput::from_samples(&[], 5, 0.0), Throughput::default());
    }
}
