//! Planted data: a false claim is refuted, a true one supported, a thin one undecided.

use std::collections::BTreeMap;

use super::*;

/// Runs that scatter a little around a value, two a round.
fn around(value: f64, rounds: usize) -> Vec<f64> {
    (0..rounds * 2).map(|run| value * (1.0 + 0.01 * ((run * 7 % 5) as f64 - 2.0))).collect()
}

fn cell(point: &str, variant: &str, metric: FigureMetric, samples: Vec<f64>) -> CellSamples {
    CellSamples {
        point: vec![point.to_owned()],
        variant: variant.to_owned(),
        samples: BTreeMap::from([(metric, samples)]),
    }
}

fn claim(analysis: Analysis, bound: f64) -> QuotedClaim {
    let question = Question {
        analysis,
        study: "s".to_owned(),
        metric: FigureMetric::Iterations,
        of: (analysis == Analysis::ShareAtMost).then_some(FigureMetric::KepIterations),
        variant: "head".to_owned(),
        against: "base".to_owned(),
        axis: analysis.is_growth().then(|| "nodes".to_owned()),
        at: Vec::new(),
        bound,
    };
    QuotedClaim {
        quote: "q".to_owned(),
        section: "s".to_owned(),
        means: "m".to_owned(),
        refuted_if: "r".to_owned(),
        question,
    }
}

/// A base of 100, a variant of this value, and 1000 as what a share is of; at 10 and at 1,000 nodes, where a
/// variant grows with this exponent.
fn planted(head: f64, exponent: f64, rounds: usize) -> Vec<Vec<CellSamples>> {
    let point = |name: &str, factor: f64| {
        let mut base = cell(name, "base", FigureMetric::Iterations, around(100.0, rounds));
        base.samples.insert(FigureMetric::KepIterations, vec![1000.0; rounds * 2]);
        vec![base, cell(name, "head", FigureMetric::Iterations, around(head * factor, rounds))]
    };
    match exponent {
        0.0 => vec![point("10", 1.0)],
        _ => vec![point("10", 1.0), point("1,000", 100.0_f64.powf(exponent))],
    }
}

fn word(analysis: Analysis, bound: f64, points: &[Vec<CellSamples>]) -> ClaimVerdict {
    judge(&claim(analysis, bound), &["nodes".to_owned()], points).verdict
}

#[test]
fn every_analysis_supports_a_true_claim_and_refutes_a_false_one() {
    // Analysis, the variant beside a base of 100, its growth, a bound that holds and one that does not.
    let cases = [
        (Analysis::RatioAtMost, 150.0, 0.0, 1.6, 1.4),
        (Analysis::RatioAtLeast, 150.0, 0.0, 1.4, 1.6),
        (Analysis::DifferenceNegligible, 104.0, 0.0, 0.05, 0.03),
        (Analysis::ExtraAtMost, 150.0, 0.0, 55.0, 45.0),
        (Analysis::ExtraAtLeast, 150.0, 0.0, 45.0, 55.0),
        (Analysis::ShareAtMost, 150.0, 0.0, 0.055, 0.045),
        (Analysis::ValueAtMost, 150.0, 0.0, 160.0, 140.0),
        (Analysis::ValueAtLeast, 150.0, 0.0, 140.0, 160.0),
        (Analysis::GrowthExponentAtMost, 5.0, 1.0, 1.1, 0.9),
        (Analysis::GrowthExponentAtLeast, 5.0, 1.0, 0.9, 1.1),
    ];
    for (analysis, head, exponent, holds, fails) in cases {
        let points = planted(head, exponent, 12);
        assert_eq!(word(analysis, holds, &points), ClaimVerdict::Supported, "{analysis:?}");
        assert_eq!(word(analysis, fails, &points), ClaimVerdict::Refuted, "{analysis:?}");
        let thin = planted(head, exponent, 5);
        assert_eq!(word(analysis, holds, &thin), ClaimVerdict::NotEnoughData, "{analysis:?}, thin");
        assert_eq!(word(analysis, fails, &thin), ClaimVerdict::NotEnoughData, "{analysis:?}, thin");
    }
}

#[test]
fn equal_counts_want_every_run_equal() {
    let judged = |base: &[f64], head: &[f64]| {
        let cells = vec![
            cell("10", "base", FigureMetric::Iterations, base.to_vec()),
            cell("10", "head", FigureMetric::Iterations, head.to_vec()),
        ];
        word(Analysis::EqualCounts, 0.0, &[cells])
    };
    assert_eq!(judged(&[3.0; 12], &[3.0; 12]), ClaimVerdict::Supported);
    assert_eq!(judged(&[3.0; 12], &[4.0; 12]), ClaimVerdict::Refuted);
    assert_eq!(judged(&[3.0; 10], &[3.0; 10]), ClaimVerdict::NotEnoughData, "five rounds");
    let mut once = vec![3.0; 12];
    once[7] = 5.0;
    assert_eq!(judged(&[3.0; 12], &once), ClaimVerdict::NotEnoughData, "one run in twelve");
    let cancelling: Vec<f64> = (0..12).map(|run| if run % 2 == 0 { 2.0 } else { 4.0 }).collect();
    assert_ne!(judged(&[3.0; 12], &cancelling), ClaimVerdict::Supported, "equal on average only");
}

