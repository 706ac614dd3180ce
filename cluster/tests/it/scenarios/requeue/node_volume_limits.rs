//! How many volumes a node may have attached.

use super::rejected_by;
use crate::scenarios::manifest::{Manifest, attachment, claim, csi_driver, csi_node, node, pod, volume};
use serde_json::json;

const DRIVER: &str = "disk.example.com";
const EBS: &str = "ebs.csi.aws.com";
const GCE: &str = "pd.csi.storage.gke.io";

/// A node whose driver attaches so many volumes.
fn limited(count: i32) -> [Manifest; 3] {
    [
        node("n"),
        csi_node("n").attaches(DRIVER, count),
        csi_driver(DRIVER).set("/spec/storageCapacity", json!(true)),
    ]
}

fn disk(name: &str) -> Manifest {
    volume(name).csi(DRIVER, name)
}

#[test]
fn csi_node_add_requeues_pod_rejected_by_volume_limits() {
    rejected_by(&["NodeVolumeLimits"])
        .given(limited(0))
        .given([disk("pv1"), claim("c1").bound_to("pv1")])
        .waiting([pod("p").uses("c1")])
        .requeues(|lab| lab.create(csi_node("another")), &["p"]);
}

#[test]
fn delete_of_assigned_pod_with_pvc_requeues_pod_rejected_by_volume_limits() {
    rejected_by(&["NodeVolumeLimits"])
        .given(limited(1))
        .given([disk("pv1"), claim("c1").bound_to("pv1"), disk("pv2"), claim("c2").bound_to("pv2")])
        .given([pod("here").uses("c1").on("n")])
        .waiting([pod("p").uses("c2")])
        .requeues(|lab| lab.delete_pod("here"), &["p"]);
}

#[test]
fn pvc_add_requeues_pods_that_use_it() {
    rejected_by(&["NodeVolumeLimits"])
        .given(limited(1))
        .given([disk("pv1"), claim("c1").bound_to("pv1"), disk("pv2")])
        .given([pod("here").uses("c1").on("n")])
        .waiting([pod("p").uses("c2")])
        .requeues(|lab| lab.create(claim("c2").bound_to("pv2")), &["p"]);
}

#[test]
fn volume_attachment_delete_requeues_pod_with_pvc() {
    let attached = attachment("va", "n", "another.example.com", "pv1");
    rejected_by(&[])
        .given(limited(0))
        .given([disk("pv1"), claim("c1").bound_to("pv1"), attached.clone()])
        .waiting([pod("p").uses("c1")])
        .requeues(|lab| lab.delete(&attached), &["p"]);
}

#[test]
fn volume_attachment_delete_requeues_pod_with_inline_volume_of_its_driver() {
    let ebs = attachment("va1", "n", EBS, "pv1");
    rejected_by(&[])
        .given([node("n"), csi_node("n").attaches(EBS, 0).attaches(GCE, 0)])
        .given([volume("pv1").csi(EBS, "h1"), volume("pv2").csi(GCE, "h2")])
        .given([ebs.clone(), attachment("va2", "n", GCE, "pv2")])
        .waiting([
            pod("aws").mounts("v", "awsElasticBlockStore", json!({ "volumeID": "vol-1" })),
            pod("gce").mounts("v", "gcePersistentDisk", json!({ "pdName": "pd-2" })),
        ])
        .requeues(|lab| lab.delete(&ebs), &["aws"]);
}
