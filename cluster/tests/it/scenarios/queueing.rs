//! When pods are tried, and tried again. Upstream: test/integration/scheduler/queueing and
//! rescheduling_test.go.

use super::calls::Fate;
use super::lab::Lab;
use super::manifest::{Manifest, node, pod, storage_class};
use super::plugin::{Scripted, WHO, on_new_class, unschedulable};
use super::setup::Setup;
use schedlab_core::binding::CallFailure;
use schedlab_core::framework::extension_point::ExtensionPoint;
use schedlab_core::framework::points::{
    Action, EventResource, Permit, QueueingHint, Refusal, RegisteredEvent,
};
use schedlab_core::scheduler::Standing;

fn open_lab(pods: impl IntoIterator<Item = Manifest>) -> Lab {
    let mut lab = Setup::default().without_backoff().start();
    lab.create(node("n").has("cpu", "4"));
    lab.create_all(pods);
    lab.run();
    lab
}

/// The gates of a pod go.
fn open_gates(lab: &mut Lab, name: &str) {
    lab.change_pod(name, |pod| pod.spec.as_mut().expect("a spec").scheduling_gates = None);
}

#[test]
fn pods_without_gates_are_scheduled() {
    let lab = open_lab([pod("a"), pod("b")]);
    assert_eq!([lab.node_of("a"), lab.node_of("b")], [Some("n".to_owned()), Some("n".to_owned())]);
}

#[test]
fn a_gated_pod_is_not_tried() {
    let lab = open_lab([pod("gated").gate("foo"), pod("b")]);
    assert_eq!(lab.standing("gated"), Standing::Gated);
    assert_eq!(lab.attempts(), 1);
    assert_eq!(lab.reason("gated"), "SchedulingGated");
    assert_eq!(lab.node_of("b").as_deref(), Some("n"));
}

#[test]
fn a_pod_whose_gates_go_is_scheduled() {
    let mut lab = open_lab([pod("foo").gate("foo"), pod("bar").gate("bar"), pod("c")]);
    open_gates(&mut lab, "bar");
    lab.run();
    assert_eq!(lab.node_of("bar").as_deref(), Some("n"));
    assert_eq!(lab.standing("foo"), Standing::Gated);
}

#[test]
fn a_pod_that_leaves_does_not_open_gates() {
    let mut lab = open_lab([pod("gated").gate("foo"), pod("b")]);
    lab.delete_pod("b");
    lab.run();
    assert_eq!(lab.standing("gated"), Standing::Gated);
    open_gates(&mut lab, "gated");
    lab.run();
    assert_eq!(lab.node_of("gated").as_deref(), Some("n"));
}

#[test]
fn a_binding_that_fails_is_tried_again_without_an_event() {
    for queues_calls in [true, false] {
        let mut lab = Setup::default().gate("SchedulerAsyncAPICalls", queues_calls).start();
        lab.create_all([node("n").has("cpu", "1"), pod("p").asks("cpu", "1")]);
        lab.calls().once("bind", Fate::Refuse(CallFailure::Other));
        lab.run();
        assert_eq!(lab.standing("p"), Standing::Backoff);
        assert_eq!(lab.reason("p"), "SchedulerError");
        lab.run_for(60);
        assert_eq!(lab.node_of("p").as_deref(), Some("n"));
        lab.assert_clean();
    }
}

#[test]
fn a_plugin_that_fails_to_bind_is_asked_again() {
    let binder = Scripted::new("Binder", &[ExtensionPoint::Bind]).with(|script| script.binds = true);
    let setup = Setup::default().without("DefaultBinder").plugin(&binder);
    let mut lab = setup.start();
    lab.create_all([node("n").has("cpu", "1"), pod("p").asks("cpu", "1")]);
    lab.calls().once("bind", Fate::Refuse(CallFailure::Conflict));
    lab.run_for(60);
    assert_eq!(lab.node_of("p").as_deref(), Some("n"));
    assert_eq!(binder.count("bind"), 2);
}

#[test]
fn a_pod_rejected_at_permit_hears_of_what_happened_while_it_waited() {
    const NAME: &str = "Usher";
    let usher = Scripted::new(NAME, &[ExtensionPoint::Permit]).with(|script| {
        script.events = vec![RegisteredEvent::hinted(EventResource::Node, Action::UPDATE_NODE_LABEL)];
        script.permit = Box::new(|handle, pod| {
            let who = pod.class.input.labels.get(WHO).map_or("", String::as_str);
            if who == "first" && handle.waiting.is_empty() && handle.now_ns < 1_001_000_000_000 {
                return Permit::Wait { timeout_ns: u64::MAX };
            }
            let waiting: Vec<_> = handle.waiting.iter().map(|waiting| waiting.uid).collect();
            waiting.into_iter().for_each(|uid| handle.reject(uid, NAME, "no"));
            Permit::Approve
        });
    });
    let mut lab = Setup::default().without_backoff().plugin(&usher).start();
    lab.create_all([node("n").has("cpu", "4"), pod("first").label(WHO, "first")]);
    lab.run();
    assert_eq!(lab.scheduler().bindings().waiting().len(), 1);
    lab.update(node("n").label("updated", "yes"));
    lab.wait_silently(2);
    lab.create(pod("second").label(WHO, "second"));
    lab.run();
    assert_eq!(lab.node_of("second").as_deref(), Some("n"));
    assert_eq!(lab.node_of("first").as_deref(), Some("n"), "tried again for the label it missed");
    assert_eq!(usher.count("hint"), 1);
}

