//! The scheduling cycle: PreFilter, Filter, Score, select; on the snapshot, for one pod.
//!
//! ```text
//! class ─▶ entry (plan + what is known of each row) ─▶ first K feasible rows from the start index
//!       ─▶ totals ─▶ best, ties by a seeded draw
//! ```
//!
//! There is one path. With the class cache on, an [`entry::Entry`] remembers verdicts and scores
//! per row and re-evaluates only rows that changed; with it off, the entry forgets everything
//! before each cycle. Evaluation runs over chunks of mask words, inline or on a pool; neither
//! choice can change a result, and property tests hold all of them equal to `naive`.

pub mod engine;
pub mod entry;
pub mod explain;
pub mod parallelize;
pub mod plan;
pub mod plugin_times;
pub mod probe;
pub mod sampling;
pub mod select;
pub mod tally;
pub mod verdict;
pub(crate) mod word;

#[cfg(test)]
mod tests;
