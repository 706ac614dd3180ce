//! Figures: a line a variant over the axis that was varied, and the numbers as a table below.

use maud::{Markup, html};
use schedlab_workloads::results::{
    Estimate, Figure, FigureComparison, FigureMetric, FigureRow, FigureValue, RunResult,
};
use serde_json::{Value, json};

use crate::chart::lines::{self, Frame, short};
use crate::chart::scale::LogScale;
use crate::format;

/// A section a figure.
pub(super) fn sections(run: &RunResult) -> Markup {
    html! {
        @for figure in &run.figures { (section(figure)) }
    }
}

/// The run in one sentence, when it has figures and no workloads.
pub(super) fn headline(run: &RunResult) -> Markup {
    html! {
        h1 {
            (format::counted(run.figures.len() as u64, "figure")) ": "
            @for (at, figure) in run.figures.iter().enumerate() {
                @if 0 < at { ", " }
                a href={ "#" (figure.name) } { (figure.title.to_lowercase()) }
            }
            "."
        }
    }
}

fn section(figure: &Figure) -> Markup {
    let id = format!("{}-title", figure.name);
    html! {
        section.figure id=(figure.name) aria-labelledby=(id) {
            h2 id=(id) { (figure.title) }
            p.note.about { (figure.about) }
            (charts(figure))
            (table(figure, !is_charted(figure)))
            (how_to_read(figure))
        }
    }
}

/// All rows, folded away, with how to read them.
pub(crate) fn rows(figure: &Figure) -> Markup {
    html! {
        (table(figure, false))
        (how_to_read(figure))
    }
}

fn table(figure: &Figure, is_open: bool) -> Markup {
    let scale = ratio_scale(figure);
    html! {
        details.fold open[is_open] {
            summary { "All " (figure.rows.len()) " rows of “" (figure.title) "” as a table" }
            div.wide tabindex="0" role="region" aria-label=(figure.title) {
                table.plain.figure {
                    caption.sr { (figure.title) ", one row a variant" }
                    (head(figure))
                    @for rows in figure.rows.chunk_by(|one, other| one.point == other.point) {
                        (point(figure, rows, scale))
                    }
                }
            }
        }
    }
}

fn how_to_read(figure: &Figure) -> Markup {
    html! {
        p.note {
            "Medians of " (runs(figure)) " a variant, which ran in turns (" (figure.rounds)
            " rounds, there and back). In brackets the interval that holds the value with 95 % confidence, by "
            "the bootstrap over rounds; \u{201c}more\u{201d} and \u{201c}times\u{201d} are against \u{201c}" (figure.base)
            "\u{201d} at the same point. "
            @if figure.metrics.iter().any(|metric| charted(*metric)) {
                "The track shows the last column with its interval; the line in it is 1."
            }
        }
    }
}

/// The axis with most values: what the lines run along.
pub(crate) fn long_axis(figure: &Figure) -> Option<usize> {
    let count = |axis: usize| distinct(figure.rows.iter().map(|row| row.point[axis].as_str())).len();
    // Of two as long, the last: it changes fastest.
    (0..figure.axes.len()).max_by_key(|&axis| count(axis)).filter(|&axis| count(axis) > 1)
}

/// In the order of first sight.
pub(crate) fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

/// Metrics with a line of their own: those that variants are compared by.
fn charted_metrics(figure: &Figure) -> Vec<FigureMetric> {
    let compared = |metric: &FigureMetric| metric.comparison() != FigureComparison::None;
    let differs = |metric: &FigureMetric| {
        let medians = figure.rows.iter().filter_map(|row| Some(row.values.get(metric)?.median.value));
        let all: Vec<f64> = medians.collect();
        all.iter().any(|value| *value != all[0])
    };
    figure.metrics.iter().copied().filter(compared).filter(differs).collect()
}

fn is_charted(figure: &Figure) -> bool {
    long_axis(figure).is_some() && !charted_metrics(figure).is_empty()
}

