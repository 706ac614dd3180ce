//! Every call is counted.

use schedlab_cluster::api::{
    Api, Binding, ListQuery, NamedBinding, ObjectKey, PodFilter, PodPhase, PodStatusPatch,
};
use serde_json::json;

use crate::support::{cluster, create, create_pod, node_value, object, patch, pod_value, template};

#[test]
fn calls_are_keyed_by_verb_resource_and_subresource() {
    let cluster = cluster();
    assert_eq!(cluster.call_counts().total(), 0, "a new cluster has served nobody");
    let created = cluster.create_pods(&template(&cluster, "pod-"), 5).expect("created");
    create(&cluster, node_value("n1"));
    let start = cluster.call_counts();

    let node = cluster.node_name_id("n1");
    let pods: Vec<_> = created.uids().collect();
    let bindings: Vec<Binding> = pods.iter().map(|&pod| Binding { pod, node }).collect();
    let mut results = Vec::new();
    cluster.bind_batch(&bindings, &mut results);
    cluster.bind_batch(&bindings[..2], &mut results);
    let missing = NamedBinding { namespace: "default", name: "none", uid: None, node: "n1" };
    cluster.bind(&missing).expect_err("there is no such pod");
    let runs = |pod| PodStatusPatch { phase: Some(PodPhase::Running), ..patch(pod) };
    cluster.patch_pod_status(runs(pods[0])).expect("the pod exists");
    cluster.delete_pod(pods[0]).expect("the pod exists");
    cluster.pods_in(PodFilter::default()).expect("a list");
    cluster.list(&ListQuery::all("v1", "Service")).expect("a list");
    cluster.get(&ObjectKey::node("n1")).expect("the node exists");
    cluster.update(object(node_value("n1"))).expect("the update is fine");
    cluster.update_status(object(node_value("n1"))).expect("the update is fine");
    cluster.patch_node_status("n1", Default::default()).expect("the node exists");
    create(&cluster, json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": { "name": "a" } }));
    let watch = cluster.watch(cluster.resource_version()).expect("the version exists");
    drop(watch);

    let counts = cluster.call_counts().since(&start);
    let calls: Vec<(&str, u64)> = counts.calls.iter().map(|(key, &count)| (&**key, count)).collect();
    let expected = [
        ("DELETE pods", 1),
        ("GET nodes", 1),
        ("LIST pods", 1),
        ("LIST services", 1),
        ("PATCH nodes/status", 1),
        ("PATCH pods/status", 1),
        ("POST pods/binding", 8),
        ("POST replicasets", 1),
        ("PUT nodes", 1),
        ("PUT nodes/status", 1),
        ("WATCH *", 1),
    ];
    assert_eq!(calls, expected);
    let failed: Vec<(&str, u64)> = counts.failed.iter().map(|(key, &count)| (&**key, count)).collect();
    assert_eq!(failed, [("POST pods/binding", 3)]);
    assert_eq!(start.calls.get("POST pods"), Some(&5));
}

#[test]
fn refused_creations_are_counted_as_calls() {
    let cluster = cluster();
    create_pod(&cluster, "web");
    cluster.create(object(pod_value("web"))).expect_err("the name is taken");
    let counts = cluster.call_counts();
    assert_eq!(counts.calls.get("POST pods"), Some(&2));
    assert_eq!(counts.failed.get("POST pods"), Some(&1));
}

#[test]
fn side_table_reads_are_not_counted_as_calls() {
    let cluster = cluster();
    let created = cluster.create_pods(&template(&cluster, "pod-"), 1).expect("created");
    let before = cluster.call_counts();
    let row = cluster.pod_row(created.first).expect("the pod exists");
    cluster.pod_meta(&row);
    cluster.pod_conditions(row.conditions);
    cluster.namespace_name(row.namespace);
    assert_eq!(cluster.call_counts(), before);
}
