//! Pods that name their node, as daemon pods do.

use super::manifest::{node, pod};
use super::setup::Setup;
use schedlab_core::cycle::probe::NoProbe;
use schedlab_core::scheduler::{ScheduleOneOutcome, Standing};

#[test]
fn daemon_pod_evaluates_one_node_of_fifteen_thousand() {
    let mut lab = Setup::default().start();
    lab.create_all((0..15_000).map(|at| node(&format!("n{at}")).has("cpu", "4")));
    lab.create(pod("daemon").asks("cpu", "1").needs_node_named(&["n7"]));
    lab.observe();
    let ScheduleOneOutcome::Assumed { choice, .. } = lab.scheduler().schedule_one(&mut NoProbe) else {
        panic!("it fits: {:?}", lab.reasons())
    };
    assert_eq!((choice.evaluated, choice.feasible), (1, 1));
    lab.run();
    assert_eq!(lab.node_of("daemon").as_deref(), Some("n7"));
}

#[test]
fn daemon_pod_tolerating_cordon_is_bound_to_its_node_and_to_no_other() {
    let mut lab = Setup::default().without_backoff().start();
    lab.create_all([node("n1").has("cpu", "1").cordoned(), node("n2").has("cpu", "4")]);
    let daemon = pod("daemon").asks("cpu", "1").needs_node_named(&["n1"]);
    lab.create(daemon.clone().tolerates("node.kubernetes.io/unschedulable"));
    lab.run();
    assert_eq!(lab.node_of("daemon").as_deref(), Some("n1"));
    lab.create(pod("second").asks("cpu", "1").needs_node_named(&["n1"]));
    lab.run();
    assert_eq!(lab.standing("second"), Standing::Unschedulable, "there is room elsewhere, but not for it");
}
