//! Usage, scopes and refusals, case by case.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::*;
use crate::api::Object;

fn quota(spec: Value) -> Quota {
    let object = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "q" }, "spec": spec
    });
    let object = Object::from_json(object).expect("an object").into_other().expect("a quota");
    Quota::of(&object)
}

fn of_spec(spec: Value) -> Pod {
    let mut pod: Pod = serde_json::from_value(json!({ "metadata": { "name": "p" }, "spec": spec }))
        .expect("the test's pod is well formed");
    crate::defaults::default_pod(&mut pod);
    pod
}

fn asks(requests: Value, limits: Value) -> Value {
    json!({ "name": "c", "resources": { "requests": requests, "limits": limits } })
}

fn texts(amounts: &Amounts) -> Vec<String> {
    amounts.iter().map(|(name, amount)| format!("{name}={amount}")).collect()
}

#[test]
fn pod_usage_is_counted_under_the_names_of_quotas() {
    let one = asks(json!({ "cpu": "500m", "memory": "512Mi", "example.com/gpu": 2 }), json!({ "cpu": 1 }));
    let cases = [
        ("plain", json!({ "containers": [{ "name": "c" }] }), vec!["count/pods=1", "pods=1"]),
        (
            "requests, limits and an extended resource",
            json!({ "containers": [one.clone(), one.clone()] }),
            vec![
                "count/pods=1",
                "cpu=1",
                "limits.cpu=2",
                "memory=1Gi",
                "pods=1",
                "requests.cpu=1",
                "requests.example.com/gpu=4",
                "requests.memory=1Gi",
            ],
        ),
        (
            "the greatest init container counts",
            json!({ "containers": [{ "name": "c" }], "initContainers": [asks(json!({ "cpu": 3 }), json!({}))] }),
            vec!["count/pods=1", "cpu=3", "pods=1", "requests.cpu=3"],
        ),
        (
            "overhead raises requests and the limits there are",
            json!({ "containers": [asks(json!({ "memory": "1Mi" }), json!({ "cpu": "1" }))],
                    "overhead": { "cpu": "250m", "memory": "1Mi" } }),
            vec![
                "count/pods=1",
                "cpu=1250m",
                "limits.cpu=1250m",
                "memory=2Mi",
                "pods=1",
                "requests.cpu=1250m",
                "requests.memory=2Mi",
            ],
        ),
    ];
    for (name, spec, expected) in cases {
        let usage = PodUsage::of(&of_spec(spec));
        assert_eq!(texts(&usage.live), expected, "case: {name}");
        assert_eq!(texts(&usage.finished), ["count/pods=1"], "case: {name}");
    }
}

#[test]
fn scopes_select_pods() {
    let plain = json!({ "containers": [{ "name": "c" }] });
    let with = |key: &str, value: Value| {
        let mut spec = plain.clone();
        spec[key] = value;
        spec
    };
    let burstable = json!({ "containers": [asks(json!({ "cpu": "1m" }), json!({}))] });
    let of_class = |operator: &str, values: Value| {
        json!({ "scopeSelector": { "matchExpressions": [
            { "scopeName": "PriorityClass", "operator": operator, "values": values }] } })
    };
    let term = json!({ "topologyKey": "zone", "namespaces": ["b"] });
    let across = json!({ "podAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [term] } });
    let cases = [
        ("no scope", json!({}), plain.clone(), true),
        (
            "ends by itself",
            json!({ "scopes": ["Terminating"] }),
            with("activeDeadlineSeconds", json!(5)),
            true,
        ),
        ("does not", json!({ "scopes": ["Terminating"] }), plain.clone(), false),
        ("runs on", json!({ "scopes": ["NotTerminating"] }), plain.clone(), true),
        ("best effort", json!({ "scopes": ["BestEffort"] }), plain.clone(), true),
        ("burstable", json!({ "scopes": ["BestEffort"] }), burstable.clone(), false),
        ("not best effort", json!({ "scopes": ["NotBestEffort"] }), burstable, true),
        ("all scopes must hold", json!({ "scopes": ["BestEffort", "Terminating"] }), plain.clone(), false),
        ("of the class", of_class("In", json!(["high"])), with("priorityClassName", json!("high")), true),
        ("of another", of_class("In", json!(["high"])), with("priorityClassName", json!("low")), false),
        ("of none", of_class("In", json!(["high"])), plain.clone(), false),
        ("not of the class", of_class("NotIn", json!(["high"])), plain.clone(), true),
        ("of any class", of_class("Exists", json!([])), with("priorityClassName", json!("low")), true),
        ("of no class", of_class("DoesNotExist", json!([])), plain.clone(), true),
        ("across", json!({ "scopes": ["CrossNamespacePodAffinity"] }), with("affinity", across), true),
        ("within", json!({ "scopes": ["CrossNamespacePodAffinity"] }), plain, false),
    ];
    for (name, mut spec, of, expected) in cases {
        spec["hard"] = json!({ "pods": 1 });
        assert_eq!(quota(spec).is_about(&of_spec(of)), expected, "case: {name}");
    }
    let services = quota(json!({ "hard": { "services": 1 } }));
    assert!(!services.is_about(&of_spec(json!({ "containers": [{ "name": "c" }] }))));
}

#[test]
fn refusals_are_worded_as_upstream() {
    let mut limited = quota(json!({ "hard": { "pods": 3, "requests.memory": "1Gi", "limits.cpu": "4" } }));
    let missing = of_spec(json!({ "containers": [
        asks(json!({ "memory": "1Mi" }), json!({})), { "name": "d" }] }));
    assert_eq!(
        limited.check_constraints(&missing).unwrap_err(),
        "failed quota: q: must specify limits.cpu for: c,d; requests.memory for: d"
    );
    let fits = of_spec(json!({ "containers": [asks(json!({ "memory": "512Mi" }), json!({ "cpu": 1 }))] }));
    assert_eq!(limited.check_constraints(&fits), Ok(()));
    let usage = PodUsage::of(&fits).live;
    assert_eq!(limited.room_for(&usage, 10), 2);
    limited.add(&usage, 2);
    assert_eq!(limited.room_for(&usage, 10), 0);
    assert_eq!(
        limited.exceeded_by(&usage),
        "exceeded quota: q, requested: requests.memory=512Mi, used: requests.memory=1Gi, limited: \
         requests.memory=1Gi"
    );
    limited.subtract(&usage);
    assert_eq!(limited.room_for(&usage, 10), 1);
    assert_eq!(limited.status()["used"]["requests.memory"], "512Mi");
}

#[test]
fn amounts_are_added_and_shown_as_they_were_written() {
    let amount = |text: &str| Amount::of_json(&json!(text)).expect("a quantity");
    let cases = [
        (amount("1Gi").times(1000), "1000Gi"),
        (amount("1Ki").plus(amount("1k")), "2024"),
        (Amount::default().plus(amount("2Mi")), "2Mi"),
        (amount("100m").times(15), "1500m"),
        (amount("512").times(2), "1024"),
        (amount("1Ki").minus(amount("1")), "1023"),
    ];
    for (amount, expected) in cases {
        assert_eq!(amount.to_string(), expected);
    }
    assert_eq!(amount("10").times_above(amount("1"), amount("2")), Some(4));
    assert_eq!(amount("1").times_above(amount("2"), amount("1")), Some(0));
    assert_eq!(amount("1").times_above(amount("2"), Amount::default()), None);
}
