//! How sure of a difference one can be.
//!
//! ```text
//! samples of A and B --pairs--> ratios --bootstrap--> Interval --verdict--> better, worse,
//!                                             fence ----^                   unchanged, inconclusive
//! ```
//!
//! Everything here is a pure function of its samples and a seed: the same input gives the same
//! verdict, to the last digit. A ratio is always `head / base`, and a relative change of a fence
//! or a tolerance is meant both ways: a fence of 0.02 ends at 1.02 above and at 1 / 1.02 below.

mod bootstrap;
mod changepoint;
mod fence;
mod median_interval;
mod order;
mod pairs;
mod pseudo_median;
mod rank;
mod size;
mod verdict;

pub use bootstrap::{Estimate, Interval, median_estimate, ratio_of_medians, ratio_of_pairs};
pub use changepoint::{SEGMENT_MIN, change_points};
pub use fence::{Fence, FenceSource, HISTORY_MIN};
pub use median_interval::{median_interval, values_needed};
pub use order::{median, quantile, quartiles};
pub use pairs::{ROUND, RoundOrder, abba_order, round_differences, round_ratios};
pub use pseudo_median::{middle_of_pairs, pairs_needed};
pub use rank::{mann_whitney_p, wilcoxon_p};
pub use size::{SAMPLES_MIN, more_samples_needed};
pub use verdict::{Direction, Judged, Verdict, judge};

#[cfg(any(test, feature = "testing"))]
pub mod testing;
