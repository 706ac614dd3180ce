//! What the scheduler counts about itself, for the metrics its operators know.
//!
//! Upstream: metrics/metrics.go. Counting is additions to fields that are in the cache anyway; what
//! needs a clock is measured outside.

use super::Scheduler;
use crate::cycle::plugin_times::PluginTime;

/// Values in buckets whose upper bounds are 1, 2, 4, ... as upstream's `ExponentialBuckets(1, 2, N)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubling<const N: usize> {
    /// Values up to 2^i and above the bound before, by i.
    pub counts: [u64; N],
    /// Values above the last bound.
    pub beyond: u64,
    /// Of all values.
    pub sum: u64,
}

impl<const N: usize> Default for Doubling<N> {
    fn default() -> Self {
        Doubling { counts: [0; N], beyond: 0, sum: 0 }
    }
}

impl<const N: usize> Doubling<N> {
    /// Counts a value.
    #[inline]
    pub fn observe(&mut self, value: u64) {
        let bucket = value.max(1).next_power_of_two().trailing_zeros() as usize;
        *self.counts.get_mut(bucket).unwrap_or(&mut self.beyond) += 1;
        self.sum += value;
    }

    /// How many values were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.beyond
    }

    /// Adds what another one counted.
    pub fn add(&mut self, other: &Doubling<N>) {
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
        self.beyond += other.beyond;
        self.sum += other.sum;
    }
}

/// Counts since the scheduler was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Attempts whose pod the API says is on the chosen node.
    pub scheduled: u64,
    /// Attempts that ended with a rejection.
    pub unschedulable: u64,
    /// Attempts that ended with an error.
    pub errors: u64,
    /// Attempts that the pods took that got a node.
    /// Differs: upstream counts when the binding has succeeded; here the pod's attempts are known
    /// when its node is chosen, and a binding that then fails is counted as another attempt.
    pub pod_attempts: Doubling<5>,
    /// Times that preemption was asked.
    pub preemption_attempts: u64,
    /// Victims of a preemption.
    pub preemption_victims: Doubling<7>,
}

impl Counters {
    /// Adds what another scheduler counted.
    pub fn add(&mut self, other: &Counters) {
        self.scheduled += other.scheduled;
        self.unschedulable += other.unschedulable;
        self.errors += other.errors;
        self.pod_attempts.add(&other.pod_attempts);
        self.preemption_attempts += other.preemption_attempts;
        self.preemption_victims.add(&other.preemption_victims);
    }
}

impl Scheduler {
    /// What was counted so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Notes, by this clock, how long plugins take in the cycles whose probe asks for it.
    pub fn time_plugins(&mut self, now_ns: fn() -> u64) {
        self.engine.time_plugins(now_ns);
    }

    /// How long plugins of the first profile took.
    #[must_use]
    pub fn plugin_times(&self) -> Vec<PluginTime> {
        self.engine.plugin_times().map_or_else(Vec::new, |times| times.of(self.profile()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_into_upstreams_buckets() {
        let mut victims: Doubling<7> = Doubling::default();
        for value in [0, 1, 2, 3, 4, 5, 64, 65, 1000] {
            victims.observe(value);
        }
        assert_eq!(victims.counts, [2, 1, 2, 1, 0, 0, 1]);
        assert_eq!((victims.beyond, victims.sum, victims.count()), (2, 1144, 9));
        let mut twice = victims;
        twice.add(&victims);
        assert_eq!((twice.sum, twice.count()), (2288, 18));
    }
}
