//! scheduler_perf workloads: read, checked, resolved; and the results of running them.
//!
//! ```text
//! performance-config.yaml --schema--> TestCase, Op --resolve--> ResolvedWorkload, dyn ResolvedOp
//!                                                      ^
//!                    templates (Go text/template) -----+
//! ```
//!
//! - [`source`], [`suites`]: where files come from; the suites inside the binary.
//! - [`schema`], [`ops`]: the config file, strictly, with line and column in every error.
//! - [`params`], [`template`]: `$name` and `{{.Index}}` become values and objects.
//! - [`labels`], [`resolve`]: which workloads run, and each of them ready to run.
//! - [`gates`]: feature gates, those that the scheduler has and those that change nothing here.
//! - [`controllers`]: which controllers run beside the scheduler.
//! - [`explain`]: why a pod goes where it goes, as data.
//! - [`scheduler_config`]: KubeSchedulerConfiguration files, read, checked, watched.
//! - [`protocol`]: how often a workload runs until its number can be quoted.
//! - [`results`]: what a run is remembered by; [`placements`]: where each of its pods went.
//! - [`files`]: everything that is written, whole or not at all.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test may panic"))]

pub mod assemble;
pub mod controllers;
pub mod digest;
pub mod executor;
pub mod experiment;
pub mod explain;
pub mod files;
pub mod gates;
mod go_duration;
pub mod lab_plugins;
pub mod labels;
pub mod measure;
pub mod metrics;
pub mod ops;
pub mod params;
pub mod placements;
pub mod protocol;
pub mod resolve;
pub mod results;
pub mod scheduler_config;
pub mod schedulers;
pub mod schema;
pub mod source;
pub mod study;
mod suggest;
pub mod suites;
pub mod template;
mod yaml;
