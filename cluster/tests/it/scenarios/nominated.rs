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
fn work_before_binding_is_announced() {
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
fn a_wait_at_permit_is_announced() {
    let waits = Scripted::new("Waits", &[ExtensionPoint::Permit])
        .with(|script| script.permit = Box::new(|_, _| Permit::Wait { timeout_ns: u64::MAX }));
    bind_held(&waits, |lab, is_on| {
        assert_eq!(lab.nominated("p"), is_on.then(|| "n".to_owned()));
        assert_eq!(lab.scheduler().bindings().waiting().len(), 1);
        assert!(lab.calls().held().is_empty(), "it is not to be bound yet");
    });
}

#[test]
fn an_approved_permit_is_not_announced() {
    bind_held(&Scripted::new("Approves", &[ExtensionPoint::Permit]), |lab, _| {
        assert_eq!(lab.nominated("p"), None);
        assert_eq!(lab.take_calls(), ["bind p n"]);
    });
}

#[test]
fn a_plain_pod_is_bound_with_one_call() {
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
fn preemption_nominates_and_the_pod_goes_there() {
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
fn preemption_overwrites_a_nomination_from_outside() {
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
fn a_nomination_to_a_node_that_is_too_small_stays_or_is_cleared_by_gate() {
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
fn a_lower_pods_nomination_holds_no_room_against_a_higher_pod() {
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
fn a_nomination_is_gone_after_the_binding() {
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
fn the_nominated_node_is_taken_though_another_is_better() {
    let mut lab = Setup::default().start();
    lab.create_all([node("large").has("cpu", "64"), small("n"), pod("p").asks("cpu", "3")]);
    lab.nominate("p", Some("n"));
    lab.run();
    assert_eq!(lab.node_of("p").as_deref(), Some("n"));
}

#[test]
fn a_nominated_node_that_does_not_exist_is_waited_for() {
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
fn a_nominated_node_that_is_not_ready_keeps_its_pod() {
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
fn another_choice_overwrites_the_nomination_when_work_is_to_be_done() {
    let mut lab = Setup::default().plugin(&worker()).start();
    lab.calls().always("bind", Fate::Hold);
    lab.create_all([node("tiny").has("cpu", "1"), small("n"), pod("p").asks("cpu", "3")]);
    lab.nominate("p", Some("tiny"));
    lab.run();
    assert_eq!(lab.nominated("p").as_deref(), Some("n"));
    assert_eq!(lab.take_calls(), ["patch p nominate n", "bind p n"]);
}

#[test]
fn another_choice_without_work_leaves_the_nomination_to_the_binding() {
    let mut lab = Setup::default().start();
    lab.create_all([node("tiny").has("cpu", "1"), small("n"), pod("p").asks("cpu", "3")]);
    lab.nominate("p", Some("tiny"));
    lab.run();
    assert_eq!(lab.take_calls(), ["bind p n"]);
    assert_eq!(lab.nominated("p"), None);
}

#[test]
fn a_gate_that_is_switched_off_and_on_changes_what_becomes_of_a_nomination() {
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
fn a_scheduler_that_restarts_keeps_room_for_whom_it_was_binding() {
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
fn an_older_api_server_leaves_the_nomination_and_it_holds_no_room() {
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
fn a_pod_that_gives_up_its_nomination_frees_the_room() {
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
fn a_nominated_pod_that_is_deleted_frees_the_room() {
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
