//! Taints, node affinity, ports and cordons.

use super::rejected_by;
use crate::scenarios::manifest::{node, pod};

const NOT_READY: &str = "node.kubernetes.io/not-ready";

#[test]
fn more_cpu_does_not_help_a_pod_that_cannot_bear_the_taint() {
    let grown = |cpu| node("n").has("cpu", cpu).taint(NOT_READY);
    rejected_by(&["TaintToleration", "NodeResourcesFit"])
        .given([grown("2")])
        .waiting([pod("shy").asks("cpu", "4"), pod("brave").asks("cpu", "4").tolerates(NOT_READY)])
        .requeues(|lab| lab.update_status(grown("4")), &["brave"]);
}

#[test]
fn a_node_that_begins_to_match_helps_whom_it_matches() {
    rejected_by(&["NodeAffinity"])
        .given([node("n").label("group", "a")])
        .waiting([pod("b").needs_node("group", &["b"]), pod("c").needs_node("group", &["c"])])
        .requeues(|lab| lab.update(node("n").label("group", "b")), &["b"]);
}

#[test]
fn a_node_that_matched_before_helps_nobody() {
    rejected_by(&["NodeAffinity", "NodeResourcesFit"])
        .given([node("full").label("group", "a").has("cpu", "2"), node("other").label("group", "b")])
        .waiting([pod("big").needs_node("group", &["a"]).asks("cpu", "4")])
        .requeues(|lab| lab.update(node("full").label("group", "a").label("rack", "7")), &[]);
}

#[test]
fn a_new_node_helps_whom_it_matches() {
    rejected_by(&["NodeAffinity"])
        .given([node("n").label("group", "a")])
        .waiting([pod("b").needs_node("group", &["b"]), pod("c").needs_node("group", &["c"])])
        .requeues(|lab| lab.create(node("new").label("group", "b")), &["b"]);
}

#[test]
fn a_pod_that_learns_to_bear_a_taint_comes_back_alone() {
    rejected_by(&["TaintToleration"])
        .given([node("n").taint("key")])
        .waiting([pod("learner"), pod("other")])
        .requeues(|lab| lab.update(pod("learner").tolerates("key")), &["learner"]);
}

#[test]
fn another_taint_helps_who_bears_that_one() {
    rejected_by(&["TaintToleration"])
        .given([node("n").taint(NOT_READY)])
        .waiting([pod("bears").tolerates("key"), pod("bears-another").tolerates("key2"), pod("bears-none")])
        .requeues(|lab| lab.update(node("n").taint("key")), &["bears"]);
}

#[test]
fn a_new_node_with_a_taint_helps_who_bears_it() {
    rejected_by(&["TaintToleration"])
        .given([node("n").taint(NOT_READY)])
        .waiting([pod("bears").tolerates("key"), pod("bears-none")])
        .requeues(|lab| lab.create(node("new").taint("key")), &["bears"]);
}

#[test]
fn a_label_of_its_own_does_not_help_a_pod_against_a_taint() {
    rejected_by(&["TaintToleration"])
        .given([node("n").taint(NOT_READY)])
        .waiting([pod("shy")])
        .requeues(|lab| lab.update(pod("shy").label("key", "value")), &[]);
}

#[test]
fn a_pod_that_names_its_nodes_comes_back_for_what_either_plugin_waits_for() {
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
fn a_port_that_comes_free_helps_who_wants_it() {
    rejected_by(&["NodePorts"])
        .given([node("n"), pod("a").host_port(8080).on("n"), pod("b").host_port(8081).on("n")])
        .waiting([pod("wants-8080").host_port(8080), pod("wants-8081").host_port(8081)])
        .requeues(|lab| lab.delete_pod("a"), &["wants-8080"]);
}

#[test]
fn a_new_node_has_all_its_ports() {
    rejected_by(&["NodePorts"])
        .given([node("n"), pod("a").host_port(8080).on("n")])
        .waiting([pod("wants-8080").host_port(8080)])
        .requeues(|lab| lab.create(node("new")), &["wants-8080"]);
}

#[test]
fn a_node_that_is_opened_helps() {
    rejected_by(&["NodeUnschedulable"])
        .given([node("n").cordoned()])
        .waiting([pod("p")])
        .requeues(|lab| lab.update(node("n")), &["p"]);
}

#[test]
fn a_new_open_node_helps() {
    rejected_by(&["NodeUnschedulable"])
        .given([node("n").cordoned()])
        .waiting([pod("p")])
        .requeues(|lab| lab.create(node("new")), &["p"]);
}

#[test]
fn a_new_cordoned_node_helps_nobody() {
    rejected_by(&["NodeUnschedulable"])
        .given([node("n").cordoned()])
        .waiting([pod("p")])
        .requeues(|lab| lab.create(node("new").cordoned()), &[]);
}
