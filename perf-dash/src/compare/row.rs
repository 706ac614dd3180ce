//! One metric of one workload on both sides.

use serde::{Deserialize, Serialize};

use crate::format::signed_percent;
use crate::stats::{
    Direction, Fence, Interval, Verdict, judge, mann_whitney_p, median, middle_of_pairs, pairs_needed,
    ratio_of_medians, ratio_of_pairs, round_ratios, wilcoxon_p,
};

/// What is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedMetric {
    /// `throughput`.
    pub name: String,
    /// `pods/s`.
    pub unit: String,
    /// Which way is good.
    pub direction: Direction,
}

impl ComparedMetric {
    /// Pods per second.
    #[must_use]
    pub fn throughput() -> ComparedMetric {
        ComparedMetric {
            name: "throughput".to_owned(),
            unit: "pods/s".to_owned(),
            direction: Direction::HigherIsBetter,
        }
    }

    /// A time, count or size.
    #[must_use]
    pub fn cost(name: &str, unit: &str) -> ComparedMetric {
        ComparedMetric { name: name.to_owned(), unit: unit.to_owned(), direction: Direction::LowerIsBetter }
    }
}

/// How the samples of the two sides belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Two independent samples.
    Unpaired,
    /// Rounds of an interleaved run, in the order they ran; see [`crate::stats::abba_order`].
    Rounds,
}

/// Whether a row takes part in the whole's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Its verdict is part of the whole's.
    Counts,
    /// Its verdict is part of the whole's unless it is inconclusive: latencies scatter too much to
    /// hold up a verdict on the throughput.
    WhenDecided,
    /// It is shown only.
    Shown,
}

/// How ratios of sessions are judged.
const SESSIONS_TEST: &str = "middle of the ratios of sessions (Hodges-Lehmann), Wilcoxon's signed ranks";

