//! Evictions beside the scheduling loop. Upstream: `TestAsyncPreemption`. What the scheduler does
//! call by call is tested in `core/src/scheduler/async_preemption_tests.rs`.

use super::settle;
use super::victims::Seats;
use crate::scenarios::calls::Fate;
use crate::scenarios::lab::Lab;
use crate::scenarios::manifest::{Manifest, node, pod};
use crate::scenarios::plugin::{Scripted, WHO, WORK};
use crate::scenarios::setup::Setup;
use schedlab_core::framework::extension_point::ExtensionPoint;
use schedlab_core::framework::points::PreBindStep;
use schedlab_core::framework::status::Code;
use schedlab_core::scheduler::Standing;

/// With calls queued and not, and deletions held until the test lets them go.
fn beside(setup: &Setup, play: impl Fn(&mut Lab)) {
    for queues_calls in [true, false] {
        let setup = setup.clone().without_backoff().gate("SchedulerAsyncAPICalls", queues_calls);
        let mut lab = setup.gate("SchedulerAsyncPreemption", true).start();
        lab.calls().always("delete", Fate::Hold);
        play(&mut lab);
    }
}

fn asks(name: &str, cpu: &str, priority: i32) -> Manifest {
    pod(name).label(WHO, name).asks("cpu", cpu).priority(priority)
}

/// Lets every held deletion happen, and those that follow from it.
fn finish(lab: &mut Lab) {
    lab.calls().forget_rules();
    lab.release("delete");
    lab.run();
}

#[test]
fn async_preemption_binds_preemptor_to_the_node_of_its_victims() {
    beside(&Setup::default(), |lab| {
        lab.create(node("n").has("cpu", "4"));
        settle(lab, ["v1", "v2"].map(|name| asks(name, "2", 1)));
        lab.create(asks("high", "4", 100));
        lab.run();
        assert_eq!(lab.nominated("high").as_deref(), Some("n"));
        assert_eq!(lab.calls().held().len(), 1, "the last victim goes after the others");
        finish(lab);
        assert_eq!(lab.node_of("high").as_deref(), Some("n"));
        assert!(!lab.exists("v1") && !lab.exists("v2"));
        lab.assert_clean();
    });
}

#[test]
fn preemptor_is_gated_until_victim_deletion_is_answered() {
    beside(&Setup::default(), |lab| {
        lab.create(node("n").has("cpu", "4"));
        settle(lab, [asks("victim", "4", 1)]);
        lab.create(asks("high", "4", 100));
        lab.run();
        let attempts = lab.attempts();
        // Something happens that would bring it back.
        lab.update_status(node("n").has("cpu", "5"));
        lab.run();
        assert_eq!(lab.standing("high"), Standing::Gated);
        assert_eq!(lab.attempts(), attempts, "it is not tried meanwhile");
        finish(lab);
        assert_eq!(lab.node_of("high").as_deref(), Some("n"));
    });
}

#[test]
fn lower_priority_pod_does_not_take_the_nominated_node_of_a_preemptor() {
    beside(&Setup::default(), |lab| {
        lab.create(node("n").has("cpu", "4"));
        settle(lab, [asks("victim", "4", 1)]);
        lab.create(asks("high", "4", 100));
        lab.run();
        lab.create(asks("middle", "4", 50));
        lab.run();
        assert_eq!(lab.standing("middle"), Standing::Unschedulable);
        finish(lab);
        assert_eq!(lab.node_of("high").as_deref(), Some("n"));
        assert_eq!(lab.standing("middle"), Standing::Unschedulable);
    });
}

#[test]
fn higher_priority_pod_takes_the_nominated_node_of_a_preemptor() {
    beside(&Setup::default(), |lab| {
        lab.create(node("n").has("cpu", "4"));
        settle(lab, [asks("victim", "4", 1)]);
        lab.create(asks("high", "4", 100));
        lab.run();
        lab.create(asks("higher", "4", 200));
        lab.run();
        assert_eq!(lab.nominated("higher").as_deref(), Some("n"));
        finish(lab);
        assert_eq!(lab.node_of("higher").as_deref(), Some("n"));
        assert_eq!(lab.node_of("high"), None);
    });
}

#[test]
fn lower_priority_pod_preempts_on_the_same_node_when_both_fit() {
    beside(&Setup::default(), |lab| {
        lab.create(node("n").has("cpu", "4"));
        settle(lab, ["v1", "v2", "v3", "v4"].map(|name| asks(name, "1", 1)));
        lab.create(asks("high", "2", 100));
        lab.run();
        lab.create(asks("middle", "2", 50));
        lab.run();
        assert_eq!(lab.nominated("high").as_deref(), Some("n"));
        assert_eq!(lab.nominated("middle").as_deref(), Some("n"));
        finish(lab);
        for name in ["high", "middle"] {
            assert_eq!(lab.node_of(name).as_deref(), Some("n"), "{name}");
        }
    });
}

