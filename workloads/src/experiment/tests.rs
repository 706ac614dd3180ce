//! What a definition says, what is wrong with one, and whether the built-in ones hold the house rules.

use super::*;

const FILE: &str = "name: cost
title: Cost
proposal: KEP-1
hypothesis: It is cheap.
claims:
- quote: it is negligible
  section: Risks
  means: At most 1.05 times.
  refutedIf: It is more.
  analysis: ratio-at-most
  metric: endToEnd
  variant: with
  at: {nodes: 10}
  bound: 1.05
- {quote: q, section: s, means: m, refutedIf: r, analysis: growth-exponent-at-most, metric: cycleMedian, variant: with, axis: nodes, bound: 1}
studies:
- name: cost
  rounds: 12
  quick: {rounds: 7, axes: {nodes: [\"10\", \"1,000\"]}, params: {pods: 5}}
  metrics: [throughput]
  axes:
  - name: nodes
    values: [{name: 10, workload: Ten}, {name: \"100\", workload: Hundred}, {name: \"1,000\", workload: Thousand}]
  variants: [{name: without, testCase: Plain}, {name: with, testCase: Plain, params: {pods: 9}}]
";

#[test]
fn definition_is_read_whole_and_reduced() {
    let experiment = parse_experiment("x/experiment.yaml", FILE).expect("valid");
    let [study] = experiment.studies(false).try_into().expect("one study");
    let Study { rounds, metrics, .. } = &study;
    assert_eq!((*rounds, study.points().len()), (12, 3));
    let asked = [FigureMetric::Throughput, FigureMetric::EndToEnd, FigureMetric::CycleMedian];
    assert_eq!(*metrics, asked, "what claims ask for is measured too");
    let claim = &experiment.claims[0].question;
    assert_eq!((claim.analysis, claim.against.as_str()), (Analysis::RatioAtMost, "without"));
    let axes = ["nodes".to_owned()];
    assert!(claim.is_about(&axes, &["10".to_owned()]) && !claim.is_about(&axes, &["100".to_owned()]));
    let [quick] = experiment.studies(true).try_into().expect("one study");
    assert_eq!((quick.rounds, quick.points().len()), (7, 2));
    let params: Vec<_> = experiment.cells(true).map(|cell| cell.params["pods"].as_i64()).collect();
    assert_eq!(params, [Some(5); 4]);
}

#[test]
fn a_bad_definition_is_refused_with_line_and_nearest_name() {
    let cases = [
        (
            "analysis: ratio-at-most",
            "analysis: ratio-at-mots",
            "x.yaml:10:13: ",
            "did you mean \"ratio-at-most\"?",
        ),
        ("metric: endToEnd", "metric: endToEnt", "x.yaml:11:11: ", "did you mean \"endToEnd\"?"),
        ("variant: with\n", "variant: wth\n", "x.yaml:12:12: ", "did you mean \"with\"?"),
        ("metrics: [throughput]", "metrics: [troughput]", "x.yaml:20:12: ", "did you mean \"throughput\"?"),
        ("at: {nodes: 10}", "at: {node: 10}", "x.yaml:13:8: ", "did you mean \"nodes\"?"),
        ("at: {nodes: 10}", "at: {nodes: 11}", "x.yaml:13:15: ", "it must be one of 10, 100, 1,000"),
        ("at: {nodes: 10}", "at: {nodes: 100}", "x.yaml:13:7: ", "it leaves too few points"),
        ("refutedIf: It", "refutedIff: It", "x.yaml:9:3: ", "did you mean `refutedIf`?"),
        (
            "quick: {rounds: 7, axes: {nodes",
            "quick: {rounds: 7, axes: {nods",
            "x.yaml:19:",
            "did you mean \"nodes\"?",
        ),
        ("axis: nodes", "axis: nodess", "x.yaml:15:", "did you mean \"nodes\"?"),
        ("name: \"100\"", "name: hundred", "x.yaml:15:", "a growth needs numbers"),
        ("  bound: 1.05\n", "", "x.yaml:6:", "say what the measured quantity is held against"),
        (
            "  bound: 1.05\n",
            "  bound: 1.05\n  of: throughput\n",
            "x.yaml:15:7: ",
            "only share-at-most has it",
        ),
        ("variant: with\n", "variant: without\n", "x.yaml:12:12: ", "it is compared with itself"),
        ("name: cost\ntitle", "name: ../cost\ntitle", "x.yaml:1:7: ", "it names a file"),
        ("proposal: KEP-1\n", "", "x.yaml:1:1: ", "say whose claims they are"),
    ];
    for (right, wrong, place, wanted) in cases {
        assert!(FILE.contains(right), "{right:?}");
        let text = FILE.replacen(right, wrong, 1);
        let message = parse_experiment("x.yaml", &text).expect_err(wrong).to_string();
        assert!(message.starts_with(place) && message.contains(wanted), "{wrong:?}: {message}");
    }
}

#[test]
fn built_in_experiments_name_workloads_and_params_that_exist() {
    for name in crate::suites::EXPERIMENTS {
        let experiment = crate::suites::experiment(name).expect(name);
        assert_eq!(experiment.name, *name);
        let folder = crate::suites::experiment_folder(name);
        let suite = experiment.suite(&folder, Arc::new(crate::suites::EMBEDDED)).expect(name);
        for cell in experiment.cells(false).chain(experiment.cells(true)) {
            let found = suite.resolve_with(&cell.workload, &cell.params);
            let workload = found.unwrap_or_else(|error| panic!("{name}: {cell:?}: {error}"));
            let workload = workload.unwrap_or_else(|| panic!("{name}: no such workload: {cell:?}"));
            assert_eq!(crate::resolve::runnable(&workload), Ok(()), "{name}: {cell:?}");
        }
    }
}

#[test]
fn numbers_of_axes() {
    let cases =
        [("1,000", Some(1000.0)), ("5 ms", Some(5.0)), ("0.5", Some(0.5)), ("0 ms", None), ("few", None)];
    for (name, number) in cases {
        assert_eq!(axis_number(name), number, "{name}");
    }
}

#[test]
fn example_of_the_documents_is_a_definition() {
    let page = include_str!("../../../docs/kep-author.md");
    let block = |at: usize| {
        page.split("```yaml\n").nth(at).and_then(|rest| rest.split("```").next()).expect("a block")
    };
    let experiment = parse_experiment("experiment.yaml", block(1)).expect("valid");
    let cases = crate::schema::parse_config("performance-config.yaml", block(2)).expect("valid");
    for cell in experiment.cells(false) {
        let named = |it: &crate::schema::TestCase| {
            it.workloads.iter().any(|workload| format!("{}/{}", it.name, workload.name) == cell.workload)
        };
        assert!(cases.iter().any(named), "{cell:?}");
    }
}
