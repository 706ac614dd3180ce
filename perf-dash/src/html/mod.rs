//! The report as one HTML file.
//!
//! ```text
//! page      head, header, banner, skipped workloads, footer
//! first     the first screen: what is slow, what changed, how sure that is
//! summary   throughput bars with intervals, table with a row a workload
//! figure    variants that ran in turns, as lines over the axis they were run along
//! workload  one folding section a workload
//! ```
//!
//! Charts are those of [`crate::chart`]. Without script every number is there: bars, tracks and
//! tables are in the page; script draws the line charts and adds hover values, sorting, filtering and
//! the theme button. The page loads nothing, and a content policy in its head forbids it to.

pub(crate) mod figure;
mod first;
mod page;
mod summary;
mod workload;

use maud::{Markup, html};
use schedlab_workloads::results::{RunResult, Threshold, WorkloadResult};

use crate::format;

pub(crate) use page::{POLICY, SCRIPT, STYLE};
pub(crate) use summary::broken_name;

/// The whole report of a run: one self-contained HTML file.
pub fn render_html(run: &RunResult) -> String {
    page::page(run).into_string()
}

/// How something came out. Shown as symbol and word, never as colour alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Pass,
    Fail,
    NotMeasured,
}

impl Verdict {
    fn of(pass: Option<bool>) -> Verdict {
        match pass {
            Some(true) => Verdict::Pass,
            Some(false) => Verdict::Fail,
            None => Verdict::NotMeasured,
        }
    }

    fn class(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::NotMeasured => "none",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::NotMeasured => "not measured",
        }
    }

    fn symbol(self) -> &'static str {
        match self {
            Verdict::Pass => "✓",
            Verdict::Fail => "✗",
            Verdict::NotMeasured => "–",
        }
    }

    /// The mark with words of the caller's choice.
    fn mark(self, words: &str) -> Markup {
        html! {
            span class={ "mark " (self.class()) } {
                span aria-hidden="true" { (self.symbol()) } " " (words)
            }
        }
    }
}

/// Anchor of a workload's section. The index keeps two names with one slug apart.
fn anchor_id(index: usize, workload: &WorkloadResult) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }
    };
    let slug: String = workload.name.chars().map(letter).collect();
    format!("w{}-{slug}", index + 1)
}

/// `TestCase` and `Workload`, for a name set in two lines.
fn name_parts(name: &str) -> (&str, &str) {
    name.split_once('/').unwrap_or((name, ""))
}

/// A bound in the metric's own words: `> 500`, `< 2.5`.
fn threshold_bound(threshold: &Threshold) -> String {
    let sign = if threshold.selector.expect_lower { "<" } else { ">" };
    format!("{sign} {}", format::written(threshold.value))
}

#[cfg(test)]
mod tests;
