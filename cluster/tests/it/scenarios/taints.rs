//! Nodes in a bad condition. Upstream: test/integration/scheduler/taint.

use super::manifest::{Manifest, node, pod};
use super::setup::Setup;
use schedlab_cluster::Api;
use schedlab_cluster::controllers::{ControllerSettings, node_lifecycle};
use schedlab_cluster::runtime::virtual_time::VirtualController;
use schedlab_core::scheduler::Standing;
use serde_json::json;

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const MEMORY: &str = "node.kubernetes.io/memory-pressure";
const DISK: &str = "node.kubernetes.io/disk-pressure";
const NETWORK: &str = "node.kubernetes.io/network-unavailable";
const PID: &str = "node.kubernetes.io/pid-pressure";
const CORDON: &str = "node.kubernetes.io/unschedulable";

fn in_condition(node: Manifest, conditions: &[(&str, &str)]) -> Manifest {
    let entry = |(kind, status): &(&str, &str)| json!({ "type": kind, "status": status });
    node.set("/status/conditions", conditions.iter().map(entry).collect())
}

/// Runs the node lifecycle controller over the nodes there are; how many it had to write.
fn taint_nodes_by_condition(api: &dyn Api) -> usize {
    let settings = ControllerSettings::default();
    let mut controller =
        VirtualController::new(&node_lifecycle::DESCRIPTOR, &settings, 1).expect("it takes no configuration");
    controller.list(api, 0).expect("nodes can be listed");
    controller.perform_calls(api, 0)
}

/// A node in such conditions, the taints it gets, and a pod for each: one that tolerates nothing, one that
/// tolerates all but one of them, and one that tolerates all.
fn check(conditions: &[(&str, &str)], is_cordoned: bool, taints: &[&str]) {
    let mut lab = Setup::default().without_backoff().start();
    let bare = node("n").has("cpu", "4");
    let bare = if is_cordoned { bare.cordoned() } else { bare };
    lab.create(in_condition(bare, conditions));
    assert_eq!(taint_nodes_by_condition(lab.api.as_ref()), usize::from(!taints.is_empty()));
    assert_eq!(taint_nodes_by_condition(lab.api.as_ref()), 0, "a second pass finds nothing to do");
    let tolerating =
        |name: &str, taints: &[&str]| taints.iter().fold(pod(name), |pod, key| pod.tolerates(key));
    lab.create_all([tolerating("none", &[]), tolerating("all", taints)]);
    lab.run();
    assert_eq!(lab.node_of("all").as_deref(), Some("n"), "{conditions:?}");
    assert_eq!(lab.node_of("none").is_some(), taints.is_empty(), "{conditions:?}");
    if let [_, others @ ..] = taints {
        lab.create(tolerating("all-but-one", others));
        lab.run();
        assert_eq!(lab.standing("all-but-one"), Standing::Unschedulable, "{conditions:?}");
        // The node recovers.
        lab.update_status(in_condition(node("n").has("cpu", "4"), &[("Ready", "True")]));
        lab.update(node("n"));
        taint_nodes_by_condition(lab.api.as_ref());
        lab.run();
        for name in ["none", "all-but-one"] {
            assert_eq!(lab.node_of(name).as_deref(), Some("n"), "{name} when {conditions:?} is over");
        }
    }
}

#[test]
fn ready_node_gets_no_condition_taint() {
    check(&[("Ready", "True"), ("MemoryPressure", "False")], false, &[]);
}

#[test]
fn not_ready_node_takes_only_pods_tolerating_its_taint() {
    check(&[("Ready", "False")], false, &[NOT_READY]);
}

#[test]
fn cordoned_node_takes_only_pods_tolerating_its_taint() {
    check(&[("Ready", "True")], true, &[CORDON]);
}

#[test]
fn memory_pressure_node_takes_only_pods_tolerating_its_taint() {
    check(&[("MemoryPressure", "True"), ("Ready", "True")], false, &[MEMORY]);
}

#[test]
fn disk_pressure_node_takes_only_pods_tolerating_its_taint() {
    check(&[("DiskPressure", "True"), ("Ready", "True")], false, &[DISK]);
}

#[test]
fn network_unavailable_node_takes_only_pods_tolerating_its_taint() {
    check(&[("NetworkUnavailable", "True"), ("Ready", "True")], false, &[NETWORK]);
}

#[test]
fn network_unavailable_not_ready_node_takes_only_pods_tolerating_both_taints() {
    check(&[("NetworkUnavailable", "True"), ("Ready", "False")], false, &[NOT_READY, NETWORK]);
}

#[test]
fn pid_pressure_node_takes_only_pods_tolerating_its_taint() {
    check(&[("PIDPressure", "True"), ("Ready", "True")], false, &[PID]);
}

#[test]
fn node_with_several_condition_taints_takes_only_pods_tolerating_all() {
    check(&[("MemoryPressure", "True"), ("DiskPressure", "True"), ("Ready", "True")], false, &[MEMORY, DISK]);
}

#[test]
fn node_lifecycle_leaves_other_taints_alone() {
    let mut lab = Setup::default().start();
    lab.create(in_condition(node("n").taint("mine"), &[("Ready", "False")]));
    taint_nodes_by_condition(lab.api.as_ref());
    lab.create_all([pod("p").tolerates(NOT_READY), pod("q").tolerates(NOT_READY).tolerates("mine")]);
    lab.run();
    assert_eq!((lab.node_of("p"), lab.node_of("q").as_deref()), (None, Some("n")));
}
