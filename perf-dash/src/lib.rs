//! What runs mean: statistics, comparisons, history, reports.
//!
//! ```text
//! RunResult -> render_html                one HTML file: no network, opens from disk, prints
//! explain::Report -> render_explain_html  the same, for one decision
//!           -> compare, gate -> stats     better, worse, unchanged, inconclusive
//!           -> history -> site            every run of a lab as static pages
//!                      -> change          this run against the last comparable one
//!                      -> alerts          where a workload got slower for good
//!           -> metrics                    Prometheus text
//! runs of variants -> figure              what each costs beside the base, with intervals
//! experiments -> claims                   what proposals claim and what was measured, as a page and Markdown
//! stacks    -> profile                    shares of plugins and extension points
//! ```
//!
//! This crate never measures and never reads a clock: the same input gives the same verdict and the
//! same page.

pub mod alerts;
pub mod change;
mod chart;
pub mod claims;
pub mod compare;
mod explain_html;
pub mod figure;
pub mod folded;
pub mod format;
pub mod gate;
pub mod history;
mod html;
mod markdown;
pub mod metrics;
pub mod profile;
pub mod site;

use std::path::Path;

use schedlab_workloads::explain::Report;
use schedlab_workloads::results::{ResultError, RunResult, write_atomic};

pub use explain_html::render_explain_html;
pub use html::render_html;
pub use schedlab_stats as stats;

/// Renders the report of a run and writes it to `path`, whole or not at all.
pub fn write_html(path: &Path, run: &RunResult) -> Result<(), ResultError> {
    write_atomic(path, render_html(run).as_bytes())
}

/// Renders an explanation and writes it to `path`, whole or not at all.
pub fn write_explain_html(path: &Path, report: &Report) -> Result<(), ResultError> {
    write_atomic(path, render_explain_html(report).as_bytes())
}
