//! Controllers beside a workload's scheduler: KEP-2358 from the file to the eviction, with its gate and
//! without it; taints by condition; what a file may say of controllers.

use schedlab_cluster::controllers::ControllerReport;
use schedlab_workloads::executor::{Ending, Outcome};

use crate::support::{run_ops, run_ops_with};

const GATE: &str = "NodeAffinityRequiredDuringExecution: true";

#[track_caller]
fn completes(gates: &str, ops: &str) -> Outcome {
    let outcome = run_ops(gates, ops).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.ending, Ending::Completed);
    outcome
}

/// What the one controller that ran did.
#[track_caller]
fn report_of(outcome: &Outcome) -> &ControllerReport {
    let [report] = &*outcome.controllers else { panic!("{:?}", outcome.controllers) };
    report
}

/// Pods evicted by affinity and by a taint.
#[track_caller]
fn evicted(outcome: &Outcome) -> (u64, u64) {
    let report = report_of(outcome);
    (report.counter("evicted_by_affinity"), report.counter("evicted_by_taint"))
}

#[test]
fn removed_label_evicts_pods_whose_execution_terms_need_it() {
    let outcome = completes(
        GATE,
        "opcode: createAny, templatePath: ../t/cache-node.yaml, count: 4
         opcode: createPods, count: 20, podTemplatePath: ../t/cache-pod.yaml, namespace: caches
         opcode: updateAny, templatePath: ../t/cache-node-relabelled.yaml, count: 4",
    );
    let report = report_of(&outcome);
    assert_eq!(report.controller, "taint-eviction-controller", "its gate starts it");
    assert_eq!(evicted(&outcome), (20, 0));
    assert_eq!((report.counter("already_gone"), report.counter("failed")), (0, 0));
    assert_eq!(report.latency("pod_deletion").expect("timed").samples_us.len(), 20);
    assert_eq!(outcome.pod_count, 0, "nothing creates them anew");
    let updated = report.counter("nodes_updated");
    assert!((4..=8).contains(&updated), "each node once or twice: {updated}");
    assert_eq!(report.counter("pods_checked"), 40, "as they came, and when their node changed");
}

#[test]
fn pods_stay_where_the_label_stays_and_new_ones_are_scheduled_only_there() {
    let outcome = completes(
        GATE,
        "opcode: createAny, templatePath: ../t/cache-node.yaml, count: 4
         opcode: createPods, count: 8, podTemplatePath: ../t/cache-pod.yaml, namespace: caches
         opcode: updateAny, templatePath: ../t/cache-node-relabelled.yaml, count: 2
         opcode: createPods, count: 6, podTemplatePath: ../t/cache-pod.yaml, namespace: more, collectMetrics: true",
    );
    let (evicted, _) = evicted(&outcome);
    assert!(0 < evicted && evicted < 14, "those of two nodes: {evicted}");
    assert_eq!(outcome.pod_count, 14 - evicted);
    assert_eq!(outcome.collected[0].scheduled, 6);
}

#[test]
fn without_feature_gate_execution_terms_are_ignored_at_scheduling_and_afterwards() {
    let outcome = completes(
        "NodeAffinityRequiredDuringExecution: false",
        "opcode: createAny, templatePath: ../t/cache-node-relabelled.yaml, count: 2
         opcode: createPods, count: 6, podTemplatePath: ../t/cache-pod.yaml, namespace: caches, collectMetrics: true",
    );
    assert_eq!(outcome.controllers, []);
    assert_eq!((outcome.pod_count, outcome.collected[0].scheduled), (6, 6));
}

