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

mod claims;
mod compare;
mod document;
mod error;
mod pod_group;
mod pod_group_document;
mod preempt;
mod read;
mod report;
mod run;
mod state;

use std::path::Path;

pub use document::{
    Applied, AppliedObject, BoundClaim, CandidateRecord, ClaimRecord, Cluster, FailedRecord, NodeRecord,
    ObjectName, PodGroupObject, PostFilterRecord, PreFilterRecord, PreemptionRecord, RejectionRecord,
    RequestMappingRecord, ScheduleRecord, Trace, TraceStep, VolumesRecord,
};
pub use error::{ReplayError, StepProblem};
pub use pod_group_document::{
    ConditionRecord, PlacementScoreRecord, PodGroupPreemptionRecord, PodGroupRecord, RunPodRecord, RunRecord,
    StatusRecord,
};
pub use read::{parse_trace, read_trace};
pub use report::{DIFFERENCES_KEPT_MAX, DifferenceKind, TraceDifference, TraceReport};
pub use run::replay;

/// Reads a trace, plain or gzip-compressed, and replays it.
pub fn replay_file(path: &Path) -> Result<TraceReport, ReplayError> {
    replay(&read_trace(path)?)
}

#[cfg(test)]
mod tests;
