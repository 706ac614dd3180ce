//! Workloads on a scheduler that works.

use std::collections::BTreeSet;

use schedlab_workloads::executor::Ending;
use schedlab_workloads::results::{AgentCalls, Stage, latencies_by_stage};

use crate::child;
use crate::support::{run, under_test, workload};

#[test]
fn scheduler_under_test_binds_all_pods_and_is_measured_from_outside() {
    let workload = workload(
        "opcode: createNodes, count: 3, nodeTemplatePath: ../t/node.yaml\n\
         opcode: createPods, count: 30, podTemplatePath: ../t/pod.yaml, collectMetrics: true",
    );
    let (outcome, placements) = run(&workload, &under_test(child::words(&[])));
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.ending, Ending::Completed);
    let [part] = outcome.collected.as_slice() else { panic!("one measured part") };
    assert_eq!((part.created, part.scheduled, part.pending), (30, 30, 0));
    assert_eq!(part.readings.bursts.iter().map(|burst| burst.pods).sum::<u64>(), 30);
    let latencies = latencies_by_stage(&part.readings.series);
    assert_eq!(latencies[&Stage::EndToEnd].count, 30);
    let usage = part.under_test.as_ref().expect("it was measured");
    let is_binding = |calls: &&AgentCalls| calls.resource == "pods/binding";
    let bindings = usage.calls.iter().find(is_binding).expect("bindings");
    assert_eq!((bindings.agent.as_str(), bindings.verb.as_str()), ("in-turn", "create"));
    assert_eq!((bindings.calls, bindings.failed), (30, 0));
    assert!(usage.calls.iter().any(|calls| calls.verb == "watch" && 30 * 100 < calls.received_bytes));
    assert!(usage.cpu_ms.is_some() && usage.peak_rss_bytes.is_some_and(|bytes| 0 < bytes));
    let nodes: BTreeSet<_> = placements.iter().filter_map(|placement| placement.node.clone()).collect();
    assert_eq!(nodes.len(), 3, "{nodes:?}");
}

#[test]
fn scheduler_under_test_is_killed_and_started_again() {
    let workload = workload(
        "opcode: createNodes, count: 2, nodeTemplatePath: ../t/node.yaml\n\
         opcode: createPods, count: 5, podTemplatePath: ../t/pod.yaml\n\
         opcode: restartScheduler, downtime: 1ms\n\
         opcode: createPods, count: 5, podTemplatePath: ../t/pod.yaml, collectMetrics: true",
    );
    let (outcome, _) = run(&workload, &under_test(child::words(&[])));
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((outcome.ending, outcome.pod_count), (Ending::Completed, 10));
    assert_eq!(outcome.collected[0].scheduled, 5);
}
