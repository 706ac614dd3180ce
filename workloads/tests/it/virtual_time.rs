//! Workloads in virtual time: nothing that only waits costs anything, and a run is the same every time.

use std::time::{Duration, Instant};

use schedlab_cluster::latency::Latency;
use schedlab_cluster::link::LinkSettings;
use schedlab_workloads::executor::{Ending, RunSettings};
use schedlab_workloads::placements::{PlacementFormat, placements_text};

use crate::support::{SETTINGS, run_ops_virtually};

const CHURN: &str = "opcode: createNodes, count: 70
    opcode: churn, mode: recreate, number: 3, intervalMilliseconds: 7, templatePaths: [../t/blocker.yaml, ../t/service.yaml]
    opcode: createPods, count: 150, namespace: a, skipWaitToCompletion: true
    opcode: sleep, duration: 20ms
    opcode: deletePods, namespace: a, deletePodsPerSecond: 500, skipWaitToCompletion: true
    opcode: createPods, count: 200, namespace: b, collectMetrics: true";

fn text(ops: &str, settings: RunSettings) -> String {
    let (outcome, placements) = run_ops_virtually("", ops, settings);
    assert_eq!(outcome.ending, Ending::Completed);
    assert!(placements.iter().any(|placement| placement.node.is_some()));
    placements_text(PlacementFormat::JsonLines, &[("Case/W".to_owned(), placements)])
}

#[test]
fn same_seed_gives_the_same_placements_byte_for_byte() {
    let latency = Latency::constant_ms(3);
    for link in [LinkSettings::INSTANT, LinkSettings { latency, ..LinkSettings::INSTANT }] {
        let settings = RunSettings { link, ..SETTINGS };
        let first = text(CHURN, settings);
        assert_eq!(first, text(CHURN, settings));
        assert_eq!(first, text(CHURN, RunSettings { threads: 2, ..settings }), "threads decide nothing");
        assert_ne!(first, text(CHURN, RunSettings { seed: SETTINGS.seed + 1, ..settings }), "the seed does");
    }
}

#[test]
fn sleep_costs_no_time() {
    let begun = Instant::now();
    let ops = "opcode: createNodes, count: 1
        opcode: sleep, duration: 100h
        opcode: createPods, count: 1, collectMetrics: true
        opcode: sleep, duration: 100h";
    let (outcome, placements) = run_ops_virtually("", ops, SETTINGS);
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!(placements[0].attempts, 1);
    assert!(begun.elapsed() < Duration::from_secs(3600));
}

#[test]
fn cycles_and_call_latency_pass_on_the_virtual_clock() {
    let ops = "opcode: createNodes, count: 3
        opcode: createPods, count: 10, collectMetrics: true";
    let elapsed_ms = |link| {
        let (outcome, _) = run_ops_virtually("", ops, RunSettings { link, ..SETTINGS });
        let part = &outcome.collected[0];
        assert_eq!(part.scheduled, 10);
        (part.end_ns - part.start_ns) / 1_000_000
    };
    assert_eq!(elapsed_ms(LinkSettings::INSTANT), 10, "ten cycles of a millisecond");
    let latency = Latency::constant_ms(30);
    assert_eq!(elapsed_ms(LinkSettings { latency, ..LinkSettings::INSTANT }), 40, "the last call's latency");
}

#[test]
fn backoff_and_unschedulable_pods_end_the_wait_at_once() {
    let ops = "opcode: createNodes, count: 1, nodeTemplatePath: ../t/tainted.yaml
        opcode: createPods, count: 2";
    let begun = Instant::now();
    let (outcome, placements) = run_ops_virtually("", ops, SETTINGS);
    let Ending::Stuck(why) = outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(
        why.starts_with("2 of 2 pods of namespace \"namespace-1\" are not scheduled and never will be"),
        "{why}"
    );
    assert!(why.contains("2 pod(s) wait: 0/1 nodes are available"), "{why}");
    assert_eq!(placements[0].attempts, 1);
    assert!(begun.elapsed() < Duration::from_secs(20), "nobody waited for thirty seconds of patience");
}

#[test]
fn placements_name_the_preemptor_of_a_victim() {
    let ops = "opcode: createNodes, count: 1, nodeTemplatePath: ../t/open.yaml
        opcode: createPods, count: 1, namespace: a, podTemplatePath: ../t/blocker.yaml
        opcode: createPods, count: 1, namespace: b, podTemplatePath: ../t/urgent.yaml";
    let (outcome, placements) = run_ops_virtually("", ops, SETTINGS);
    assert_eq!(outcome.ending, Ending::Completed);
    let [victim, preemptor] = placements.try_into().expect("two pods");
    assert_eq!((victim.pod.as_str(), victim.node.as_deref()), ("a/blocker-0", Some("node-0")));
    assert_eq!(victim.evicted_by.as_deref(), Some(preemptor.pod.as_str()));
    assert_eq!(victim.evicted_why.as_deref(), Some("PreemptionByScheduler"));
    assert_eq!((preemptor.node.as_deref(), preemptor.nominated.as_deref()), (Some("node-0"), Some("node-0")));
    assert_eq!((preemptor.attempts, preemptor.evicted_by), (2, None));
}

#[test]
fn tolerated_eviction_waits_on_the_virtual_clock() {
    let ops = "opcode: createNodes, count: 1, nodeTemplatePath: ../t/cache-node.yaml
        opcode: createPods, count: 1, namespace: a, podTemplatePath: ../t/patient-pod.yaml
        opcode: updateAny, templatePath: ../t/cache-node-tainted.yaml
        opcode: sleep, duration: 2s";
    let (outcome, placements) = run_ops_virtually("taint-eviction-controller", ops, SETTINGS);
    assert_eq!((outcome.ending, outcome.pod_count), (Ending::Completed, 0));
    assert_eq!(placements[0].evicted_by.as_deref(), Some("DeletionByTaintManager"));
}
