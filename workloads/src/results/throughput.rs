//! Pods per second: the headline with its interval, and upstream's statistics over windows.
//!
//! ```text
//! run ──▶ pods over the measured interval ─┐
//! run ──▶ …                                ├─▶ median, bootstrap interval, count   (headline)
//! run ──▶ …                                ┘
//! the run in the middle ──▶ windows ──▶ Average, Perc50 …   (upstream's SchedulingThroughput)
//! ```
//!
//! The headline is computed here and nowhere else; terminal, report, perf-dash JSON, bench.txt,
//! thresholds and the SLO lines all read it.

use schedlab_stats::{Estimate, median_estimate};
use serde::{Deserialize, Serialize};

/// Throughput of one window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// End of the window, since the measured part began.
    pub t_ms: f64,
    /// Pods scheduled in the window, per second.
    pub pods_per_s: f64,
}

/// Pods per second over the measured interval, with the interval that holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// The headline: scheduled pods over the measured interval, the median of the runs.
    pub total: f64,
    /// Lower end of its 95 % bootstrap interval; absent from a single run, which has no spread.
    #[serde(default)]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(default)]
    pub high: Option<f64>,
    /// Runs it is the median of.
    #[serde(default = "one")]
    pub samples: u32,
    /// Upstream's statistics over windows, of the run in the middle; absent from a run with fewer
    /// than two windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<Windows>,
}

/// Files of older versions have one run.
fn one() -> u32 {
    1
}

/// Seed of the resamples: the same runs give the same interval.
const SEED: u64 = 0x5eed;

/// What two processes of one program differ by in the median of their runs, for as long as they
/// live: where their memory lies, and which minute of the machine they got. The runs of one process
/// cannot show it. Twice the standard deviation; docs/measuring.md says how it was measured.
const BETWEEN_PROCESSES_SHARE: f64 = 0.05;

/// What is taken off for want of a processor is not all that other processes cost: they empty the
/// caches as well, which can only have lowered the figure. So much of the share that was taken off
/// may be missing; docs/measuring.md says how it was measured.
const MISSING_OF_WAITED: f64 = 0.4;

/// The median of the runs of one process, with the interval that another process is expected in.
/// `waited_share` is the share of the time that was taken off ([`super::Conditions::waited_share`]).
pub(super) fn estimate_of_runs(values: &[f64], waited_share: f64) -> Estimate {
    let widened = median_estimate(values, SEED).widened(BETWEEN_PROCESSES_SHARE);
    Estimate { high: widened.high + MISSING_OF_WAITED * waited_share * widened.value.abs(), ..widened }
}

/// Half the width of the interval that the runs themselves show, as a share of their median: what
/// more runs make narrower. `None` for a single run, and where nothing was scheduled.
#[must_use]
pub fn half_width_of_runs(pods_per_s: &[f64]) -> Option<f64> {
    let estimate = (1 < pods_per_s.len()).then(|| median_estimate(pods_per_s, SEED))?;
    (0.0 < estimate.value).then(|| estimate.relative_half_width())
}

impl Throughput {
    /// The headline of runs that each gave so many pods per second, on a machine that did nothing
    /// else.
    #[must_use]
    pub fn of_runs(pods_per_s: &[f64]) -> Throughput {
        Throughput::of_disturbed_runs(pods_per_s, 0.0)
    }

    /// The headline of runs of whose time a share was taken off, because other processes had the
    /// processor.
    #[must_use]
    pub fn of_disturbed_runs(pods_per_s: &[f64], waited_share: f64) -> Throughput {
        let samples = u32::try_from(pods_per_s.len()).unwrap_or(u32::MAX);
        match pods_per_s {
            [] => Throughput::default(),
            [only] => Throughput { total: *only, samples, ..Throughput::default() },
            several => {
                let Estimate { value, low, high } = estimate_of_runs(several, waited_share);
                Throughput { total: value, low: Some(low), high: Some(high), samples, windows: None }
            }
        }
    }

    /// The headline as an estimate; `None` for a single run.
    #[must_use]
    pub fn estimate(&self) -> Option<Estimate> {
        Some(Estimate { value: self.total, low: self.low?, high: self.high? })
    }

    /// Half the width of the interval, as a share of the headline; `None` for a single run.
    #[must_use]
    pub fn relative_half_width(&self) -> Option<f64> {
        self.estimate().filter(|it| 0.0 < it.value).map(|it| it.relative_half_width())
    }
}

/// Upstream's `SchedulingThroughput`: statistics over windows of equal length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Windows {
    /// How many there are: at least two.
    pub count: u32,
    /// How long each is; upstream's is one second.
    pub length_ms: f64,
    /// Mean of the windows. It leaves out the first window that has pods, and the last.
    pub average: f64,
    /// Median of the windows.
    pub p50: f64,
    /// 90th percentile of the windows.
    pub p90: f64,
    /// 95th percentile of the windows.
    pub p95: f64,
    /// 99th percentile of the windows.
    pub p99: f64,
}

