//! Pod groups from a workload file to the nodes of their members, and what is wrong with some.

use schedlab_workloads::executor::{Ending, Outcome};

use crate::support::run_ops;

const GATES: &str = "GenericWorkload: true";

fn outcome(ops: &str) -> Outcome {
    run_ops(GATES, ops).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn stuck(ops: &str, reasons: &[&str]) {
    let Ending::Stuck(why) = outcome(ops).ending else { panic!("the pods were scheduled") };
    for reason in reasons {
        assert!(why.contains(reason), "no {reason:?} in {why}");
    }
}

#[track_caller]
fn fails(gates: &str, ops: &str, message: &str) {
    let error = run_ops(gates, ops).expect_err("it must fail").to_string();
    assert!(error.contains(message), "no {message:?} in {error}");
}

#[test]
fn gangs_of_create_pod_groups_are_scheduled() {
    let outcome = outcome(
        "opcode: createNodes, count: 4
         opcode: createPodGroups, count: 3, namespace: g, templatePath: ../t/gang.yaml, templateParams: {minCount: 4}
         opcode: createPods, count: 12, namespace: g, podTemplatePath: ../t/member.yaml, templateParams: {size: 4}, collectMetrics: true",
    );
    assert_eq!((outcome.ending, outcome.collected[0].scheduled), (Ending::Completed, 12));
    assert_eq!(outcome.collected[0].calls["PATCH podgroups/status"], 3, "{:?}", outcome.collected[0].calls);
}

#[test]
fn higher_priority_gang_preempts_another_gang() {
    let outcome = outcome(
        "opcode: createAny, templatePath: ../t/open.yaml
         opcode: createPodGroups, count: 1, namespace: low, templatePath: ../t/gang.yaml, templateParams: {minCount: 4}
         opcode: createPods, count: 4, namespace: low, podTemplatePath: ../t/member.yaml, templateParams: {size: 4}
         opcode: createPodGroups, count: 1, namespace: high, templatePath: ../t/gang.yaml, templateParams: {minCount: 3, priority: 7}
         opcode: createPods, count: 3, namespace: high, podTemplatePath: ../t/member.yaml, templateParams: {size: 3, priority: 7}, collectMetrics: true",
    );
    assert_eq!((outcome.ending, outcome.collected[0].scheduled), (Ending::Completed, 3));
    assert_eq!(outcome.pod_count, 3 + 1, "three of the four victims had to go");
}

#[test]
fn pod_whose_group_does_not_exist_waits_and_says_so() {
    stuck(
        "opcode: createNodes, count: 1
         opcode: createPods, count: 2, podTemplatePath: ../t/member.yaml, templateParams: {size: 2}, collectMetrics: true",
        &["2 of 2 pods", "2 pod(s) wait: ", "gang-0"],
    );
}

#[test]
fn gang_with_min_count_above_its_size_waits_and_says_so() {
    stuck(
        "opcode: createNodes, count: 1
         opcode: createPodGroups, count: 1, namespace: g, templatePath: ../t/gang.yaml, templateParams: {minCount: 3}
         opcode: createPods, count: 2, namespace: g, podTemplatePath: ../t/member.yaml, templateParams: {size: 2}, collectMetrics: true",
        &["2 of 2 pods", "2 pod(s) wait: "],
    );
}

#[test]
fn gang_without_room_for_min_count_binds_none() {
    stuck(
        "opcode: createAny, templatePath: ../t/open.yaml
         opcode: createPodGroups, count: 1, namespace: g, templatePath: ../t/gang.yaml, templateParams: {minCount: 3}
         opcode: createPods, count: 3, namespace: g, podTemplatePath: ../t/member.yaml, templateParams: {size: 3, cpu: '2'}, collectMetrics: true",
        &["3 of 3 pods"],
    );
}

#[test]
fn members_of_another_priority_than_their_group_fail_it() {
    stuck(
        "opcode: createNodes, count: 1
         opcode: createPodGroups, count: 1, namespace: g, templatePath: ../t/gang.yaml, templateParams: {minCount: 2, priority: 3}
         opcode: createPods, count: 2, namespace: g, podTemplatePath: ../t/member.yaml, templateParams: {size: 2}, collectMetrics: true",
        &["same priority as the pod group's priority, got 0 and 3"],
    );
}

#[test]
fn invalid_pod_groups_are_refused() {
    let group = |params: &str| {
        format!(
            "opcode: createPodGroups, count: 1, namespace: g, templatePath: ../t/gang.yaml, templateParams: {params}"
        )
    };
    let of =
        |file: &str| format!("opcode: createPodGroups, count: 1, namespace: g, templatePath: ../t/{file}");
    let cases = [
        (GATES, group("{minCount: 0}"), "spec.schedulingPolicy.gang.minCount: Required value"),
        (GATES, group("{minCount: -1}"), "must be greater than or equal to 1"),
        (GATES, group("{}"), "`.minCount` has no value; set it in `templateParams` of the op"),
        (GATES, of("group-with-count.yaml"), "`.Count` has no value"),
        (
            GATES,
            of("group-misspelt.yaml"),
            "unknown field \"spec.schedulingPolicy.gang.mincount\" in a PodGroup",
        ),
        (GATES, of("open.yaml"), "makes a Node, but this op creates a PodGroup"),
        (
            "",
            group("{minCount: 1}"),
            "op 0 (createPodGroups): pod groups need the feature gate GenericWorkload",
        ),
    ];
    for (gates, op, message) in cases {
        fails(gates, &op, message);
    }
}
