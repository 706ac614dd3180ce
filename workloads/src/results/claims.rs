//! What an experiment found about the claims of a proposal: `schedlab-experiment/v1`.

use schedlab_stats::Estimate;
use serde::{Deserialize, Serialize};

use super::{Figure, FigureMetric, Machine};

/// Value of `schema` in every file of an experiment this version writes and reads.
pub const EXPERIMENT_SCHEMA: &str = "schedlab-experiment/v1";

/// One run of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentResult {
    /// Always [`EXPERIMENT_SCHEMA`].
    pub schema: String,
    /// Version of schedlab that measured.
    pub version: String,
    /// Commit of that schedlab, when it was built from a checkout.
    pub git_revision: Option<String>,
    /// Where it ran.
    pub machine: Machine,
    /// Processes that wanted a processor, over a minute, when it began and when it ended.
    pub load: Option<[f64; 2]>,
    /// Seed of every random stream.
    pub seed: u64,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Wall time of all runs.
    pub duration_s: f64,
    /// Reduced as its definition says.
    pub quick: bool,
    /// It was cut short: rounds are missing.
    pub partial: bool,
    /// What to type to repeat it.
    pub command: String,
    /// Short name.
    pub name: String,
    /// Heading.
    pub title: String,
    /// The proposal, as `KEP-5278`.
    pub proposal: String,
    /// What is expected, and why.
    pub hypothesis: String,
    /// What this experiment cannot show.
    pub limits: String,
    /// In the order of the definition.
    pub claims: Vec<ClaimResult>,
    /// What was measured, one figure a study.
    pub figures: Vec<Figure>,
}

/// What was found about a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimResult {
    /// In the proposal's words.
    pub quote: String,
    /// Where they are.
    pub section: String,
    /// What is asked of the measurement.
    pub means: String,
    /// What would refute it.
    pub refuted_if: String,
    /// How it is judged.
    pub question: Question,
    /// The word for all points together.
    pub verdict: ClaimVerdict,
    /// The confidence with which all intervals together hold, as 0.95.
    pub confidence: f64,
    /// What was measured, one for each point that the claim is about.
    pub points: Vec<ClaimPoint>,
}

/// The measured quantity of a claim at a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimPoint {
    /// A value for each axis of the study; empty when all points are one (a growth).
    pub point: Vec<String>,
    /// Rounds that it is made of.
    pub rounds: u32,
    /// The median over rounds with its interval; absent when there are too few rounds for one.
    pub estimate: Option<Estimate>,
    /// The word for this point.
    pub verdict: ClaimVerdict,
}

/// What an interval carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// The interval lies wholly where the claim says.
    Supported,
    /// The interval lies wholly elsewhere.
    Refuted,
    /// Neither, or too few rounds for an interval.
    NotEnoughData,
}

impl ClaimVerdict {
    /// As people read it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ClaimVerdict::Supported => "supported",
            ClaimVerdict::Refuted => "refuted",
            ClaimVerdict::NotEnoughData => "not enough data",
        }
    }
}

/// How a claim is judged: what is computed of which runs, and what it must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// What is computed, and on which side of the bound it must lie.
    pub analysis: Analysis,
    /// The study.
    pub study: String,
    /// What is measured.
    pub metric: FigureMetric,
    /// What a share is of.
    pub of: Option<FigureMetric>,
    /// The variant that the claim is about.
    pub variant: String,
    /// What it is compared with.
    pub against: String,
    /// The axis that a growth is along.
    pub axis: Option<String>,
    /// The points that the claim is about: for each axis its values, an absent one means all.
    pub at: Vec<(String, Vec<String>)>,
    /// The bound, or how far from 1 a ratio may be.
    pub bound: f64,
}

/// What is computed of a claim's runs, round by round, and what it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Analysis {
    /// Variant divided by the other: at most the bound.
    RatioAtMost,
    /// Variant divided by the other: at least the bound.
    RatioAtLeast,
    /// Variant divided by the other: no further from 1 than the margin.
    DifferenceNegligible,
    /// Variant less the other: at most the bound.
    ExtraAtMost,
    /// Variant less the other: at least the bound.
    ExtraAtLeast,
    /// Variant less the other, divided by another metric of the other: at most the bound.
    ShareAtMost,
    /// The variant itself: at most the bound.
    ValueAtMost,
    /// The variant itself: at least the bound.
    ValueAtLeast,
    /// Variant and other are the same in every round.
    EqualCounts,
    /// The exponent with which the variant grows along an axis: at most the bound.
    GrowthExponentAtMost,
    /// The exponent with which the variant grows along an axis: at least the bound.
    GrowthExponentAtLeast,
}

impl Analysis {
    /// Every analysis.
    pub const ALL: [Analysis; 11] = [
        Analysis::RatioAtMost,
        Analysis::RatioAtLeast,
        Analysis::DifferenceNegligible,
        Analysis::ExtraAtMost,
        Analysis::ExtraAtLeast,
        Analysis::ShareAtMost,
        Analysis::ValueAtMost,
        Analysis::ValueAtLeast,
        Analysis::EqualCounts,
        Analysis::GrowthExponentAtMost,
        Analysis::GrowthExponentAtLeast,
    ];

    /// As a definition writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Analysis::RatioAtMost => "ratio-at-most",
            Analysis::RatioAtLeast => "ratio-at-least",
            Analysis::DifferenceNegligible => "difference-negligible",
            Analysis::ExtraAtMost => "extra-at-most",
            Analysis::ExtraAtLeast => "extra-at-least",
            Analysis::ShareAtMost => "share-at-most",
            Analysis::ValueAtMost => "value-at-most",
            Analysis::ValueAtLeast => "value-at-least",
            Analysis::EqualCounts => "equal-counts",
            Analysis::GrowthExponentAtMost => "growth-exponent-at-most",
            Analysis::GrowthExponentAtLeast => "growth-exponent-at-least",
        }
    }

    /// One number for all points, along an axis.
    #[must_use]
    pub fn is_growth(self) -> bool {
        matches!(self, Analysis::GrowthExponentAtMost | Analysis::GrowthExponentAtLeast)
    }

    /// The variant alone is looked at.
    #[must_use]
    pub fn is_of_one_variant(self) -> bool {
        self.is_growth() || matches!(self, Analysis::ValueAtMost | Analysis::ValueAtLeast)
    }
}

impl Question {
    /// Whether the claim is about this point of a study with these axes.
    #[must_use]
    pub fn is_about(&self, axes: &[String], point: &[String]) -> bool {
        self.at.iter().all(|(axis, values)| {
            let place = axes.iter().position(|it| it == axis);
            place.and_then(|place| point.get(place)).is_some_and(|value| values.contains(value))
        })
    }
}

/// The number that the name of an axis' value begins with: `1,000` is 1000, `5 ms` is 5.
#[must_use]
pub fn axis_number(name: &str) -> Option<f64> {
    let digits: String = name
        .chars()
        .take_while(|letter| letter.is_ascii_digit() || matches!(letter, ',' | '.'))
        .filter(|letter| *letter != ',')
        .collect();
    digits.parse().ok().filter(|number| *number > 0.0)
}
