//! Nominations that change hands. Upstream: preemption/nominatednodename, `TestPreemptionStarvation`,
//! `TestPreemptionRaces`.

use super::{every_way, settle};
use crate::scenarios::lab::Lab;
use crate::scenarios::manifest::{Manifest, node, pod};
use crate::scenarios::plugin::{Scripted, WORK, unschedulable};
use crate::scenarios::setup::Setup;
use schedlab_core::framework::extension_point::ExtensionPoint;
use schedlab_core::framework::points::PreBindStep;
use schedlab_core::scheduler::Standing;

const GATE: &str = "NominatedNodeNameForExpectation";

fn asks(name: &str, cpu: &str, priority: i32) -> Manifest {
    pod(name).asks("cpu", cpu).priority(priority)
}

/// A node of so many CPUs and lower pods on it that leave only when they are let go; then a pod in
/// the middle that was nominated to it.
fn middle_is_nominated(lab: &mut Lab, cpu: &str, lows: &[&str], middle: &str) {
    lab.create(node("n").has("cpu", cpu));
    settle(lab, lows.iter().map(|name| asks(name, "1", 100).lingering()));
    lab.create(asks("middle", middle, 200));
    lab.run();
    assert_eq!(lab.nominated("middle").as_deref(), Some("n"));
    assert_eq!(lab.standing("middle"), Standing::Unschedulable, "it waits for its victims");
}

#[test]
fn higher_priority_preemptor_clears_nominated_node_name_of_lower_one() {
    every_way(&Setup::default(), |lab| {
        middle_is_nominated(lab, "5", &["low1", "low2", "low3", "low4"], "3");
        lab.create(asks("high", "4", 300));
        lab.run();
        assert_eq!(lab.nominated("high").as_deref(), Some("n"));
        assert_eq!(lab.nominated("middle"), None, "it does not fit beside the higher pod");
        for low in ["low1", "low2", "low3", "low4"] {
            lab.let_go(low);
        }
        lab.run();
        assert_eq!(lab.node_of("high").as_deref(), Some("n"));
        assert_eq!(lab.standing("middle"), Standing::Unschedulable);
    });
}

#[test]
fn higher_priority_pod_binds_to_nominated_node_of_lower_one_without_preemption() {
    for is_on in [true, false] {
        every_way(&Setup::default().gate(GATE, is_on), |lab| {
            middle_is_nominated(lab, "2", &["low"], "2");
            lab.create(asks("high", "1", 300));
            lab.run();
            assert_eq!(lab.node_of("high").as_deref(), Some("n"), "there was one CPU left");
            lab.let_go("low");
            lab.run();
            assert_eq!(lab.standing("middle"), Standing::Unschedulable);
            assert_eq!(lab.nominated("middle"), is_on.then(|| "n".to_owned()));
        });
    }
}

#[test]
fn delete_of_nominated_node_keeps_nominated_node_name_with_feature_gate_only() {
    for is_on in [true, false] {
        // Backoff, because without a node pods are tried again and again.
        let mut lab = Setup::default().gate(GATE, is_on).start();
        middle_is_nominated(&mut lab, "1", &["low"], "1");
        lab.delete_node("n");
        lab.let_go("low");
        lab.pass(20);
        assert_eq!(lab.node_of("middle"), None);
        assert_eq!(lab.nominated("middle"), is_on.then(|| "n".to_owned()));
    }
}

#[test]
fn delete_of_nominated_node_with_unresolvable_others_keeps_nominated_node_name_with_feature_gate_only() {
    for is_on in [true, false] {
        every_way(&Setup::default().gate(GATE, is_on), |lab| {
            lab.create(node("tainted").has("cpu", "1").taint("key"));
            middle_is_nominated(lab, "1", &["low"], "1");
            lab.delete_node("n");
            lab.let_go("low");
            lab.run();
            assert_eq!(lab.standing("middle"), Standing::Unschedulable);
            assert_eq!(lab.nominated("middle"), is_on.then(|| "n".to_owned()));
        });
    }
}

/// A rejection after Permit is no reason to wait for an event: the pod backs off and tries again.
#[test]
fn failed_pre_bind_on_nominated_node_backs_off_and_keeps_nominated_node_name_with_feature_gate_only() {
    for is_on in [true, false] {
        let fails = Scripted::new("Fails", &[ExtensionPoint::PreBind]);
        let setup = Setup::default().gate(GATE, is_on).gate("SchedulerPopFromBackoffQ", false);
        let mut lab = setup.plugin(&fails).start();
        middle_is_nominated(&mut lab, "1", &["low"], "1");
        fails.take_log();
        fails.set(|script| {
            script.pre_flight = WORK;
            script.pre_bind = vec![PreBindStep::Reject(unschedulable("not today"))];
        });
        lab.let_go("low");
        lab.pass(2);
        assert_eq!(fails.take_log(), ["pre-bind"]);
        assert_eq!(lab.standing("middle"), Standing::Backoff);
        assert_eq!(lab.nominated("middle"), is_on.then(|| "n".to_owned()));
        lab.run_for(60);
        assert_eq!(lab.node_of("middle").as_deref(), Some("n"), "another day");
    }
}

/// Two nodes of half a CPU, and a lower pod on one of them.
fn beside_a_lower_pod(lab: &mut Lab, on: &str) {
    lab.create_all(["n1", "n2"].map(|name| node(name).has("cpu", "500m").has("memory", "500")));
    lab.create(asks("low", "100m", 100).on(on));
    lab.create(asks("high", "500m", 300));
    lab.nominate("high", Some("n1"));
    lab.run();
}

#[test]
fn free_nominated_node_is_chosen() {
    every_way(&Setup::default(), |lab| {
        beside_a_lower_pod(lab, "n2");
        assert_eq!(lab.node_of("high").as_deref(), Some("n1"));
    });
}

#[test]
fn unfit_nominated_node_falls_back_to_another_node_without_preemption() {
    every_way(&Setup::default(), |lab| {
        beside_a_lower_pod(lab, "n1");
        assert_eq!(lab.node_of("high").as_deref(), Some("n2"));
        assert!(lab.exists("low"), "nobody is evicted");
    });
}

#[test]
fn lower_priority_pods_do_not_starve_preemptor() {
    every_way(&Setup::default(), |lab| {
        lab.create(node("n").has("cpu", "500m"));
        settle(lab, (0..5).map(|at| asks(&format!("here{at}"), "100m", 200)));
        lab.create_all((0..5).map(|at| asks(&format!("pending{at}"), "100m", 200)));
        lab.run();
        lab.create(asks("high", "300m", 300));
        lab.run();
        assert_eq!(lab.node_of("high").as_deref(), Some("n"));
        let placed = (0..5).filter(|at| lab.node_of(&format!("pending{at}")).is_some()).count();
        assert_eq!(placed, 0, "who waited longer did not get it");
    });
}

#[test]
fn pods_added_while_victims_terminate_do_not_take_the_node_of_preemptor() {
    every_way(&Setup::default(), |lab| {
        lab.create(node("n").has("cpu", "5"));
        settle(lab, ["here0", "here1"].map(|name| asks(name, "100m", 200)));
        lab.create(asks("high", "4900m", 300));
        lab.create_all((0..20).map(|at| asks(&format!("late{at}"), "100m", 200)));
        lab.run();
        assert_eq!(lab.node_of("high").as_deref(), Some("n"));
        let placed: Vec<usize> = (0..20).filter(|at| lab.node_of(&format!("late{at}")).is_some()).collect();
        // A hundred milli-CPUs are left beside the high pod.
        assert!(placed.len() <= 1, "{placed:?}");
    });
}
