//! The claims as HTML: an index by proposal, and each claim with its picture.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use schedlab_workloads::results::{
    Analysis, ClaimResult, ClaimVerdict, Estimate, ExperimentResult, Figure, FigureRow,
};
use serde_json::{Value, json};

use super::{LIMITS, by_proposal, conditions, measured, rule, tally, words};
use crate::chart::lines::{self, Frame, short};
use crate::chart::{self};
use crate::html::{POLICY, SCRIPT, STYLE, figure as figures};

/// Charts of medians that a claim has at most: one for each value of the axes that are not drawn along.
const MEDIAN_CHARTS_MAX: usize = 4;

/// All claims as one HTML file that loads nothing.
#[must_use]
pub fn render_claims_html(experiments: &[ExperimentResult]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { "schedlab, what proposals claim" }
                style { (PreEscaped(STYLE)) (PreEscaped(chart::STYLE)) }
            }
            body {
                a.skip href="#claims" { "Skip to the claims" }
                header.top {
                    p.brand { strong { "schedlab" } " " span.muted { "claims of proposals, measured" } }
                    button #theme type="button" hidden { "Theme: auto" }
                }
                main { (body(experiments)) }
                script { (PreEscaped(chart::SCRIPT)) (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// What stands between the head and the foot, also on the site.
pub(crate) fn body(experiments: &[ExperimentResult]) -> Markup {
    let [supported, refuted, undecided] = tally(experiments);
    html! {
        @if experiments.is_empty() {
            h1 { "No experiment has been run yet" }
            p.ends { "Run them with " span.code { "schedlab experiment all" } "." }
        } @else {
            h1 {
                (supported + refuted + undecided) " claims of proposals: " (supported) " supported, " (refuted)
                " refuted, " (undecided) " not enough data"
            }
        }
        p.note.about { (LIMITS) }
        p.note.about {
            "A word comes from the interval alone: it lies wholly where the claim says, wholly elsewhere, or it is not \
             enough data. Intervals are those of a median from the order of the rounds, without any assumption about \
             their distribution; those of a claim's points hold together with 95 % confidence."
        }
        (index(experiments))
        @for experiment in experiments { (section(experiment)) }
    }
}

fn index(experiments: &[ExperimentResult]) -> Markup {
    html! {
        section #claims aria-labelledby="index-title" {
            h2 #index-title { "By proposal" }
            @for (proposal, of_it) in by_proposal(experiments) {
                div.card.claim {
                    h3 { (proposal) }
                    ul { @for (experiment, place, claim) in claims_of(&of_it) { li {
                        (mark(claim.verdict)) ": " a href={ "#" (anchor(experiment, place)) } { "“" (unmarked(&claim.quote)) "”" }
                        " " span.muted { (measured(experiment, claim)) }
                    } } }
                }
            }
        }
    }
}

/// Without the marks of Markdown.
fn unmarked(quote: &str) -> String {
    quote.replace(['`', '*'], "")
}

fn claims_of<'a>(
    experiments: &'a [&'a ExperimentResult],
) -> impl Iterator<Item = (&'a ExperimentResult, usize, &'a ClaimResult)> {
    experiments.iter().flat_map(|it| it.claims.iter().enumerate().map(move |(at, claim)| (*it, at, claim)))
}

fn anchor(experiment: &ExperimentResult, at: usize) -> String {
    format!("{}-{}", experiment.name, at + 1)
}

/// A word as symbol and word.
fn mark(verdict: ClaimVerdict) -> Markup {
    let (class, symbol) = match verdict {
        ClaimVerdict::Supported => ("pass", "✓"),
        ClaimVerdict::Refuted => ("fail", "✗"),
        ClaimVerdict::NotEnoughData => ("none", "?"),
    };
    html! { span class={ "mark " (class) } { span aria-hidden="true" { (symbol) } " " (verdict.word()) } }
}

