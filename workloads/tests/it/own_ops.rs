//! The ops that upstream does not have: on the wall clock and in virtual time.

use schedlab_cluster::controllers::ControllerReport;
use schedlab_cluster::latency::Latency;
use schedlab_cluster::link::LinkSettings;
use schedlab_workloads::executor::{Ending, Outcome, RunSettings};
use schedlab_workloads::placements::PodPlacement;

use crate::support::{SETTINGS, run_ops, run_ops_virtually};

#[track_caller]
fn completes(ops: &str) -> Outcome {
    let outcome = run_ops("", ops).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.ending, Ending::Completed);
    outcome
}

#[track_caller]
fn completes_virtually(controllers: &str, ops: &str) -> (Outcome, Vec<PodPlacement>) {
    let (outcome, placements) = run_ops_virtually(controllers, ops, SETTINGS);
    assert_eq!(outcome.ending, Ending::Completed);
    (outcome, placements)
}

/// What an op of this name counted.
#[track_caller]
fn report<'a>(outcome: &'a Outcome, opcode: &str) -> &'a ControllerReport {
    outcome.controllers.iter().find(|report| report.controller == opcode).expect("it ran")
}

#[test]
fn delete_nodes_deletes_the_first_by_name_and_their_pods_if_asked() {
    let outcome = completes(
        "opcode: createNodes, count: 4, nodeTemplatePath: ../t/node.yaml
         opcode: createPods, count: 8, namespace: a
         opcode: deleteNodes, count: 1
         opcode: deleteNodes, count: 2, nodesPerSecond: 200, deletePods: true",
    );
    let deleted = report(&outcome, "deleteNodes");
    assert_eq!((deleted.counter("nodes_deleted"), deleted.counter("pods_deleted")), (3, 4));
    assert_eq!((outcome.node_count, outcome.pod_count), (1, 4), "pods of the first stay bound to it");
}

#[test]
fn update_nodes_relabels_taints_and_cordons() {
    let outcome = completes(
        "opcode: createAny, templatePath: ../t/cache-node.yaml, count: 3
         opcode: updateNodes, count: 1, labels: {app: null, tier: new}
         opcode: updateNodes, labelSelector: {tier: new}, taints: [{key: k, effect: NoSchedule}]
         opcode: updateNodes, labelSelector: {app: cache}, count: 1, unschedulable: true
         opcode: createPods, count: 5, namespace: a",
    );
    assert_eq!(report(&outcome, "updateNodes").counter("nodes_updated"), 3);
    let (_, placements) = completes_virtually(
        "",
        "opcode: createAny, templatePath: ../t/cache-node.yaml, count: 3
         opcode: updateNodes, count: 1, taints: [{key: k, effect: NoSchedule}]
         opcode: updateNodes, labelSelector: {app: cache}, count: 2, unschedulable: true
         opcode: createPods, count: 3, namespace: a",
    );
    assert!(placements.iter().all(|it| it.node.as_deref() == Some("c-2")), "{placements:?}");
}

#[test]
fn update_nodes_of_conditions_reach_the_node_lifecycle_controller() {
    let controllers = "node-lifecycle-controller, taint-eviction-controller";
    let ops = "opcode: createAny, templatePath: ../t/ready-node.yaml, count: 4
        opcode: createPods, count: 4, namespace: a
        opcode: updateNodes, count: 1, conditions: {Ready: 'False'}
        opcode: sleep, duration: 900s";
    let (outcome, _) = completes_virtually(controllers, ops);
    assert_eq!(outcome.pod_count, 3, "a pod tolerates not-ready for 300 s");
}

#[test]
fn churn_of_labels_goes_on_until_the_workload_ends_and_is_the_same_every_time() {
    let ops = "opcode: createAny, templatePath: ../t/cache-node.yaml, count: 4
        opcode: updateNodes, mode: churn, nodesPerSecond: 10, labels: {app: null}
        opcode: createPods, count: 20, namespace: a
        opcode: sleep, duration: 1s";
    let (outcome, placements) = completes_virtually("", ops);
    assert_eq!(report(&outcome, "updateNodes").counter("nodes_updated"), 10, "ten a second");
    assert_eq!(completes_virtually("", ops).1, placements);
    let wall = run_ops("", ops).unwrap_or_else(|error| panic!("{error}"));
    assert!(0 < report(&wall, "updateNodes").counter("nodes_updated"));
}

#[test]
fn nominated_pods_go_where_they_were_nominated() {
    let ops = "opcode: createAny, templatePath: ../t/cache-node.yaml, count: 2
        opcode: createAny, templatePath: ../t/ready-node.yaml, count: 1
        opcode: updateNodes, unschedulable: true
        opcode: createPods, count: 4, namespace: a, skipWaitToCompletion: true
        opcode: nominate, namespace: a, count: 3, nodeSelector: {app: cache}
        opcode: nominate, namespace: a, count: 1, clear: true
        opcode: updateNodes, unschedulable: false
        opcode: barrier";
    let (outcome, placements) = completes_virtually("", ops);
    assert_eq!(report(&outcome, "nominate").counter("pods_nominated"), 4);
    assert!(placements[1..3].iter().all(|it| it.node == it.nominated), "{placements:?}");
    let error =
        run_ops("", "opcode: nominate, namespace: default, nodeSelector: {a: b}").expect_err("no node");
    let text = error.to_string();
    assert!(text.contains("op 0 (nominate): no node has the labels \"a=b\"; create one before"), "{text}");
}

