//! What the manager did, in numbers.

use std::ops::AddAssign;

/// Counts of a shard, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExecutionCounts {
    /// Nodes whose labels or taints changed.
    pub nodes_updated: u64,
    /// Pods compared with their node.
    pub pods_checked: u64,
    /// Pods evicted because required node affinity no longer held.
    pub evicted_by_affinity: u64,
    /// Pods evicted because of a `NoExecute` taint.
    pub evicted_by_taint: u64,
    /// Evictions of pods that were gone already.
    pub already_gone: u64,
    /// Evictions that were tried again.
    pub retried: u64,
    /// Evictions that were given up.
    pub failed: u64,
    /// Pods that got time (`tolerationSeconds`).
    pub delayed: u64,
    /// Pods whose time was still running when the taint went.
    pub reprieved: u64,
}

impl ExecutionCounts {
    /// Pods evicted.
    #[must_use]
    pub fn evicted(&self) -> u64 {
        self.evicted_by_affinity + self.evicted_by_taint
    }
}

impl AddAssign for ExecutionCounts {
    fn add_assign(&mut self, other: ExecutionCounts) {
        self.nodes_updated += other.nodes_updated;
        self.pods_checked += other.pods_checked;
        self.evicted_by_affinity += other.evicted_by_affinity;
        self.evicted_by_taint += other.evicted_by_taint;
        self.already_gone += other.already_gone;
        self.retried += other.retried;
        self.failed += other.failed;
        self.delayed += other.delayed;
        self.reprieved += other.reprieved;
    }
}

/// Counts, and how long evictions took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExecutionReport {
    /// Sums over all shards.
    pub counts: ExecutionCounts,
    /// From the cause reaching the manager (an update of the node or of the pod, or the end of the
    /// pod's time) to the API's answer, in microseconds, ascending.
    pub latencies_us: Vec<u64>,
    /// From the first cause to the last answer.
    pub span_ns: u64,
}

impl ExecutionReport {
    /// Evictions a second, from the first cause to the last answer; 0 when there were none.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a rate for people")]
    pub fn evictions_per_second(&self) -> f64 {
        if self.span_ns == 0 {
            return 0.0;
        }
        self.counts.evicted() as f64 * 1e9 / self.span_ns as f64
    }

    /// The latency that `percent` of the evictions stayed below or at.
    #[must_use]
    pub fn latency_us(&self, percent: usize) -> u64 {
        let count = self.latencies_us.len();
        let rank = (count * percent).div_ceil(100).clamp(1, count.max(1));
        self.latencies_us.get(rank - 1).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_latencies_that_occurred() {
        let report = ExecutionReport { latencies_us: (1..=200).collect(), ..ExecutionReport::default() };
        let cases = [(0, 1), (50, 100), (99, 198), (100, 200)];
        for (percent, expected) in cases {
            assert_eq!(report.latency_us(percent), expected, "{percent} %");
        }
        assert_eq!(ExecutionReport::default().latency_us(50), 0, "nothing was evicted");
        assert!(ExecutionReport::default().evictions_per_second().abs() < f64::EPSILON);
    }
}