#[test]
fn interval_across_the_bound_decides_nothing() {
    let scattered: Vec<f64> = (0..24).map(|run| if run % 4 < 2 { 80.0 } else { 125.0 }).collect();
    let cells = vec![
        cell("10", "base", FigureMetric::Iterations, vec![100.0; 24]),
        cell("10", "head", FigureMetric::Iterations, scattered),
    ];
    for analysis in [Analysis::RatioAtMost, Analysis::RatioAtLeast] {
        assert_eq!(word(analysis, 1.0, std::slice::from_ref(&cells)), ClaimVerdict::NotEnoughData);
    }
    assert_eq!(word(Analysis::DifferenceNegligible, 0.1, &[cells]), ClaimVerdict::NotEnoughData);
}

#[test]
fn one_point_refutes_and_all_points_support() {
    let point = |name: &str, head: f64| {
        vec![
            cell(name, "base", FigureMetric::Iterations, around(100.0, 12)),
            cell(name, "head", FigureMetric::Iterations, around(head, 12)),
        ]
    };
    let points = [point("10", 100.0), point("100", 150.0)];
    assert_eq!(word(Analysis::RatioAtMost, 1.2, &points), ClaimVerdict::Refuted);
    assert_eq!(word(Analysis::RatioAtMost, 1.6, &points), ClaimVerdict::Supported);
    let mut only = claim(Analysis::RatioAtMost, 1.2);
    only.question.at = vec![("nodes".to_owned(), vec!["10".to_owned()])];
    let judged = judge(&only, &["nodes".to_owned()], &points);
    assert_eq!((judged.verdict, judged.points.len()), (ClaimVerdict::Supported, 1));
}

#[test]
fn more_points_need_more_rounds() {
    assert_eq!((rounds_needed(1), rounds_needed(2), rounds_needed(12)), (6, 7, 9));
    let point = |name: &str| {
        vec![
            cell(name, "base", FigureMetric::Iterations, around(100.0, 6)),
            cell(name, "head", FigureMetric::Iterations, around(100.0, 6)),
        ]
    };
    assert_eq!(word(Analysis::RatioAtMost, 2.0, &[point("1")]), ClaimVerdict::Supported);
    assert_eq!(word(Analysis::RatioAtMost, 2.0, &[point("1"), point("2")]), ClaimVerdict::NotEnoughData);
}

#[test]
fn what_cannot_be_computed_is_not_judged() {
    let cells = vec![
        cell("10", "base", FigureMetric::Iterations, vec![0.0; 24]),
        cell("10", "head", FigureMetric::Iterations, vec![1.0; 24]),
    ];
    assert_eq!(
        word(Analysis::RatioAtMost, 2.0, std::slice::from_ref(&cells)),
        ClaimVerdict::NotEnoughData,
        "0 has no ratio"
    );
    assert_eq!(
        word(Analysis::ShareAtMost, 2.0, std::slice::from_ref(&cells)),
        ClaimVerdict::NotEnoughData,
        "of nothing"
    );
    assert_eq!(word(Analysis::ExtraAtMost, 1.0, &[cells]), ClaimVerdict::Supported);
    assert_eq!(word(Analysis::RatioAtMost, 2.0, &[]), ClaimVerdict::NotEnoughData, "no point at all");
}

#[test]
fn random_runs_are_called_wrongly_no_more_often_than_the_confidence_allows() {
    // The truth lies on the bound itself: every word but one is wrong, and rare.
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1.0 + 0.1 * ((state >> 33) as f64 / f64::from(1_u32 << 31) - 0.5)
    };
    let mut decided = 0;
    for _ in 0..400 {
        let mut runs = |rounds: usize| (0..rounds * 2).map(|_| 100.0 * noise()).collect::<Vec<f64>>();
        let cells = vec![
            cell("10", "base", FigureMetric::Iterations, runs(9)),
            cell("10", "head", FigureMetric::Iterations, runs(9)),
        ];
        decided += usize::from(word(Analysis::RatioAtMost, 1.0, &[cells]) != ClaimVerdict::NotEnoughData);
    }
    // At most 5 % of 400 on average; a binomial count strays by more than five deviations never.
    assert!(decided <= 42, "{decided} of 400");
}
