//! From the runs of a study to the word about a claim.
//!
//! ```text
//! runs ──round by round──▶ one number a round ──order of the rounds──▶ interval ──region──▶ word
//! ```
//!
//! A claim about several points holds when it holds at each of them: every interval is made wider, so that all
//! together hold with the confidence that is said (Bonferroni). The word comes from the interval alone.

use schedlab_perf_dash::figure::CellSamples;
use schedlab_perf_dash::stats::{median_interval, round_differences, round_ratios, values_needed};
use schedlab_workloads::experiment::QuotedClaim;
use schedlab_workloads::results::{
    Analysis, ClaimPoint, ClaimResult, ClaimVerdict, Estimate, FigureMetric, Question, axis_number,
};

/// All intervals of a claim hold together with this confidence.
pub const CONFIDENCE: f64 = 0.95;

/// What the name of a point says for the axis that a growth is along.
const ALL_VALUES: &str = "all";

/// Judges a claim by the runs of its study, a point after the other.
#[must_use]
pub fn judge(claim: &QuotedClaim, axes: &[String], points: &[Vec<CellSamples>]) -> ClaimResult {
    let question = &claim.question;
    let about: Vec<&Vec<CellSamples>> = points
        .iter()
        .filter(|cells| cells.first().is_some_and(|cell| question.is_about(axes, &cell.point)))
        .collect();
    let rounds = by_point(question, axes, &about);
    let confidence = confidence_of_each(rounds.len());
    let points: Vec<ClaimPoint> =
        rounds.into_iter().map(|(point, values)| judge_point(question, point, &values, confidence)).collect();
    ClaimResult {
        quote: claim.quote.clone(),
        section: claim.section.clone(),
        means: claim.means.clone(),
        refuted_if: claim.refuted_if.clone(),
        question: question.clone(),
        verdict: together(&points),
        confidence: CONFIDENCE,
        points,
    }
}

/// The fewest rounds that a claim about so many points can be judged on.
#[must_use]
pub fn rounds_needed(points: usize) -> usize {
    values_needed(confidence_of_each(points))
}

/// How many words are given for a claim: one a point, of a growth one a line.
pub(super) fn points_judged(question: &Question, axes: &[String], points: &[Vec<String>]) -> usize {
    let along = question.axis.as_ref().and_then(|axis| axes.iter().position(|it| it == axis));
    let mut judged: Vec<Vec<&String>> = Vec::new();
    for point in points.iter().filter(|point| question.is_about(axes, point)) {
        let name = point.iter().enumerate().filter(|(at, _)| Some(*at) != along).map(|(_, it)| it).collect();
        if !judged.contains(&name) {
            judged.push(name);
        }
    }
    judged.len()
}

fn confidence_of_each(points: usize) -> f64 {
    1.0 - (1.0 - CONFIDENCE) / points.max(1) as f64
}

/// Refuted at one point is refuted; supported is supported at all.
fn together(points: &[ClaimPoint]) -> ClaimVerdict {
    let is = |verdict| move |point: &ClaimPoint| point.verdict == verdict;
    if points.iter().any(is(ClaimVerdict::Refuted)) {
        ClaimVerdict::Refuted
    } else if !points.is_empty() && points.iter().all(is(ClaimVerdict::Supported)) {
        ClaimVerdict::Supported
    } else {
        ClaimVerdict::NotEnoughData
    }
}

fn judge_point(question: &Question, point: Vec<String>, values: &[f64], confidence: f64) -> ClaimPoint {
    let estimate = median_interval(values, confidence);
    let verdict = estimate.map_or(ClaimVerdict::NotEnoughData, |it| verdict(question, values, it));
    ClaimPoint { point, rounds: u32::try_from(values.len()).unwrap_or(u32::MAX), estimate, verdict }
}

/// Where the interval lies: wholly where the claim says, wholly elsewhere, or across.
fn verdict(question: &Question, values: &[f64], interval: Estimate) -> ClaimVerdict {
    // A ratio is computed on logarithms: two may come out as 2.0000000000000004.
    let slack = question.bound.abs() * 1e-9;
    let at_most = |bound: f64| (interval.high <= bound + slack, interval.low > bound + slack);
    let at_least = |bound: f64| (interval.low >= bound - slack, interval.high < bound - slack);
    let (is_inside, is_outside) = match question.analysis {
        Analysis::RatioAtMost
        | Analysis::ExtraAtMost
        | Analysis::ShareAtMost
        | Analysis::ValueAtMost
        | Analysis::GrowthExponentAtMost => at_most(question.bound),
        Analysis::RatioAtLeast
        | Analysis::ExtraAtLeast
        | Analysis::ValueAtLeast
        | Analysis::GrowthExponentAtLeast => at_least(question.bound),
        Analysis::DifferenceNegligible => {
            let (upper, lower) = (at_most(1.0 + question.bound), at_least(1.0 / (1.0 + question.bound)));
            (upper.0 && lower.0, upper.1 || lower.1)
        }
        Analysis::EqualCounts => {
            (values.iter().all(|value| *value == 0.0), interval.low > 0.0 || interval.high < 0.0)
        }
    };
    match (is_inside, is_outside) {
        (true, _) => ClaimVerdict::Supported,
        (_, true) => ClaimVerdict::Refuted,
        _ => ClaimVerdict::NotEnoughData,
    }
}

