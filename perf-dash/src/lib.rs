//! Reports of schedlab runs, for people.
//!
//! ```text
//! RunResult -> render_html ---------> one HTML file: no network, opens from disk, prints
//! explain::Report -> render_explain_html --^
//! ```
//!
//! This crate only shows. It never measures, never judges (the SLO lines and thresholds come
//! judged in the result) and never reads a clock, so the same result gives the same page.

mod explain_html;
pub mod format;
mod html;

use std::path::Path;

use schedlab_workloads::explain::Report;
use schedlab_workloads::results::{ResultError, RunResult, write_atomic};

pub use explain_html::render_explain_html;
pub use html::render_html;

/// Renders the report of a run and writes it to `path`, whole or not at all.
pub fn write_html(path: &Path, run: &RunResult) -> Result<(), ResultError> {
    write_atomic(path, render_html(run).as_bytes())
}

/// Renders an explanation and writes it to `path`, whole or not at all.
pub fn write_explain_html(path: &Path, report: &Report) -> Result<(), ResultError> {
    write_atomic(path, render_explain_html(report).as_bytes())
}
