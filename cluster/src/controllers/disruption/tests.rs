//! Budgets and evictions against a cluster.

use serde_json::{Value, json};

use super::DESCRIPTOR;
use crate::StatusReason;
use crate::api::Api;
use crate::controllers::replicaset;
use crate::controllers::testing::{Bench, SECOND, owner, plain};

fn budget(spec: Value) -> Value {
    let mut spec = spec;
    spec["selector"] = json!({ "matchLabels": { "app": "web" } });
    json!({ "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": { "name": "web", "namespace": "default" }, "spec": spec })
}

fn bench(replicas: i64, spec: Value) -> Bench {
    let mut bench = Bench::new(&[plain(&DESCRIPTOR), plain(&replicaset::DESCRIPTOR)]);
    bench.create(owner("apps/v1", "ReplicaSet", "web", json!({ "replicas": replicas })));
    bench.create(budget(spec));
    bench.settle();
    bench
}

#[test]
fn budget_says_how_many_ready_pods_may_go() {
    // Replicas, of these ready, the budget; then healthy, desired and allowed.
    let cases = [
        ("number that must stay", 5, 5, json!({ "minAvailable": 3 }), (5, 3, 2)),
        ("too few are ready", 5, 2, json!({ "minAvailable": 3 }), (2, 3, 0)),
        ("part that must stay, rounded up", 5, 5, json!({ "minAvailable": "50%" }), (5, 3, 2)),
        ("number that may go", 5, 4, json!({ "maxUnavailable": 2 }), (4, 3, 1)),
        ("part that may go, rounded up", 5, 5, json!({ "maxUnavailable": "30%" }), (5, 3, 2)),
        ("all may go", 2, 2, json!({ "maxUnavailable": "100%" }), (2, 0, 2)),
    ];
    for (name, replicas, ready, spec, expected) in cases {
        let mut bench = bench(replicas, spec);
        bench.pods().iter().take(ready).for_each(|row| bench.run(row, true));
        bench.settle();
        let status = bench.status("policy/v1", "PodDisruptionBudget", "web");
        let number = |key: &str| status[key].as_i64().unwrap_or(-1);
        let is = (number("currentHealthy"), number("desiredHealthy"), number("disruptionsAllowed"));
        assert_eq!(is, expected, "case: {name}: {status}");
        assert_eq!(number("expectedPods"), replicas, "case: {name}");
    }
}

#[test]
fn evictions_stop_where_the_budget_ends_and_go_on_when_pods_are_back() {
    let mut bench = bench(4, json!({ "minAvailable": 3 }));
    bench.pods().iter().for_each(|row| bench.run(row, true));
    bench.settle();
    let pods = bench.pods();
    bench.api.evict_pod(pods[0].uid).expect("one may go");
    let status = bench.status("policy/v1", "PodDisruptionBudget", "web");
    assert_eq!(status["disruptionsAllowed"], json!(0));
    assert!(status["disruptedPods"].as_object().is_some_and(|pods| pods.len() == 1), "{status}");
    let error = bench.api.evict_pod(pods[1].uid).unwrap_err();
    assert_eq!(error.reason, StatusReason::TooManyRequests);
    assert_eq!(error.message, "Cannot evict pod as it would violate the pod's disruption budget.");
    bench.settle();
    let status = bench.status("policy/v1", "PodDisruptionBudget", "web");
    assert_eq!((&status["disruptionsAllowed"], &status["currentHealthy"]), (&json!(0), &json!(3)));
    let fresh = *bench.pods().last().expect("the replica set made another");
    bench.run(&fresh, true);
    bench.settle();
    bench.api.evict_pod(pods[1].uid).expect("there is one more again");
}

#[test]
fn pod_that_stays_although_it_was_evicted_is_counted_again_after_two_minutes() {
    let mut bench = bench(0, json!({ "minAvailable": 1 }));
    let pod = |name: &str| {
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "namespace": "default",
            "labels": { "app": "web" } }, "spec": { "containers": [{ "name": "c" }] } })
    };
    bench.create(pod("a"));
    bench.create(pod("b"));
    bench.pods().iter().for_each(|row| bench.run(row, true));
    bench.settle();
    // As by an eviction whose deletion never came.
    let mut stored = bench.status("policy/v1", "PodDisruptionBudget", "web");
    assert_eq!(stored["disruptionsAllowed"], json!(1));
    stored["disruptedPods"] = json!({ "a": "1970-01-01T00:16:40Z" });
    let mut changed = budget(json!({ "minAvailable": 1 }));
    changed["status"] = stored;
    bench.api.update_status(crate::api::Object::from_json(changed).expect("a budget")).expect("there");
    bench.settle();
    assert_eq!(bench.status("policy/v1", "PodDisruptionBudget", "web")["disruptionsAllowed"], json!(0));
    bench.pass(119 * SECOND);
    assert_eq!(bench.status("policy/v1", "PodDisruptionBudget", "web")["disruptionsAllowed"], json!(0));
    bench.pass(2 * SECOND);
    let status = bench.status("policy/v1", "PodDisruptionBudget", "web");
    assert_eq!((&status["disruptionsAllowed"], &status["disruptedPods"]), (&json!(1), &Value::Null));
}
