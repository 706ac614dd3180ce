//! Pods that want to be near others, or far from them.

use super::rejected_by;
use crate::scenarios::manifest::{node, pod};

#[test]
fn node_add_requeues_pod_with_anti_affinity() {
    rejected_by(&["InterPodAffinity"])
        .given([
            node("n").label("node", "n"),
            pod("here").label("lone", "x").far_from("lone", "node").on("n"),
        ])
        .waiting([pod("next").label("lone", "x").far_from("lone", "node")])
        .requeues(|lab| lab.create(node("new").label("node", "new")), &["next"]);
}

#[test]
fn assigned_pod_label_removal_requeues_pod_whose_anti_affinity_it_matched() {
    rejected_by(&["InterPodAffinity"])
        .given([node("n").label("node", "n"), pod("here").label("red", "x").label("blue", "x").on("n")])
        .waiting([
            pod("avoids-red").label("red", "x").far_from("red", "node"),
            pod("avoids-blue").label("blue", "x").far_from("blue", "node"),
        ])
        .requeues(|lab| lab.update(pod("here").label("blue", "x").on("n")), &["avoids-red"]);
}

#[test]
fn assigned_pod_delete_requeues_pod_whose_anti_affinity_it_matched() {
    rejected_by(&["InterPodAffinity"])
        .given([
            node("n").label("node", "n"),
            pod("red").label("red", "x").on("n"),
            pod("blue").label("blue", "x").on("n"),
        ])
        .waiting([
            pod("avoids-red").label("red", "x").far_from("red", "node"),
            pod("avoids-blue").label("blue", "x").far_from("blue", "node"),
        ])
        .requeues(|lab| lab.delete_pod("red"), &["avoids-red"]);
}

#[test]
fn delete_of_pod_with_anti_affinity_requeues_pods_it_kept_out() {
    rejected_by(&["InterPodAffinity"])
        .given([
            node("n").label("node", "n"),
            pod("hates-red").far_from("red", "node").on("n"),
            pod("hates-blue").far_from("blue", "node").on("n"),
        ])
        .waiting([pod("red").label("red", "x"), pod("blue").label("blue", "x")])
        .requeues(|lab| lab.delete_pod("hates-red"), &["red"]);
}

#[test]
fn assigned_pod_label_update_requeues_pod_whose_affinity_it_matches() {
    rejected_by(&["InterPodAffinity"])
        .given([node("n").label("node", "n"), pod("here").on("n")])
        .waiting([pod("seeks-a").near("a", "node"), pod("seeks-b").near("b", "node")])
        .requeues(|lab| lab.update(pod("here").label("a", "x").on("n")), &["seeks-a"]);
}

#[test]
fn node_add_requeues_pod_with_affinity_on_its_topology_key() {
    rejected_by(&["InterPodAffinity"])
        .given([node("n").label("rack", "1")])
        .waiting([pod("by-zone").near("a", "zone"), pod("by-region").near("b", "region")])
        .requeues(|lab| lab.create(node("new").label("zone", "z")), &["by-zone"]);
}

#[test]
fn node_topology_label_update_requeues_pods_with_affinity_on_changed_keys() {
    rejected_by(&["InterPodAffinity", "NodeAffinity"])
        .given([
            node("n").label("region", "r1"),
            node("b").label("region", "r2").label("group", "b"),
            pod("here").label("kin", "x").on("n"),
        ])
        .waiting([
            pod("by-node").label("kin", "x").near("kin", "node"),
            pod("by-other").label("kin", "x").near("kin", "other"),
            // It is no kin of its own: it cannot be the first of them.
            pod("by-region").near("kin", "region").needs_node("group", &["b"]),
        ])
        .requeues(
            |lab| lab.update(node("n").label("node", "n").label("region", "r2")),
            &["by-node", "by-region"],
        );
}

#[test]
fn node_topology_label_update_requeues_pods_with_anti_affinity_on_changed_keys() {
    let n = || node("n").label("other", "n");
    rejected_by(&["InterPodAffinity"])
        .given([n().label("node", "n").label("rack", "1"), pod("here").label("lone", "x").on("n")])
        .waiting([
            pod("by-node").label("lone", "x").far_from("lone", "node"),
            pod("by-rack").label("lone", "x").far_from("lone", "rack"),
            pod("by-other").label("lone", "x").far_from("lone", "other"),
        ])
        .requeues(|lab| lab.update(n().label("rack", "2").label("region", "r")), &["by-node", "by-rack"]);
}

#[test]
fn node_add_requeues_pods_with_anti_affinity_whatever_its_topology_labels() {
    rejected_by(&["InterPodAffinity"])
        .given([node("n").label("zone", "z").label("node", "n"), pod("here").label("lone", "x").on("n")])
        .waiting([pod("by-zone").far_from("lone", "zone"), pod("by-node").far_from("lone", "node")])
        .requeues(|lab| lab.create(node("new").label("zone", "z")), &["by-zone", "by-node"]);
}
