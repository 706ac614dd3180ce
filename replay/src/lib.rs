//! Replays decisions recorded from the upstream kube-scheduler on the engine, and says where they
//! differ.
//!
//! ```text
//! file ──read──▶ Trace ──run──▶ for each step: explain + Engine::decide ──compare──▶ Difference
//!                                              └─ then the RECORDED effect is applied
//! ```
//!
//! The format is `docs/trace-format.md`, version 1. Because the recorded effect is applied and not
//! ours, one difference does not cascade into the steps after it.
//!
//! What is compared follows from the profile: a plugin that the profile lacks contributes nothing,
//! so whatever upstream recorded of it (a rejection, a score other than 0) is a difference. A
//! plugin that is added makes the comparison stricter by itself.

mod compare;
mod document;
mod error;
mod preempt;
mod read;
mod report;
mod run;
mod state;

use std::path::Path;

pub use document::{
    Applied, BoundClaim, CandidateRecord, Cluster, FailedRecord, NodeRecord, PreFilterRecord,
    PreemptionRecord, RejectionRecord, ScheduleRecord, StorageObject, Trace, TraceStep, VolumesRecord,
};
pub use error::{ReplayError, StepProblem};
pub use read::{parse_trace, read_trace};
pub use report::{DIFFERENCES_KEPT_MAX, DifferenceKind, TraceDifference, TraceReport};
pub use run::replay;

/// Reads a trace, plain or gzip-compressed, and replays it.
pub fn replay_file(path: &Path) -> Result<TraceReport, ReplayError> {
    replay(&read_trace(path)?)
}

#[cfg(test)]
mod tests;
