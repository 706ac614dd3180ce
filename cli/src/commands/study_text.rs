//! Figures as tables.

use schedlab_perf_dash::format;
use schedlab_workloads::results::{Estimate, Figure, FigureComparison, FigureMetric, FigureRow, FigureValue};

use crate::progress::say;
use crate::table::{Align, render};

/// Prints every figure.
pub(super) fn print(figures: &[Figure]) {
    for figure in figures {
        say(&text(figure));
    }
}

fn text(figure: &Figure) -> String {
    let mut columns: Vec<(&str, Align)> =
        figure.axes.iter().map(|axis| (axis.as_str(), Align::Left)).collect();
    columns.push(("variant", Align::Left));
    for metric in &figure.metrics {
        columns.push((metric.title(), Align::Right));
        match metric.comparison() {
            FigureComparison::None => {}
            FigureComparison::Extra => columns.push(("extra [95 %]", Align::Left)),
            FigureComparison::Ratio => columns.push(("ratio [95 %]", Align::Left)),
        }
    }
    let rows: Vec<Vec<String>> = figure.rows.iter().map(|row| cells(figure, row)).collect();
    let rounds = figure.rounds;
    format!(
        "\n{}: {rounds} round(s), every variant twice in each; extra and ratio against {:?}\n{}",
        figure.title,
        figure.base,
        render(&columns, &rows)
    )
}

fn cells(figure: &Figure, row: &FigureRow) -> Vec<String> {
    let mut cells = row.point.clone();
    cells.push(row.variant.clone());
    for &metric in &figure.metrics {
        let value = row.values.get(&metric);
        cells.push(
            value.map_or_else(|| "-".to_owned(), |value| format::figure_value(metric, value.median.value)),
        );
        if metric.comparison() != FigureComparison::None {
            cells.push(value.and_then(|value| compared(metric, value)).unwrap_or_default());
        }
    }
    cells
}

fn compared(metric: FigureMetric, value: &FigureValue) -> Option<String> {
    match metric.comparison() {
        FigureComparison::None => None,
        FigureComparison::Ratio => {
            let ratio = value.ratio?;
            let Estimate { value, low, high } = ratio;
            let interval = format!(" [{low:.2}, {high:.2}]");
            Some(format!("{value:.2}{}", if ratio.is_exact() { "" } else { &interval }))
        }
        FigureComparison::Extra => {
            let extra = value.extra?;
            let [value, low, high] =
                [extra.value, extra.low, extra.high].map(|number| signed(metric, number));
            let interval = format!(" [{low}, {high}]");
            Some(format!("{value}{}", if extra.is_exact() { "" } else { &interval }))
        }
    }
}

fn signed(metric: FigureMetric, value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "+" };
    format!("{sign}{}", format::figure_value(metric, value.abs()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_variant_is_shown_with_its_interval_and_the_base_without() {
        let estimate = |value: f64| Estimate { value, low: value - 1.0, high: value + 1.0 };
        let row = |variant: &str, extra: Option<f64>| FigureRow {
            point: vec!["100".to_owned()],
            variant: variant.to_owned(),
            runs: 4,
            values: BTreeMap::from([(
                FigureMetric::CycleMedian,
                FigureValue { median: estimate(7.0), extra: extra.map(estimate), ratio: None },
            )]),
        };
        let figure = Figure {
            name: "x".to_owned(),
            title: "Cost".to_owned(),
            about: String::new(),
            base: "off".to_owned(),
            axes: vec!["nodes".to_owned()],
            metrics: vec![FigureMetric::CycleMedian],
            rounds: 2,
            rows: vec![row("off", None), row("on", Some(-0.5))],
        };
        let text = text(&figure);
        assert!(text.contains("nodes  variant"), "{text}");
        let [.., off, on] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert!(off.ends_with("7.00 µs") || off.ends_with("7.0 µs"), "{text}");
        assert!(on.contains("[-1"), "{text}");
    }
}
