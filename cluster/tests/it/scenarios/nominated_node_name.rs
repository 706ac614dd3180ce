//! Where a pod is expected to go: KEP-5278 and upstream's nominated_node_name tests.

use super::calls::Fate;
use super::lab::Lab;
use super::manifest::{Manifest, node, pod};
use super::plugin::{Scripted, WORK};
use super::setup::Setup;
use schedlab_core::framework::extension_point::ExtensionPoint;
use schedlab_core::framework::points::Permit;
use schedlab_core::scheduler::Standing;

const GATE: &str = "NominatedNodeNameForExpectation";
const ASYNC_CALLS: &str = "SchedulerAsyncAPICalls";

fn small(name: &str) -> Manifest {
    node(name).has("cpu", "4")
}

/// A plugin that works on pods before they are bound.
fn worker() -> Scripted {
    Scripted::new("Worker", &[ExtensionPoint::PreBind]).with(|script| script.pre_flight = WORK)
}

/// One pod on one node, its binding held, for the gate on and off and calls queued and not.
fn bind_held(plugin: &Scripted, check: impl Fn(&mut Lab, bool)) {
    for is_on in [true, false] {
        for is_async in [true, false] {
            let mut lab =
                Setup::default().plugin(plugin).gate(GATE, is_on).gate(ASYNC_CALLS, is_async).start();
            lab.calls().always("bind", Fate::Hold);
            lab.create_all([small("n"), pod("p").asks("cpu", "1")]);
            lab.run();
            check(&mut lab, is_on);
        }
    }
}

#[test]
fn pending_pre_bind_sets_nominated_node_name() {
    bind_held(&worker(), |lab, is_on| {
        assert_eq!(lab.nominated("p"), is_on.then(|| "n".to_owned()));
        assert_eq!(lab.calls().held(), ["bind p n"]);
        lab.release("bind");
        lab.run();
        assert_eq!(lab.node_of("p").as_deref(), Some("n"));
        assert_eq!(lab.nominated("p"), None, "the API clears it with the binding");
        lab.assert_clean();
    });
}

#[test]
fn waiting_on_permit_sets_nominated_node_name() {
    let waits = Scripted::new("Waits", &[ExtensionPoint::Permit])
        .with(|script| script.permit = Box::new(|_, _| Permit::Wait { timeout_ns: u64::MAX }));
    bind_held(&waits, |lab, is_on| {
        assert_eq!(lab.nominated("p"), is_on.then(|| "n".to_owned()));
        assert_eq!(lab.scheduler().binding_cycles().waiting_pods().len(), 1);
        assert!(lab.calls().held().is_empty(), "it is not to be bound yet");
    });
}

#[test]
fn approved_permit_sets_no_nominated_node_name() {
    bind_held(&Scripted::new("Approves", &[ExtensionPoint::Permit]), |lab, _| {
        assert_eq!(lab.nominated("p"), None);
        assert_eq!(lab.take_calls(), ["bind p n"]);
    });
}

#[test]
fn pod_without_pre_bind_work_is_bound_with_one_call() {
    // A plugin that only listens afterwards holds nobody up.
    bind_held(&Scripted::new("Listens", &[ExtensionPoint::PostBind]), |lab, _| {
        assert_eq!(lab.nominated("p"), None);
        assert_eq!(lab.take_calls(), ["bind p n"]);
    });
}

/// The situation with the gate on and off.
fn with_and_without_gate(play: impl Fn(Lab, bool)) {
    for is_on in [true, false] {
        play(Setup::default().without_backoff().gate(GATE, is_on).start(), is_on);
    }
}

#[test]
fn preemption_sets_nominated_node_name_and_pod_is_bound_there() {
    with_and_without_gate(|mut lab, _| {
        lab.create_all([small("n"), pod("victim").asks("cpu", "4").priority(1).on("n")]);
        lab.create(pod("high").asks("cpu", "2").priority(100));
        lab.calls().always("delete", Fate::Hold);
        lab.run();
        assert_eq!(lab.nominated("high").as_deref(), Some("n"));
        assert_eq!(lab.held_room("high").as_deref(), Some("n"));
        lab.release("delete");
        lab.run();
        assert_eq!(lab.node_of("high").as_deref(), Some("n"));
        assert_eq!(lab.nominated("high"), None);
        lab.assert_clean();
    });
}

#[test]
fn preemption_overwrites_external_nominated_node_name() {
    with_and_without_gate(|mut lab, _| {
        lab.create_all([small("two"), small("one")]);
        lab.create_all(["a", "b"].map(|name| pod(name).asks("cpu", "2").priority(1).on("two")));
        lab.create(pod("c").asks("cpu", "3").priority(1).on("one"));
        lab.create(pod("high").asks("cpu", "4").priority(100));
        lab.nominate("high", Some("two"));
        lab.calls().always("delete", Fate::Hold);
        lab.run();
        assert_eq!(lab.nominated("high").as_deref(), Some("one"), "one victim is less than two");
        assert_eq!(lab.calls().held(), ["delete c"]);
        lab.release("delete");
        lab.run();
        assert_eq!(lab.node_of("high").as_deref(), Some("one"));
    });
}

