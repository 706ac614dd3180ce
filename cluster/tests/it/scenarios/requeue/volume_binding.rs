//! Claims that a node cannot serve.

use super::rejected_by;
use crate::scenarios::manifest::{
    Manifest, claim, csi_driver, csi_node, node, pod, storage_capacity, storage_class, volume,
};
use serde_json::json;

const ZONE: &str = "topology.kubernetes.io/zone";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const DRIVER: &str = "disk.example.com";

#[test]
fn node_add_requeues_pod_rejected_by_volume_binding() {
    rejected_by(&["VolumeBinding"])
        .given([node("n").label(ZONE, "b"), volume("pv").reached_from(ZONE, &["a"])])
        .given([claim("c").bound_to("pv")])
        .waiting([pod("p").uses("c")])
        .requeues(|lab| lab.create(node("new").label(ZONE, "a")), &["p"]);
}

#[test]
fn node_label_update_requeues_pod_rejected_by_volume_binding() {
    rejected_by(&["VolumeBinding"])
        .given([node("n").label("rack", "1"), volume("pv").reached_from("rack", &["2"])])
        .given([claim("c").bound_to("pv")])
        .waiting([pod("p").uses("c")])
        .requeues(|lab| lab.update(node("n").label("rack", "2")), &["p"]);
}

#[test]
fn persistent_volume_add_requeues_pod() {
    let pv = |rack| volume("pv").reached_from("rack", &[rack]);
    rejected_by(&["VolumeBinding"])
        .given([node("n").label("rack", "1"), pv("2"), claim("c").bound_to("pv")])
        .waiting([pod("p").uses("c")])
        .requeues(
            |lab| {
                lab.delete(&pv("2"));
                lab.create(pv("1"));
            },
            &["p"],
        );
}

#[test]
fn persistent_volume_update_requeues_pod() {
    let pv = |key| volume("pv").reached_from(key, &["a"]);
    rejected_by(&["VolumeBinding"])
        .given([node("n").label(ZONE, "a"), pv(BETA_ZONE), claim("c").bound_to("pv")])
        .waiting([pod("p").uses("c")])
        .requeues(|lab| lab.update(pv(ZONE)), &["p"]);
}

#[test]
fn pvc_add_requeues_pods_that_use_it() {
    rejected_by(&["VolumeBinding"])
        .given([node("n"), volume("pv"), claim("c1"), claim("c2")])
        .waiting([pod("p1").uses("c1"), pod("p2").uses("c2")])
        .requeues(
            |lab| {
                lab.delete(&claim("c1"));
                lab.create(claim("c1").bound_to("pv"));
            },
            &["p1"],
        );
}

#[test]
fn pvc_update_requeues_pods_that_use_it() {
    rejected_by(&["VolumeBinding"])
        .given([node("n"), volume("pv"), claim("c1"), claim("c2")])
        .waiting([pod("p1").uses("c1"), pod("p2").uses("c2")])
        .requeues(|lab| lab.update(claim("c1").bound_to("pv")), &["p1"]);
}

#[test]
fn storage_class_add_requeues_pod() {
    rejected_by(&["VolumeBinding"])
        .given([node("n"), volume("pv").class("sc"), claim("c").class("sc")])
        .waiting([pod("p").uses("c")])
        .requeues(|lab| lab.create(storage_class("sc")), &["p"]);
}

/// A node in zone `b`, and a class that serves zone `a` and has no volume yet.
fn elsewhere() -> [Manifest; 3] {
    [node("n").label(ZONE, "b"), claim("c").class("sc"), storage_class("sc").allows(ZONE, &["a"])]
}

#[test]
fn storage_class_allowed_topologies_change_requeues_pod() {
    rejected_by(&["VolumeBinding"])
        .given(elsewhere())
        .waiting([pod("p").uses("c")])
        .requeues(|lab| lab.update(storage_class("sc").allows(ZONE, &["b"])), &["p"]);
}

#[test]
fn storage_class_update_keeping_allowed_topologies_requeues_no_pod() {
    rejected_by(&["VolumeBinding"])
        .given(elsewhere())
        .waiting([pod("p").uses("c")])
        .requeues(|lab| lab.update(storage_class("sc").allows(ZONE, &["a"]).label("tier", "gold")), &[]);
}

#[test]
fn csi_node_add_requeues_pod() {
    rejected_by(&["VolumeBinding"])
        .given([node("n"), volume("pv"), claim("c")])
        .waiting([pod("p").uses("c")])
        .requeues(|lab| lab.create(csi_node("n")), &["p"]);
}

#[test]
fn csi_node_migrated_plugins_update_requeues_pod() {
    let migrated = "storage.alpha.kubernetes.io/migrated-plugins";
    rejected_by(&["VolumeBinding"])
        .given([node("n"), csi_node("n"), volume("pv").class("sc"), claim("c").class("sc")])
        .waiting([pod("p").uses("c")])
        .requeues(|lab| lab.update(csi_node("n").annotation(migrated, "kubernetes.io/gce-pd")), &["p"]);
}

/// A driver whose capacity counts, or does not.
fn driver(counts: bool) -> Manifest {
    csi_driver(DRIVER).set("/spec/storageCapacity", json!(counts))
}

/// A pod that waits for a claim and names a volume of the driver itself.
fn mixed() -> Manifest {
    pod("p").uses("c").mounts("own", "csi", json!({ "driver": DRIVER }))
}

#[test]
fn csi_driver_storage_capacity_turned_off_requeues_pod() {
    rejected_by(&["VolumeBinding"])
        .given([node("n"), volume("pv"), claim("c"), driver(true)])
        .waiting([mixed()])
        .requeues(|lab| lab.update(driver(false)), &["p"]);
}

#[test]
fn csi_driver_storage_capacity_turned_on_requeues_no_pod() {
    rejected_by(&["VolumeBinding"])
        .given([node("n"), volume("pv"), claim("c"), driver(false)])
        .waiting([mixed()])
        .requeues(|lab| lab.update(driver(true)), &[]);
}

/// A claim that its controller should bind, and has not.
fn unbound() -> [Manifest; 4] {
    let immediate = storage_class("sc").set("/volumeBindingMode", json!("Immediate"));
    [node("n"), volume("pv").class("sc"), claim("c").class("sc"), immediate]
}

#[test]
fn csi_storage_capacity_add_requeues_pod() {
    rejected_by(&["VolumeBinding"])
        .given(unbound())
        .waiting([pod("p").uses("c")])
        .requeues(|lab| lab.create(storage_capacity("cap", "sc", "10")), &["p"]);
}

#[test]
fn csi_storage_capacity_increase_requeues_pod() {
    rejected_by(&["VolumeBinding"])
        .given(unbound())
        .given([storage_capacity("cap", "sc", "10")])
        .waiting([pod("p").uses("c")])
        .requeues(|lab| lab.update(storage_capacity("cap", "sc", "20")), &["p"]);
}

#[test]
fn csi_storage_capacity_decrease_requeues_no_pod() {
    rejected_by(&["VolumeBinding"])
        .given(unbound())
        .given([storage_capacity("cap", "sc", "10")])
        .waiting([pod("p").uses("c")])
        .requeues(|lab| lab.update(storage_capacity("cap", "sc", "5")), &[]);
}
