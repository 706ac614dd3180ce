//! Reserve, Unreserve, PreBind, Bind and PostBind.

use super::{try_pod, with_plugins};
use crate::scenarios::calls::Fate;
use crate::scenarios::manifest::{node, pod};
use crate::scenarios::plugin::{Scripted, WORK, unschedulable};
use crate::scenarios::setup::Setup;
use schedlab_core::binding::CallFailure;
use schedlab_core::framework::extension_point::ExtensionPoint as Point;
use schedlab_core::framework::points::{PreBindStep, Status};
use schedlab_core::scheduler::Standing;

#[test]
fn failed_reserve_ends_the_scheduling_cycle() {
    let cases = [
        (None, None),
        (Some(unschedulable("taken")), Some(("Unschedulable", "0/1 nodes are available: 1 taken."))),
        (Some(Status::error("broken")), Some(("SchedulerError", "broken"))),
    ];
    for (rejection, expected) in cases {
        let reserve = Scripted::new("Reserve", &[Point::Reserve]).with(|script| script.reserve = rejection);
        let mut lab = with_plugins(&[&reserve]);
        try_pod(&mut lab, "p");
        assert_eq!(lab.node_of("p").is_some(), expected.is_none());
        if let Some((reason, message)) = expected {
            assert_eq!((lab.reason("p").as_str(), lab.message("p").as_str()), (reason, message));
        }
    }
}

#[test]
fn failed_reserve_unreserves_all_plugins() {
    // Which of three refuses; none at last.
    for refusing in [Some(0), Some(1), Some(2), None] {
        let plugins = ["A", "B", "C"].map(|name| Scripted::new(name, &[Point::Reserve]));
        if let Some(at) = refusing {
            plugins[at].set(|script| script.reserve = Some(unschedulable("no")));
        }
        let mut lab = with_plugins(&plugins.each_ref());
        try_pod(&mut lab, "p");
        let reserved = plugins.each_ref().map(|plugin| plugin.count("reserve"));
        let undone = plugins.each_ref().map(|plugin| plugin.count("unreserve"));
        let asked = refusing.map_or(3, |at| at + 1);
        assert_eq!(reserved.iter().sum::<usize>(), asked, "{refusing:?}");
        assert_eq!(undone, if refusing.is_some() { [1; 3] } else { [0; 3] }, "{refusing:?}");
        assert_eq!(lab.node_of("p").is_some(), refusing.is_none());
    }
}

#[test]
fn denied_permit_unreserves() {
    use schedlab_core::framework::points::Permit;
    let reserve = Scripted::new("Reserve", &[Point::Reserve]);
    let permit = Scripted::new("Permit", &[Point::Permit]);
    permit.set(|script| script.permit = Box::new(|_, _| Permit::Deny(unschedulable("no"))));
    let mut lab = with_plugins(&[&reserve, &permit]);
    try_pod(&mut lab, "p");
    assert_eq!(reserve.take_log(), ["reserve p", "unreserve p"]);
    assert_eq!(lab.standing("p"), Standing::Unschedulable);
}

#[test]
fn failed_pre_bind_unreserves() {
    let reserve = Scripted::new("Reserve", &[Point::Reserve]);
    let fails = Scripted::new("Fails", &[Point::PreBind]).with(|script| {
        script.pre_flight = WORK;
        script.pre_bind = vec![PreBindStep::Reject(Status::error("disk on fire"))];
    });
    let mut lab = with_plugins(&[&reserve, &fails]);
    try_pod(&mut lab, "p");
    assert_eq!(reserve.take_log(), ["reserve p", "unreserve p"]);
    assert_eq!((lab.standing("p"), lab.message("p")), (Standing::Backoff, "disk on fire".to_owned()));
    lab.run_for(60);
    assert_eq!(reserve.take_log(), ["reserve p"], "the second time it went well");
    assert!(lab.node_of("p").is_some());
}

#[test]
fn failed_binding_unreserves() {
    let reserve = Scripted::new("Reserve", &[Point::Reserve, Point::PostBind]);
    let mut lab = with_plugins(&[&reserve]);
    lab.calls().once("bind", Fate::Refuse(CallFailure::Conflict));
    try_pod(&mut lab, "p");
    assert_eq!(reserve.take_log(), ["reserve p", "unreserve p"]);
    lab.run_for(60);
    assert_eq!(reserve.take_log(), ["reserve p", "post-bind p"]);
}

