//! Each op from the file to what it does to the cluster and to the measured numbers.

use schedlab_workloads::executor::{Ending, Outcome};

use crate::support::run_ops;

#[track_caller]
fn completes(ops: &str) -> Outcome {
    let outcome = run_ops("", ops).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.ending, Ending::Completed);
    outcome
}

#[track_caller]
fn fails(gates: &str, ops: &str, message: &str) {
    let error = run_ops(gates, ops).expect_err("it must fail").to_string();
    assert!(error.contains(message), "no {message:?} in {error}");
}

#[test]
fn create_any_makes_objects_that_later_ops_need() {
    let outcome = completes(
        "opcode: createAny, templatePath: ../t/open.yaml, count: 2
         opcode: createAny, templatePath: ../t/class.yaml, count: 3
         opcode: createAny, templatePath: ../t/service.yaml, namespace: new
         opcode: createPods, count: 4, podTemplatePath: ../t/classed.yaml, namespace: new, collectMetrics: true",
    );
    assert_eq!((outcome.node_count, outcome.collected[0].scheduled), (2, 4));
}

#[test]
fn create_any_refuses_invalid_objects() {
    let cases = [
        (
            "opcode: createAny, templatePath: ../t/service.yaml",
            "t/service.yaml: a Service lives in a namespace",
        ),
        (
            "opcode: createAny, templatePath: ../t/pv.yaml, namespace: x",
            "t/pv.yaml: a PersistentVolume has no namespace; remove `namespace: x` from this op",
        ),
        (
            "opcode: createAny, templatePath: ../t/kindless.yaml",
            "op 0 (createAny): t/kindless.yaml: an object needs `apiVersion` and `kind`",
        ),
    ];
    for (op, message) in cases {
        fails("", op, message);
    }
}

#[test]
fn churn_runs_in_background_and_is_not_measured() {
    let outcome = completes(
        "opcode: createNodes, count: 3
         opcode: churn, mode: recreate, number: 1, intervalMilliseconds: 2, templatePaths: [../t/service.yaml, ../t/waiter.yaml]
         opcode: startCollectingMetrics, name: part, namespaces: [measured]
         opcode: createPods, count: 5, namespace: measured
         opcode: sleep, duration: 200ms
         opcode: stopCollectingMetrics",
    );
    let part = &outcome.collected[0];
    assert_eq!((part.collector.as_str(), part.created, part.scheduled), ("part", 5, 5));
    for call in ["POST services", "DELETE services", "DELETE pods"] {
        assert!(1 < part.calls.get(call).copied().unwrap_or(0), "{call}: {:?}", part.calls);
    }
}

#[test]
fn churn_that_creates_stops_at_its_number() {
    let outcome = completes(
        "opcode: createNodes, count: 1
         opcode: startCollectingMetrics, namespaces: [default]
         opcode: churn, mode: create, number: 3, intervalMilliseconds: 1, templatePaths: [../t/service.yaml]
         opcode: sleep, duration: 300ms
         opcode: stopCollectingMetrics",
    );
    assert_eq!(outcome.collected[0].calls["POST services"], 3);
}

#[test]
fn background_delete_pods_makes_pending_pods_schedulable() {
    let outcome = completes(
        "opcode: createAny, templatePath: ../t/node.yaml, count: 2
         opcode: createPods, count: 4, podTemplatePath: ../t/blocker.yaml, namespace: room
         opcode: startCollectingMetrics, namespaces: [room], labelSelector: {type: waiter}
         opcode: createPods, count: 4, podTemplatePath: ../t/waiter.yaml, namespace: room, skipWaitToCompletion: true
         opcode: barrier, stageRequirement: Attempted, labelSelector: {type: waiter}
         opcode: deletePods, namespace: room, labelSelector: {type: blocker}, deletePodsPerSecond: 40, skipWaitToCompletion: true
         opcode: barrier, labelSelector: {type: waiter}
         opcode: stopCollectingMetrics",
    );
    let part = &outcome.collected[0];
    assert_eq!((part.created, part.scheduled, outcome.pod_count), (4, 4, 4));
    assert!(4 < part.attempts, "the first attempts failed");
}

#[test]
fn deleting_pods_at_once_deletes_those_with_the_labels() {
    let outcome = completes(
        "opcode: createNodes, count: 2
         opcode: createPods, count: 3, podTemplatePath: ../t/blocker.yaml, namespace: room
         opcode: createPods, count: 2, podTemplatePath: ../t/waiter.yaml, namespace: room
         opcode: deletePods, namespace: room, labelSelector: {type: blocker}",
    );
    assert_eq!(outcome.pod_count, 2);
}

#[test]
fn node_update_makes_pods_schedulable() {
    let outcome = completes(
        "opcode: createAny, templatePath: ../t/tainted.yaml, count: 2
         opcode: createPods, count: 6, namespace: room, skipWaitToCompletion: true
         opcode: barrier, stageRequirement: Attempted
         opcode: updateAny, templatePath: ../t/open.yaml, count: 2, updatePerSecond: 100
         opcode: barrier
         opcode: createPods, count: 1, namespace: room, collectMetrics: true",
    );
    assert_eq!(outcome.pod_count, 7);
}