#[test]
fn with_feature_gate_pods_are_scheduled_only_where_execution_terms_match() {
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
fn pods_without_execution_terms_are_not_checked_while_no_node_is_tainted() {
    let outcome = completes(
        GATE,
        "opcode: createAny, templatePath: ../t/cache-node.yaml, count: 2
         opcode: createPods, count: 10, podTemplatePath: ../t/waiter.yaml, namespace: plain
         opcode: createPods, count: 6, podTemplatePath: ../t/cache-pod.yaml, namespace: caches
         opcode: createPods, count: 10, podTemplatePath: ../t/waiter.yaml, namespace: plain
         opcode: updateAny, templatePath: ../t/cache-node-relabelled.yaml, count: 2",
    );
    assert_eq!(evicted(&outcome), (6, 0));
    assert_eq!(
        report_of(&outcome).counter("pods_checked"),
        12,
        "the six as they came, and when their node changed"
    );
    assert_eq!(outcome.pod_count, 20, "the plain ones stay");
}

#[test]
fn no_execute_taint_evicts_pods_that_do_not_tolerate_it() {
    let outcome = completes(
        GATE,
        "opcode: createAny, templatePath: ../t/cache-node.yaml, count: 2
         opcode: createPods, count: 10, podTemplatePath: ../t/waiter.yaml, namespace: plain
         opcode: updateAny, templatePath: ../t/cache-node-tainted.yaml, count: 2",
    );
    assert_eq!(evicted(&outcome), (0, 10));
    assert_eq!(outcome.pod_count, 0);
}

#[test]
fn execution_terms_that_are_no_node_selector_are_refused_with_their_file() {
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

#[test]
fn taint_eviction_runs_without_feature_gate_when_enabled() {
    let ops = "opcode: createAny, templatePath: ../t/cache-node.yaml, count: 2
         opcode: createPods, count: 4, podTemplatePath: ../t/waiter.yaml, namespace: plain
         opcode: createPods, count: 4, podTemplatePath: ../t/cache-pod.yaml, namespace: caches
         opcode: updateAny, templatePath: ../t/cache-node-relabelled.yaml, count: 2
         opcode: sleep, duration: 50ms
         opcode: updateAny, templatePath: ../t/cache-node-tainted.yaml, count: 1";
    let outcome =
        run_ops_with("taint-eviction-controller", "", ops).unwrap_or_else(|error| panic!("{error}"));
    let (by_affinity, by_taint) = evicted(&outcome);
    assert_eq!(by_affinity, 0, "with the gate off pods have no execution terms");
    assert!(0 < by_taint && by_taint < 8, "those of one node: {by_taint}");
    assert_eq!(outcome.pod_count, 8 - by_taint);
}

#[test]
fn pods_are_evicted_when_their_toleration_seconds_are_over() {
    let outcome = run_ops_with(
        "taint-eviction-controller",
        "",
        "opcode: createAny, templatePath: ../t/cache-node.yaml, count: 1
         opcode: createPods, count: 3, podTemplatePath: ../t/patient-pod.yaml, namespace: patient
         opcode: updateAny, templatePath: ../t/cache-node-tainted.yaml, count: 1
         opcode: sleep, duration: 1500ms",
    )
    .unwrap_or_else(|error| panic!("{error}"));
    let report = report_of(&outcome);
    assert_eq!((report.counter("delayed"), report.counter("evicted_by_taint")), (3, 3));
}

#[test]
fn not_ready_node_is_tainted_and_takes_pods_when_it_is_ready_again() {
    let outcome = run_ops_with(
        "node-lifecycle-controller",
        "",
        "opcode: createAny, templatePath: ../t/not-ready-node.yaml, count: 3
         opcode: sleep, duration: 100ms
         opcode: startCollectingMetrics, name: ready, namespaces: [plain]
         opcode: createPods, count: 6, podTemplatePath: ../t/waiter.yaml, namespace: plain, skipWaitToCompletion: true
         opcode: sleep, duration: 100ms
         opcode: updateAny, templatePath: ../t/ready-node.yaml, count: 3
         opcode: barrier
         opcode: stopCollectingMetrics",
    )
    .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!((outcome.pod_count, outcome.collected[0].scheduled), (6, 6));
    let report = report_of(&outcome);
    // updateAny writes the spec first, without the taints; the controller may bring them back in between.
    let (added, removed) = (report.counter("taints_added"), report.counter("taints_removed"));
    assert!(3 <= added && removed <= added, "{added} added, {removed} removed");
    assert!(3 <= report.latency("node_tainting").expect("timed").samples_us.len());
}

#[test]
fn all_controllers_run_in_the_order_of_their_list() {
    let ops = "opcode: createNodes, count: 1\nopcode: createPods, count: 1";
    let outcome = run_ops_with("all", "", ops).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<&str> = outcome.controllers.iter().map(|report| report.controller).collect();
    assert_eq!(names, schedlab_cluster::controllers::names().collect::<Vec<_>>());
}

#[test]
fn unknown_controller_and_needless_config_are_refused_with_their_place() {
    for (controllers, part) in [
        ("node-lifecyle-controller", "(did you mean `node-lifecycle-controller`?)"),
        (
            "{name: taint-eviction-controller, config: {rate: 5}}",
            "it takes no configuration; remove `config`",
        ),
        ("{name: taint-eviction-controller, rate: 5}", "unknown field `rate`"),
        ("{config: {}}", "has no `name`"),
    ] {
        let case = format!(
            "- name: Case\n  controllers: [{controllers}]\n  workloadTemplate:\n  - {{opcode: createPods, count: 1, \
             collectMetrics: true}}\n  workloads:\n  - name: W\n"
        );
        let files = vec![("s/performance-config.yaml", &*case.leak())];
        let source = schedlab_workloads::source::EmbeddedSource { files: files.leak() };
        let loaded =
            schedlab_workloads::resolve::Suite::load(std::sync::Arc::new(source), std::path::Path::new("s"));
        let Err(error) = loaded else { panic!("{controllers} is taken") };
        let error = error.to_string();
        assert!(error.contains("s/performance-config.yaml:2:"), "{error}");
        assert!(error.contains(part), "{error}");
    }
}
