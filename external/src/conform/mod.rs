//! Does any scheduler decide as we do? Random clusters and pods, one pod after the other.
//!
//! ```text
//! seed ─random─▶ objects ─▶ store ◀──HTTP── the scheduler under test: binding, PodScheduled=False, victims
//!                   │                                   ‖ compared
//!                   └──────▶ a store of its own ◀── our scheduler in virtual time; explain: totals, ties
//! ```
//!
//! A scheduler learns of objects by watches of their own, so it is given a moment after a change; a
//! difference counts only if it is there again after a longer one, from a clean cluster.

mod decision;
mod ours;
mod random;
mod session;
mod shrink;

pub use decision::{ConformDecision, OurDecision};
pub use session::{ConformError, ConformEvent, ConformOptions, ConformReport, Difference, conform};