fn section(experiment: &ExperimentResult) -> Markup {
    let title = format!("{}-title", experiment.name);
    html! {
        section.figure id=(experiment.name) aria-labelledby=(title) {
            h2 id=(title) { (experiment.proposal) ": " (experiment.title) }
            p.note.about { (experiment.hypothesis) }
            @if experiment.partial { p.banner { "Cut short: rounds are missing." } }
            @for (at, claim) in experiment.claims.iter().enumerate() { (one_claim(experiment, at, claim)) }
            @for figure in &experiment.figures { (figures::rows(figure)) }
            @if !experiment.limits.is_empty() { p.note { strong { "What it cannot show. " } (experiment.limits) } }
            p.note { (conditions(experiment)) ". Repeat it with " span.code { (experiment.command) } "." }
        }
    }
}

fn one_claim(experiment: &ExperimentResult, at: usize, claim: &ClaimResult) -> Markup {
    let anchor = anchor(experiment, at);
    html! {
        article.card.claim id=(anchor) aria-labelledby={ (anchor) "-quote" } {
            h3 id={ (anchor) "-quote" } { "“" (unmarked(&claim.quote)) "”" }
            p.note { (experiment.proposal) ", " (claim.section) }
            p { (mark(claim.verdict)) " " strong { (measured(experiment, claim)) } }
            p { (claim.means) " " span.muted { "Refuted if: " (claim.refuted_if) " Judged by: " (rule(&claim.question)) "." } }
            (pictures(experiment, claim))
        }
    }
}

/// What is judged at each point beside its bound, and the medians it is made of.
fn pictures(experiment: &ExperimentResult, claim: &ClaimResult) -> Markup {
    let Some(figure) = experiment.figures.iter().find(|figure| figure.name == claim.question.study) else {
        return html! {};
    };
    let judged = judged_spec(figure, claim);
    html! {
        div.grid {
            @if let Some(spec) = judged {
                (lines::figure(&Frame { title: "What is judged", note: "median over rounds, its interval, and the bound",
                    spec: Some(&spec), ..Frame::default() }))
            }
            @for (note, spec) in medians(figure, claim) {
                (lines::figure(&Frame { title: figures::chart_title(claim.question.metric), note: &note, spec: Some(&spec),
                    ..Frame::default() }))
            }
        }
    }
}

/// Lines of what is judged along the longest axis, one for each value of the others; none for one point.
fn judged_spec(figure: &Figure, claim: &ClaimResult) -> Option<Value> {
    if claim.points.len() < 2 || claim.question.analysis.is_growth() {
        return None;
    }
    let value = |axis: usize| figures::distinct(claim.points.iter().map(|it| it.point[axis].as_str()));
    let axis = (0..figure.axes.len()).max_by_key(|axis| value(*axis).len())?;
    let places = value(axis);
    let rest = |point: &[String]| words::place(&without(&figure.axes, axis), &without(point, axis));
    let mut series: Vec<Value> = figures::distinct(claim.points.iter().map(|it| rest(&it.point)))
        .into_iter()
        .zip(figures::COLOURS.iter().cycle())
        .map(|(name, colour)| {
            let found = |place: &str| {
                let mut of_it =
                    claim.points.iter().filter(|it| it.point[axis] == place && rest(&it.point) == name);
                of_it.next().and_then(|it| it.estimate)
            };
            let shown = if name.is_empty() { "measured" } else { &name };
            line(shown, &places, found, unit(claim), colour)
        })
        .collect();
    for (name, bound) in bounds(claim) {
        series.push(json!({
            "name": name, "values": vec![short(bound); places.len()], "unit": unit(claim), "colour": "--s6", "dash": true,
        }));
    }
    Some(json!({
        "x": (0..places.len()).collect::<Vec<_>>(), "xTexts": places, "xName": figure.axes[axis], "yName": judged_name(claim),
        "series": series,
    }))
}

fn without(all: &[String], at: usize) -> Vec<String> {
    all.iter().enumerate().filter(|(place, _)| *place != at).map(|(_, it)| it.clone()).collect()
}