/// A chart for each metric and each combination of the other axes.
fn charts(figure: &Figure) -> Markup {
    let Some(axis) = long_axis(figure) else { return html! {} };
    let rest = |row: &FigureRow| -> Vec<String> {
        let others = row.point.iter().enumerate().filter(|(at, _)| *at != axis);
        others.map(|(at, value)| format!("{} {value}", figure.axes[at])).collect()
    };
    let groups = distinct(figure.rows.iter().map(rest));
    html! {
        div.grid {
            @for metric in charted_metrics(figure) {
                @for group in &groups {
                    @let rows: Vec<&FigureRow> = figure.rows.iter().filter(|row| rest(row) == *group).collect();
                    @let spec = chart_spec(figure, axis, metric, &rows);
                    (lines::figure(&Frame {
                        title: chart_title(metric), note: &group.join(", "), spec: Some(&spec), ..Frame::default()
                    }))
                }
            }
        }
    }
}

pub(crate) fn chart_title(metric: FigureMetric) -> &'static str {
    match metric {
        FigureMetric::Throughput => "Throughput",
        FigureMetric::EndToEnd => "End to end, median",
        FigureMetric::CycleMedian => "Scheduling cycle, median",
        FigureMetric::Evaluated => "Nodes looked at per pod",
        FigureMetric::PatchCalls => "PATCH calls per pod",
        FigureMetric::Patches => "PATCH calls",
        other => other.title(),
    }
}

/// Colours of lines, in turns.
pub(crate) const COLOURS: [&str; 6] = ["--s1", "--s2", "--s3", "--s4", "--s5", "--s6"];

/// A line a variant with the interval at every point; logarithmic where values span decades.
pub(crate) fn chart_spec(figure: &Figure, axis: usize, metric: FigureMetric, rows: &[&FigureRow]) -> Value {
    const DECADES: f64 = 10.0;
    let places = distinct(rows.iter().map(|row| row.point[axis].as_str()));
    let value_at = |variant: &str, place: &str| {
        let is_it = |row: &&&FigureRow| row.variant == variant && row.point[axis] == place;
        rows.iter().find(is_it)?.values.get(&metric).map(|value| value.median)
    };
    let medians = || rows.iter().filter_map(|row| Some(row.values.get(&metric)?.median.value));
    let (low, high) = (medians().fold(f64::INFINITY, f64::min), medians().fold(0.0, f64::max));
    let unit = if metric.is_time() { "us" } else { "plain" };
    let series: Vec<Value> = distinct(rows.iter().map(|row| row.variant.as_str()))
        .into_iter()
        .zip(COLOURS.iter().cycle())
        .map(|(variant, colour)| {
            let column = |pick: fn(Estimate) -> f64| -> Vec<Value> {
                let at = |place: &&str| value_at(variant, place).map_or(Value::Null, |it| short(pick(it)));
                places.iter().map(at).collect()
            };
            json!({
                "name": variant, "values": column(|it| it.value), "low": column(|it| it.low),
                "high": column(|it| it.high), "unit": unit, "colour": colour,
            })
        })
        .collect();
    json!({
        "x": (0..places.len()).collect::<Vec<_>>(), "xTexts": places, "xName": figure.axes[axis],
        "yName": y_name(metric), "log": low > 0.0 && high > DECADES * low, "series": series,
    })
}

/// What the vertical axis counts.
fn y_name(metric: FigureMetric) -> &'static str {
    match metric {
        FigureMetric::Throughput => "pods/s",
        FigureMetric::EndToEnd | FigureMetric::CycleMedian => "time",
        FigureMetric::Evaluated => "nodes per pod",
        FigureMetric::PatchCalls | FigureMetric::BindingCalls => "calls per pod",
        FigureMetric::Patches => "calls",
        other => other.title(),
    }
}

fn runs(figure: &Figure) -> String {
    let runs = figure.rows.iter().map(|row| row.runs).max().unwrap_or(0);
    format::counted(u64::from(runs), "run")
}