#[test]
fn eviction_goes_by_the_budget() {
    let ops = "opcode: createNodes, count: 2
        opcode: createPods, count: 6, namespace: a
        opcode: evict, namespace: a, count: 4, podsPerSecond: 1000";
    let outcome = completes(ops);
    assert_eq!((report(&outcome, "evict").counter("pods_evicted"), outcome.pod_count), (4, 2));
}

#[test]
fn restarted_scheduler_schedules_what_was_left() {
    let outcome = completes(
        "opcode: createNodes, count: 10
         opcode: createPods, count: 50, namespace: a
         opcode: restartScheduler
         opcode: restartScheduler, downtime: 5ms
         opcode: createPods, count: 50, namespace: b, collectMetrics: true
         opcode: deletePods, namespace: a
         opcode: createPods, count: 10, namespace: c",
    );
    assert_eq!(report(&outcome, "restartScheduler").counter("restarts"), 2);
    assert_eq!((outcome.pod_count, outcome.collected[0].scheduled), (60, 50));
}

#[test]
fn calls_on_their_way_at_a_restart_arrive() {
    let link = LinkSettings { latency: Latency::constant_ms(20), ..LinkSettings::INSTANT };
    let ops = "opcode: createNodes, count: 10
        opcode: createPods, count: 30, namespace: a, skipWaitToCompletion: true
        opcode: sleep, duration: 15ms
        opcode: restartScheduler
        opcode: barrier";
    let (outcome, placements) = run_ops_virtually("", ops, RunSettings { link, ..SETTINGS });
    assert_eq!(outcome.ending, Ending::Completed);
    assert!(placements.iter().all(|it| it.node.is_some()));
    let restarts = report(&outcome, "restartScheduler");
    assert!(0 < restarts.counter("pods_held"));
    assert_eq!(restarts.counter("same_node"), restarts.counter("pods_held"), "their bindings were under way");
}

#[test]
fn latency_of_arrivals_begins_when_they_were_to_come() {
    // A cycle takes a millisecond: at 2,000 a second the queue grows by a pod a millisecond.
    let ops = "opcode: createNodes, count: 10
        opcode: arrivals, pattern: constant, podsPerSecond: 2000, count: 100, namespace: a, collectMetrics: true";
    let (outcome, _) = completes_virtually("", ops);
    assert_eq!(outcome.collected[0].scheduled, 100);
    let arrived = report(&outcome, "arrivals");
    assert_eq!((arrived.counter("pods_arrived"), arrived.counter("pods_refused")), (100, 0));
    let wall = completes(
        "opcode: createNodes, count: 10
         opcode: arrivals, pattern: poisson, podsPerSecond: 5000, count: 100, namespace: a, collectMetrics: true
         opcode: arrivals, pattern: bursts, burstSize: 20, podsPerSecond: 5000, count: 100, namespace: b, skipWaitToCompletion: true
         opcode: barrier",
    );
    assert_eq!((wall.pod_count, wall.collected[0].scheduled), (200, 100));
}

#[test]
fn arrivals_take_their_time_in_virtual_time() {
    let ops = "opcode: createNodes, count: 10
        opcode: arrivals, pattern: recorded, recordedPath: ../t/arrivals.txt, namespace: a, collectMetrics: true";
    let (outcome, _) = completes_virtually("", ops);
    let part = &outcome.collected[0];
    assert_eq!(
        (part.scheduled, (part.end_ns - part.start_ns) / 1_000_000),
        (3, 2_001),
        "the last comes after 2 s"
    );
}

#[test]
fn completed_pods_make_room() {
    // Two pods a node, and twelve that want to be there: each runs for ten seconds.
    let ops = "opcode: createNodes, count: 2, nodeTemplatePath: ../t/node.yaml
        opcode: completions, namespace: a, lifetimeSeconds: 10
        opcode: createPods, count: 12, namespace: a";
    let (outcome, _) = completes_virtually("", ops);
    assert_eq!(report(&outcome, "completions").counter("pods_completed"), 8);
    let ops = "opcode: createNodes, count: 2, nodeTemplatePath: ../t/node.yaml
        opcode: completions, namespace: a, podsPerSecond: 2
        opcode: createPods, count: 12, namespace: a";
    let (outcome, _) = completes_virtually("", ops);
    assert!(8 <= report(&outcome, "completions").counter("pods_completed"));
}

#[test]
fn deployment_replaces_what_an_eviction_takes() {
    let ops = "opcode: createNodes, count: 4
        opcode: createAny, namespace: default, templatePath: ../t/deployment.yaml
        opcode: sleep, duration: 100ms
        opcode: evict, namespace: default, count: 2
        opcode: sleep, duration: 100ms";
    let (outcome, _) = completes_virtually("deployment-controller, replicaset-controller, kubelet", ops);
    let evicted = report(&outcome, "evict").counter("pods_evicted");
    assert_eq!(evicted, 2);
    assert_eq!(report(&outcome, "replicaset-controller").counter("pods_created"), 7);
    assert_eq!(outcome.pod_count, 5);
}
