//! Several schedulers of one workload.

use schedlab_workloads::executor::{Ending, TimeMode};

use crate::support::{count_of, run_with_schedulers};

const VIRTUAL: TimeMode = TimeMode::Virtual { cycle_ns: 1_000_000 };

#[test]
fn copies_of_a_scheduler_bind_every_pod_once() {
    let ops = "opcode: createAny, templatePath: ../t/wide.yaml, count: 5
               opcode: createPods, count: 40, namespace: a, collectMetrics: true";
    for time in [VIRTUAL, TimeMode::Wall] {
        let outcome = run_with_schedulers(("", "3"), ops, time).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(outcome.ending, Ending::Completed, "{time:?}");
        assert_eq!(outcome.collected[0].scheduled, 40, "{time:?}");
        assert_eq!(count_of(&outcome, "schedulers", "count"), 3, "{time:?}");
        // A pod that was bound twice would be a pod that a refused call bound.
        assert_eq!(outcome.collected[0].calls["POST pods/binding"], 40 + outcome.failed_calls, "{time:?}");
    }
}

#[test]
fn copies_that_begin_together_meet_at_the_binding_and_one_wins() {
    let ops = "opcode: createAny, templatePath: ../t/wide.yaml, count: 5
               opcode: createPods, count: 10, namespace: a, collectMetrics: true";
    let refused = |schedulers| {
        let outcome = run_with_schedulers(("", schedulers), ops, VIRTUAL);
        outcome.unwrap_or_else(|error| panic!("{error}")).failed_calls
    };
    assert_eq!(refused("1"), 0);
    assert!(0 < refused("2"), "both try the same pods in the same order");
}

#[test]
fn schedulers_of_two_names_share_nodes_and_the_kubelet_refuses_what_is_too_much() {
    let ops = "opcode: createAny, templatePath: ../t/open.yaml, count: 1
               opcode: createPods, count: 1, namespace: c
               opcode: createPods, count: 3, namespace: a, podTemplatePath: ../t/waiter.yaml, skipWaitToCompletion: true
               opcode: createPods, count: 3, namespace: b, podTemplatePath: ../t/waiter-of-batch.yaml, skipWaitToCompletion: true
               opcode: sleep, duration: 100ms
               opcode: countPods, nodeLabelSelector: {}";
    let schedulers = "[default-scheduler, batch]";
    let outcome =
        run_with_schedulers(("kubelet", schedulers), ops, VIRTUAL).unwrap_or_else(|error| panic!("{error}"));
    let (started, refused) =
        (count_of(&outcome, "kubelet", "pods_started"), count_of(&outcome, "kubelet", "pods_refused"));
    assert_eq!(started, 1 + 3, "beside the first pod there is room for three");
    assert!(0 < refused && refused <= 3, "{refused} refused");
    assert_eq!(count_of(&outcome, "countPods", "most_on_a_node"), 4);
}
