//! The API a scheduler talks to.
//!
//! ```text
//!   op executor ──┐                      ┌── embedded (in-process store)
//!                 ├──> api::Api (trait) ─┤
//!   runtime ──────┘                      └── later: http, live clusters
//!
//!   k8s-openapi objects ── defaults (as the API server) ── convert ──> schedlab_core::input
//! ```
//!
//! A pod is a row of 64 bytes that points at interned side tables; an API object is built only
//! when somebody asks for one. The store and the controllers read no clock and draw no random number:
//! time is an argument, names and UIDs are counters. `clock`, the wall-clock runtime and the calls to
//! extenders read one (`tidy/src/rules/crates.rs` holds this), and modelled latencies are drawn from a
//! seeded stream.

pub mod api;
pub mod clock;
pub mod controllers;
pub mod convert;
pub mod defaults;
pub mod embedded;
pub mod extender;
pub mod fetch;
mod interner;
pub mod latency;
pub mod link;
pub mod quota;
pub mod runtime;
pub mod selector;
pub mod validate;

pub use api::{Api, ApiError, StatusReason};
pub use embedded::EmbeddedCluster;
