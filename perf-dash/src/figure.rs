//! From the runs of variants to a figure: medians, and what each variant costs beside the base.

use std::collections::BTreeMap;

use schedlab_workloads::results::{Estimate, Figure, FigureMetric, FigureRow, FigureValue};
use schedlab_workloads::study::Study;

use crate::stats::{median_estimate, ratio_of_pairs, round_differences, round_ratios};

/// What the runs of one variant at one point measured, in the order they ran.
#[derive(Clone, Debug, Default)]
pub struct CellSamples {
    /// A value for each axis.
    pub point: Vec<String>,
    /// The variant.
    pub variant: String,
    /// A sample for each run.
    pub samples: BTreeMap<FigureMetric, Vec<f64>>,
}

/// The figure of a study. Each point's cells follow each other, the base first; a cell that never ran
/// is left out.
#[must_use]
pub fn figure(study: &Study, points: &[Vec<CellSamples>], seed: u64) -> Figure {
    let rows = points.iter().flat_map(|cells| {
        let base = cells.first();
        cells.iter().filter_map(move |cell| row(base?, cell, seed))
    });
    Figure {
        name: study.name.clone(),
        title: study.title.clone(),
        about: study.about.clone(),
        base: study.variants.first().map(|base| base.name.clone()).unwrap_or_default(),
        axes: study.axes.iter().map(|axis| axis.name.clone()).collect(),
        metrics: study.metrics.clone(),
        rounds: study.rounds,
        rows: rows.collect(),
    }
}

fn row(base: &CellSamples, cell: &CellSamples, seed: u64) -> Option<FigureRow> {
    let runs = cell.samples.values().map(Vec::len).max().filter(|runs| 0 < *runs)?;
    let is_base = base.variant == cell.variant;
    let value = |(metric, samples): (&FigureMetric, &Vec<f64>)| {
        let against = base.samples.get(metric).filter(|_| !is_base);
        (!samples.is_empty()).then(|| (*metric, value(against, samples, seed)))
    };
    Some(FigureRow {
        point: cell.point.clone(),
        variant: cell.variant.clone(),
        runs: u32::try_from(runs).unwrap_or(u32::MAX),
        values: cell.samples.iter().filter_map(value).collect(),
    })
}

fn value(base: Option<&Vec<f64>>, samples: &[f64], seed: u64) -> FigureValue {
    let median = median_estimate(samples, seed);
    let Some(base) = base else { return FigureValue { median, extra: None, ratio: None } };
    let differences = round_differences(base, samples);
    let extra = (!differences.is_empty()).then(|| median_estimate(&differences, seed));
    let has_ratio = base.iter().chain(samples).all(|value| 0.0 < *value);
    let ratios = if has_ratio { round_ratios(base, samples) } else { Vec::new() };
    let ratio = (!ratios.is_empty()).then(|| {
        let interval = ratio_of_pairs(&ratios, seed);
        Estimate { value: interval.ratio, low: interval.low, high: interval.high }
    });
    FigureValue { median, extra, ratio }
}

#[cfg(test)]
mod tests {
    use schedlab_workloads::study::parse_studies;

    use super::*;

    fn cell(variant: &str, samples: &[f64]) -> CellSamples {
        CellSamples {
            point: vec!["5 ms".to_owned()],
            variant: variant.to_owned(),
            samples: BTreeMap::from([(FigureMetric::Throughput, samples.to_vec())]),
        }
    }

    #[test]
    fn variants_are_compared_with_the_base_of_their_point() {
        let text = "- {name: x, metrics: [throughput], axes: [{name: latency, values: [{name: 5 ms}]}], \
                    variants: [{name: base}, {name: head}, {name: late}]}";
        let study = parse_studies("variants.yaml", text).expect("valid").remove(0);
        let cells = vec![
            cell("base", &[10.0, 10.0, 20.0, 20.0]),
            cell("head", &[5.0, 5.0, 10.0, 10.0]),
            cell("late", &[]),
        ];
        let figure = figure(&study, &[cells], 1);
        assert_eq!(
            (figure.base.as_str(), figure.axes.as_slice()),
            ("base", ["latency".to_owned()].as_slice())
        );
        assert_eq!(figure.rows.len(), 2, "what never ran is not shown");
        let value = |at: usize| figure.rows[at].values[&FigureMetric::Throughput];
        assert_eq!((value(0).median.value, value(0).extra, value(0).ratio), (15.0, None, None));
        assert_eq!(value(1).extra.expect("a difference").value, -7.5);
        let ratio = value(1).ratio.expect("a ratio");
        assert!((ratio.value - 0.5).abs() < 1e-12 && (ratio.low - 0.5).abs() < 1e-12);
    }

    #[test]
    fn zero_base_has_a_difference_and_no_ratio() {
        let value = value(Some(&vec![0.0, 0.0]), &[1.0, 1.0], 1);
        assert_eq!(value.extra.map(|extra| extra.value), Some(1.0));
        assert_eq!(value.ratio, None);
    }
}
