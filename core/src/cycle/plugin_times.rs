//! How long single plugins take, in the cycles that a probe picks.
//!
//! Upstream: metric `plugin_execution_duration_seconds`, recorded in one cycle of ten.
//! A plugin is asked about many nodes in one call, so a duration is that of a call for all rows that had to be
//! evaluated; upstream's is that of one node.

use std::sync::{Mutex, PoisonError};

use crate::class::PodClass;
use crate::framework::extension_point::ExtensionPoint;
use crate::framework::plugin::WordScores;
use crate::framework::profile::{PluginIndex, Profile};
use crate::world::World;

/// Calls kept at most until they are taken: a cycle that evaluates all of 5,000 nodes makes some
/// hundreds.
const SPANS_MAX: usize = 1 << 14;

/// One call of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginSpan {
    /// The plugin.
    pub plugin: &'static str,
    /// Where it was asked.
    pub point: ExtensionPoint,
    /// How long it took.
    pub elapsed_ns: u64,
}

/// Calls that were timed. Chunks on several threads add to the same; only timed cycles do, so that
/// the lock is hardly ever contended.
#[derive(Debug)]
pub struct PluginTimes {
    now_ns: fn() -> u64,
    spans: Mutex<Vec<PluginSpan>>,
}

impl PluginTimes {
    /// Nothing measured yet.
    #[must_use]
    pub fn new(now_ns: fn() -> u64) -> PluginTimes {
        PluginTimes { now_ns, spans: Mutex::default() }
    }

    /// Does some work of a plugin and notes how long it takes.
    fn time<R>(&self, point: ExtensionPoint, plugin: &'static str, work: impl FnOnce() -> R) -> R {
        let start_ns = (self.now_ns)();
        let result = work();
        self.note(PluginSpan { plugin, point, elapsed_ns: (self.now_ns)().saturating_sub(start_ns) });
        result
    }

    fn note(&self, span: PluginSpan) {
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        if spans.len() < SPANS_MAX {
            spans.push(span);
        }
    }

    /// Hands over what was measured since the last time.
    pub fn take(&self, into: impl FnMut(PluginSpan)) {
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        spans.drain(..).for_each(into);
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
            self.time(ExtensionPoint::Filter, profile.name(plugin), || {
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
        Some(times) => times.time(ExtensionPoint::Score, profile.name(plugin), work),
    }
}

/// Scores the rows of whole words, with a look at the clock when this cycle is timed.
#[inline]
pub(crate) fn score_words(
    times: Option<&PluginTimes>,
    (world, profile, class): (&World, &Profile, &PodClass),
    plugin: PluginIndex,
    words: (usize, &[u64]),
    scores: &mut [i64],
) -> WordScores {
    let mut work = || profile.score(plugin).score_words(world, class, words, scores);
    match times {
        None => work(),
        Some(times) => times.time(ExtensionPoint::Score, profile.name(plugin), work),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugin_spans_are_taken_once_by_plugin_and_extension_point() {
        let times = PluginTimes::new(|| 0);
        let filter =
            PluginSpan { plugin: "NodeResourcesFit", point: ExtensionPoint::Filter, elapsed_ns: 9_000 };
        let score = PluginSpan { point: ExtensionPoint::Score, ..filter };
        times.note(filter);
        times.note(score);
        let take = || {
            let mut taken = Vec::new();
            times.take(|span| taken.push(span));
            taken
        };
        assert_eq!(take(), [filter, score]);
        assert_eq!(take(), [], "each is handed over once");
        (0..SPANS_MAX + 3).for_each(|_| times.note(filter));
        assert_eq!(take().len(), SPANS_MAX, "what is never taken stays within the limit");
    }
}
