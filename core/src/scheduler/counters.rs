//! What the scheduler counts about itself, for the metrics its operators know.
//!
//! Upstream: metrics/metrics.go. Counting is additions to fields that are in the cache anyway; what
//! needs a clock is measured outside.

use std::collections::BTreeMap;

use super::Scheduler;
use crate::cycle::tally::Evaluations;
use crate::ids::PodId;
use crate::queue::ProfileNumber;

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

/// Attempts of one profile, by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptCounts {
    /// The API says that the pod is on the chosen node.
    pub scheduled: u64,
    /// With a rejection.
    pub unschedulable: u64,
    /// With an error.
    pub errors: u64,
}

impl AttemptCounts {
    fn add(&mut self, other: &AttemptCounts) {
        self.scheduled += other.scheduled;
        self.unschedulable += other.unschedulable;
        self.errors += other.errors;
    }
}

/// Counts since the scheduler was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// By profile number.
    attempts: Vec<AttemptCounts>,
    /// Of profiles before the last change of configuration, by name.
    earlier: BTreeMap<String, AttemptCounts>,
    /// Attempts that the pods took that the API says are on a node.
    pub pod_attempts: Doubling<5>,
    /// Pods that got a node although no event had brought them back: they had waited too long.
    pub scheduled_after_flush: u64,
    /// Writes for a pod's volumes that the API refused for good.
    pub volume_binding_errors: u64,
    /// Preemptions whose victims were let go beside the loop, and those of them in which a call failed.
    pub async_preemptions: u64,
    /// See [`Counters::async_preemptions`].
    pub async_preemption_errors: u64,
    /// Times that preemption was asked.
    pub preemption_attempts: u64,
    /// Victims of a preemption.
    pub preemption_victims: Doubling<7>,
}

impl Counters {
    fn attempts_of(&mut self, profile: ProfileNumber) -> &mut AttemptCounts {
        let at = usize::from(profile.0);
        if self.attempts.len() <= at {
            self.attempts.resize(at + 1, AttemptCounts::default());
        }
        &mut self.attempts[at]
    }
}

impl Scheduler {
    /// What was counted so far.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How often plugins took part in attempts, by profile, plugin and extension point.
    #[must_use]
    pub fn plugin_evaluations(&self) -> Evaluations {
        self.engine.evaluations()
    }

    /// Attempts so far by the name of the profile, also of profiles that a change of configuration
    /// took away.
    #[must_use]
    pub fn attempts_by_profile(&self) -> BTreeMap<String, AttemptCounts> {
        let mut all = self.counters.earlier.clone();
        for (counts, profile) in self.counters.attempts.iter().zip(self.profiles()) {
            all.entry(profile.scheduler_name.clone()).or_default().add(counts);
        }
        all
    }

    /// Numbers of profiles are about to mean other ones.
    pub(super) fn name_attempts(&mut self) {
        self.counters.earlier = self.attempts_by_profile();
        self.counters.attempts.clear();
    }

    /// The counts of a pod's profile.
    #[inline]
    pub(super) fn attempt_counts(&mut self, pod: PodId) -> &mut AttemptCounts {
        let class = self.world.pods().get(pod).class;
        // A pod without a profile was ours when it was tried.
        let profile = self.profile_of(class).unwrap_or_default();
        self.counters.attempts_of(profile)
    }

    /// The API says that a pod is where we put it.
    /// Upstream: schedule_one.go `bindingCycle`, where the binding has succeeded.
    #[inline]
    pub(super) fn count_scheduled(&mut self, pod: PodId) {
        self.attempt_counts(pod).scheduled += 1;
        self.counters.pod_attempts.observe(u64::from(self.queue.attempts(pod)));
        self.counters.scheduled_after_flush += u64::from(self.queue.was_flushed_from_unschedulable(pod));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubling_histogram_uses_upstreams_exponential_buckets() {
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
