//! What was asked and what was measured, in words.

use schedlab_workloads::results::{
    Analysis, ClaimPoint, ClaimResult, ClaimVerdict, Estimate, ExperimentResult, FigureMetric, Question,
};

use crate::format;

/// How a claim is judged: `pods/s of "on" divided by "off", at least 0.95`.
#[must_use]
pub fn rule(question: &Question) -> String {
    let Question { analysis, metric, variant, against, bound, .. } = question;
    let (metric, bound) = (metric.title(), quantity(question, *bound));
    match analysis {
        Analysis::RatioAtMost => {
            format!("{metric} of “{variant}” divided by that of “{against}”: at most {bound}")
        }
        Analysis::RatioAtLeast => {
            format!("{metric} of “{variant}” divided by that of “{against}”: at least {bound}")
        }
        Analysis::DifferenceNegligible => {
            let margin = format::percent(question.bound);
            format!("{metric} of “{variant}” divided by that of “{against}”: within {margin} of 1")
        }
        Analysis::ExtraAtMost => format!("{metric} of “{variant}” less that of “{against}”: at most {bound}"),
        Analysis::ExtraAtLeast => {
            format!("{metric} of “{variant}” less that of “{against}”: at least {bound}")
        }
        Analysis::ShareAtMost => {
            let of = question.of.map_or("", FigureMetric::title);
            format!("{metric} of “{variant}” less that of “{against}”, as a share of {of}: at most {bound}")
        }
        Analysis::ValueAtMost => format!("{metric} of “{variant}”: at most {bound}"),
        Analysis::ValueAtLeast => format!("{metric} of “{variant}”: at least {bound}"),
        Analysis::EqualCounts => format!("{metric} of “{variant}” and of “{against}”: equal in every run"),
        Analysis::GrowthExponentAtMost | Analysis::GrowthExponentAtLeast => {
            let side = if *analysis == Analysis::GrowthExponentAtMost { "at most" } else { "at least" };
            let axis = question.axis.as_deref().unwrap_or("");
            format!("{metric} of “{variant}” grows with {axis} to the power of {side} {bound}")
        }
    }
}

/// A value of what is judged, in its unit.
fn quantity(question: &Question, value: f64) -> String {
    let metric = question.metric;
    match question.analysis {
        Analysis::RatioAtMost | Analysis::RatioAtLeast | Analysis::DifferenceNegligible => {
            format!("{value:.3}×")
        }
        Analysis::ShareAtMost => format!("{:.2} %", value * 100.0),
        Analysis::GrowthExponentAtMost | Analysis::GrowthExponentAtLeast => format!("{value:.2}"),
        Analysis::ValueAtMost | Analysis::ValueAtLeast => format::figure_value(metric, value),
        Analysis::ExtraAtMost | Analysis::ExtraAtLeast | Analysis::EqualCounts => {
            let sign = if value < 0.0 { "-" } else { "+" };
            format!("{sign}{}", format::figure_value(metric, value.abs()))
        }
    }
}

/// A value with its interval.
pub(super) fn estimate(question: &Question, estimate: Estimate) -> String {
    let of = |value| quantity(question, value);
    if estimate.is_exact() {
        return of(estimate.value);
    }
    format!("{} [{}, {}]", of(estimate.value), of(estimate.low), of(estimate.high))
}

/// The point that decides: of those with the claim's own word the one furthest towards the other side.
#[must_use]
pub fn decisive(claim: &ClaimResult) -> Option<&ClaimPoint> {
    let bound = claim.question.bound;
    let excess = |point: &&ClaimPoint| {
        let value = point.estimate.map_or(f64::NEG_INFINITY, |it| it.value);
        match claim.question.analysis {
            Analysis::RatioAtLeast
            | Analysis::ExtraAtLeast
            | Analysis::ValueAtLeast
            | Analysis::GrowthExponentAtLeast => bound - value,
            Analysis::DifferenceNegligible => value.ln().abs(),
            Analysis::EqualCounts => value.abs(),
            _ => value - bound,
        }
    };
    let of_word = claim.points.iter().filter(|point| point.verdict == claim.verdict);
    of_word.max_by(|one, other| excess(one).total_cmp(&excess(other)))
}

/// What was measured: the deciding point, and how many there are.
#[must_use]
pub fn measured(experiment: &ExperimentResult, claim: &ClaimResult) -> String {
    let Some(point) = decisive(claim) else { return "nothing was measured".to_owned() };
    let figure = experiment.figures.iter().find(|figure| figure.name == claim.question.study);
    let axes = figure.map_or(&[][..], |figure| &figure.axes);
    let value = match point.estimate {
        Some(found) => estimate(&claim.question, found),
        None => format!("too few rounds for an interval ({})", point.rounds),
    };
    let place = place(axes, &point.point);
    let rest = match (claim.points.len(), claim.verdict) {
        (1, _) => String::new(),
        (count, ClaimVerdict::Supported) => format!(", the closest to the bound of {count} points"),
        (count, ClaimVerdict::Refuted) => format!(", the furthest beyond the bound of {count} points"),
        (count, ClaimVerdict::NotEnoughData) => format!(", undecided, of {count} points"),
    };
    if place.is_empty() { format!("{value}{rest}") } else { format!("{value} at {place}{rest}") }
}

/// `nodes 1,000, parallelism 16`.
pub(super) fn place(axes: &[String], point: &[String]) -> String {
    let parts: Vec<String> = axes.iter().zip(point).map(|(axis, value)| format!("{axis} {value}")).collect();
    parts.join(", ")
}

/// Under what an experiment was measured, in one line.
#[must_use]
pub fn conditions(experiment: &ExperimentResult) -> String {
    let machine = &experiment.machine;
    let rounds: Vec<String> = experiment.figures.iter().map(|figure| figure.rounds.to_string()).collect();
    let load = experiment.load.map_or_else(String::new, |[before, after]| {
        format!(", load {before:.1} before and {after:.1} after")
    });
    let revision =
        experiment.git_revision.as_deref().map_or("of no revision", |it| it.get(..12).unwrap_or(it));
    format!(
        "{}{}, {} rounds, in {:.0} s; {}, {}{load}; schedlab {} {revision}",
        if experiment.quick { "reduced (--quick), " } else { "" },
        format::minute(&experiment.started_at),
        rounds.join(" and "),
        experiment.duration_s,
        machine.cpu_model,
        format::counted(machine.cores.into(), "core"),
        experiment.version,
    )
}
