//! Pods that spread evenly.

use super::rejected_by;
use crate::scenarios::manifest::{Manifest, node, pod};

/// A pod that carries a label and spreads with all that do.
fn spreads(name: &str, label: &str, topology: &str, min_domains: i32) -> Manifest {
    pod(name).label(label, "x").spread(label, topology, min_domains)
}

/// One node and a pod of each of two groups.
fn two_groups() -> [Manifest; 3] {
    [
        node("n").label("node", "n").has("cpu", "2"),
        pod("first-a").label("a", "x").on("n"),
        pod("first-b").label("b", "x").on("n"),
    ]
}

#[test]
fn assigned_pod_add_requeues_pods_whose_spread_constraint_counts_it() {
    rejected_by(&["PodTopologySpread"])
        .given(two_groups())
        .waiting([spreads("a", "a", "node", 3), spreads("b", "b", "node", 3)])
        .requeues(|lab| lab.create(pod("second-a").label("a", "x").on("n")), &["a"]);
}

#[test]
fn assigned_pod_label_update_requeues_pods_whose_spread_constraint_counted_it() {
    rejected_by(&["PodTopologySpread"])
        .given(two_groups())
        .waiting([spreads("a", "a", "node", 3), spreads("b", "b", "node", 3)])
        .requeues(|lab| lab.update(pod("first-a").label("c", "x").on("n")), &["a"]);
}

#[test]
fn assigned_pod_delete_requeues_pods_whose_spread_constraint_counted_it() {
    rejected_by(&["PodTopologySpread"])
        .given(two_groups())
        .waiting([spreads("a", "a", "node", 2), spreads("b", "b", "node", 3)])
        .requeues(|lab| lab.delete_pod("first-a"), &["a"]);
}

#[test]
fn node_add_requeues_pods_spreading_over_its_topology_key() {
    rejected_by(&["PodTopologySpread"])
        .given([
            node("n").label("node", "n"),
            node("z").label("zone", "z"),
            pod("on-n").label("a", "x").on("n"),
            pod("on-z").label("a", "x").on("z"),
        ])
        .waiting([spreads("by-node", "a", "node", 2), spreads("by-zone", "a", "zone", 2)])
        .requeues(|lab| lab.create(node("new").label("node", "n")), &["by-node"]);
}

#[test]
fn node_topology_label_update_requeues_pods_spreading_over_changed_keys() {
    let at = |name: &str, rack: &str| node(name).label("region", "r").label("rack", rack);
    let here = |name: &str, on: &str| pod(name).label("a", "x").on(on);
    rejected_by(&["PodTopologySpread"])
        .given([
            at("m", "1").label("node", "x"),
            at("n", "1").label("node", "x"),
            here("p1", "m"),
            here("p2", "n"),
            here("p3", "n"),
            here("p4", "n"),
        ])
        .waiting([
            spreads("by-node", "a", "node", 3),
            spreads("by-zone", "a", "zone", 3),
            spreads("by-region", "a", "region", 3),
            spreads("by-other", "a", "other", 3),
            spreads("by-rack", "a", "rack", 3),
        ])
        // It loses `node`, gets `zone`, keeps `region`, never had `other` and moves to another rack.
        .requeues(|lab| lab.update(at("n", "2").label("zone", "z")), &["by-node", "by-zone", "by-rack"]);
}

#[test]
fn node_delete_requeues_pods_spreading_over_its_topology_key() {
    rejected_by(&["PodTopologySpread"])
        .given([
            node("n").label("node", "n"),
            node("z").label("zone", "z"),
            spreads("on-n", "a", "node", 1).on("n"),
            spreads("on-z", "a", "zone", 1).on("z"),
        ])
        .waiting([spreads("by-node", "a", "node", 3), spreads("by-zone", "a", "zone", 3)])
        .requeues(|lab| lab.delete_node("z"), &["by-zone"]);
}

#[test]
fn node_taint_update_requeues_pods_spreading_over_its_topology_key() {
    rejected_by(&["PodTopologySpread"])
        .given([
            node("n").label("node", "n"),
            node("z").label("zone", "z"),
            node("tainted").label("zone", "z").taint("node.kubernetes.io/not-ready"),
            spreads("on-n", "a", "node", 1).on("n"),
            spreads("on-z", "a", "node", 1).on("z"),
        ])
        .waiting([spreads("by-node", "a", "node", 3), spreads("by-zone", "a", "zone", 3).tolerates("key")])
        .requeues(|lab| lab.update(node("tainted").label("zone", "z").taint("key")), &["by-zone"]);
}