#[test]
fn pod_resize_frees_resources() {
    let outcome = completes(
        "opcode: createAny, templatePath: ../t/open.yaml
         opcode: createPods, count: 2, podTemplatePath: ../t/blocker.yaml, namespace: room
         opcode: createPods, count: 2, podTemplatePath: ../t/waiter.yaml, namespace: w, skipWaitToCompletion: true
         opcode: barrier, namespaces: [w], stageRequirement: Attempted
         opcode: updateAny, templatePath: ../t/smaller.yaml, count: 2, namespace: room, subresources: [resize]
         opcode: barrier",
    );
    assert_eq!(outcome.pod_count, 4);
}

#[test]
fn invalid_updates_are_refused() {
    let cases = [
        ("opcode: updateAny, templatePath: ../t/open.yaml", "op 0 (updateAny): the API refused: "),
        (
            "opcode: updateAny, templatePath: ../t/open.yaml, subresources: [scale]",
            "subresource \"scale\" cannot be updated here; use resize, status, or none",
        ),
        (
            "opcode: updateAny, templatePath: ../t/open.yaml, subresources: [resize]",
            "a Node has no subresource resize; only a Pod has",
        ),
    ];
    for (op, message) in cases {
        fails("", op, message);
    }
}

#[test]
fn a_steady_state_replaces_every_scheduled_pod() {
    let outcome = completes(
        "opcode: createNodes, count: 2
         opcode: createPods, count: 5, namespace: room, steadyState: true, duration: 300ms, collectMetrics: true",
    );
    let part = &outcome.collected[0];
    assert!(5 < part.scheduled, "{} pods", part.scheduled);
    assert!(part.scheduled <= part.created);
    assert_eq!(outcome.pod_count, 5);
}

#[test]
fn a_steady_state_without_a_scheduled_pod_is_an_error() {
    fails(
        "",
        "opcode: createPods, count: 5, steadyState: true, duration: 50ms, collectMetrics: true",
        "no pod at all was scheduled in 50ms; make `duration` longer, or see why none fits",
    );
}

#[test]
fn pods_get_their_volumes() {
    let outcome = completes(
        "opcode: createNodes, count: 2
         opcode: createPods, count: 3, namespace: room, persistentVolumeTemplatePath: ../t/pv.yaml, persistentVolumeClaimTemplatePath: ../t/pvc.yaml, collectMetrics: true",
    );
    let part = &outcome.collected[0];
    assert_eq!(part.scheduled, 3);
    assert_eq!(part.calls["POST persistentvolumeclaims"], 3, "{:?}", part.calls);
}

#[test]
fn pods_of_a_batch_share_a_label() {
    for (number, left) in [(0, 3), (1, 3), (2, 4), (3, 5)] {
        let outcome = completes(&format!(
            "opcode: createNodes, count: 2
             opcode: createPods, count: 5, podTemplatePath: ../t/waiter.yaml, namespace: room, signatureBatchSize: 2
             opcode: deletePods, namespace: room, labelSelector: {{signature: signature-label-{number}}}",
        ));
        assert_eq!(outcome.pod_count, left, "batch {number}");
    }
}

#[test]
fn measured_parts_do_not_overlap() {
    fails(
        "",
        "opcode: startCollectingMetrics, name: first, namespaces: [a]
         opcode: startCollectingMetrics, namespaces: [a]
         opcode: stopCollectingMetrics",
        "op 1 (startCollectingMetrics): metrics are already collected (\"first\")",
    );
    fails("", "opcode: stopCollectingMetrics", "op 0 (stopCollectingMetrics): no metrics are collected");
}

#[test]
fn a_wait_for_pods_that_never_fit_ends_with_the_reason() {
    let outcome = run_ops(
        "",
        "opcode: createAny, templatePath: ../t/tainted.yaml
         opcode: createPods, count: 2, namespace: waiting, collectMetrics: true",
    )
    .expect("it runs");
    let Ending::Stuck(why) = outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(
        why.starts_with("2 of 2 pods of namespace \"waiting\" are not scheduled and never will be"),
        "{why}"
    );
    assert!(why.contains("untolerated taint"), "{why}");
}

#[test]
fn feature_gates_of_the_workload_file_are_checked() {
    fails("NoSuchGate: true", "opcode: createNodes, count: 1", "Case/W: unknown feature gate `NoSuchGate`");
    fails(
        "SchedulerPreEnqueuePodStatus: true",
        "opcode: createNodes, count: 1",
        "feature gate SchedulerPreEnqueuePodStatus needs SchedulerAsyncAPICalls",
    );
    let outcome = run_ops(
        "SchedulerAsyncAPICalls: true, OpportunisticBatching: false",
        "opcode: createNodes, count: 2
         opcode: createPods, count: 4, collectMetrics: true",
    )
    .expect("known gates");
    assert_eq!(outcome.ending, Ending::Completed);
}

#[test]
fn profile_ops_must_come_in_pairs() {
    let start = "opcode: startCollectingProfile, type: CPU, filePath: cpu.pb";
    fails(
        "",
        &format!("{start}\n{start}"),
        "op 1 (startCollectingProfile): a CPU profile is already under way (cpu.pb); stop that with \
         stopCollectingProfile first",
    );
    let stop = "opcode: stopCollectingProfile, type: CPU";
    fails("", stop, "op 0 (stopCollectingProfile): no CPU profile is under way; put startCollectingProfile");
    completes(&format!("{start}\n{stop}\n{start}"));
}