/// A point's name, and its number in each round.
type PointRounds = (Vec<String>, Vec<f64>);

/// Sizes along an axis, each with its number in each round.
type Line = Vec<(f64, Vec<f64>)>;

/// Points that are judged: those of the study, or, of a growth, those without its axis.
fn by_point(question: &Question, axes: &[String], points: &[&Vec<CellSamples>]) -> Vec<PointRounds> {
    let along = question.axis.as_ref().and_then(|axis| axes.iter().position(|it| it == axis));
    let Some(along) = along.filter(|_| question.analysis.is_growth()) else {
        return points.iter().map(|cells| (cells[0].point.clone(), rounds_of(question, cells))).collect();
    };
    let mut lines: Vec<(Vec<String>, Line)> = Vec::new();
    for cells in points {
        let mut name = cells[0].point.clone();
        let Some(size) = axis_number(&name[along]) else { continue };
        ALL_VALUES.clone_into(&mut name[along]);
        let means = means(samples(cells, &question.variant, question.metric));
        match lines.iter_mut().find(|(other, _)| *other == name) {
            Some((_, line)) => line.push((size, means)),
            None => lines.push((name, vec![(size, means)])),
        }
    }
    lines.into_iter().map(|(name, line)| (name, exponents(&line))).collect()
}

/// What the analysis computes of each round at a point; nothing where it cannot be computed.
fn rounds_of(question: &Question, cells: &[CellSamples]) -> Vec<f64> {
    let head = samples(cells, &question.variant, question.metric);
    let base = samples(cells, &question.against, question.metric);
    match question.analysis {
        Analysis::ValueAtMost | Analysis::ValueAtLeast => means(head),
        Analysis::ExtraAtMost | Analysis::ExtraAtLeast => round_differences(base, head),
        Analysis::RatioAtMost | Analysis::RatioAtLeast | Analysis::DifferenceNegligible => {
            let has_ratio = base.iter().chain(head).all(|value| 0.0 < *value);
            if has_ratio { round_ratios(base, head) } else { Vec::new() }
        }
        Analysis::ShareAtMost => {
            let whole = question.of.map_or(&[][..], |of| samples(cells, &question.against, of));
            let shares = round_differences(base, head).into_iter().zip(means(whole));
            shares.filter(|(_, whole)| 0.0 < *whole).map(|(more, whole)| more / whole).collect()
        }
        Analysis::EqualCounts => largest_differences(base, head),
        Analysis::GrowthExponentAtMost | Analysis::GrowthExponentAtLeast => Vec::new(),
    }
}

fn samples<'a>(cells: &'a [CellSamples], variant: &str, metric: FigureMetric) -> &'a [f64] {
    let cell = cells.iter().find(|cell| cell.variant == variant);
    cell.and_then(|cell| cell.samples.get(&metric)).map_or(&[], Vec::as_slice)
}

/// The mean of each round's runs.
fn means(samples: &[f64]) -> Vec<f64> {
    round_differences(&vec![0.0; samples.len()], samples)
}

/// Of each round the difference furthest from 0, so that two that cancel out are seen.
fn largest_differences(base: &[f64], head: &[f64]) -> Vec<f64> {
    let of_run: Vec<f64> = base.iter().zip(head).map(|(base, head)| head - base).collect();
    let of_round = of_run.chunks_exact(schedlab_perf_dash::stats::ROUND);
    of_round
        .map(|runs| {
            runs.iter().copied().fold(0.0, |far: f64, it| if it.abs() > far.abs() { it } else { far })
        })
        .collect()
}

/// For each round, the slope of the line through the points on two logarithmic axes.
fn exponents(line: &[(f64, Vec<f64>)]) -> Vec<f64> {
    let rounds = line.iter().map(|(_, values)| values.len()).min().unwrap_or(0);
    let points_of = |round: usize| -> Vec<(f64, f64)> {
        let places = line.iter().map(|(size, values)| (size.ln(), values[round]));
        places.filter(|(_, value)| 0.0 < *value).map(|(place, value)| (place, value.ln())).collect()
    };
    let rounds = (0..rounds).map(points_of).filter(|points| points.len() == line.len());
    rounds.filter_map(|points| slope(&points)).collect()
}

/// Least squares.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let middle_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let middle_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|(x, _)| (x - middle_x).powi(2)).sum();
    let common: f64 = points.iter().map(|(x, y)| (x - middle_x) * (y - middle_y)).sum();
    (0.0 < spread).then(|| common / spread)
}

#[cfg(test)]
mod tests;