/// One line of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// `TestCase/Workload`, or the kernel's name.
    pub workload: String,
    /// What is compared.
    pub metric: ComparedMetric,
    /// Median of base; `None` without a sample.
    pub base: Option<f64>,
    /// Median of head; `None` without a sample.
    pub head: Option<f64>,
    /// Samples of base.
    pub base_samples: usize,
    /// Samples of head.
    pub head_samples: usize,
    /// `head / base`, with its interval.
    pub ratio: Option<Interval>,
    /// The ratio is the middle of ratios that were each measured side by side, not that of the two
    /// medians, which may say otherwise.
    #[serde(default)]
    pub is_paired: bool,
    /// Two-sided p of the rank test.
    pub p: Option<f64>,
    /// The test used, in words.
    pub test: String,
    /// Up to where a difference is noise.
    pub fence: Fence,
    /// The word.
    pub verdict: Verdict,
    /// Samples (rounds) still missing, where more can decide.
    pub more_needed: Option<usize>,
    /// Whether it takes part in the whole's verdict.
    pub weight: Weight,
    /// Why there is no verdict, or where the time went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Row {
    /// Judges samples. Values that are not above 0 are no samples: a ratio of them means nothing.
    #[must_use]
    pub fn from_samples(
        workload: &str,
        metric: ComparedMetric,
        (base, head): (&[f64], &[f64]),
        pairing: Pairing,
        fence: Fence,
        seed: u64,
    ) -> Row {
        let positive = |values: &[f64]| values.iter().all(|&value| 0.0 < value && value.is_finite());
        if base.is_empty() || head.is_empty() || !positive(base) || !positive(head) {
            return Row::without_ratio(workload, metric, (base, head), fence);
        }
        let rounds = round_ratios(base, head);
        let is_paired = pairing == Pairing::Rounds && !rounds.is_empty();
        let (ratio, p, test, count) = if is_paired {
            let test = "median of ABBA rounds, bootstrap 95 %, Wilcoxon signed ranks";
            (ratio_of_pairs(&rounds, seed), wilcoxon_p(&rounds), test, rounds.len())
        } else {
            let test = "ratio of medians, bootstrap 95 %, Mann-Whitney U";
            let count = base.len().min(head.len());
            (ratio_of_medians(base, head, seed), mann_whitney_p(base, head), test, count)
        };
        let judged = judge(&ratio, &fence, metric.direction, count);
        Row {
            ratio: Some(ratio),
            is_paired,
            p: Some(p),
            test: test.to_owned(),
            verdict: judged.verdict,
            more_needed: judged.more_needed,
            ..Row::without_ratio(workload, metric, (base, head), fence)
        }
    }

    /// Judges ratios `head / base` that were each measured for themselves, by an interval of this
    /// confidence; the values are shown.
    #[must_use]
    pub fn from_ratios(
        workload: &str,
        metric: ComparedMetric,
        (base, head): (&[f64], &[f64]),
        ratios: &[f64],
        fence: Fence,
        confidence: f64,
    ) -> Row {
        let row = Row::without_ratio(workload, metric, (base, head), fence);
        if ratios.is_empty() || !ratios.iter().all(|&ratio| 0.0 < ratio && ratio.is_finite()) {
            return row;
        }
        let ratio = middle_of_pairs(ratios, confidence);
        let judged = judge(&ratio, &fence, row.metric.direction, ratios.len());
        let missing = pairs_needed(confidence).saturating_sub(ratios.len());
        Row {
            ratio: Some(ratio),
            is_paired: true,
            p: Some(wilcoxon_p(ratios)),
            test: SESSIONS_TEST.to_owned(),
            verdict: if missing == 0 { judged.verdict } else { Verdict::Inconclusive },
            more_needed: if missing == 0 { judged.more_needed } else { Some(missing) },
            ..row
        }
    }

    /// A count that has no noise: any difference beyond the fence is one.
    #[must_use]
    pub fn exact(workload: &str, metric: ComparedMetric, base: f64, head: f64, fence: Fence) -> Row {
        let mut row = Row::without_ratio(workload, metric, (&[base], &[head]), fence);
        if 0.0 < base && 0.0 < head {
            let ratio = Interval::exact(head / base);
            row.verdict = judge(&ratio, &fence, row.metric.direction, usize::MAX).verdict;
            row.ratio = Some(ratio);
        }
        row.test = "exact count".to_owned();
        row
    }

    fn without_ratio(
        workload: &str,
        metric: ComparedMetric,
        (base, head): (&[f64], &[f64]),
        fence: Fence,
    ) -> Row {
        let middle = |values: &[f64]| (!values.is_empty()).then(|| median(values));
        Row {
            workload: workload.to_owned(),
            metric,
            base: middle(base),
            head: middle(head),
            base_samples: base.len(),
            head_samples: head.len(),
            ratio: None,
            is_paired: false,
            p: None,
            test: "none: a side has no value above 0".to_owned(),
            fence,
            verdict: Verdict::Inconclusive,
            more_needed: None,
            weight: Weight::Counts,
            note: None,
        }
    }

    /// The same row, shown only.
    #[must_use]
    pub fn shown(self) -> Row {
        self.with_weight(Weight::Shown)
    }

    /// The same row with another weight.
    #[must_use]
    pub fn with_weight(self, weight: Weight) -> Row {
        Row { weight, ..self }
    }

    /// Whether it has a verdict of its own.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        self.weight != Weight::Shown
    }

    /// Whether its verdict is part of the whole's.
    #[must_use]
    pub fn counts(&self) -> bool {
        match self.weight {
            Weight::Counts => true,
            Weight::WhenDecided => self.verdict != Verdict::Inconclusive,
            Weight::Shown => false,
        }
    }

    /// The row of two sides that are the same measurements: nothing can have changed.
    #[must_use]
    pub fn identical(self) -> Row {
        let note = Some("identical input".to_owned());
        Row { verdict: Verdict::Unchanged, more_needed: None, note, ..self }
    }

    /// Takes the verdict away: the numbers do not speak of the same work.
    #[must_use]
    pub fn not_comparable(self, why: String) -> Row {
        Row { verdict: Verdict::Inconclusive, more_needed: None, note: Some(why), ..self }
    }

    /// The same row, with a change believed only if the rank test agrees at this level. The interval
    /// of a handful of samples is narrower than it should be; a gate that many rows pass through
    /// needs the second witness.
    #[must_use]
    pub fn needing_p_below(mut self, level: f64) -> Row {
        let is_change = matches!(self.verdict, Verdict::Better | Verdict::Worse);
        if is_change && self.p.is_some_and(|p| level <= p) {
            self.verdict = Verdict::Inconclusive;
            self.more_needed = Some(self.base_samples.min(self.head_samples).max(1));
        }
        self
    }

    /// The change as people write it: `+3.1 %`.
    #[must_use]
    pub fn change(&self) -> String {
        self.ratio.map_or_else(|| "-".to_owned(), |ratio| signed_percent(ratio.ratio))
    }

    /// The change with what it is of, where that is not the medians: `+3.1 % paired`.
    #[must_use]
    pub fn labelled_change(&self) -> String {
        if self.is_paired { format!("{} paired", self.change()) } else { self.change() }
    }

    /// The interval of the change: `+1.2 % … +5.0 %`.
    #[must_use]
    pub fn change_interval(&self) -> String {
        match self.ratio {
            None => "-".to_owned(),
            Some(_) if self.p.is_none() => "exact".to_owned(),
            // One value a side has no spread to make an interval of.
            Some(_) if self.base_samples.min(self.head_samples) < 2 => "-".to_owned(),
            Some(ratio) => format!("{} … {}", signed_percent(ratio.low), signed_percent(ratio.high)),
        }
    }

    /// The verdict with what is missing: `inconclusive, 12 more`.
    #[must_use]
    pub fn verdict_words(&self) -> String {
        match (self.verdict, self.more_needed) {
            (Verdict::Inconclusive, Some(more)) => format!("inconclusive, {more} more"),
            (verdict, _) => verdict.word().to_owned(),
        }
    }
}
