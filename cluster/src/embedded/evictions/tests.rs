//! Who may be evicted.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::{
    Api, ConditionEdit, ConditionPatch, ConditionStatus, NominatedNodeNamePatch, Object, ObjectKey,
    PodFilter, PodPhase, PodStatusPatch,
};
use crate::{EmbeddedCluster, StatusReason};

fn create(api: &EmbeddedCluster, value: Value) {
    let object = Object::from_json(value.clone()).expect("an object");
    api.create(object).expect("created");
    if value["status"].is_object() {
        api.update_status(Object::from_json(value).expect("an object")).expect("there");
    }
}

fn budget(name: &str, policy: Value, status: Value) -> Value {
    json!({ "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "selector": { "matchLabels": { "app": "web" } }, "unhealthyPodEvictionPolicy": policy },
        "status": status })
}

#[test]
fn pod_is_evicted_as_its_phase_and_its_budgets_say() {
    let none_left = || {
        budget("b", Value::Null, json!({ "disruptionsAllowed": 0, "desiredHealthy": 2, "currentHealthy": 2 }))
    };
    let too_few = || {
        budget("b", Value::Null, json!({ "disruptionsAllowed": 0, "desiredHealthy": 2, "currentHealthy": 1 }))
    };
    let one_left = || budget("b", Value::Null, json!({ "disruptionsAllowed": 1 }));
    let always = || budget("b", json!("AlwaysAllow"), json!({ "disruptionsAllowed": 0 }));
    let refused = Some(StatusReason::TooManyRequests);
    let cases = [
        ("no budget", vec![], PodPhase::Running, true, None),
        ("pending pods are no disruption", vec![none_left()], PodPhase::Pending, false, None),
        ("neither are finished ones", vec![none_left()], PodPhase::Failed, false, None),
        ("nothing left", vec![none_left()], PodPhase::Running, true, refused),
        ("one left", vec![one_left()], PodPhase::Running, true, None),
        ("unhealthy, and enough others", vec![none_left()], PodPhase::Running, false, None),
        ("unhealthy, and too few others", vec![too_few()], PodPhase::Running, false, refused),
        ("unhealthy, always allowed", vec![always()], PodPhase::Running, false, None),
        ("healthy, always allowed means nothing", vec![always()], PodPhase::Running, true, refused),
        (
            "two budgets",
            vec![one_left(), budget("c", Value::Null, json!({ "disruptionsAllowed": 5 }))],
            PodPhase::Running,
            true,
            Some(StatusReason::InternalError),
        ),
    ];
    for (name, budgets, phase, is_ready, expected) in cases {
        let api = EmbeddedCluster::new(Arc::new(|| 1_000_000_000_000));
        budgets.into_iter().for_each(|budget| create(&api, budget));
        create(
            &api,
            json!({ "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": "p", "namespace": "default", "labels": { "app": "web" }, "finalizers": ["x/y"] },
            "spec": { "containers": [{ "name": "c" }] } }),
        );
        let row = api.pods_now(PodFilter::default())[0];
        let status = if is_ready { ConditionStatus::True } else { ConditionStatus::False };
        let condition = ConditionPatch { type_: "Ready", status, reason: "", message: "" };
        let patch = PodStatusPatch {
            pod: row.uid,
            condition: Some(ConditionEdit::Set(condition)),
            nomination: NominatedNodeNamePatch::Keep,
            phase: Some(phase),
        };
        api.patch_pod_status(patch).expect("there");
        let result = api.evict_pod(row.uid);
        assert_eq!(result.as_ref().err().map(|error| error.reason), expected, "case: {name}: {result:?}");
        let pod = api.get(&ObjectKey::pod("default", "p")).expect("its finalizer keeps it");
        let pod = serde_json::to_value(*pod.into_pod().expect("a pod")).expect("JSON");
        let is_going = !pod["metadata"]["deletionTimestamp"].is_null();
        assert_eq!(is_going, expected.is_none(), "case: {name}");
        let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let says_why = conditions.iter().any(|it| it["reason"] == "EvictionByEvictionAPI");
        assert_eq!(says_why, expected.is_none(), "case: {name}");
    }
}
