//! Pods that want to be near others, or far from them.

use super::rejected_by;
use crate::scenarios::manifest::{node, pod};

#[test]
fn a_new_node_is_far_from_everybody() {
    rejected_by(&["InterPodAffinity"])
        .given([
            node("n").label("node", "n"),
            pod("here").label("lone", "x").far_from("lone", "node").on("n"),
        ])
        .waiting([pod("next").label("lone", "x").far_from("lone", "node")])
        .requeues(|lab| lab.create(node("new").label("node", "new")), &["next"]);
}

#[test]
fn a_pod_that_loses_the_label_helps_who_avoids_it() {
    rejected_by(&["InterPodAffinity"])
        .given([node("n").label("node", "n"), pod("here").label("red", "x").label("blue", "x").on("n")])
        .waiting([
            pod("avoids-red").label("red", "x").far_from("red", "node"),
            pod("avoids-blue").label("blue", "x").far_from("blue", "node"),
        ])
        .requeues(|lab| lab.update(pod("here").label("blue", "x").on("n")), &["avoids-red"]);
}

#[test]
fn a_pod_that_leaves_helps_who_avoids_it() {
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
fn a_pod_that_leaves_helps_whom_it_avoided() {
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
fn a_pod_that_gets_the_label_helps_who_seeks_it() {
    rejected_by(&["InterPodAffinity"])
        .given([node("n").label("node", "n"), pod("here").on("n")])
        .waiting([pod("seeks-a").near("a", "node"), pod("seeks-b").near("b", "node")])
        .requeues(|lab| lab.update(pod("here").label("a", "x").on("n")), &["seeks-a"]);
}

#[test]
fn a_new_node_helps_who_seeks_company_in_its_topology() {
    rejected_by(&["InterPodAffinity"])
        .given([node("n").label("rack", "1")])
        .waiting([pod("by-zone").near("a", "zone"), pod("by-region").near("b", "region")])
        .requeues(|lab| lab.create(node("new").label("zone", "z")), &["by-zone"]);
}

#[test]
fn a_node_that_moves_helps_who_seeks_company_in_its_topology() {
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
fn a_node_that_moves_helps_who_avoids_company_in_its_topology() {
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
fn a_new_node_helps_who_avoids_company_whatever_its_topology() {
    rejected_by(&["InterPodAffinity"])
        .given([node("n").label("zone", "z").label("node", "n"), pod("here").label("lone", "x").on("n")])
        .waiting([pod("by-zone").far_from("lone", "zone"), pod("by-node").far_from("lone", "node")])
        .requeues(|lab| lab.create(node("new").label("zone", "z")), &["by-zone", "by-node"]);
}
