//! Resources.

use super::rejected_by;
use crate::scenarios::manifest::{node, pod};

const GPU: &str = "example.com/gpu";

#[test]
fn pod_scale_down_requeues_pod() {
    rejected_by(&["NodeResourcesFit"])
        .given([node("n").has("cpu", "2")])
        .waiting([pod("big").asks("cpu", "4")])
        .requeues(|lab| lab.update(pod("big").asks("cpu", "2")), &["big"]);
}

#[test]
fn assigned_pod_delete_requeues_pod_waiting_for_resources() {
    rejected_by(&["NodeResourcesFit"])
        .given([node("n").has("cpu", "2"), pod("here").asks("cpu", "2").on("n")])
        .waiting([pod("next").asks("cpu", "2")])
        .requeues(|lab| lab.delete_pod("here"), &["next"]);
}

#[test]
fn node_add_requeues_pods_whose_requests_fit() {
    rejected_by(&["NodeResourcesFit"])
        .given([node("n").has("cpu", "2")])
        .waiting([pod("four").asks("cpu", "4"), pod("five").asks("cpu", "5")])
        .requeues(|lab| lab.create(node("new").has("cpu", "4")), &["four"]);
}

#[test]
fn node_allocatable_increase_requeues_pods_whose_requests_fit() {
    rejected_by(&["NodeResourcesFit"])
        .given([node("n").has("cpu", "2")])
        .waiting([pod("four").asks("cpu", "4"), pod("five").asks("cpu", "5")])
        .requeues(|lab| lab.update_status(node("n").has("cpu", "4")), &["four"]);
}

#[test]
fn memory_increase_does_not_requeue_pod_short_of_cpu_with_extended_resource_available() {
    let grown = node("n").has("cpu", "4").has("memory", "4000");
    rejected_by(&["NodeResourcesFit"])
        .given([node("n").has("cpu", "4").has(GPU, "1")])
        .waiting([pod("p").asks("cpu", "5").asks(GPU, "1")])
        .requeues(|lab| lab.update_status(grown), &[]);
}

#[test]
fn memory_increase_does_not_requeue_pod_short_of_extended_resource() {
    rejected_by(&["NodeResourcesFit"])
        .given([node("n").has("cpu", "4")])
        .waiting([pod("p").asks(GPU, "1")])
        .requeues(|lab| lab.update_status(node("n").has("cpu", "4").has("memory", "4000")), &[]);
}

#[test]
fn allocatable_increase_of_unrequested_resource_requeues_no_pod() {
    rejected_by(&["NodeResourcesFit", "NodeAffinity"])
        .given([node("plain").has("cpu", "4"), node("b").label("group", "b").has("cpu", "2")])
        .waiting([pod("p").asks("cpu", "4").needs_node("group", &["b"])])
        .requeues(|lab| lab.update_status(node("plain").has("cpu", "4").has("memory", "4000")), &[]);
}

#[test]
fn allocatable_increase_of_requested_resource_requeues_pod() {
    rejected_by(&["NodeResourcesFit", "NodeAffinity"])
        .given([node("plain").has("cpu", "4"), node("b").label("group", "b").has("cpu", "2")])
        .waiting([pod("p").asks("cpu", "4").needs_node("group", &["b"])])
        .requeues(|lab| lab.update_status(node("plain").has("cpu", "5")), &["p"]);
}

#[test]
fn allocatable_pods_increase_requeues_pod() {
    rejected_by(&["NodeResourcesFit", "NodeAffinity"])
        .given([
            node("plain").has("pods", "2"),
            node("b").label("group", "b").has("pods", "1"),
            pod("here").on("b"),
        ])
        .waiting([pod("p").needs_node("group", &["b"])])
        .requeues(|lab| lab.update_status(node("plain").has("pods", "3")), &["p"]);
}
