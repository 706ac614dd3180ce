//! Resources.

use super::rejected_by;
use crate::scenarios::manifest::{node, pod};

const GPU: &str = "example.com/gpu";

#[test]
fn a_pod_that_asks_for_less_comes_back() {
    rejected_by(&["NodeResourcesFit"])
        .given([node("n").has("cpu", "2")])
        .waiting([pod("big").asks("cpu", "4")])
        .requeues(|lab| lab.update(pod("big").asks("cpu", "2")), &["big"]);
}

#[test]
fn room_that_comes_free_helps() {
    rejected_by(&["NodeResourcesFit"])
        .given([node("n").has("cpu", "2"), pod("here").asks("cpu", "2").on("n")])
        .waiting([pod("next").asks("cpu", "2")])
        .requeues(|lab| lab.delete_pod("here"), &["next"]);
}

#[test]
fn a_new_node_helps_whom_it_can_hold() {
    rejected_by(&["NodeResourcesFit"])
        .given([node("n").has("cpu", "2")])
        .waiting([pod("four").asks("cpu", "4"), pod("five").asks("cpu", "5")])
        .requeues(|lab| lab.create(node("new").has("cpu", "4")), &["four"]);
}

#[test]
fn a_node_that_grows_helps_whom_it_can_hold() {
    rejected_by(&["NodeResourcesFit"])
        .given([node("n").has("cpu", "2")])
        .waiting([pod("four").asks("cpu", "4"), pod("five").asks("cpu", "5")])
        .requeues(|lab| lab.update_status(node("n").has("cpu", "4")), &["four"]);
}

#[test]
fn more_memory_does_not_help_a_pod_that_lacks_cpu_and_has_its_device() {
    let grown = node("n").has("cpu", "4").has("memory", "4000");
    rejected_by(&["NodeResourcesFit"])
        .given([node("n").has("cpu", "4").has(GPU, "1")])
        .waiting([pod("p").asks("cpu", "5").asks(GPU, "1")])
        .requeues(|lab| lab.update_status(grown), &[]);
}

#[test]
fn more_memory_does_not_help_a_pod_that_lacks_a_device() {
    rejected_by(&["NodeResourcesFit"])
        .given([node("n").has("cpu", "4")])
        .waiting([pod("p").asks(GPU, "1")])
        .requeues(|lab| lab.update_status(node("n").has("cpu", "4").has("memory", "4000")), &[]);
}

#[test]
fn a_node_that_grows_in_what_was_not_asked_for_helps_nobody() {
    rejected_by(&["NodeResourcesFit", "NodeAffinity"])
        .given([node("plain").has("cpu", "4"), node("b").label("group", "b").has("cpu", "2")])
        .waiting([pod("p").asks("cpu", "4").needs_node("group", &["b"])])
        .requeues(|lab| lab.update_status(node("plain").has("cpu", "4").has("memory", "4000")), &[]);
}

#[test]
fn a_node_that_grows_in_what_was_asked_for_helps() {
    rejected_by(&["NodeResourcesFit", "NodeAffinity"])
        .given([node("plain").has("cpu", "4"), node("b").label("group", "b").has("cpu", "2")])
        .waiting([pod("p").asks("cpu", "4").needs_node("group", &["b"])])
        .requeues(|lab| lab.update_status(node("plain").has("cpu", "5")), &["p"]);
}

#[test]
fn a_node_that_takes_more_pods_helps() {
    rejected_by(&["NodeResourcesFit", "NodeAffinity"])
        .given([
            node("plain").has("pods", "2"),
            node("b").label("group", "b").has("pods", "1"),
            pod("here").on("b"),
        ])
        .waiting([pod("p").needs_node("group", &["b"])])
        .requeues(|lab| lab.update_status(node("plain").has("pods", "3")), &["p"]);
}
