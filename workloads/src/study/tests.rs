//! What a file of studies says, and what is wrong with one.

use super::*;

const FILE: &str = "- name: cost
  rounds: 3
  flags: --threads 1
  metrics: [throughput, cycleMedian]
  axes:
  - name: nodes
    values: [{name: few, workload: 10Nodes}, {name: many, workload: 99Nodes}]
  - name: latency
    values: [{name: 0 ms}, {name: 5 ms, flags: --api-latency 5ms}]
  variants:
  - {name: base, testCase: Plain}
  - {name: head, testCase: Plain, flags: --nominated-node-name always}
";

#[test]
fn every_combination_is_a_point_with_all_variants() {
    let studies = parse_studies("variants.yaml", FILE).expect("valid");
    let [study] = studies.as_slice() else { panic!("one study") };
    assert_eq!((study.title.as_str(), study.rounds), ("cost", 3));
    assert_eq!(study.metrics, [FigureMetric::Throughput, FigureMetric::CycleMedian]);
    let points = study.points();
    let names: Vec<String> = points.iter().map(|cells| cells[0].point.join(", ")).collect();
    assert_eq!(names, ["few, 0 ms", "few, 5 ms", "many, 0 ms", "many, 5 ms"]);
    let last = &points[3][1];
    assert_eq!((last.variant.as_str(), last.workload.as_str()), ("head", "Plain/99Nodes"));
    assert_eq!(last.flags, "--threads 1 --api-latency 5ms --nominated-node-name always");
}

#[test]
fn a_bad_study_is_refused_with_its_place() {
    let cases = [
        ("name: x", "variants.yaml:1:1: "),
        ("- title: x", "a study has no `name`; give the study a name"),
        ("- {name: x, variants: [{name: a}]}", "list at least two"),
        ("- {name: x, metrics: [speed], variants: [{name: a}, {name: b}]}", "it must be one of evaluated,"),
        (
            "- {name: x, metrics: [throughputs], variants: [{name: a}, {name: b}]}",
            "did you mean \"throughput\"?",
        ),
        ("- {name: x, variants: [{nme: a}, {name: b}]}", "unknown field `nme`"),
    ];
    for (text, wanted) in cases {
        let message = parse_studies("variants.yaml", text).expect_err(text).to_string();
        assert!(message.contains(wanted), "{text:?}: {message}");
    }
}

#[test]
fn the_built_in_studies_name_workloads_that_exist() {
    use crate::resolve::Selection;
    for name in crate::suites::STUDIES {
        let workloads = crate::suites::load(name).expect(name).resolve(&Selection::all()).expect(name);
        let studies = crate::suites::studies(name).expect(name);
        assert!(!studies.is_empty());
        for cell in studies.iter().flat_map(Study::points).flatten() {
            assert!(workloads.iter().any(|it| it.full_name == cell.workload), "{cell:?}");
        }
    }
}

#[test]
fn params_of_a_variant_win_over_those_of_an_axis() {
    let text = "- name: x
  axes: [{name: pods, values: [{name: few, params: {pods: 5, nodes: 2}}]}]
  variants: [{name: a, testCase: T, workload: W}, {name: b, testCase: T, workload: W, params: {pods: 7}}]
";
    let study = parse_studies("variants.yaml", text).expect("valid").remove(0);
    let cells = study.points().remove(0);
    assert_eq!((cells[0].params["pods"].as_i64(), cells[1].params["pods"].as_i64()), (Some(5), Some(7)));
    assert_eq!(cells[1].params["nodes"].as_i64(), Some(2));
}
