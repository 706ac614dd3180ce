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
fn a_node_that_declares_the_feature_helps() {
    rejected_by(&["NodeDeclaredFeatures"])
        .given([node("n")])
        .waiting([needs_feature("p")])
        .requeues(|lab| lab.update_status(node("n").declares(FEATURE)), &["p"]);
}

#[test]
fn a_label_does_not_help_who_needs_a_feature() {
    rejected_by(&["NodeDeclaredFeatures"])
        .given([node("n")])
        .waiting([needs_feature("p")])
        .requeues(|lab| lab.update(node("n").label("a", "b")), &[]);
}

#[test]
fn a_pod_that_needs_the_feature_no_more_comes_back() {
    rejected_by(&["NodeDeclaredFeatures"])
        .given([node("n")])
        .waiting([needs_feature("p")])
        .requeues(|lab| lab.update(pod("p").set("/spec/hostNetwork", json!(true))), &["p"]);
}

#[test]
fn a_pod_that_still_needs_the_feature_waits_on() {
    rejected_by(&["NodeDeclaredFeatures"])
        .given([node("n")])
        .waiting([needs_feature("p")])
        .requeues(|lab| lab.update(needs_feature("p").label("a", "b")), &[]);
}
