//! From config files to workloads that are ready to run.
//!
//! ```text
//! Suite::load(source, root) --resolve(Selection)--> Vec<ResolvedWorkload> --runnable--> run or skip
//! ```
//!
//! What is wrong with a workload is found here, before anything runs: missing and unused params,
//! absurd counts, templates that do not load.

mod error;
mod limits;
mod op;
mod selection;
mod suite;
mod support;
mod templates;
mod workload;

pub use error::{OpLocation, ResolveError, ResolveProblem, WorkloadError};
pub use limits::{NAMESPACES_MAX, NODES_MAX, OBJECTS_MAX, POD_SETS_MAX, PODS_MAX};
pub use selection::{Selection, SelectionError};
pub use suite::{Selected, Suite};
pub use support::{Unsupported, runnable};
pub use workload::{ResolvedWorkload, SchedulerConfigFile, WorkloadThreshold};

pub use limits::Limit;
pub(crate) use op::OpResolver;

#[cfg(test)]
mod tests;
