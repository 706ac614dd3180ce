//! Taints, node affinity, ports and cordons.

use super::rejected_by;
use crate::scenarios::manifest::{node, pod};

const NOT_READY: &str = "node.kubernetes.io/not-ready";

#[test]
fn allocatable_increase_of_tainted_node_requeues_only_pods_tolerating_the_taint() {
    let grown = |cpu| node("n").has("cpu", cpu).taint(NOT_READY);
    rejected_by(&["TaintToleration", "NodeResourcesFit"])
        .given([grown("2")])
        .waiting([pod("shy").asks("cpu", "4"), pod("brave").asks("cpu", "4").tolerates(NOT_READY)])
        .requeues(|lab| lab.update_status(grown("4")), &["brave"]);
}

#[test]
fn node_label_update_requeues_pods_whose_node_affinity_starts_to_match() {
    rejected_by(&["NodeAffinity"])
        .given([node("n").label("group", "a")])
        .waiting([pod("b").needs_node("group", &["b"]), pod("c").needs_node("group", &["c"])])
        .requeues(|lab| lab.update(node("n").label("group", "b")), &["b"]);
}

#[test]
fn label_update_of_already_matching_node_requeues_no_pod() {
    rejected_by(&["NodeAffinity", "NodeResourcesFit"])
        .given([node("full").label("group", "a").has("cpu", "2"), node("other").label("group", "b")])
        .waiting([pod("big").needs_node("group", &["a"]).asks("cpu", "4")])
        .requeues(|lab| lab.update(node("full").label("group", "a").label("rack", "7")), &[]);
}

#[test]
fn node_add_requeues_pods_whose_node_affinity_matches() {
    rejected_by(&["NodeAffinity"])
        .given([node("n").label("group", "a")])
        .waiting([pod("b").needs_node("group", &["b"]), pod("c").needs_node("group", &["c"])])
        .requeues(|lab| lab.create(node("new").label("group", "b")), &["b"]);
}

#[test]
fn pod_toleration_update_requeues_that_pod_only() {
    rejected_by(&["TaintToleration"])
        .given([node("n").taint("key")])
        .waiting([pod("learner"), pod("other")])
        .requeues(|lab| lab.update(pod("learner").tolerates("key")), &["learner"]);
}

#[test]
fn node_taint_update_requeues_pod_tolerating_the_new_taint() {
    rejected_by(&["TaintToleration"])
        .given([node("n").taint(NOT_READY)])
        .waiting([
            pod("tolerates").tolerates("key"),
            pod("tolerates-another").tolerates("key2"),
            pod("tolerates-none"),
        ])
        .requeues(|lab| lab.update(node("n").taint("key")), &["tolerates"]);
}

#[test]
fn node_add_requeues_pod_tolerating_its_taint() {
    rejected_by(&["TaintToleration"])
        .given([node("n").taint(NOT_READY)])
        .waiting([pod("tolerates").tolerates("key"), pod("tolerates-none")])
        .requeues(|lab| lab.create(node("new").taint("key")), &["tolerates"]);
}

#[test]
fn pod_label_update_does_not_requeue_pod_rejected_by_taint() {
    rejected_by(&["TaintToleration"])
        .given([node("n").taint(NOT_READY)])
        .waiting([pod("shy")])
        .requeues(|lab| lab.update(pod("shy").label("key", "value")), &[]);
}

#[test]
fn pod_with_node_name_affinity_is_requeued_by_events_of_node_affinity_or_fit() {
    let named = node("named").label("rack", "1");
    rejected_by(&["NodeAffinity", "NodeResourcesFit"])
        .given([named.clone().has("cpu", "2"), node("other").label("zone", "z").has("cpu", "2")])
        .waiting([pod("daemon").needs_node_named(&["named"]).asks("cpu", "4")])
        .requeues(
            |lab| {
                lab.update_status(named.clone().has("cpu", "4"));
                lab.update(node("named").label("rack", "2"));
            },
            &["daemon"],
        );
}

#[test]
fn assigned_pod_delete_requeues_pod_wanting_its_host_port() {
    rejected_by(&["NodePorts"])
        .given([node("n"), pod("a").host_port(8080).on("n"), pod("b").host_port(8081).on("n")])
        .waiting([pod("wants-8080").host_port(8080), pod("wants-8081").host_port(8081)])
        .requeues(|lab| lab.delete_pod("a"), &["wants-8080"]);
}

#[test]
fn node_add_requeues_pod_waiting_for_host_port() {
    rejected_by(&["NodePorts"])
        .given([node("n"), pod("a").host_port(8080).on("n")])
        .waiting([pod("wants-8080").host_port(8080)])
        .requeues(|lab| lab.create(node("new")), &["wants-8080"]);
}

#[test]
fn uncordoned_node_requeues_pod() {
    rejected_by(&["NodeUnschedulable"])
        .given([node("n").cordoned()])
        .waiting([pod("p")])
        .requeues(|lab| lab.update(node("n")), &["p"]);
}

#[test]
fn node_add_requeues_pod_rejected_by_node_unschedulable() {
    rejected_by(&["NodeUnschedulable"])
        .given([node("n").cordoned()])
        .waiting([pod("p")])
        .requeues(|lab| lab.create(node("new")), &["p"]);
}

#[test]
fn cordoned_node_add_requeues_no_pod() {
    rejected_by(&["NodeUnschedulable"])
        .given([node("n").cordoned()])
        .waiting([pod("p")])
        .requeues(|lab| lab.create(node("new").cordoned()), &[]);
}