/// Upstream's tests clear the nomination with the gate on as well; the proposal's text does not.
#[test]
fn nominated_node_name_of_unfit_node_is_kept_with_feature_gate_and_cleared_without() {
    with_and_without_gate(|mut lab, is_on| {
        lab.create_all([small("n"), pod("big").asks("cpu", "5").priority(1)]);
        lab.nominate("big", Some("n"));
        lab.run();
        assert_eq!(lab.standing("big"), Standing::Unschedulable);
        assert_eq!(lab.nominated("big"), is_on.then(|| "n".to_owned()));
        if !is_on {
            lab.create(pod("fits").asks("cpu", "3").priority(1));
            lab.run();
            assert_eq!(lab.node_of("fits").as_deref(), Some("n"), "the room is nobody's any more");
        }
    });
}

#[test]
fn nominated_pod_reserves_nothing_against_higher_priority_pod() {
    with_and_without_gate(|mut lab, is_on| {
        lab.create_all([small("n"), pod("low").asks("cpu", "4").priority(1)]);
        lab.nominate("low", Some("n"));
        lab.create(pod("high").asks("cpu", "4").priority(100));
        lab.run();
        assert_eq!(lab.node_of("high").as_deref(), Some("n"));
        assert_eq!(lab.node_of("low"), None);
        assert_eq!(lab.nominated("low"), is_on.then(|| "n".to_owned()));
    });
}

#[test]
fn binding_clears_nominated_node_name() {
    with_and_without_gate(|mut lab, _| {
        lab.create_all([small("n"), pod("p").asks("cpu", "4").priority(1)]);
        lab.nominate("p", Some("n"));
        lab.run();
        assert_eq!(lab.node_of("p").as_deref(), Some("n"));
        assert_eq!(lab.nominated("p"), None);
        assert_eq!(lab.held_room("p"), None);
        assert_eq!(lab.take_calls(), ["bind p n"]);
    });
}

#[test]
fn nominated_node_is_chosen_over_higher_scoring_node() {
    let mut lab = Setup::default().start();
    lab.create_all([node("large").has("cpu", "64"), small("n"), pod("p").asks("cpu", "3")]);
    lab.nominate("p", Some("n"));
    lab.run();
    assert_eq!(lab.node_of("p").as_deref(), Some("n"));
}

#[test]
fn nominated_node_name_of_missing_node_is_kept_and_reserves_when_node_is_added() {
    let mut lab = Setup::default().without_backoff().start();
    lab.create(node("full").has("cpu", "1"));
    // The other pod is older and would be tried first.
    lab.create_all([pod("other").asks("cpu", "4"), pod("p").asks("cpu", "4")]);
    lab.nominate("p", Some("soon"));
    lab.run();
    assert_eq!(lab.nominated("p").as_deref(), Some("soon"), "it is not cleared");
    lab.create(small("soon"));
    lab.run();
    assert_eq!(lab.node_of("p").as_deref(), Some("soon"));
    assert_eq!(lab.node_of("other"), None, "the room was held against an equal pod");
}

#[test]
fn nominated_node_name_of_not_ready_node_is_kept_until_pod_binds_there() {
    let taint = "node.kubernetes.io/not-ready";
    let mut lab = Setup::default().without_backoff().start();
    lab.create_all([node("full").has("cpu", "1"), pod("p").asks("cpu", "4")]);
    lab.nominate("p", Some("n"));
    lab.run();
    lab.create(small("n").taint(taint));
    lab.run();
    assert_eq!(lab.nominated("p").as_deref(), Some("n"), "rejected there, and still expected there");
    lab.update(node("n"));
    lab.run();
    assert_eq!(lab.node_of("p").as_deref(), Some("n"));
}

#[test]
fn choosing_another_node_overwrites_nominated_node_name_when_pre_bind_is_pending() {
    let mut lab = Setup::default().plugin(&worker()).start();
    lab.calls().always("bind", Fate::Hold);
    lab.create_all([node("tiny").has("cpu", "1"), small("n"), pod("p").asks("cpu", "3")]);
    lab.nominate("p", Some("tiny"));
    lab.run();
    assert_eq!(lab.nominated("p").as_deref(), Some("n"));
    assert_eq!(lab.take_calls(), ["patch p nominate n", "bind p n"]);
}