fn line(
    name: &str,
    places: &[&str],
    found: impl Fn(&str) -> Option<Estimate>,
    unit: &str,
    colour: &str,
) -> Value {
    let column = |pick: fn(Estimate) -> f64| -> Vec<Value> {
        places.iter().map(|place| found(place).map_or(Value::Null, |it| short(pick(it)))).collect()
    };
    json!({
        "name": name, "values": column(|it| it.value), "low": column(|it| it.low), "high": column(|it| it.high),
        "unit": unit, "colour": colour,
    })
}

fn unit(claim: &ClaimResult) -> &'static str {
    match claim.question.analysis {
        Analysis::RatioAtMost | Analysis::RatioAtLeast | Analysis::DifferenceNegligible => "times",
        Analysis::ShareAtMost => "plain",
        _ if claim.question.metric.is_time() => "us",
        _ => "plain",
    }
}

fn judged_name(claim: &ClaimResult) -> String {
    let metric = claim.question.metric.title();
    match claim.question.analysis {
        Analysis::RatioAtMost | Analysis::RatioAtLeast | Analysis::DifferenceNegligible => {
            format!("{metric}, times that of {}", claim.question.against)
        }
        Analysis::ExtraAtMost | Analysis::ExtraAtLeast | Analysis::EqualCounts => format!("{metric}, more"),
        Analysis::ShareAtMost => "share".to_owned(),
        _ => metric.to_owned(),
    }
}

fn bounds(claim: &ClaimResult) -> Vec<(&'static str, f64)> {
    let bound = claim.question.bound;
    match claim.question.analysis {
        Analysis::DifferenceNegligible => {
            vec![("upper bound", 1.0 + bound), ("lower bound", 1.0 / (1.0 + bound))]
        }
        _ => vec![("bound", bound)],
    }
}

/// Charts of medians: the two variants over the longest axis of the study, for each value of the others that
/// the claim is about.
fn medians(figure: &Figure, claim: &ClaimResult) -> Vec<(String, Value)> {
    let question = &claim.question;
    let is_asked = |row: &&FigureRow| {
        row.variant == question.variant
            || (row.variant == question.against && !question.analysis.is_of_one_variant())
    };
    let rows: Vec<&FigureRow> = figure.rows.iter().filter(is_asked).collect();
    let Some(axis) = question_axis(figure, claim).or_else(|| figures::long_axis(figure)) else {
        return vec![(String::new(), by_variant(figure, claim))];
    };
    let rest = |point: &[String]| words::place(&without(&figure.axes, axis), &without(point, axis));
    let groups = figures::distinct(claim.points.iter().map(|it| rest(&it.point)));
    let chart = |group: String| {
        let of_group: Vec<&FigureRow> =
            rows.iter().copied().filter(|row| rest(&row.point) == group).collect();
        let spec = figures::chart_spec(figure, axis, question.metric, &of_group);
        (group, spec)
    };
    groups.into_iter().take(MEDIAN_CHARTS_MAX).map(chart).collect()
}

fn question_axis(figure: &Figure, claim: &ClaimResult) -> Option<usize> {
    let along = claim.question.axis.as_ref()?;
    figure.axes.iter().position(|axis| axis == along)
}

/// One point only: the variants beside each other.
fn by_variant(figure: &Figure, claim: &ClaimResult) -> Value {
    let metric = claim.question.metric;
    let variants = figures::distinct(figure.rows.iter().map(|row| row.variant.as_str()));
    let found = |variant: &str| {
        let row = figure.rows.iter().find(|row| row.variant == variant)?;
        row.values.get(&metric).map(|value| value.median)
    };
    let unit = if metric.is_time() { "us" } else { "plain" };
    json!({
        "x": (0..variants.len()).collect::<Vec<_>>(), "xTexts": variants, "xName": "variant",
        "yName": metric.title(), "zero": true, "series": [line("median", &variants, found, unit, "--s1")],
    })
}
