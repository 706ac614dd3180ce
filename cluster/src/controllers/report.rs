//! What a controller did, in numbers.

/// A count under its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterValue {
    /// In snake case, without the controller's name.
    pub name: &'static str,
    /// How often.
    pub count: u64,
}

/// How long something took, each time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencySamples {
    /// What, in snake case.
    pub name: &'static str,
    /// Microseconds from the cause to the API's answer; ascending in a finished report.
    pub samples_us: Vec<u64>,
    /// The first cause; `u64::MAX` while there was none.
    first_ns: u64,
    /// The last answer.
    last_ns: u64,
}

impl LatencySamples {
    /// None so far.
    #[must_use]
    pub fn new(name: &'static str) -> LatencySamples {
        LatencySamples { name, samples_us: Vec::new(), first_ns: u64::MAX, last_ns: 0 }
    }

    /// One more.
    pub fn record(&mut self, since_ns: u64, now_ns: u64) {
        self.samples_us.push(now_ns.saturating_sub(since_ns) / 1000);
        self.first_ns = self.first_ns.min(since_ns);
        self.last_ns = self.last_ns.max(now_ns);
    }

    /// So many a second, from the first cause to the last answer; 0 when there were none.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a rate for people")]
    pub fn per_second(&self) -> f64 {
        match self.last_ns.saturating_sub(self.first_ns) {
            0 => 0.0,
            span_ns => self.samples_us.len() as f64 * 1e9 / span_ns as f64,
        }
    }

    /// The latency that `percent` of them stayed below or at, in a finished report.
    #[must_use]
    pub fn percentile_us(&self, percent: usize) -> u64 {
        let count = self.samples_us.len();
        let rank = (count * percent).div_ceil(100).clamp(1, count.max(1));
        self.samples_us.get(rank - 1).copied().unwrap_or(0)
    }

    fn add(&mut self, other: LatencySamples) {
        self.samples_us.extend(other.samples_us);
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
    }
}

/// What a controller, or a shard of it, did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControllerReport {
    /// The controller's name; the runner fills it in.
    pub controller: &'static str,
    /// What was counted, in the order in which a reader wants it.
    pub counters: Vec<CounterValue>,
    /// What was timed.
    pub latencies: Vec<LatencySamples>,
}

impl ControllerReport {
    /// With these counters.
    #[must_use]
    pub fn of(counters: &[(&'static str, u64)]) -> ControllerReport {
        let counters = counters.iter().map(|&(name, count)| CounterValue { name, count }).collect();
        ControllerReport { counters, ..ControllerReport::default() }
    }

    /// And these latencies.
    #[must_use]
    pub fn timed(mut self, latencies: &LatencySamples) -> ControllerReport {
        self.latencies.push(latencies.clone());
        self
    }

    /// The count under a name; 0 if there is none.
    #[must_use]
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.iter().find(|counter| counter.name == name).map_or(0, |counter| counter.count)
    }

    /// The latencies under a name.
    #[must_use]
    pub fn latency(&self, name: &str) -> Option<&LatencySamples> {
        self.latencies.iter().find(|samples| samples.name == name)
    }

    /// The reports of all shards of a controller as one.
    #[must_use]
    pub fn of_shards(
        controller: &'static str,
        shards: impl IntoIterator<Item = ControllerReport>,
    ) -> ControllerReport {
        let mut sum = ControllerReport { controller, ..ControllerReport::default() };
        for shard in shards {
            for counter in shard.counters {
                match sum.counters.iter_mut().find(|known| known.name == counter.name) {
                    Some(known) => known.count += counter.count,
                    None => sum.counters.push(counter),
                }
            }
            for samples in shard.latencies {
                match sum.latencies.iter_mut().find(|known| known.name == samples.name) {
                    Some(known) => known.add(samples),
                    None => sum.latencies.push(samples),
                }
            }
        }
        sum.latencies.iter_mut().for_each(|samples| samples.samples_us.sort_unstable());
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_latencies_that_occurred() {
        let mut samples = LatencySamples::new("x");
        (1..=200).for_each(|us| samples.record(0, us * 1000));
        for (percent, expected) in [(0, 1), (50, 100), (99, 198), (100, 200)] {
            assert_eq!(samples.percentile_us(percent), expected, "{percent} %");
        }
        let none = LatencySamples::new("x");
        assert_eq!(none.percentile_us(50), 0);
        assert!(none.per_second().abs() < f64::EPSILON);
    }

    #[test]
    fn shard_reports_add_up_by_name() {
        let shard = |count, since_ns, now_ns| {
            let mut samples = LatencySamples::new("took");
            samples.record(since_ns, now_ns);
            ControllerReport::of(&[("seen", count), ("done", 1)]).timed(&samples)
        };
        let sum =
            ControllerReport::of_shards("c", [shard(3, 0, 9_000), shard(4, 500_000_000, 1_000_000_000)]);
        assert_eq!((sum.controller, sum.counter("seen"), sum.counter("done")), ("c", 7, 2));
        let took = sum.latency("took").expect("both timed it");
        assert_eq!(took.samples_us, [9, 500_000]);
        assert!((took.per_second() - 2.0).abs() < 1e-9, "two in a second");
    }
}