#[test]
fn a_pod_in_backoff_is_tried_when_nothing_else_is_ready() {
    for pops_early in [true, false] {
        let setup = Setup::default().gate("SchedulerPopFromBackoffQ", pops_early);
        let mut lab = setup
            .settings(|settings| {
                settings.initial_backoff_ns = 1_000_000_000_000;
                settings.max_backoff_ns = 1_000_000_000_000;
            })
            .start();
        lab.create_all([node("n"), pod("p").needs_node("foo", &["bar"])]);
        lab.run();
        assert_eq!(lab.standing("p"), Standing::Unschedulable);
        lab.create(node("fits").label("foo", "bar"));
        lab.run();
        assert_eq!(lab.node_of("p").is_some(), pops_early);
        if !pops_early {
            assert_eq!(lab.standing("p"), Standing::Backoff);
            lab.run_for(1_001);
            assert_eq!(lab.node_of("p").as_deref(), Some("fits"));
        }
    }
}

/// A plugin that refuses once at a point and waits for new storage classes.
fn refuses_once(point: ExtensionPoint, refusal: Refusal) -> Scripted {
    Scripted::new("Refuses", &[point]).with(|script| {
        script.events = vec![on_new_class()];
        let mut answers = vec![Permit::Deny(refusal.clone())];
        script.permit = Box::new(move |_, _| answers.pop().unwrap_or(Permit::Approve));
        script.reserve = Some(refusal);
    })
}

const POINTS: [ExtensionPoint; 2] = [ExtensionPoint::Permit, ExtensionPoint::Reserve];

#[test]
fn a_pod_rejected_after_its_node_was_found_comes_back_for_an_event_of_the_plugin() {
    for point in POINTS {
        let plugin = refuses_once(point, unschedulable("not yet"));
        let mut lab = Setup::default().without_backoff().plugin(&plugin).start();
        lab.create_all([node("n"), pod("p")]);
        lab.run();
        assert_eq!(lab.standing("p"), Standing::Unschedulable, "{point}");
        assert_eq!(lab.reason("p"), "Unschedulable");
        plugin.set(|script| script.reserve = None);
        lab.create(storage_class("fast"));
        lab.run();
        assert_eq!(lab.node_of("p").as_deref(), Some("n"), "{point}");
    }
}

#[test]
fn a_pod_rejected_after_its_node_was_found_does_not_come_back_for_other_events() {
    for point in POINTS {
        let plugin = refuses_once(point, unschedulable("not yet"));
        let mut lab = Setup::default().without_backoff().plugin(&plugin).start();
        lab.create_all([node("n"), pod("p")]);
        lab.run();
        plugin.set(|script| script.reserve = None);
        lab.create_all([pod("other"), node("another")]);
        lab.run();
        assert_eq!(lab.standing("p"), Standing::Unschedulable, "{point}");
        assert!(lab.node_of("other").is_some());
    }
}

#[test]
fn a_pod_that_a_plugin_failed_for_comes_back_by_itself() {
    for point in POINTS {
        let plugin = refuses_once(point, Refusal::error("out of order"));
        let mut lab = Setup::default().plugin(&plugin).start();
        lab.create_all([node("n"), pod("p")]);
        lab.run();
        assert_eq!(lab.standing("p"), Standing::Backoff, "{point}");
        assert_eq!(
            (lab.reason("p"), lab.message("p")),
            ("SchedulerError".to_owned(), "out of order".to_owned())
        );
        plugin.set(|script| script.reserve = None);
        lab.run_for(60);
        assert_eq!(lab.node_of("p").as_deref(), Some("n"), "{point}");
    }
}

#[test]
fn a_hint_that_says_no_keeps_the_pod_waiting() {
    let plugin = Scripted::new("Picky", &[ExtensionPoint::Filter]).with(|script| {
        script.passes = Box::new(|_| false);
        script.events = vec![RegisteredEvent::hinted(EventResource::StorageClass, Action::ADD)];
        script.hint = QueueingHint::Skip;
    });
    let mut lab = Setup::default().without_backoff().plugin(&plugin).start();
    lab.create_all([node("n"), pod("a"), pod("b"), pod("c")]);
    lab.run();
    let before = lab.attempts();
    lab.create(storage_class("slow"));
    lab.run();
    assert_eq!((plugin.count("hint"), lab.attempts()), (3, before), "each was asked about, none was tried");
    plugin.set(|script| script.hint = QueueingHint::Queue);
    lab.create(storage_class("fast"));
    lab.run();
    assert_eq!(lab.attempts(), before + 3);
}
