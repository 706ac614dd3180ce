//! What a result says about earlier ones: how the headline changed, and how sure that is.
//!
//! `schedlab-perf-dash` finds the earlier run and judges; this is the answer as plain data.

use schedlab_stats::{Estimate, Verdict};
use serde::{Deserialize, Serialize};

/// The change of a workload's headline, since the last run and against a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// Since the last run with the same settings on this machine.
    pub last: Change,
    /// Against the run that was asked for by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Change>,
}

/// Against one earlier run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Change {
    /// Compared and judged.
    Compared(Compared),
    /// There is no run that it could be compared with.
    NotComparable {
        /// Why, in one sentence.
        why: String,
    },
}

/// A headline beside an earlier one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The earlier run.
    pub against: EarlierRun,
    /// Which figure was compared.
    pub figure: ComparedFigure,
    /// Median of the earlier runs.
    pub base: f64,
    /// Median of these runs.
    pub head: f64,
    /// Runs that the earlier figure is the median of.
    pub base_samples: u32,
    /// Runs that this figure is the median of.
    pub head_samples: u32,
    /// `head / base`, with its 95 % interval; one run a side has no width.
    pub ratio: Estimate,
    /// Up to where a change is noise: 0.02 is two percent, either way.
    pub fence: f64,
    /// The word.
    pub verdict: Verdict,
    /// What a reader must know: too few runs, another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The earlier run that a change is held against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierRun {
    /// Its id in the history.
    pub id: String,
    /// What it was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Commit that was measured.
    pub revision: Option<String>,
    /// RFC 3339, UTC.
    pub started_at: String,
}

/// Which figure two runs are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparedFigure {
    /// The headline.
    PodsPerS,
    /// The headline of a machine of the reference speed: the machine was another, or ran at another
    /// speed.
    Normalised,
}

impl Change {
    /// The comparison, if there is one.
    #[must_use]
    pub fn compared(&self) -> Option<&Compared> {
        match self {
            Change::Compared(compared) => Some(compared),
            Change::NotComparable { .. } => None,
        }
    }
}

impl Compared {
    /// Whether both sides ran often enough to have an interval.
    #[must_use]
    pub fn has_interval(&self) -> bool {
        1 < self.base_samples.min(self.head_samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_serialises_with_its_outcome() {
        let none = Change::NotComparable { why: "no earlier run".to_owned() };
        let text =
            serde_json::to_string(&Changes { last: none.clone(), baseline: None }).expect("plain data");
        assert_eq!(text, r#"{"last":{"outcome":"not_comparable","why":"no earlier run"}}"#);
        let back: Changes = serde_json::from_str(&text).expect("our own form");
        assert_eq!(back.last.compared(), None);
        assert_eq!(back.last, none);
    }
}
