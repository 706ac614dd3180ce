//! Features that nodes declare.

use super::rejected_by;
use crate::scenarios::manifest::{Manifest, node, pod};
use serde_json::json;

const FEATURE: &str = "UserNamespacesHostNetworkSupport";

/// A pod in user namespaces and on the host's network needs the feature.
fn needs_feature(name: &str) -> Manifest {
    pod(name).set("/spec/hostUsers", json!(false)).set("/spec/hostNetwork", json!(true))
}

#[test]
fn node_declaring_feature_requeues_pod_requiring_it() {
    rejected_by(&["NodeDeclaredFeatures"])
        .given([node("n")])
        .waiting([needs_feature("p")])
        .requeues(|lab| lab.update_status(node("n").declares(FEATURE)), &["p"]);
}

#[test]
fn node_label_update_does_not_requeue_pod_requiring_declared_feature() {
    rejected_by(&["NodeDeclaredFeatures"])
        .given([node("n")])
        .waiting([needs_feature("p")])
        .requeues(|lab| lab.update(node("n").label("a", "b")), &[]);
}

#[test]
fn pod_update_dropping_required_feature_requeues_pod() {
    rejected_by(&["NodeDeclaredFeatures"])
        .given([node("n")])
        .waiting([needs_feature("p")])
        .requeues(|lab| lab.update(pod("p").set("/spec/hostNetwork", json!(true))), &["p"]);
}

#[test]
fn pod_update_keeping_required_feature_does_not_requeue_pod() {
    rejected_by(&["NodeDeclaredFeatures"])
        .given([node("n")])
        .waiting([needs_feature("p")])
        .requeues(|lab| lab.update(needs_feature("p").label("a", "b")), &[]);
}