#[test]
fn pre_bind_may_pass_reject_or_fail() {
    let reject = || PreBindStep::Reject(unschedulable("not here"));
    let fail = || PreBindStep::Reject(Status::error("broken"));
    let cases = [
        ("passes", vec![], None),
        ("rejects", vec![reject()], Some("Unschedulable")),
        ("fails", vec![fail()], Some("SchedulerError")),
    ];
    for (name, steps, reason) in cases {
        let pre_bind = Scripted::new("PreBind", &[Point::PreBind]).with(|script| {
            script.pre_flight = WORK;
            script.pre_bind = steps;
        });
        let mut lab = Setup::default().gate("SchedulerPopFromBackoffQ", false).plugin(&pre_bind).start();
        lab.create(node("n"));
        try_pod_without_cpu(&mut lab);
        assert_eq!(lab.node_of("p").is_some(), reason.is_none(), "{name}");
        assert_eq!(lab.reason("p"), reason.unwrap_or_default(), "{name}");
        lab.run_for(60);
        assert_eq!(lab.node_of("p").as_deref(), Some("n"), "{name}: a second time it passes");
    }
}

fn try_pod_without_cpu(lab: &mut crate::scenarios::lab::Lab) {
    lab.create(pod("p"));
    lab.run();
}

#[test]
fn failed_pre_bind_requeues_pods_waiting_for_resources() {
    let fails = Scripted::new("Fails", &[Point::PreBind]).with(|script| {
        script.pre_flight = WORK;
        script.pre_bind = vec![PreBindStep::Wait { deadline_ns: 1_010_000_000_000 }];
    });
    // With the gate the pod that failed would keep its nomination, and with it the room.
    let setup = Setup::default().gate("NominatedNodeNameForExpectation", false);
    let setup = setup.plugin(&fails).profile_without("second", &["Fails"]);
    let mut lab = setup.start();
    lab.create(node("n").has("cpu", "1"));
    lab.create(pod("p").asks("cpu", "1"));
    lab.run();
    lab.create(pod("waits").asks("cpu", "1").scheduler("second"));
    lab.run();
    assert_eq!(lab.standing("waits"), Standing::Unschedulable, "the room is taken by the first");
    fails.set(|script| script.pre_bind = vec![PreBindStep::Reject(Status::error("broken"))]);
    lab.pass(20);
    assert_eq!(lab.node_of("waits").as_deref(), Some("n"));
}

#[test]
fn first_bind_plugin_that_does_not_skip_binds_the_pod() {
    let cases = [
        ("neither", [false, false], [1, 1]),
        ("second", [false, true], [1, 1]),
        ("first", [true, true], [1, 0]),
    ];
    for (name, binds, asked) in cases {
        let binders = ["One", "Two"].map(|name| Scripted::new(name, &[Point::Bind]));
        binders.iter().zip(binds).for_each(|(binder, binds)| binder.set(|script| script.binds = binds));
        let [one, two] = &binders;
        let after = Scripted::new("After", &[Point::PostBind]);
        // Behind the others stands the default binder.
        let setup = Setup::default().without("DefaultBinder").plugin(one).plugin(two).plugin(&after);
        let mut lab = setup.also("DefaultBinder").start();
        lab.create_all([node("n"), pod("p")]);
        lab.run();
        assert_eq!(lab.node_of("p").as_deref(), Some("n"), "{name}");
        assert_eq!(binders.each_ref().map(|binder| binder.count("bind")), asked, "{name}");
        assert_eq!(after.count("post-bind"), 1, "{name}");
    }
}

#[test]
fn pod_skipped_by_all_bind_plugins_is_not_bound() {
    let binder = Scripted::new("Skips", &[Point::Bind, Point::Reserve, Point::PostBind]);
    let mut lab = Setup::default().without("DefaultBinder").plugin(&binder).start();
    lab.create_all([node("n"), pod("p")]);
    lab.run();
    assert_eq!(lab.standing("p"), Standing::Backoff);
    assert_eq!(lab.reason("p"), "SchedulerError");
    assert_eq!(binder.take_log(), ["reserve", "bind", "unreserve"]);
}

#[test]
fn post_bind_runs_after_successful_binding_only() {
    let cases = [("bound", None, 1), ("refused", Some(Fate::Refuse(CallFailure::Other)), 0)];
    for (name, fate, told) in cases {
        let after = Scripted::new("After", &[Point::PostBind]);
        let mut lab = with_plugins(&[&after]);
        if let Some(fate) = fate {
            lab.calls().always("bind", fate);
        }
        try_pod(&mut lab, "p");
        assert_eq!(after.count("post-bind"), told, "{name}");
    }
}

#[test]
fn lost_binding_response_does_not_bind_twice() {
    let after = Scripted::new("After", &[Point::PostBind]);
    let mut lab = with_plugins(&[&after]);
    lab.calls().once("bind", Fate::LoseAnswer(CallFailure::Other));
    try_pod(&mut lab, "p");
    lab.run_for(60);
    assert!(lab.node_of("p").is_some());
    assert_eq!(lab.standing("p"), Standing::Bound, "the watch knows better than the answer");
    let binds = lab.take_calls().iter().filter(|call| call.starts_with("bind")).count();
    assert_eq!(binds, 1);
    lab.assert_clean();
}
