//! The engine of schedlab: takes events and the time, returns decisions and API calls as values.
//!
//! It does no I/O, reads no clock, owns no global, and knows nothing of YAML, JSON, HTTP or API
//! libraries. `schedlab-cluster` turns API objects into [`input`]s; a runtime around
//! [`scheduler::Scheduler`] performs what it asks for.

pub mod api_call;
pub mod binding;
pub mod budgets;
pub(crate) mod chunked;
pub mod class;
pub mod cycle;
pub mod dra;
#[cfg(any(test, feature = "naive"))]
pub mod fake;
pub mod framework;
pub mod ids;
pub mod input;
pub mod interner;
pub mod kernels;
pub mod known_gaps;
pub mod mutants;
#[cfg(any(test, feature = "naive"))]
pub mod naive;
pub mod nominator;
pub mod owners;
#[cfg(feature = "planted")]
pub mod planted;
pub mod plugins;
pub mod pod_group;
pub mod pod_group_state;
pub mod pods;
pub mod preemption;
#[cfg(test)]
mod property_tests;
pub mod quantity;
pub mod queue;
pub mod reclaim;
pub mod reference;
pub mod resources;
pub mod scheduler;
pub mod snapshot;
pub mod storage;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
pub mod topology;
#[cfg(test)]
mod twin;
pub mod world;
