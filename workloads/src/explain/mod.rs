//! Why a pod goes where it goes: every node's verdict and scores, and the choice.
//!
//! ```text
//! manifests ──read──▶ objects ──▶ Subject (a scheduler that knows the cluster, and the pod) ──▶ Report
//! workload  ──run up to an op──▶ ──┘
//! ```
//!
//! Nothing is decided here: the engine's own `explain` is asked, and plugins appear by the names
//! that the profile gives them.

mod amount;
mod detail;
mod error;
mod ignored;
mod manifests;
mod report;
mod subject;
mod view;
mod workload;

pub use detail::{DetailCount, DetailReport, DomainCount, Fact, SpreadReport};
pub use error::ExplainError;
pub use ignored::{IgnoredField, IgnoredKind};
pub use manifests::{AskedPod, Manifest, parse_manifests, read_manifests, read_pod};
pub use report::{
    ExplainVerdict, ExplainedPod, NodeReport, OtherScheduler, PluginLead, PreEnqueueRejection, RejectedGroup,
    RejectionReport, Report, SCHEMA, ScoreColumn, WholeRejection, Winner,
};
pub use subject::{ExplainSetup, Subject, UnusedObjects};
pub use view::{NodeSortOrder, View};
pub use workload::{ExplainedWorkload, from_workload};

#[cfg(test)]
mod tests;
