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
    ActionType, EventResource, Permit, QueueingHint, RegisteredEvent, Status,
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
fn pods_without_scheduling_gates_are_scheduled() {
    let lab = open_lab([pod("a"), pod("b")]);
    assert_eq!([lab.node_of("a"), lab.node_of("b")], [Some("n".to_owned()), Some("n".to_owned())]);
}

#[test]
fn gated_pod_is_not_attempted() {
    let lab = open_lab([pod("gated").gate("foo"), pod("b")]);
    assert_eq!(lab.standing("gated"), Standing::Gated);
    assert_eq!(lab.attempts(), 1);
    assert_eq!(lab.reason("gated"), "SchedulingGated");
    assert_eq!(lab.node_of("b").as_deref(), Some("n"));
}

#[test]
fn pod_is_scheduled_when_its_scheduling_gates_are_removed() {
    let mut lab = open_lab([pod("foo").gate("foo"), pod("bar").gate("bar"), pod("c")]);
    open_gates(&mut lab, "bar");
    lab.run();
    assert_eq!(lab.node_of("bar").as_deref(), Some("n"));
    assert_eq!(lab.standing("foo"), Standing::Gated);
}

#[test]
fn assigned_pod_delete_does_not_ungate_pods() {
    let mut lab = open_lab([pod("gated").gate("foo"), pod("b")]);
    lab.delete_pod("b");
    lab.run();
    assert_eq!(lab.standing("gated"), Standing::Gated);
    open_gates(&mut lab, "gated");
    lab.run();
    assert_eq!(lab.node_of("gated").as_deref(), Some("n"));
}

#[test]
fn failed_binding_is_retried_after_backoff_without_event() {
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
fn failed_bind_plugin_is_called_again() {
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
fn pod_rejected_at_permit_is_requeued_by_in_flight_events() {
    const NAME: &str = "Usher";
    let usher = Scripted::new(NAME, &[ExtensionPoint::Permit]).with(|script| {
        script.events = vec![RegisteredEvent::hinted(EventResource::Node, ActionType::UPDATE_NODE_LABEL)];
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
    assert_eq!(lab.scheduler().binding_cycles().waiting_pods().len(), 1);
    lab.update(node("n").label("updated", "yes"));
    lab.wait_silently(2);
    lab.create(pod("second").label(WHO, "second"));
    lab.run();
    assert_eq!(lab.node_of("second").as_deref(), Some("n"));
    assert_eq!(lab.node_of("first").as_deref(), Some("n"), "tried again for the label it missed");
    assert_eq!(usher.count("hint"), 1);
}

#[test]
fn pod_is_popped_from_backoff_queue_when_active_queue_is_empty() {
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
fn refuses_once(point: ExtensionPoint, rejection: Status) -> Scripted {
    Scripted::new("Refuses", &[point]).with(|script| {
        script.events = vec![on_new_class()];
        let mut answers = vec![Permit::Deny(rejection.clone())];
        script.permit = Box::new(move |_, _| answers.pop().unwrap_or(Permit::Approve));
        script.reserve = Some(rejection);
    })
}

const POINTS: [ExtensionPoint; 2] = [ExtensionPoint::Permit, ExtensionPoint::Reserve];

#[test]
fn pod_rejected_at_reserve_or_permit_is_requeued_by_registered_event() {
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
fn pod_rejected_at_reserve_or_permit_is_not_requeued_by_other_events() {
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
fn plugin_error_at_reserve_or_permit_is_retried_after_backoff() {
    for point in POINTS {
        let plugin = refuses_once(point, Status::error("out of order"));
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
fn queueing_hint_skip_keeps_pod_unschedulable() {
    let plugin = Scripted::new("Picky", &[ExtensionPoint::Filter]).with(|script| {
        script.passes = Box::new(|_| false);
        script.events = vec![RegisteredEvent::hinted(EventResource::StorageClass, ActionType::ADD)];
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