fn head(figure: &Figure) -> Markup {
    html! {
        thead {
            tr {
                @for axis in &figure.axes { th scope="col" { (axis) } }
                th scope="col" { "variant" }
                @for metric in &figure.metrics {
                    th.num scope="col" { (metric.title()) }
                    @match metric.comparison() {
                        FigureComparison::None => {}
                        FigureComparison::Extra => { th scope="col" { "more" } }
                        FigureComparison::Ratio => { th scope="col" { "times" } }
                    }
                }
                @if figure.metrics.last().is_some_and(|metric| charted(*metric)) {
                    th.track scope="col" { span.sr { "Against the base" } }
                }
            }
        }
    }
}

fn point(figure: &Figure, rows: &[FigureRow], scale: LogScale) -> Markup {
    html! {
        tbody {
            @for (at, row) in rows.iter().enumerate() {
                tr {
                    @if at == 0 {
                        @for value in &row.point {
                            th.point scope="rowgroup" rowspan=(rows.len()) { (value) }
                        }
                    }
                    th.variant scope="row" { (row.variant) }
                    @for &metric in &figure.metrics { (value_cells(metric, row.values.get(&metric))) }
                    @if let Some(metric) = figure.metrics.last().copied().filter(|metric| charted(*metric)) {
                        td.track { (track(row.values.get(&metric).and_then(|value| value.ratio), scale)) }
                    }
                }
            }
        }
    }
}

fn value_cells(metric: FigureMetric, value: Option<&FigureValue>) -> Markup {
    html! {
        td.num { @if let Some(value) = value { (format::figure_value(metric, value.median.value)) } @else { "\u{2013}" } }
        @match metric.comparison() {
            FigureComparison::None => {}
            FigureComparison::Extra => {
                td.interval { @if let Some(extra) = value.and_then(|value| value.extra) { (more(metric, extra)) } }
            }
            FigureComparison::Ratio => {
                td.interval { @if let Some(ratio) = value.and_then(|value| value.ratio) { (times(ratio)) } }
            }
        }
    }
}

fn more(metric: FigureMetric, extra: Estimate) -> Markup {
    let signed = |value: f64| {
        let sign = if value < 0.0 { "\u{2212}" } else { "+" };
        format!("{sign}{}", format::figure_value(metric, value.abs()))
    };
    html! {
        (signed(extra.value))
        @if !extra.is_exact() { " " span.muted { "[" (signed(extra.low)) ", " (signed(extra.high)) "]" } }
    }
}

fn times(ratio: Estimate) -> Markup {
    html! {
        (format!("{:.2}", ratio.value))
        @if !ratio.is_exact() { " " span.muted { (format!("[{:.2}, {:.2}]", ratio.low, ratio.high)) } }
    }
}

/// Only what a variant may multiply is drawn.
fn charted(metric: FigureMetric) -> bool {
    metric.comparison() == FigureComparison::Ratio || metric == FigureMetric::CycleMedian
}

fn ratio_scale(figure: &Figure) -> LogScale {
    let last = figure.metrics.last();
    let ratios = figure.rows.iter().filter_map(|row| row.values.get(last?)?.ratio);
    let ends: Vec<f64> = ratios.flat_map(|ratio| [ratio.low, ratio.high]).collect();
    LogScale::around(ends.into_iter().chain([0.5, 2.0]))
}

/// A ratio with its interval, on the axis that all rows share.
fn track(ratio: Option<Estimate>, scale: LogScale) -> Markup {
    let x = |value: f64| format!("{:.2}%", scale.percent(value));
    html! {
        svg.track width="100%" height="18" aria-hidden="true" {
            line.mean x1=(x(1.0)) x2=(x(1.0)) y1="0" y2="18" {}
            @if let Some(Estimate { value, low, high }) = ratio {
                line.error x1=(x(low)) x2=(x(high)) y1="9" y2="9" {}
                circle.dot.good cx=(x(value)) cy="9" r="4" {}
            }
        }
    }
}
