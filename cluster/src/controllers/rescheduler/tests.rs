use serde_json::{Value, json};

use super::super::testing::{Bench, SECOND};
use super::*;
use crate::api::{Api as _, ConditionEdit, ConditionPatch, PodStatusPatch};

fn bench(config: Value) -> Bench {
    Bench::new(&[(&DESCRIPTOR, config)])
}

fn pending_or_bound(name: &str, cpu: &str, node: Option<&str>, owner: Option<&str>) -> Value {
    let mut pod = json!({ "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "containers": [{ "name": "c", "resources": { "requests": { "cpu": cpu } } }] } });
    if let Some(node) = node {
        pod["spec"]["nodeName"] = json!(node);
    }
    if let Some(kind) = owner {
        pod["metadata"]["ownerReferences"] = json!([
            { "apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "u", "controller": true }]);
    }
    pod
}

/// As a scheduler that has found no node.
fn is_unschedulable(bench: &Bench, name: &str) {
    let rows = bench.pods();
    let row = rows.iter().find(|row| bench.api.pod_name(row.name) == name).expect("it is there");
    let (status, reason) = (ConditionStatus::False, "Unschedulable");
    let condition = ConditionPatch { type_: "PodScheduled", status, reason, message: "no room" };
    let condition = Some(ConditionEdit::Set(condition));
    let nomination = NominatedNodeNamePatch::Keep;
    let patch = PodStatusPatch { pod: row.uid, condition, nomination, phase: None };
    bench.api.patch_pod_status(patch).expect("it is there");
}

fn left(bench: &Bench) -> Vec<String> {
    bench.pods().iter().map(|row| bench.api.pod_name(row.name)).collect()
}

/// Two nodes of four, half taken; a pod of three pends.
fn fragmented(bench: &Bench, owner: Option<&str>) {
    bench.node("n1", "4");
    bench.node("n2", "4");
    bench.create(pending_or_bound("a", "2", Some("n1"), owner));
    bench.create(pending_or_bound("b", "2", Some("n2"), Some("ReplicaSet")));
    bench.create(pending_or_bound("large", "3", None, None));
    is_unschedulable(bench, "large");
}

#[test]
fn pods_move_so_that_one_pending_for_long_fits() {
    let mut bench = bench(json!({ "pendingSeconds": 30, "intervalSeconds": 1, "nominatesPods": true }));
    fragmented(&bench, Some("ReplicaSet"));
    bench.settle();
    bench.pass(29 * SECOND);
    assert_eq!(left(&bench).len(), 3, "not before its time");
    bench.pass(SECOND);
    assert_eq!(left(&bench), ["b", "large"], "the first node takes one move, as the second would");
    let large = bench.pods()[1];
    let nominated = large.nominated.map(|node| bench.api.node_name(node).to_string());
    assert_eq!(nominated.as_deref(), Some("n1"));
    assert_eq!((bench.counter(0, "pods_helped"), bench.counter(0, "pods_moved")), (1, 1));
    bench.pass(10 * SECOND);
    assert_eq!(left(&bench).len(), 2, "nothing more is done for it meanwhile");
}

#[test]
fn no_pod_moves_that_nobody_makes_again_or_that_has_nowhere_to_go() {
    let mut lone = bench(json!({ "pendingSeconds": 1, "intervalSeconds": 1 }));
    fragmented(&lone, None);
    lone.settle();
    lone.pass(5 * SECOND);
    assert_eq!(left(&lone), ["a", "large"], "the pod that somebody owns moves instead");
    let mut full = bench(json!({ "pendingSeconds": 1, "intervalSeconds": 1 }));
    full.node("n1", "4");
    full.create(pending_or_bound("a", "2", Some("n1"), Some("ReplicaSet")));
    full.create(pending_or_bound("large", "3", None, None));
    is_unschedulable(&full, "large");
    full.settle();
    full.pass(5 * SECOND);
    assert_eq!(left(&full).len(), 2, "there is no other node");
    assert_eq!(full.counter(0, "pods_helped"), 0);
}

#[test]
fn pods_are_redistributed_onto_a_node_that_joins() {
    let run = |redistributes: bool| {
        let mut bench = bench(json!({ "intervalSeconds": 1, "redistributes": redistributes }));
        bench.node("n1", "8");
        (1..=6).for_each(|at| {
            drop(bench.create(pending_or_bound(&format!("p{at}"), "1", Some("n1"), Some("ReplicaSet"))))
        });
        bench.settle();
        bench.pass(2 * SECOND);
        bench.node("n2", "8");
        bench.settle();
        bench.pass(2 * SECOND);
        left(&bench).len()
    };
    assert_eq!((run(true), run(false)), (3, 6), "half of them belong on the new node");
}

#[test]
fn critical_pod_gets_a_node_that_is_tainted_until_it_has_come() {
    let mut bench = bench(json!({ "intervalSeconds": 1, "pendingSeconds": 1000, "criticalPods": true }));
    bench.node("n1", "4");
    bench.create(pending_or_bound("a", "2", Some("n1"), Some("ReplicaSet")));
    bench.create(pending_or_bound("b", "1", Some("n1"), Some("DaemonSet")));
    let mut addon = pending_or_bound("addon", "3", None, None);
    addon["metadata"]["namespace"] = json!("kube-system");
    addon["metadata"]["annotations"] = json!({ "scheduler.alpha.kubernetes.io/critical-pod": "" });
    addon["spec"]["tolerations"] = json!([{ "key": "CriticalAddonsOnly", "operator": "Exists" }]);
    bench.create(addon);
    is_unschedulable(&bench, "addon");
    bench.settle();
    bench.pass(SECOND);
    let taints = |bench: &Bench| {
        let node = bench.api.get(&crate::api::ObjectKey::node("n1")).expect("there").into_node();
        let spec = node.expect("a node").spec.unwrap_or_default();
        spec.taints.unwrap_or_default().into_iter().map(|taint| taint.key).collect::<Vec<_>>()
    };
    assert_eq!(
        (left(&bench), taints(&bench)),
        (vec!["b".to_owned(), "addon".to_owned()], vec!["CriticalAddonsOnly".to_owned()])
    );
    let addon = bench.pods()[1];
    bench.bind(&addon, "n1");
    bench.settle();
    assert_eq!(taints(&bench), [""; 0], "the add-on has come");
    assert_eq!(bench.counter(0, "critical_pods_helped"), 1);
}

#[test]
fn taint_goes_when_the_critical_pod_does_not_come() {
    let config = json!({ "intervalSeconds": 1, "criticalPods": true, "podScheduledTimeoutSeconds": 20 });
    let mut bench = bench(config);
    bench.node("n1", "4");
    let mut addon = pending_or_bound("addon", "3", None, None);
    addon["metadata"]["namespace"] = json!("kube-system");
    addon["metadata"]["annotations"] = json!({ "scheduler.alpha.kubernetes.io/critical-pod": "" });
    addon["spec"]["tolerations"] = json!([{ "key": "CriticalAddonsOnly", "operator": "Exists" }]);
    bench.create(addon);
    is_unschedulable(&bench, "addon");
    bench.settle();
    let is_tainted = |bench: &Bench| {
        let node = bench.api.get(&crate::api::ObjectKey::node("n1")).expect("there").into_node();
        critical::is_tainted(&node.expect("a node"))
    };
    bench.pass(SECOND);
    assert!(is_tainted(&bench));
    let row = bench.pods()[0];
    bench.api.delete_pod(row.uid).expect("it is there");
    bench.settle();
    assert!(!is_tainted(&bench), "it is gone");
}
