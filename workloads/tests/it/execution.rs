//! KEP-2358 from the file to the eviction: with the gate, without it, and beside taints.

use schedlab_workloads::executor::{Ending, Outcome};

use crate::support::run_ops;

const GATE: &str = "NodeAffinityRequiredDuringExecution: true";

#[track_caller]
fn completes(gates: &str, ops: &str) -> Outcome {
    let outcome = run_ops(gates, ops).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.ending, Ending::Completed);
    outcome
}

#[test]
fn pods_leave_nodes_that_lose_the_label_they_require() {
    let outcome = completes(
        GATE,
        "opcode: createAny, templatePath: ../t/cache-node.yaml, count: 4
         opcode: createPods, count: 20, podTemplatePath: ../t/cache-pod.yaml, namespace: caches
         opcode: updateAny, templatePath: ../t/cache-node-relabelled.yaml, count: 4",
    );
    let execution = outcome.execution.expect("the manager ran");
    assert_eq!((execution.counts.evicted_by_affinity, execution.counts.evicted_by_taint), (20, 0));
    assert_eq!((execution.counts.already_gone, execution.counts.failed), (0, 0));
    assert_eq!(execution.latencies_us.len(), 20);
    assert_eq!(outcome.pod_count, 0, "nobody makes them anew");
    let counts = execution.counts;
    assert!(counts.nodes_updated >= 4 && counts.nodes_updated <= 8, "each node once or twice: {counts:?}");
    assert_eq!(counts.pods_checked, 40, "as they came, and when their node changed");
}

#[test]
fn pods_stay_where_the_label_stays_and_new_ones_go_only_there() {
    let outcome = completes(
        GATE,
        "opcode: createAny, templatePath: ../t/cache-node.yaml, count: 4
         opcode: createPods, count: 8, podTemplatePath: ../t/cache-pod.yaml, namespace: caches
         opcode: updateAny, templatePath: ../t/cache-node-relabelled.yaml, count: 2
         opcode: createPods, count: 6, podTemplatePath: ../t/cache-pod.yaml, namespace: more, collectMetrics: true",
    );
    let counts = outcome.execution.expect("the manager ran").counts;
    let evicted = counts.evicted_by_affinity;
    assert!(0 < evicted && evicted < 14, "those of two nodes: {counts:?}");
    assert_eq!(outcome.pod_count, 14 - evicted);
    assert_eq!(outcome.collected[0].scheduled, 6);
}

#[test]
fn with_the_gate_off_the_field_is_ignored_at_scheduling_and_afterwards() {
    let outcome = completes(
        "NodeAffinityRequiredDuringExecution: false",
        "opcode: createAny, templatePath: ../t/cache-node-relabelled.yaml, count: 2
         opcode: createPods, count: 6, podTemplatePath: ../t/cache-pod.yaml, namespace: caches, collectMetrics: true",
    );
    assert_eq!(outcome.execution, None);
    assert_eq!((outcome.pod_count, outcome.collected[0].scheduled), (6, 6));
}

#[test]
fn with_the_gate_on_pods_go_only_where_the_term_holds() {
    let outcome = run_ops(
        GATE,
        "opcode: createAny, templatePath: ../t/cache-node-relabelled.yaml, count: 2
         opcode: createPods, count: 1, podTemplatePath: ../t/cache-pod.yaml, namespace: caches, collectMetrics: true",
    )
    .unwrap_or_else(|error| panic!("{error}"));
    let Ending::Stuck(why) = &outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(why.contains("2 node(s) didn't match Pod's node affinity/selector"), "{why}");
}

#[test]
fn plain_pods_are_not_looked_at_and_a_pod_with_terms_behind_them_is() {
    let outcome = completes(
        GATE,
        "opcode: createAny, templatePath: ../t/cache-node.yaml, count: 2
         opcode: createPods, count: 10, podTemplatePath: ../t/waiter.yaml, namespace: plain
         opcode: createPods, count: 6, podTemplatePath: ../t/cache-pod.yaml, namespace: caches
         opcode: createPods, count: 10, podTemplatePath: ../t/waiter.yaml, namespace: plain
         opcode: updateAny, templatePath: ../t/cache-node-relabelled.yaml, count: 2",
    );
    let counts = outcome.execution.expect("the manager ran").counts;
    assert_eq!((counts.evicted_by_affinity, counts.evicted_by_taint), (6, 0));
    assert_eq!(counts.pods_checked, 12, "the six as they came, and when their node changed");
    assert_eq!(outcome.pod_count, 20, "the plain ones stay");
}

#[test]
fn a_taint_evicts_who_does_not_tolerate_it() {
    let outcome = completes(
        GATE,
        "opcode: createAny, templatePath: ../t/cache-node.yaml, count: 2
         opcode: createPods, count: 10, podTemplatePath: ../t/waiter.yaml, namespace: plain
         opcode: updateAny, templatePath: ../t/cache-node-tainted.yaml, count: 2",
    );
    let counts = outcome.execution.expect("the manager ran").counts;
    assert_eq!((counts.evicted_by_taint, counts.evicted_by_affinity), (10, 0));
    assert_eq!(outcome.pod_count, 0);
}

#[test]
fn a_field_that_is_no_node_selector_is_refused_with_its_file() {
    let error = run_ops(
        GATE,
        "opcode: createNodes, count: 1
         opcode: createPods, count: 1, podTemplatePath: ../t/cache-pod-wrong.yaml",
    )
    .expect_err("refused")
    .to_string();
    assert!(error.contains("t/cache-pod-wrong.yaml"), "{error}");
    assert!(error.contains("requiredDuringSchedulingRequiredDuringExecution"), "{error}");
}
