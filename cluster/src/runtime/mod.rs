//! What drives a scheduler: performs the calls it asks for and feeds events and answers back.
//!
//! ```text
//!             events                      batches of calls
//! Api::watch ────────▶ scheduler thread ──────────────────▶ binder thread ──▶ Api
//!                            ▲   ▲ commands                      │
//!                            │   └───────── handle               │ answers
//!                            └───────────────────────────────────┘
//! ```
//!
//! A third thread writes events about pods, if somebody wants them.
//!
//! The scheduler thread and the binder thread overlap: while bindings travel, the next pods are
//! decided on what was assumed. Over a slow link ([`crate::link`]) the binder thread holds calls
//! until their latency is over, and where calls are not queued the scheduler thread waits for the
//! answers that kube-scheduler's loop waits for. Against an API over a network a [`Caller`] makes the calls,
//! many at once.
//! [`virtual_time`] drives the same scheduler without threads or clocks, and [`VirtualRuntime`] runs it so
//! for whoever has ops to run beside it.
//! Controllers have runners of their own beside it, on threads ([`WallController`]) and in virtual time.

mod beside;
mod bind;
mod binder;
mod bridge;
mod calls;
mod claims;
mod events;
pub mod record;
mod restart;
mod virtual_runtime;
pub mod virtual_time;
mod volumes;
mod wall;
mod wall_controller;

pub use beside::{Caller, Then};
pub use bind::bind_by_extender;
pub use bridge::Bridge;
pub use calls::CallsView;
pub use claims::{allocation_json, write as write_claims};
pub use restart::Crashed;
pub use virtual_runtime::{VirtualBound, VirtualRuntime, VirtualSettings, VirtualStep};
pub use volumes::write as write_volumes;
pub use wall::{Changer, RuntimeError, RuntimeStatus, WallRuntime, WallSettings};
pub use wall_controller::WallController;
