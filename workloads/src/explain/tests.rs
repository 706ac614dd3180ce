use std::path::PathBuf;

use schedlab_cluster::api::Object;
use schedlab_cluster::convert::lift_execution_affinity;
use schedlab_core::scheduler::FeatureGates;
use schedlab_testkit::manifest::{node, pod};
use serde_json::{Value, json};

use super::*;
use crate::lab_plugins;

mod details;
mod left_out;

fn manifest(value: Value) -> Manifest {
    let ignored_fields = ignored::ignored_fields(&value);
    let object = Object::from_json(value).unwrap();
    Manifest { path: PathBuf::from("cluster.yaml"), object, ignored_fields }
}

/// A node of so many CPUs.
fn sized(name: &str, cpu: &str) -> Manifest {
    manifest(node(name).has("cpu", cpu).has("memory", "8Gi").has("pods", "10").into())
}

/// A pod of this spec.
fn specified(name: &str, spec: Value) -> Manifest {
    manifest(pod(name).set("/spec", spec).into())
}

fn containers(cpu: &str) -> Value {
    json!([{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}])
}

fn report(manifests: Vec<Manifest>) -> Report {
    report_with(manifests, FeatureGates::default())
}

fn report_with(manifests: Vec<Manifest>, gates: FeatureGates) -> Report {
    let registry = lab_plugins::registry();
    let setup = ExplainSetup { source: "cluster.yaml", gates, config: None, registry: &registry };
    Subject::from_manifests(manifests, "web", &setup).unwrap().explain()
}

#[test]
fn execution_affinity_applies_with_its_feature_gate() {
    let terms = json!({"nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]});
    let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingRequiredDuringExecution": terms}});
    let mut web = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "annotations": {"other": "kept out"}},
        "spec": {"containers": containers("1"), "affinity": affinity},
    });
    lift_execution_affinity(&mut web).unwrap();
    let manifests = || vec![sized("a", "2"), manifest(web.clone())];
    assert_eq!(report(manifests()).chosen.unwrap().node, "a", "the API forgets the field");
    let gates = FeatureGates { node_affinity_required_during_execution: true, ..FeatureGates::default() };
    let answer = report_with(manifests(), gates);
    assert!(answer.chosen.is_none());
    assert_eq!(answer.rejected_first[0].plugin, "NodeAffinity");
}

#[test]
fn chosen_node_lead_is_given_by_plugin_and_ties_are_named() {
    let web = || specified("web", json!({"containers": containers("1")}));
    let answer = report(vec![sized("a", "2"), sized("b", "8"), sized("c", "8"), web()]);
    let winner = answer.chosen.unwrap();
    assert_eq!((winner.node.as_str(), winner.tied), ("b", vec!["b".to_owned(), "c".to_owned()]));
    assert_eq!(winner.runner_up.as_deref(), Some("a"));
    let sum: i64 = winner.lead_by_plugin.iter().map(|part| part.chosen - part.runner_up).sum();
    assert_eq!(sum, winner.lead);
    for node in &answer.nodes {
        assert_eq!(node.weighted.iter().sum::<i64>(), node.total.unwrap(), "{}", node.name);
        assert_eq!(node.weighted.len(), answer.scores.len());
    }
}

#[test]
fn a_pod_that_is_gated_or_names_no_node_that_exists_is_still_explained() {
    let gated = json!({"containers": containers("1"), "schedulingGates": [{"name": "later"}]});
    let answer = report(vec![sized("a", "2"), specified("web", gated)]);
    assert_eq!(answer.gated_by.unwrap().plugin, "SchedulingGates");
    assert_eq!(answer.chosen.unwrap().node, "a");

    let fields = json!([{"key": "metadata.name", "operator": "In", "values": ["gone"]}]);
    let terms = json!({"nodeSelectorTerms": [{"matchFields": fields}]});
    let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}});
    let answer = report(vec![
        sized("a", "2"),
        specified("web", json!({"containers": containers("1"), "affinity": affinity})),
    ]);
    assert_eq!(
        answer.message.unwrap(),
        "0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    );
    assert_eq!(answer.rejected_first[0].plugin, "NodeAffinity");
}

#[test]
fn terminating_pod_uses_resources_and_finished_pod_does_not() {
    let mut leaving = specified("leaving", json!({"nodeName": "a", "containers": containers("2")}));
    leaving.object.metadata_mut().deletion_timestamp =
        serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    let web = specified("web", json!({"containers": containers("1")}));
    let answer = report(vec![sized("a", "2"), leaving, web.clone()]);
    assert_eq!(answer.feasible_count, 0);
    let mut done = specified("done", json!({"nodeName": "a", "containers": containers("2")}));
    if let Object::Pod(pod) = &mut done.object {
        pod.status = serde_json::from_value(json!({"phase": "Failed"})).unwrap();
    }
    assert_eq!(report(vec![sized("a", "2"), done, web]).feasible_count, 1);
}
