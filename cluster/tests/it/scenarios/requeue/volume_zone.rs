//! Volumes that are in a zone, and claims for one pod alone.

use super::rejected_by;
use crate::scenarios::manifest::{Manifest, claim, node, pod, storage_class, volume};

const ZONE: &str = "topology.kubernetes.io/zone";

fn west() -> Manifest {
    node("n").label(ZONE, "west")
}

/// A volume in a zone.
fn zoned(name: &str, zone: &str) -> Manifest {
    volume(name).label(ZONE, zone).mode("ReadOnlyMany")
}

/// A node, a volume of its zone and a pod that uses it.
fn at_home() -> [Manifest; 4] {
    [west(), zoned("pv1", "west"), claim("c1").bound_to("pv1"), pod("here").uses("c1").on("n")]
}

#[test]
fn persistent_volume_add_requeues_pod() {
    rejected_by(&["VolumeZone"])
        .given(at_home())
        .given([claim("c2").bound_to("pv2")])
        .waiting([pod("p").uses("c2")])
        .requeues(|lab| lab.create(zoned("pv2", "west")), &["p"]);
}

#[test]
fn persistent_volume_zone_label_change_requeues_pod() {
    rejected_by(&["VolumeZone"])
        .given(at_home())
        .given([zoned("pv2", "east"), claim("c2").bound_to("pv2")])
        .waiting([pod("p").uses("c2")])
        .requeues(|lab| lab.update(zoned("pv2", "west")), &["p"]);
}

#[test]
fn persistent_volume_update_keeping_zone_requeues_no_pod() {
    rejected_by(&["VolumeZone"])
        .given(at_home())
        .given([zoned("pv2", "east"), claim("c2").bound_to("pv2")])
        .waiting([pod("p").uses("c2")])
        .requeues(|lab| lab.update(zoned("pv2", "east").label("colour", "red")), &[]);
}

#[test]
fn pvc_add_requeues_pods_that_use_it() {
    rejected_by(&["VolumeZone"])
        .given(at_home())
        .given([zoned("pv2", "east")])
        .waiting([pod("p2").uses("c2"), pod("p3").uses("c3")])
        .requeues(|lab| lab.create(claim("c2").bound_to("pv2")), &["p2"]);
}

#[test]
fn pvc_update_requeues_pods_that_use_it() {
    rejected_by(&["VolumeZone"])
        .given(at_home())
        .given([zoned("pv2", "east"), claim("c2")])
        .waiting([pod("p2").uses("c2"), pod("p3").uses("c3")])
        .requeues(|lab| lab.update(claim("c2").bound_to("pv2")), &["p2"]);
}

#[test]
fn wait_for_first_consumer_storage_class_add_requeues_pod() {
    rejected_by(&["VolumeZone"])
        .given(at_home())
        .given([claim("c2").bound_to("pv2")])
        .waiting([pod("p").uses("c2")])
        .requeues(|lab| lab.create(storage_class("sc")), &["p"]);
}

#[test]
fn read_write_once_pod_pvc_add_requeues_pods_that_use_it() {
    rejected_by(&["VolumeRestrictions"])
        .given([node("n"), volume("pv1").mode("ReadWriteOncePod")])
        .waiting([pod("p1").uses("c1"), pod("p2").uses("c2")])
        .requeues(|lab| lab.create(claim("c1").mode("ReadWriteOncePod").bound_to("pv1")), &["p1"]);
}

#[test]
fn delete_of_pod_using_read_write_once_pod_pvc_requeues_pods_that_use_it() {
    rejected_by(&["VolumeRestrictions"])
        .given([
            node("n"),
            volume("pv1").mode("ReadWriteOncePod"),
            claim("c1").mode("ReadWriteOncePod").bound_to("pv1"),
            pod("here").uses("c1").on("n"),
        ])
        .waiting([pod("next").uses("c1"), pod("other").uses("c2")])
        .requeues(|lab| lab.delete_pod("here"), &["next"]);
}