impl Windows {
    /// Statistics over the windows of a run; `None` of fewer than two: one window is no statistic,
    /// and of a run of a millisecond it can be ten times the whole.
    ///
    /// Upstream: test/integration/scheduler_perf/util.go `throughputCollector.collect`. The
    /// collector's part of the rule is in the samples: the first window with a scheduled pod
    /// is dropped, and an empty window takes the rate of the next window that is not empty,
    /// measured over both.
    ///
    /// Differs: upstream gives statistics of a single window too
    /// (`single_window_gives_no_statistics`).
    #[must_use]
    pub fn from_samples(samples: &[Sample], length_ms: f64) -> Option<Windows> {
        if samples.len() < 2 {
            return None;
        }
        let mut rates: Vec<f64> = samples.iter().map(|sample| sample.pods_per_s).collect();
        rates.sort_by(f64::total_cmp);
        Some(Windows {
            count: u32::try_from(rates.len()).unwrap_or(u32::MAX),
            length_ms,
            average: rates.iter().sum::<f64>() / rates.len() as f64,
            p50: percentile(&rates, 50),
            p90: percentile(&rates, 90),
            p95: percentile(&rates, 95),
            p99: percentile(&rates, 99),
        })
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

/// Pods over the measured interval: what one run gives for the headline. 0 when it took no time.
#[must_use]
pub fn pods_per_s(scheduled: u64, duration_ms: f64) -> f64 {
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
            let got = Windows::from_samples(&samples(&case.rates), 1.0).expect("several windows");
            assert_eq!(got.average, case.average, "case: {}", case.name);
            let percentiles = [got.p50, got.p90, got.p95, got.p99];
            assert_eq!(percentiles, case.percentiles, "case: {}", case.name);
            assert_eq!(got.count as usize, case.rates.len(), "case: {}", case.name);
        }
    }

    #[test]
    fn single_window_gives_no_statistics() {
        assert_eq!(Windows::from_samples(&samples(&[6_912_000.0]), 0.5), None);
        assert_eq!(Windows::from_samples(&[], 0.5), None);
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
    fn headline_is_the_median_of_runs_within_its_interval() {
        let got = Throughput::of_runs(&[100.0, 300.0, 200.0]);
        assert_eq!((got.total, got.samples), (200.0, 3));
        let (low, high) = (got.low.expect("three runs"), got.high.expect("three runs"));
        assert!((99.5..=200.0).contains(&low), "{low}");
        assert!((200.0..=300.5).contains(&high), "{high}");
        assert_eq!(got, Throughput::of_runs(&[100.0, 300.0, 200.0]), "the same runs, the same interval");
    }

    #[test]
    fn interval_of_equal_runs_keeps_the_between_process_spread() {
        let got = Throughput::of_runs(&[200.0; 30]);
        assert_eq!((got.low, got.high), (Some(190.0), Some(210.0)));
        assert_eq!(half_width_of_runs(&[200.0; 30]), Some(0.0), "more runs would not help");
        assert_eq!((half_width_of_runs(&[200.0]), half_width_of_runs(&[0.0, 0.0])), (None, None));
    }

    #[test]
    fn time_without_a_processor_moves_the_upper_end_only() {
        let of = |waited_share| Throughput::of_disturbed_runs(&[200.0; 30], waited_share);
        assert_eq!((of(0.5).total, of(0.5).low), (200.0, Some(190.0)));
        assert_eq!((of(0.0).high, of(0.25).high, of(0.5).high), (Some(210.0), Some(230.0), Some(250.0)));
    }

    #[test]
    fn single_run_has_no_interval() {
        let got = Throughput::of_runs(&[5.0]);
        assert_eq!((got.total, got.low, got.high, got.samples), (5.0, None, None, 1));
        assert_eq!(got.relative_half_width(), None);
    }

    #[test]
    fn no_time_gives_zero_and_not_infinity() {
        assert_eq!(pods_per_s(5, 0.0), 0.0);
        assert_eq!(pods_per_s(500, 250.0), 2000.0);
    }

    #[test]
    fn results_of_older_versions_are_one_run() {
        let old = r#"{"average": 1.0, "p50": 1.0, "p90": 1.0, "p95": 1.0, "p99": 1.0, "total": 7.0}"#;
        let got: Throughput = serde_json::from_str(old).expect("additional fields are ignored");
        assert_eq!(got, Throughput { total: 7.0, samples: 1, ..Throughput::default() });
    }
}