#[test]
fn choosing_another_node_without_pre_bind_work_writes_no_nominated_node_name() {
    let mut lab = Setup::default().start();
    lab.create_all([node("tiny").has("cpu", "1"), small("n"), pod("p").asks("cpu", "3")]);
    lab.nominate("p", Some("tiny"));
    lab.run();
    assert_eq!(lab.take_calls(), ["bind p n"]);
    assert_eq!(lab.nominated("p"), None);
}

#[test]
fn toggling_feature_gate_decides_whether_failed_cycle_clears_nominated_node_name() {
    let on = Setup::default().without_backoff();
    let off = on.clone().gate(GATE, false);
    let mut lab = on.start();
    lab.create_all([node("full").has("cpu", "1"), pod("p").asks("cpu", "4")]);
    lab.nominate("p", Some("nowhere"));
    lab.run();
    assert_eq!(lab.nominated("p").as_deref(), Some("nowhere"));
    lab.restart(&off);
    lab.run();
    assert_eq!(lab.nominated("p"), None, "cleared after the failed cycle");
    lab.restart(&on);
    lab.nominate("p", Some("nowhere"));
    lab.run();
    assert_eq!(lab.nominated("p").as_deref(), Some("nowhere"));
}

#[test]
fn restarted_scheduler_reserves_nominated_nodes_of_pods_it_was_binding() {
    let youngest_first = Scripted::new("YoungestFirst", &[ExtensionPoint::QueueSort]);
    let setup = Setup::default().without("PrioritySort").plugin(&youngest_first).plugin(&worker());
    let mut lab = setup.start();
    lab.calls().always("bind", Fate::Hold);
    lab.create(node("liked").has("pods", "1").has("cpu", "8"));
    lab.create(node("other").has("cpu", "8").taint_softly("key"));
    lab.create(pod("a").asks("cpu", "1"));
    lab.run();
    assert_eq!(lab.nominated("a").as_deref(), Some("liked"));
    assert_eq!(lab.calls().held(), ["bind a liked"]);
    // The call dies with the scheduler.
    lab.restart(&setup);
    lab.wait_silently(1);
    lab.create(pod("b").asks("cpu", "1"));
    lab.run();
    assert_eq!(lab.node_of("b").as_deref(), Some("other"), "tried first, and the room is held");
    assert_eq!(lab.node_of("a").as_deref(), Some("liked"));
}

/// Version skew: the scheduler leaves the clearing to an API server that does not do it yet. A bound pod
/// that is still nominated holds no room beside its own, on whichever node.
#[test]
fn nominated_node_name_left_on_bound_pod_by_older_api_server_reserves_nothing() {
    for is_on in [true, false] {
        let setup = Setup::default().plugin(&worker()).gate("ClearingNominatedNodeNameAfterBinding", is_on);
        let mut lab = setup.start();
        lab.create_all([small("n"), pod("p").asks("cpu", "2").priority(10)]);
        lab.run();
        assert_eq!(lab.node_of("p").as_deref(), Some("n"));
        assert_eq!(lab.nominated("p"), (!is_on).then(|| "n".to_owned()), "gate {is_on}");
        for is_restarted in [false, true] {
            if is_restarted {
                lab.restart(&setup);
            }
            assert_eq!(lab.held_room("p"), None, "gate {is_on}, restarted {is_restarted}");
            let next = if is_restarted { "second" } else { "first" };
            lab.create(pod(next).asks("cpu", "1"));
            lab.run();
            assert_eq!(lab.node_of(next).as_deref(), Some("n"), "gate {is_on}");
        }
        lab.assert_clean();
    }
}

#[test]
fn cleared_nominated_node_name_requeues_pods_it_kept_out() {
    let mut lab = Setup::default().without_backoff().start();
    lab.create_all([small("n"), pod("big").asks("cpu", "3").priority(10).needs_node("zone", &["a"])]);
    lab.nominate("big", Some("n"));
    lab.create(pod("next").asks("cpu", "3").priority(10));
    lab.run();
    assert_eq!(lab.standing("next"), Standing::Unschedulable, "room is held for the other");
    lab.nominate("big", None);
    lab.run();
    assert_eq!(lab.node_of("next").as_deref(), Some("n"));
}

#[test]
fn nominated_pod_delete_requeues_pods_it_kept_out() {
    let mut lab = Setup::default().without_backoff().start();
    lab.create_all([small("n"), pod("big").asks("cpu", "3").priority(10).needs_node("zone", &["a"])]);
    lab.nominate("big", Some("n"));
    lab.create(pod("next").asks("cpu", "3").priority(10));
    lab.run();
    assert_eq!(lab.standing("next"), Standing::Unschedulable);
    lab.delete_pod("big");
    lab.run();
    assert_eq!(lab.node_of("next").as_deref(), Some("n"));
}
