//! Claims that one pod may use. Upstream: `TestReadWriteOncePodPreemption`.

use super::{every_way, evicted, settle};
use crate::scenarios::manifest::{Manifest, claim, node, pod, volume};
use crate::scenarios::setup::Setup;

fn alone(number: u8) -> [Manifest; 2] {
    let (volume_name, claim_name) = (format!("pv{number}"), format!("c{number}"));
    [
        volume(&volume_name).mode("ReadWriteOncePod"),
        claim(&claim_name).mode("ReadWriteOncePod").bound_to(&volume_name),
    ]
}

/// The victims' claims, and which pods the preemptor that wants both pushes out.
fn check(victims: &[(&str, &[&str])], wants: &[&str]) {
    every_way(&Setup::default(), |lab| {
        lab.create(node("n").has("cpu", "500m"));
        lab.create_all(alone(1).into_iter().chain(alone(2)));
        let using = |pod: Manifest, claims: &[&str]| claims.iter().fold(pod, |pod, claim| pod.uses(claim));
        settle(lab, victims.iter().map(|(name, claims)| using(pod(name).priority(100), claims)));
        lab.create(using(pod("high").priority(300), wants));
        lab.run();
        let names: Vec<&str> = victims.iter().map(|(name, _)| *name).collect();
        assert_eq!(evicted(lab, &names), names);
        assert_eq!(lab.node_of("high").as_deref(), Some("n"));
    });
}

#[test]
fn pod_using_read_write_once_pod_pvc_is_preempted() {
    check(&[("low", &["c1"])], &["c1"]);
}

#[test]
fn pods_using_either_read_write_once_pod_pvc_are_preempted() {
    check(&[("low1", &["c1"]), ("low2", &["c2"])], &["c1", "c2"]);
}

#[test]
fn pod_using_both_read_write_once_pod_pvcs_is_preempted() {
    check(&[("low", &["c1", "c2"])], &["c1", "c2"]);
}
