//! The simulator: the real scheduler, bridge and store in virtual time, with faults, under
//! invariants that know nothing of how the scheduler works.
//!
//! ```text
//!  seed ──generate──▶ Scenario { setup, shapes, script } ──run──▶ Outcome ──▶ a violation?
//!                          ▲                                          │
//!                          └───────────────── shrink ◀────────────────┘
//! ```
//!
//! The queue's flush is off in every scenario: a pod that could run and is not woken by an event
//! stays pending for ever, and is found.
//!
//! - `scenario`, `shape`, `faults`: what can be said of a cluster; `generate` makes it from a seed;
//! - `run`: the agenda and its `item`s; `script` does what the script says, `watches` tell of it, `turn`
//!   lets a scheduler try a pod, `calls` carries calls, `actor` is one scheduler and what it was told,
//!   `plugins` make trouble at the extension points and `permits` between them;
//! - `controllers`: those that run beside the schedulers, and `evictions`: what they must do;
//! - `pod_groups`: groups and gangs under one scheduler, in a run of their own;
//! - `owners`: controllers that own pods, quotas, budgets and kubelets, in a run of their own;
//! - `judge`, `check`, `preemption`, `state`, `rest`, `oracle`, `violation`: what must hold;
//! - `shrink`: from a failing scenario to a small one; `seeds`: many seeds on several threads.

mod actor;
mod calls;
mod carried;
mod check;
mod controllers;
mod evictions;
pub mod faults;
mod generate;
mod item;
mod judge;
mod oracle;
mod owners;
mod permits;
mod plugins;
pub mod pod_groups;
mod preemption;
mod rest;
mod rows;
mod run;
pub mod scenario;
mod script;
pub mod seeds;
pub mod shape;
mod shrink;
pub mod soak;
mod state;
mod trace;
mod truth;
mod turn;
mod violation;
mod watches;

pub use generate::generate;
pub use run::{SimulationOutcome, run, run_traced};
pub use shrink::{Shrunk, shrink};
pub use violation::{CheckCounts, Invariant, Violation};

#[cfg(test)]
mod findings;
#[cfg(test)]
mod tests;
