//! How long single plugins take, in the cycles that a probe picks.
//!
//! Upstream: metric `plugin_execution_duration_seconds`, recorded in one cycle of ten.
//! Differs: a plugin is asked about many nodes in one call, so a duration is that of a call for all
//! rows that had to be evaluated, not for one node.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::class::PodClass;
use crate::framework::extension_point::ExtensionPoint;
use crate::framework::profile::{PluginIndex, Profile};
use crate::world::World;

/// Upstream's buckets: 10 µs, each half as much again as the one before.
pub const PLUGIN_BUCKETS: usize = 20;
/// Plugins that are timed; one with a higher number in its profile is not.
const PLUGINS_MAX: usize = 64;
const POINTS: [ExtensionPoint; 3] =
    [ExtensionPoint::Filter, ExtensionPoint::Score, ExtensionPoint::PostFilter];

/// The upper bounds of [`PLUGIN_BUCKETS`], in seconds.
pub fn plugin_bounds_s() -> impl Iterator<Item = f64> {
    std::iter::successors(Some(1e-5), |bound| Some(bound * 1.5)).take(PLUGIN_BUCKETS)
}

/// What was measured of one plugin at one extension point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginTime {
    /// The plugin.
    pub plugin: &'static str,
    /// Where it was asked.
    pub point: ExtensionPoint,
    /// Calls by bucket; the last are those beyond all bounds.
    pub counts: [u64; PLUGIN_BUCKETS + 1],
    /// Of all calls.
    pub sum_ns: u64,
}

#[derive(Debug, Default)]
struct Times {
    counts: [AtomicU64; PLUGIN_BUCKETS + 1],
    sum_ns: AtomicU64,
}

/// Durations by plugin and point. Chunks on several threads add to the same.
#[derive(Debug)]
pub struct PluginTimes {
    now_ns: fn() -> u64,
    bounds_ns: [u64; PLUGIN_BUCKETS],
    times: Vec<Times>,
}

impl PluginTimes {
    /// Nothing measured yet.
    #[must_use]
    pub fn new(now_ns: fn() -> u64) -> PluginTimes {
        let mut bounds_ns = [0; PLUGIN_BUCKETS];
        for (bound_ns, bound_s) in bounds_ns.iter_mut().zip(plugin_bounds_s()) {
            *bound_ns = (bound_s * 1e9) as u64;
        }
        let times = (0..POINTS.len() * PLUGINS_MAX).map(|_| Times::default()).collect();
        PluginTimes { now_ns, bounds_ns, times }
    }

    /// Does some work of a plugin and notes how long it takes.
    pub(crate) fn time<R>(&self, point: ExtensionPoint, plugin: PluginIndex, work: impl FnOnce() -> R) -> R {
        let start_ns = (self.now_ns)();
        let result = work();
        self.note(point, plugin, (self.now_ns)().saturating_sub(start_ns));
        result
    }

    fn note(&self, point: ExtensionPoint, plugin: PluginIndex, elapsed_ns: u64) {
        let Some(at) = POINTS.iter().position(|known| *known == point) else { return };
        if plugin >= PLUGINS_MAX {
            return;
        }
        let times = &self.times[at * PLUGINS_MAX + plugin];
        let bucket = self.bounds_ns.partition_point(|&bound_ns| bound_ns < elapsed_ns);
        times.counts[bucket].fetch_add(1, Ordering::Relaxed);
        times.sum_ns.fetch_add(elapsed_ns, Ordering::Relaxed);
    }

    /// What was measured of the plugins of a profile.
    #[must_use]
    pub fn of(&self, profile: &Profile) -> Vec<PluginTime> {
        let mut found = Vec::new();
        for (at, &point) in POINTS.iter().enumerate() {
            for (number, plugin) in profile.plugins().iter().enumerate().take(PLUGINS_MAX) {
                let times = &self.times[at * PLUGINS_MAX + number];
                let counts: [u64; PLUGIN_BUCKETS + 1] =
                    std::array::from_fn(|bucket| times.counts[bucket].load(Ordering::Relaxed));
                if counts.iter().any(|&count| count > 0) {
                    let sum_ns = times.sum_ns.load(Ordering::Relaxed);
                    found.push(PluginTime { plugin: plugin.name(), point, counts, sum_ns });
                }
            }
        }
        found
    }

    /// [`run_filters`](super::entry::run_filters) with a look at the clock around each plugin.
    pub(crate) fn run_filters(
        &self,
        (world, profile, class): (&World, &Profile, &PodClass),
        filters: &[PluginIndex],
        first_word: usize,
        words: &mut [u64],
    ) {
        for &plugin in filters {
            self.time(ExtensionPoint::Filter, plugin, || {
                profile.filter(plugin).filter(world, class, first_word, words);
            });
            if words.iter().all(|&word| word == 0) {
                return;
            }
        }
    }
}

/// Scores rows, with a look at the clock when this cycle is timed.
#[inline]
pub(crate) fn score_rows(
    times: Option<&PluginTimes>,
    (world, profile, class): (&World, &Profile, &PodClass),
    plugin: PluginIndex,
    rows: &[u32],
    scores: &mut [i64],
) {
    let mut work = || profile.score(plugin).score(world, class, rows, scores);
    match times {
        None => work(),
        Some(times) => times.time(ExtensionPoint::Score, plugin, work),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::registry::default_profile;
    use crate::interner::Vocabulary;

    #[test]
    fn durations_fall_into_upstreams_buckets_by_plugin_and_point() {
        let bounds: Vec<f64> = plugin_bounds_s().collect();
        assert!((bounds[0] - 1e-5).abs() < 1e-12 && (bounds[19] - 0.022_168).abs() < 1e-6, "{bounds:?}");
        let times = PluginTimes::new(|| 0);
        for elapsed_ns in [9_000, 10_001, 1_000_000_000] {
            times.note(ExtensionPoint::Filter, 1, elapsed_ns);
        }
        times.note(ExtensionPoint::Score, 1, 15_000);
        times.note(ExtensionPoint::Score, PLUGINS_MAX, 15_000);
        let profile = default_profile(&mut Vocabulary::default());
        let found = times.of(&profile);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].plugin, found[0].point), (profile.name(1), ExtensionPoint::Filter));
        assert_eq!((found[0].counts[0], found[0].counts[1], found[0].counts[PLUGIN_BUCKETS]), (1, 1, 1));
        assert_eq!(found[1].sum_ns, 15_000);
    }
}
