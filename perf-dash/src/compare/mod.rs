//! Two sides, one table: what changed, by how much, and how sure that is.
//!
//! ```text
//! load    files or directories -> Side results of ours, perf-dash JSON, `go test -bench` text
//! runs    Side, Side -> Comparison     workloads matched by name and collector
//! row     samples of one metric -> Row ratio, interval, test, verdict
//! text    Comparison -> Markdown
//! junit   Comparisons -> JUnit XML
//! ```
//!
//! `schedlab compare`, `ab` and `gate` differ in where their samples come from; the rows, the
//! verdict and the files are the same.

mod junit;
mod load;
mod row;
mod runs;
mod text;

use serde::{Deserialize, Serialize};

use crate::stats::Verdict;

pub use junit::{JunitError, junit};
pub use load::{LoadError, Side, load_results, load_side};
pub use row::{ComparedMetric, Pairing, Row, Weight};
pub use runs::{Fences, Missing, compare_sides};
pub use text::{PAIRED, markdown};

/// Value of `schema` in every comparison this version writes.
pub const SCHEMA: &str = "schedlab-comparison/v1";

/// What the noise is assumed to be where no history says: two percent, which is what two runs of
/// one binary differ by on a quiet two-core machine.
pub const FENCE_DEFAULT: f64 = 0.02;

/// Two sides compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// What was compared, for a heading: `schedlab compare`, `schedlab gate`.
    pub title: String,
    /// What head is held against.
    pub base: String,
    /// What is judged.
    pub head: String,
    /// The verdict over all rows that count.
    pub verdict: Verdict,
    /// What a reader must know before believing a number: other machine, other seed.
    pub notes: Vec<String>,
    /// One a metric and workload.
    pub rows: Vec<Row>,
    /// Workloads that only one side has, as `name (base only)`.
    pub unmatched: Vec<String>,
}

impl Comparison {
    /// Puts rows together. One regression makes the whole a regression; without one, one open
    /// question makes the whole inconclusive.
    #[must_use]
    pub fn new(title: &str, base: &str, head: &str, rows: Vec<Row>) -> Comparison {
        let has = |verdict| rows.iter().any(|row| row.counts() && row.verdict == verdict);
        let verdict = [Verdict::Worse, Verdict::Inconclusive, Verdict::Better]
            .into_iter()
            .find(|&verdict| has(verdict))
            .unwrap_or(if rows.iter().any(Row::counts) { Verdict::Unchanged } else { Verdict::Inconclusive });
        Comparison {
            schema: SCHEMA.to_owned(),
            title: title.to_owned(),
            base: base.to_owned(),
            head: head.to_owned(),
            verdict,
            notes: Vec::new(),
            rows,
            unmatched: Vec::new(),
        }
    }

    /// The same, of a measurement that was interrupted: what is missing may be what got worse.
    #[must_use]
    pub fn cut_short(mut self) -> Comparison {
        if self.verdict != Verdict::Worse {
            self.verdict = Verdict::Inconclusive;
        }
        self.notes.insert(0, "PARTIAL: it was interrupted; runs or workloads are missing".to_owned());
        self
    }

    /// The geometric mean of the ratios of one metric, over all workloads that have one.
    #[must_use]
    pub fn geomean(&self, metric: &str) -> Option<f64> {
        let ratios = self.rows.iter().filter(|row| row.metric.name == metric).filter_map(|row| row.ratio);
        let logarithms: Vec<f64> = ratios.map(|ratio| ratio.ratio.ln()).collect();
        let count = logarithms.len() as f64;
        (!logarithms.is_empty()).then(|| (logarithms.iter().sum::<f64>() / count).exp())
    }
}

#[cfg(test)]
pub(crate) mod tests;
