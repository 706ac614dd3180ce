//! Several profiles in one scheduler, several schedulers on one cluster. Upstream:
//! `TestMultipleSchedulers`, `TestMultipleSchedulingProfiles`.

use super::manifest::{node, pod};
use super::plugin::Scripted;
use super::setup::Setup;
use schedlab_core::framework::extension_point::ExtensionPoint;
use schedlab_core::scheduler::Standing;

#[test]
fn scheduler_schedules_only_pods_with_its_scheduler_name() {
    let mut lab = Setup::default().start();
    lab.create_all([node("n"), pod("unnamed"), pod("default").scheduler("default-scheduler")]);
    lab.create(pod("foo").scheduler("foo-scheduler"));
    lab.run();
    for name in ["unnamed", "default"] {
        assert_eq!(lab.node_of(name).as_deref(), Some("n"), "{name}");
    }
    assert_eq!((lab.node_of("foo"), lab.standing("foo")), (None, Standing::Foreign));
    assert!(lab.scheduled_condition("foo").is_none(), "nobody says anything about it");
    let foo = lab.add_scheduler(&Setup::default().named(&["foo-scheduler"]));
    lab.run();
    assert_eq!(lab.node_of("foo").as_deref(), Some("n"));
    assert_eq!(lab.standing_at(foo, "unnamed"), Standing::Bound);
}

#[test]
fn one_scheduler_serves_several_profiles() {
    let only_default = Scripted::new("OnlyDefault", &[ExtensionPoint::Filter])
        .with(|script| script.passes = Box::new(|node| node == "n1"));
    let setup = Setup::default().plugin(&only_default).profile_without("custom", &["OnlyDefault"]);
    let mut lab = setup.start();
    lab.create_all(["n1", "n2"].map(|name| node(name).has("cpu", "1")));
    lab.create_all([pod("a").asks("cpu", "1"), pod("b").asks("cpu", "1").scheduler("custom")]);
    lab.create(pod("c").scheduler("nobody"));
    lab.run();
    assert_eq!(lab.node_of("a").as_deref(), Some("n1"));
    assert_eq!(lab.node_of("b").as_deref(), Some("n2"), "its profile lacks the filter");
    assert_eq!(lab.standing("c"), Standing::Foreign);
}

#[test]
fn pods_of_another_scheduler_use_resources_and_are_not_scheduled() {
    let mut lab = Setup::default().without_backoff().start();
    let other = lab.add_scheduler(&Setup::default().without_backoff().named(&["other"]));
    lab.create_all([node("n").has("cpu", "1"), pod("theirs").asks("cpu", "1").scheduler("other")]);
    lab.run();
    assert_eq!(lab.standing_at(other, "theirs"), Standing::Bound);
    lab.create(pod("ours").asks("cpu", "1"));
    lab.run();
    assert_eq!(lab.standing("ours"), Standing::Unschedulable, "the other's pod is seen");
    lab.delete_pod("theirs");
    lab.run();
    assert_eq!(lab.node_of("ours").as_deref(), Some("n"), "and so is its end");
    assert_eq!(lab.take_calls().iter().filter(|call| call.contains("theirs")).count(), 0);
}

#[test]
fn second_of_two_schedulers_binding_one_pod_unreserves() {
    let plugin = Scripted::new("Reserve", &[ExtensionPoint::Reserve]);
    let setup = Setup::default().plugin(&plugin);
    let mut lab = setup.start();
    let rival = lab.add_scheduler(&setup);
    lab.create_all([node("a").has("cpu", "4"), node("b").has("cpu", "4"), pod("p").asks("cpu", "1")]);
    lab.observe();
    assert!(lab.attempt_blindly(rival));
    let node = lab.node_of("p");
    assert!(node.is_some());
    // The other does not know yet, and decides as well.
    assert!(lab.attempt_blindly(0));
    assert_eq!(plugin.take_log(), ["reserve", "reserve", "unreserve"]);
    assert_eq!(lab.node_of("p"), node, "the API refused the second binding");
    lab.run_for(60);
    for seat in [0, rival] {
        assert_eq!(lab.standing_at(seat, "p"), Standing::Bound);
    }
    assert_eq!(lab.node_of("p"), node);
    lab.assert_clean();
}

#[test]
fn scheduler_losing_a_binding_race_forgets_the_assumed_pod() {
    let setup = Setup::default();
    let mut lab = setup.start();
    let rival = lab.add_scheduler(&setup);
    lab.create_all([node("n").has("cpu", "2"), pod("p").asks("cpu", "1")]);
    lab.observe();
    assert!(lab.attempt_blindly(rival));
    assert!(lab.attempt_blindly(0));
    // Two of one CPU: had the loser counted the pod twice, this one would not fit.
    lab.create(pod("q").asks("cpu", "1"));
    lab.run_for(60);
    assert_eq!(lab.node_of("q").as_deref(), Some("n"));
    lab.assert_clean();
}

#[test]
fn two_schedulers_of_one_name_bind_every_pod_once() {
    let setup = Setup::default();
    let mut lab = setup.start();
    let rival = lab.add_scheduler(&setup);
    lab.create_all((0..4).map(|at| node(&format!("n{at}")).has("cpu", "8")));
    lab.create_all((0..32).map(|at| pod(&format!("p{at}")).asks("cpu", "1")));
    lab.observe();
    // They race, each on what it knew at the start, then look again.
    for _ in 0..8 {
        for seat in [0, rival] {
            lab.attempt_blindly(seat);
        }
    }
    lab.run_for(120);
    for at in 0..32 {
        assert!(lab.node_of(&format!("p{at}")).is_some(), "p{at}");
    }
    let counts = [0, rival].map(|seat| lab.seat(seat).scheduler.counts());
    assert_eq!(counts.map(|counts| counts.bound), [32, 32]);
    lab.assert_clean();
}
