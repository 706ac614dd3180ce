//! Sessions: everything that runs workloads or kernels several times and judges what came out.
//!
//! ```text
//! plans (what to run, how often) ──▶ ab, study, gate, bench, profile ──▶ rows, figures, profiles
//!                                          │
//!                                          └── what goes on meanwhile: [`Notice`], `Progress`
//! ```
//!
//! - [`ab`]: variants of a workload in turns; [`study`]: variants at every point of a figure; [`experiment`]:
//!   studies whose runs answer claims;
//! - [`build`]: git revisions, built and kept; [`gate`]: their kernels and workloads, counted and timed;
//!   [`bench`]: which build `cargo bench` compares with, and which it keeps;
//! - [`profile`], [`alloc`]: where the time of a workload goes, and who allocates in it.
//!
//! This crate prints nothing and reads no arguments: plans are values, and so are results.

pub mod ab;
pub mod alloc;
pub mod bench;
pub mod build;
mod child;
mod error;
pub mod experiment;
pub mod gate;
pub mod profile;
pub mod run;
pub mod study;

pub use error::LabError;

/// Told, in a line of text, what goes on while a session lasts.
pub type Notice<'a> = &'a dyn Fn(&str);
