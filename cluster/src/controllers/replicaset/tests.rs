//! Replica sets against a cluster.

use serde_json::json;

use super::DESCRIPTOR;
use crate::api::{Api, ObjectKey, PodPhase};
use crate::controllers::testing::{Bench, owner, plain};

fn set(replicas: i64) -> serde_json::Value {
    owner("apps/v1", "ReplicaSet", "web", json!({ "replicas": replicas }))
}

#[test]
fn replica_set_makes_its_pods_once_and_owns_them() {
    let mut bench = Bench::new(&[plain(&DESCRIPTOR)]);
    bench.create(set(3));
    bench.settle();
    let pods = bench.pods();
    assert_eq!(pods.len(), 3);
    let pod = bench.pod(&pods[0]);
    let reference = &pod["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&reference["kind"], &reference["name"], &reference["controller"], &reference["blockOwnerDeletion"]),
        (&json!("ReplicaSet"), &json!("web"), &json!(true), &json!(true))
    );
    assert!(pod["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("web-")));
    assert_eq!(bench.counter(0, "pods_created"), 3);
    let status = bench.status("apps/v1", "ReplicaSet", "web");
    assert_eq!((&status["replicas"], &status["fullyLabeledReplicas"]), (&json!(3), &json!(3)));
}

#[test]
fn lost_and_finished_pods_are_replaced() {
    let mut bench = Bench::new(&[plain(&DESCRIPTOR)]);
    bench.create(set(3));
    bench.settle();
    let pods = bench.pods();
    bench.api.delete_pod(pods[0].uid).expect("there");
    bench.finish(&pods[1], PodPhase::Failed);
    bench.settle();
    let active = bench.pods().iter().filter(|row| !row.phase.is_finished()).count();
    assert_eq!((active, bench.counter(0, "pods_created")), (3, 5));
}

#[test]
fn surplus_goes_and_pods_of_a_deleted_set_go_with_it() {
    let mut bench = Bench::new(&[plain(&DESCRIPTOR)]);
    bench.create(set(4));
    bench.settle();
    let pods = bench.pods();
    bench.run(&pods[2], true);
    bench.update(set(1));
    bench.settle();
    let left: Vec<_> = bench.pods().iter().map(|row| row.uid).collect();
    assert_eq!(left, [pods[2].uid], "the one that is ready stays");
    assert_eq!(bench.status("apps/v1", "ReplicaSet", "web")["readyReplicas"], json!(1));
    let key = ObjectKey::namespaced("apps/v1", "ReplicaSet", "default", "web");
    bench.api.delete(&key, None).expect("there");
    bench.settle();
    assert_eq!(bench.pods().len(), 0);
}

#[test]
fn quota_holds_a_replica_set_back_until_there_is_room() {
    let mut bench = Bench::new(&[plain(&DESCRIPTOR)]);
    let quota = |pods: u32| {
        json!({ "apiVersion": "v1", "kind": "ResourceQuota",
            "metadata": { "name": "q", "namespace": "default" }, "spec": { "hard": { "pods": pods } } })
    };
    bench.create(quota(2));
    bench.create(set(5));
    bench.settle();
    assert_eq!(bench.pods().len(), 2, "never above the quota");
    assert!(bench.counter(0, "calls_refused") >= 1);
    bench.update(quota(10));
    bench.settle();
    (0..12).for_each(|doubling| bench.pass(5_000_000 << doubling));
    assert_eq!(bench.pods().len(), 5);
}

#[test]
fn deployment_of_thousands_is_made_in_bursts() {
    let mut bench = Bench::new(&[plain(&DESCRIPTOR)]);
    bench.create(set(1200));
    bench.settle();
    assert_eq!((bench.pods().len(), bench.counter(0, "pods_created")), (1200, 1200));
}
