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
//! The scheduler thread and the binder thread overlap: while bindings travel, the next pods are
//! decided on what was assumed.

mod bind;
mod bridge;
pub mod record;
mod surroundings;
mod wall;

pub use bridge::Bridge;
pub use wall::{Changer, RuntimeError, Status, WallRuntime, WallSettings};
