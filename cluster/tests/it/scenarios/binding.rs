//! Bindings and identity. Upstream: test/integration/scheduler/bind.

use super::calls::Fate;
use super::manifest::{node, pod};
use super::setup::Setup;
use schedlab_core::scheduler::Standing;

#[test]
fn binding_carries_uid_of_the_scheduled_pod() {
    for queues_calls in [true, false] {
        let mut lab = Setup::default().gate("SchedulerAsyncAPICalls", queues_calls).start();
        lab.create_all([node("n").has("cpu", "1"), pod("p").asks("cpu", "1")]);
        lab.run();
        assert_eq!(lab.node_of("p").as_deref(), Some("n"));
        lab.assert_clean();
    }
}

#[test]
fn binding_does_not_apply_to_recreated_pod_of_the_same_name() {
    for queues_calls in [true, false] {
        let mut lab = Setup::default().gate("SchedulerAsyncAPICalls", queues_calls).start();
        lab.create_all([node("n").has("cpu", "1"), node("m").has("cpu", "2"), pod("p").asks("cpu", "1")]);
        lab.calls().once("bind", Fate::Hold);
        lab.run();
        lab.delete_pod("p");
        // Another pod, and it fits on one node only.
        lab.create(pod("p").asks("cpu", "2"));
        assert_eq!(lab.release("bind"), 1);
        assert_eq!(lab.node_of("p"), None, "the binding was for the pod before it");
        lab.run_for(60);
        assert_eq!(lab.node_of("p").as_deref(), Some("m"));
        assert_eq!(lab.standing("p"), Standing::Bound);
        lab.assert_clean();
    }
}