#[test]
fn victim_with_binding_call_in_flight_is_deleted() {
    for lingers in [false, true] {
        beside(&Setup::default(), |lab| {
            lab.calls().always("bind victim", Fate::Hold);
            let victim = asks("victim", "4", 1);
            lab.create_all([node("n").has("cpu", "4"), if lingers { victim.lingering() } else { victim }]);
            lab.run();
            assert_eq!(lab.standing("victim"), Standing::Assumed);
            lab.create(asks("high", "4", 100));
            lab.run();
            assert_eq!(lab.calls().held(), ["bind victim n", "delete victim"]);
            finish(lab);
            assert_eq!(lab.node_of("high").as_deref(), Some("n"), "lingers: {lingers}");
            lab.release("bind victim");
            lab.run();
            if lingers {
                assert_eq!(lab.node_of("victim"), None, "the API refuses a binding of one that leaves");
            }
        });
    }
}

#[test]
fn victim_in_pre_bind_is_unreserved_and_requeued_without_delete_call() {
    let worker = Scripted::new("Worker", &[ExtensionPoint::PreBind, ExtensionPoint::Reserve]);
    beside(&Setup::default().plugin(&worker), |lab| {
        worker.set(|script| {
            script.pre_flight = WORK;
            script.pre_bind = vec![PreBindStep::Wait { deadline_ns: u64::MAX }];
        });
        worker.take_log();
        lab.create_all([node("n").has("cpu", "4"), asks("victim", "4", 1)]);
        lab.run();
        lab.create(asks("high", "4", 100));
        lab.run();
        assert_eq!(lab.node_of("high").as_deref(), Some("n"));
        assert!(lab.exists("victim"), "it is tried again elsewhere");
        assert!(lab.calls().held().is_empty(), "no call was needed");
        assert!(worker.take_log().contains(&"unreserve victim".to_owned()));
    });
}

#[test]
fn preemptor_rejected_by_plugin_without_events_is_scheduled_by_flush() {
    let seats = Seats { seats: 1, code: Code::Unschedulable, asks_before: false, is_deaf: true };
    let flushes = |setup: Setup| {
        setup.settings(|settings| settings.flush_after_ns = Some(300 * crate::scenarios::lab::SECOND))
    };
    beside(&flushes(Setup::default().plugin(&seats)), |lab| {
        lab.create(node("n").has("cpu", "4"));
        settle(lab, [asks("victim", "1", 1)]);
        lab.create(asks("high", "1", 100));
        lab.run();
        finish(lab);
        assert_eq!(lab.node_of("high"), None, "no event brings it back, so the flush must");
        lab.run_for(600);
        assert_eq!(lab.node_of("high").as_deref(), Some("n"));
    });
}

#[test]
fn failed_victim_deletion_lets_preemptor_retry() {
    beside(&Setup::default(), |lab| {
        lab.calls().forget_rules();
        lab.calls().once("delete", Fate::Refuse(schedlab_core::binding::CallFailure::Other));
        lab.create(node("n").has("cpu", "4"));
        settle(lab, [asks("victim", "4", 1)]);
        lab.create(asks("high", "4", 100));
        lab.run_for(60);
        assert_eq!(lab.node_of("high").as_deref(), Some("n"));
    });
}

#[test]
fn higher_priority_pod_takes_the_node_while_preemptor_waits_for_its_victims() {
    beside(&Setup::default(), |lab| {
        lab.create(node("n1").has("cpu", "4"));
        settle(lab, ["v1", "v2"].map(|name| asks(name, "2", 1)));
        lab.create(asks("middle", "4", 50));
        lab.run();
        assert_eq!(lab.nominated("middle").as_deref(), Some("n1"));
        lab.create(node("n2").has("cpu", "4"));
        lab.create(asks("filler", "4", 80).on("n2"));
        lab.create(asks("high", "4", 100));
        lab.run();
        finish(lab);
        assert_eq!(lab.node_of("high").as_deref(), Some("n1"), "its victims are gone, and it ranks higher");
        assert_eq!(lab.node_of("middle"), None);
        lab.delete_pod("filler");
        lab.run();
        assert_eq!(lab.node_of("middle").as_deref(), Some("n2"), "it was not forgotten");
    });
}
