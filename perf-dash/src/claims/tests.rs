//! One experiment with a claim of every word, as text, Markdown and HTML.

use std::collections::BTreeMap;

use schedlab_workloads::results::{
    Analysis, ClaimPoint, ClaimResult, EXPERIMENT_SCHEMA, Estimate, Figure, FigureMetric, FigureRow,
    FigureValue, Machine, Question,
};

use super::*;

fn estimate(value: f64) -> Estimate {
    Estimate { value, low: value - 0.1, high: value + 0.1 }
}

fn point(name: &str, value: f64, verdict: ClaimVerdict) -> ClaimPoint {
    ClaimPoint { point: vec![name.to_owned()], rounds: 12, estimate: Some(estimate(value)), verdict }
}

fn claim(quote: &str, verdict: ClaimVerdict, points: Vec<ClaimPoint>) -> ClaimResult {
    ClaimResult {
        quote: quote.to_owned(),
        section: "Risks".to_owned(),
        means: "It is at most twice as long.".to_owned(),
        refuted_if: "It is longer.".to_owned(),
        question: Question {
            analysis: Analysis::RatioAtMost,
            study: "cost".to_owned(),
            metric: FigureMetric::CycleMedian,
            of: None,
            variant: "with".to_owned(),
            against: "without".to_owned(),
            axis: None,
            at: Vec::new(),
            bound: 2.0,
        },
        verdict,
        confidence: 0.95,
        points,
    }
}

fn experiment() -> ExperimentResult {
    use ClaimVerdict::{NotEnoughData, Refuted, Supported};
    let row = |point: &str, variant: &str| FigureRow {
        point: vec![point.to_owned()],
        variant: variant.to_owned(),
        runs: 24,
        values: BTreeMap::from([(
            FigureMetric::CycleMedian,
            FigureValue { median: estimate(5.0), extra: None, ratio: None },
        )]),
    };
    let thin = ClaimPoint { estimate: None, rounds: 3, ..point("10", 0.0, NotEnoughData) };
    ExperimentResult {
        schema: EXPERIMENT_SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        git_revision: Some("0123456789abcdef".to_owned()),
        machine: Machine {
            os: "linux".to_owned(),
            arch: "amd64".to_owned(),
            cpu_model: "Some CPU".to_owned(),
            cores: 2,
            memory_bytes: 1 << 30,
        },
        load: Some([1.0, 2.5]),
        seed: 0,
        started_at: "2026-11-15T12:30:00Z".to_owned(),
        duration_s: 61.0,
        quick: true,
        partial: false,
        command: "schedlab experiment run cost --quick".to_owned(),
        name: "cost".to_owned(),
        title: "Cost".to_owned(),
        proposal: "KEP-1".to_owned(),
        hypothesis: "It is <cheap>.".to_owned(),
        limits: "Goroutines.".to_owned(),
        claims: vec![
            claim("true", Supported, vec![point("10", 1.0, Supported), point("20", 1.5, Supported)]),
            claim("false", Refuted, vec![point("10", 3.0, Refuted), point("20", 1.0, Supported)]),
            claim("thin", NotEnoughData, vec![thin]),
        ],
        figures: vec![Figure {
            name: "cost".to_owned(),
            title: "Cost".to_owned(),
            about: String::new(),
            base: "without".to_owned(),
            axes: vec!["nodes".to_owned()],
            metrics: vec![FigureMetric::CycleMedian],
            rounds: 12,
            rows: vec![row("10", "without"), row("10", "with"), row("20", "without"), row("20", "with")],
        }],
    }
}

#[test]
fn deciding_point_is_the_one_nearest_to_the_other_side() {
    let experiment = experiment();
    let texts: Vec<String> = experiment.claims.iter().map(|claim| measured(&experiment, claim)).collect();
    assert_eq!(texts[0], "1.500× [1.400×, 1.600×] at nodes 20, the closest to the bound of 2 points");
    assert_eq!(texts[1], "3.000× [2.900×, 3.100×] at nodes 10, the furthest beyond the bound of 2 points");
    assert_eq!(texts[2], "too few rounds for an interval (3) at nodes 10");
    assert_eq!(tally(&[experiment]), [1, 1, 1]);
}

#[test]
fn markdown_and_page_say_the_same_words_and_figures() {
    let experiment = experiment();
    let (markdown, page) = (
        claims_markdown(std::slice::from_ref(&experiment)),
        render_claims_html(std::slice::from_ref(&experiment)),
    );
    for claim in &experiment.claims {
        let measured = measured(&experiment, claim);
        assert!(page.contains(&measured) && page.contains(claim.verdict.word()), "{measured}");
        let row = markdown.lines().find(|line| line.contains(&format!("“{}”", claim.quote))).expect("a row");
        assert!(row.ends_with(&format!("**{}** |", claim.verdict.word())), "{row}");
        assert!(row.contains(&crate::markdown::escape(&measured)), "{row}");
    }
    assert!(
        markdown.contains("Reduced (--quick), 2026-11-15 12:30 UTC, 12 rounds, in 61 s; Some CPU, 2 cores")
    );
    assert!(markdown.contains("load 1.0 before and 2.5 after; schedlab 0.1.0 0123456789ab."));
    assert!(markdown.contains("$ schedlab experiment run cost --quick\n"));
    assert!(!page.contains("<cheap>"), "texts are escaped");
}

#[test]
fn every_claim_has_a_picture_and_a_place_in_the_index() {
    let experiment = experiment();
    let page = render_claims_html(std::slice::from_ref(&experiment));
    for (at, claim) in experiment.claims.iter().enumerate() {
        let anchor = format!("cost-{}", at + 1);
        assert!(page.contains(&format!("href=\"#{anchor}\"")), "{anchor}");
        let article = page.split(&format!("id=\"{anchor}\"")).nth(1).expect("an article");
        let article = article.split("</article>").next().expect("its end");
        let charts = article.matches("data-spec").count();
        let wanted = if claim.points.len() > 1 { 2 } else { 1 };
        assert_eq!(charts, wanted, "{anchor}");
    }
}

#[test]
fn no_experiment_says_how_to_run_one() {
    assert!(render_claims_html(&[]).contains("schedlab experiment all"));
}
