//! Throughput over time, in windows that suit runs of a few milliseconds.
//!
//! Upstream: scheduler_perf/util.go `throughputCollector`: one sample a second, the first one with
//! any scheduled pod is only the baseline, and a window in which nothing was scheduled gets the
//! rate of the stretch it belongs to. Here windows are as short as the run needs.

use crate::results::Sample;

/// Pods bound at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// When.
    pub at_ns: u64,
    /// How many.
    pub pods: u64,
}

const MS: u64 = 1_000_000;
/// Upstream's interval is the longest window.
const WINDOW_MAX_NS: u64 = 1000 * MS;
/// Round lengths, shortest first. Below half a millisecond a window holds too few batches.
const WINDOWS_NS: [u64; 11] =
    [MS / 2, MS, 2 * MS, 5 * MS, 10 * MS, 20 * MS, 50 * MS, 100 * MS, 200 * MS, 500 * MS, WINDOW_MAX_NS];
/// Windows a run is cut into, about.
const WINDOWS_WANTED: u64 = 40;

/// The window length for a run of `elapsed_ns`.
#[must_use]
pub fn window_for(elapsed_ns: u64) -> u64 {
    let wanted = elapsed_ns / WINDOWS_WANTED;
    WINDOWS_NS.into_iter().rev().find(|&window| window <= wanted).unwrap_or(WINDOWS_NS[0])
}

/// Samples of the bursts after `start_ns`, one per window; times are relative to `start_ns`.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "counts and times of a run are far below 2^53")]
pub fn windows(bursts: &[Burst], start_ns: u64, window_ns: u64) -> Vec<Sample> {
    let Some(end_ns) = bursts.last().map(|burst| burst.at_ns) else { return Vec::new() };
    let mut samples = Vec::new();
    let mut rest = bursts.iter().copied().peekable();
    let mut has_baseline = false;
    let mut skipped = 0;
    // The last window that is not over is left out: it would count as slow.
    for window in 0..(end_ns.saturating_sub(start_ns)) / window_ns {
        let until_ns = start_ns + (window + 1) * window_ns;
        let mut pods = 0;
        while let Some(burst) = rest.next_if(|burst| burst.at_ns <= until_ns) {
            pods += burst.pods;
        }
        if !has_baseline {
            has_baseline = pods > 0;
            continue;
        }
        if pods == 0 {
            skipped += 1;
            continue;
        }
        let seconds = ((skipped + 1) * window_ns) as f64 / 1e9;
        for at in window - skipped..=window {
            let t_ms = ((at + 1) * window_ns) as f64 / 1e6;
            samples.push(Sample { t_ms, pods_per_s: pods as f64 / seconds });
        }
        skipped = 0;
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_round_and_about_forty() {
        let cases = [
            (1, MS / 2),
            (10 * MS, MS / 2),
            (40 * MS, MS),
            (100 * MS, 2 * MS),
            (10_000 * MS, 200 * MS),
            (500_000 * MS, 1000 * MS),
        ];
        for (elapsed_ns, window_ns) in cases {
            assert_eq!(window_for(elapsed_ns), window_ns, "run of {elapsed_ns} ns");
        }
    }

    #[test]
    fn the_first_window_with_pods_is_the_baseline_and_gaps_share_a_rate() {
        let burst = |ms: u64, pods| Burst { at_ns: ms * MS, pods };
        let bursts = [burst(2, 50), burst(3, 10), burst(6, 30), burst(7, 20), burst(8, 5)];
        let samples: Vec<(f64, f64)> =
            windows(&bursts, 0, MS).into_iter().map(|sample| (sample.t_ms, sample.pods_per_s)).collect();
        assert_eq!(
            samples,
            [
                (3.0, 10_000.0),
                (4.0, 10_000.0),
                (5.0, 10_000.0),
                (6.0, 10_000.0),
                (7.0, 20_000.0),
                (8.0, 5_000.0)
            ]
        );
    }

    #[test]
    fn no_pods_means_no_samples() {
        assert!(windows(&[], 0, MS).is_empty());
    }
}
