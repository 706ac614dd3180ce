//! Experiments: claims judged by their runs, and definitions that are refused.

use serde_json::Value;

use crate::support::{Folder, schedlab_in};

const WORKLOADS: &str = "- name: Plain
  workloadTemplate:
  - {opcode: createNodes, countParam: $nodes}
  - {opcode: createPods, countParam: $pods, collectMetrics: true}
  workloads:
  - {name: Small, params: {nodes: 10, pods: 20}}
";

const EXPERIMENT: &str = "name: calls
title: Calls
proposal: KEP-1
hypothesis: Announcing every pod is a call more for each.
claims:
- quote: double the number of API calls
  section: Risks
  means: Always announcing is twice the calls.
  refutedIf: It is less.
  analysis: ratio-at-least
  metric: schedulerCalls
  variant: always
  bound: 2
- quote: costs nothing
  section: Risks
  means: Always announcing is no more calls.
  refutedIf: It is more.
  analysis: ratio-at-most
  metric: schedulerCalls
  variant: always
  bound: 1
studies:
- name: calls
  rounds: 7
  axes: [{name: pods, values: [{name: 20, params: {pods: 20}}, {name: 40, params: {pods: 40}}]}]
  quick: {rounds: 6, axes: {pods: 20}}
  variants:
  - {name: never, testCase: Plain, workload: Small, flags: --nominated-node-name never}
  - {name: always, testCase: Plain, workload: Small, flags: --nominated-node-name always}
";

fn folder(experiment: &str) -> Folder {
    let folder = Folder::new();
    folder.file("mine/performance-config.yaml", WORKLOADS);
    folder.file("mine/experiment.yaml", experiment);
    folder
}

fn verdicts(folder: &Folder) -> Vec<String> {
    let result: Value = serde_json::from_str(&folder.read("out/calls.json")).expect("JSON");
    let claims = result["claims"].as_array().expect("claims");
    claims.iter().map(|claim| claim["verdict"].as_str().expect("a word").to_owned()).collect()
}

#[test]
fn true_claim_is_supported_and_false_one_refuted_by_its_runs() {
    let folder = folder(EXPERIMENT);
    schedlab_in(
        &folder,
        &["experiment", "run", "--config", "mine", "--out", "out", "--markdown", "claims.md"],
    )
    .ends_with(0)
    .says("+ supported: “double the number of API calls”")
    .says("- refuted: “costs nothing”");
    assert_eq!(verdicts(&folder), ["supported", "refuted"]);
    assert!(folder.read("out/claims.html").contains("1 supported, 1 refuted, 0 not enough data"));
    assert!(folder.read("claims.md").contains("schedlab experiment run calls --config mine\n"));
    folder.file("empty/history.slh", "");
    schedlab_in(&folder, &["site", "--history", "empty", "--claims", "out", "--out", "site"]).ends_with(0);
    assert!(folder.read("site/claims.html").contains("“costs nothing”"));
}

#[test]
fn too_few_rounds_decide_nothing_and_are_announced() {
    let folder = folder(EXPERIMENT);
    schedlab_in(&folder, &["experiment", "run", "--config", "mine", "--out", "out", "--rounds", "6"])
        .ends_with(0)
        .complains("needs 7")
        .says("? not enough data: “costs nothing”");
    assert_eq!(verdicts(&folder), ["not-enough-data", "not-enough-data"], "two points need seven");
    schedlab_in(&folder, &["experiment", "run", "--config", "mine", "--out", "out", "--quick"]).ends_with(0);
    assert_eq!(verdicts(&folder), ["supported", "refuted"], "one point needs six");
}

#[test]
fn a_bad_definition_ends_with_2_and_says_where_and_what_was_meant() {
    let cases = [
        ("analysis: ratio-at-least", "analysis: ratio-at-leest", "experiment.yaml:10:13: ", "ratio-at-least"),
        (
            "metric: schedulerCalls",
            "metric: schedulerCals",
            "experiment.yaml:11:11: ",
            "did you mean \"schedulerCalls\"?",
        ),
        ("variant: always", "variant: allways", "experiment.yaml:12:12: ", "did you mean \"always\"?"),
        ("workload: Small", "workload: Smal", "never at 20", "Plain/Smal"),
        ("params: {pods: 20}", "params: {podz: 20}", "performance-config.yaml:6", "podz"),
    ];
    for (right, wrong, place, wanted) in cases {
        let folder = folder(&EXPERIMENT.replacen(right, wrong, 1));
        schedlab_in(&folder, &["experiment", "run", "--config", "mine", "--out", "out"])
            .ends_with(2)
            .complains(place)
            .complains(wanted);
    }
    let folder = folder(EXPERIMENT);
    schedlab_in(&folder, &["experiment", "run", "call", "--config", "mine"])
        .ends_with(2)
        .complains("there is no experiment \"call\"; did you mean \"calls\"?");
}

#[test]
fn built_in_experiments_are_listed() {
    let folder = Folder::new();
    schedlab_in(&folder, &["experiment", "list"]).ends_with(0).says("nnn-first-cost").says("KEP-5278");
}
