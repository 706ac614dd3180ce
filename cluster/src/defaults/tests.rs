//! Defaulting and admission, rule by rule.

use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};

use super::{PriorityClass, admit_pod, default_node, default_other, default_pod, prepare_new_pod};
use crate::api::{GenericObject, StatusReason};

fn of_spec(spec: Value) -> Pod {
    let mut value = json!({ "metadata": { "name": "web", "labels": { "app": "web", "rev": "7" } } });
    value["spec"] = spec;
    value["spec"].as_object_mut().expect("an object").entry("containers").or_insert(json!([]));
    serde_json::from_value(value).expect("the test's pod is well formed")
}

/// The pod as the API server stores it.
fn created(spec: Value) -> Value {
    let mut pod = of_spec(spec);
    default_pod(&mut pod);
    admit_pod(&mut pod, &classes()).expect("the pod is admitted");
    prepare_new_pod(&mut pod);
    serde_json::to_value(&pod).expect("a pod has a JSON form")
}

fn class(name: &str, value: i32) -> PriorityClass {
    PriorityClass { name: name.to_owned(), value, preemption_policy: None, is_global_default: false }
}

fn classes() -> Vec<PriorityClass> {
    let patient = PriorityClass { preemption_policy: Some("Never".to_owned()), ..class("patient", 50) };
    vec![class("high", 100), patient]
}

#[test]
fn fields_are_defaulted() {
    let request = |requests: Value, limits: Value| json!({ "containers": [{ "name": "c", "resources": { "requests": requests, "limits": limits } }] });
    let port = |port: Value| json!({ "containers": [{ "name": "c", "ports": [port] }] });
    let host_port =
        |port: Value| json!({ "hostNetwork": true, "containers": [{ "name": "c", "ports": [port] }] });
    let cases = [
        ("scheduler name", json!({}), "/spec/schedulerName", json!("default-scheduler")),
        (
            "empty scheduler name",
            json!({ "schedulerName": "" }),
            "/spec/schedulerName",
            json!("default-scheduler"),
        ),
        ("own scheduler name stays", json!({ "schedulerName": "x" }), "/spec/schedulerName", json!("x")),
        (
            "limits become requests",
            request(json!({ "cpu": "1" }), json!({ "cpu": "2", "memory": "3" })),
            "/spec/containers/0/resources/requests",
            json!({ "cpu": "1", "memory": "3" }),
        ),
        (
            "limits of init containers too",
            json!({ "initContainers": [{ "name": "i", "resources": { "limits": { "cpu": "2" } } }] }),
            "/spec/initContainers/0/resources/requests",
            json!({ "cpu": "2" }),
        ),
        (
            "protocol is TCP",
            port(json!({ "containerPort": 80 })),
            "/spec/containers/0/ports/0",
            json!({ "containerPort": 80, "protocol": "TCP" }),
        ),
        (
            "host network publishes ports",
            host_port(json!({ "containerPort": 80 })),
            "/spec/containers/0/ports/0",
            json!({ "containerPort": 80, "hostPort": 80, "protocol": "TCP" }),
        ),
        (
            "a host port stays",
            host_port(json!({ "containerPort": 80, "hostPort": 8080, "protocol": "UDP" })),
            "/spec/containers/0/ports/0",
            json!({ "containerPort": 80, "hostPort": 8080, "protocol": "UDP" }),
        ),
        (
            "rbd pool",
            json!({ "volumes": [{ "name": "v", "rbd": { "image": "i", "monitors": [] } }] }),
            "/spec/volumes/0/rbd/pool",
            json!("rbd"),
        ),
        ("phase", json!({}), "/status", json!({ "phase": "Pending" })),
    ];
    for (name, spec, pointer, expected) in cases {
        assert_eq!(created(spec).pointer(pointer), Some(&expected), "case: {name}");
    }
}

#[test]
fn defaults_applied_twice_change_nothing() {
    let mut once = of_spec(json!({
        "hostNetwork": true,
        "containers": [{ "name": "c", "ports": [{ "containerPort": 1 }], "resources": { "limits": { "cpu": "1" } } }]
    }));
    default_pod(&mut once);
    let mut twice = once.clone();
    default_pod(&mut twice);
    assert_eq!(once, twice);
}

#[test]
fn a_new_pod_has_no_status_of_its_own() {
    let mut pod = of_spec(json!({}));
    pod.status = serde_json::from_value(json!({ "phase": "Running", "nominatedNodeName": "n" }))
        .expect("the test's status is well formed");
    prepare_new_pod(&mut pod);
    let status = serde_json::to_value(&pod.status).expect("a status has a JSON form");
    assert_eq!(status, json!({ "phase": "Pending" }));
}

#[test]
fn gated_pod_gets_scheduling_gated_condition() {
    let gated = created(json!({ "schedulingGates": [{ "name": "g" }] }));
    let expected = json!([{
        "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates"
    }]);
    assert_eq!(gated.pointer("/status/conditions"), Some(&expected));
}

#[test]
fn priorities_come_from_the_spec_then_the_class_then_the_default() {
    let cases = [
        ("no class, no default", json!({}), 0, "PreemptLowerPriority"),
        ("own priority", json!({ "priority": 5 }), 5, "PreemptLowerPriority"),
        ("class", json!({ "priorityClassName": "high" }), 100, "PreemptLowerPriority"),
        ("class with policy", json!({ "priorityClassName": "patient" }), 50, "Never"),
        (
            "own priority beats the class",
            json!({ "priority": 5, "priorityClassName": "high" }),
            5,
            "PreemptLowerPriority",
        ),
        (
            "own priority of no class",
            json!({ "priority": 5, "priorityClassName": "none" }),
            5,
            "PreemptLowerPriority",
        ),
        ("own policy", json!({ "preemptionPolicy": "Never" }), 0, "Never"),
        (
            "node critical",
            json!({ "priorityClassName": "system-node-critical" }),
            2_000_001_000,
            "PreemptLowerPriority",
        ),
        (
            "cluster critical",
            json!({ "priorityClassName": "system-cluster-critical" }),
            2_000_000_000,
            "PreemptLowerPriority",
        ),
    ];
    for (name, spec, priority, policy) in cases {
        let pod = created(spec);
        assert_eq!(pod.pointer("/spec/priority"), Some(&json!(priority)), "case: {name}");
        assert_eq!(pod.pointer("/spec/preemptionPolicy"), Some(&json!(policy)), "case: {name}");
    }
}

#[test]
fn the_lowest_global_default_class_is_taken() {
    let global = |name, value| PriorityClass { is_global_default: true, ..class(name, value) };
    let mut pod = of_spec(json!({}));
    admit_pod(&mut pod, &[global("b", 20), global("a", 10), class("c", 1)]).expect("admitted");
    let spec = pod.spec.expect("the pod has a spec");
    assert_eq!((spec.priority, spec.priority_class_name.as_deref()), (Some(10), Some("a")));
}

#[test]
fn an_unknown_priority_class_is_forbidden() {
    let mut pod = of_spec(json!({ "priorityClassName": "nope" }));
    let refused = admit_pod(&mut pod, &classes()).expect_err("there is no such class");
    assert_eq!(refused.reason, StatusReason::Forbidden);
    assert_eq!(refused.message, "pods \"web\" is forbidden: no PriorityClass with name nope was found");
}

#[test]
fn default_toleration_seconds_are_added() {
    let added = |taint: &str| {
        json!({
            "key": format!("node.kubernetes.io/{taint}"), "operator": "Exists",
            "effect": "NoExecute", "tolerationSeconds": 300
        })
    };
    let (not_ready, unreachable) = (added("not-ready"), added("unreachable"));
    let all = json!({ "operator": "Exists" });
    let other = json!({ "key": "k", "operator": "Exists" });
    let own = json!({ "key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute" });
    let unrelated =
        json!({ "key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule" });
    let cases = [
        ("none", json!([]), json!([not_ready, unreachable])),
        ("another key", json!([other]), json!([other, not_ready, unreachable])),
        ("everything is tolerated", json!([all]), json!([all])),
        ("one of the two", json!([own]), json!([own, unreachable])),
        ("another effect", json!([unrelated]), json!([unrelated, not_ready, unreachable])),
    ];
    for (name, tolerations, expected) in cases {
        let pod = created(json!({ "tolerations": tolerations }));
        assert_eq!(pod.pointer("/spec/tolerations"), Some(&expected), "case: {name}");
    }
}

#[test]
fn label_keys_are_merged_into_selectors() {
    let term = json!({
        "topologyKey": "zone", "labelSelector": { "matchLabels": { "app": "web" } },
        "matchLabelKeys": ["rev", "absent"], "mismatchLabelKeys": ["app"]
    });
    let merged = json!([
        { "key": "rev", "operator": "In", "values": ["7"] },
        { "key": "app", "operator": "NotIn", "values": ["web"] }
    ]);
    let without_selector = json!({ "topologyKey": "zone", "matchLabelKeys": ["rev"] });
    let pod = created(json!({
        "affinity": {
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [term, without_selector],
                "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 1, "podAffinityTerm": term }]
            },
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [term],
                "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 1, "podAffinityTerm": term }]
            }
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {}, "matchLabelKeys": ["rev"]
            },
            { "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["rev"] }
        ]
    }));
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    for side in ["podAffinity", "podAntiAffinity"] {
        let base = format!("/spec/affinity/{side}");
        for path in [format!("{base}/{required}/0"), format!("{base}/{preferred}/0/podAffinityTerm")] {
            let pointer = format!("{path}/labelSelector/matchExpressions");
            assert_eq!(pod.pointer(&pointer), Some(&merged), "at {pointer}");
        }
    }
    let untouched = format!("/spec/affinity/podAffinity/{required}/1");
    assert_eq!(pod.pointer(&untouched), Some(&without_selector));
    let spread = "/spec/topologySpreadConstraints";
    assert_eq!(
        pod.pointer(&format!("{spread}/0/labelSelector/matchExpressions")),
        Some(&json!([{ "key": "rev", "operator": "In", "values": ["7"] }]))
    );
    assert_eq!(pod.pointer(&format!("{spread}/1/labelSelector")), None);
}

#[test]
fn pod_level_requests_follow_containers_and_limits() {
    let container = |requests: Value, limits: Value| json!({ "name": "c", "resources": { "requests": requests, "limits": limits } });
    let two = json!([
        container(json!({ "cpu": "1" }), json!({})),
        container(json!({ "cpu": "500m" }), json!({ "hugepages-2Mi": "4Mi" })),
    ]);
    let sidecar = json!({
        "name": "s", "restartPolicy": "Always", "resources": { "requests": { "cpu": "1" } }
    });
    let init = json!({ "name": "i", "resources": { "requests": { "cpu": "3" } } });
    let cases = [
        ("no pod-level resources", json!({ "containers": two }), None),
        ("empty pod-level resources", json!({ "containers": two, "resources": {} }), None),
        (
            "container sums come before limits",
            json!({ "containers": two, "resources": { "limits": { "cpu": "4", "memory": "1Gi" } } }),
            Some(json!({ "cpu": "1500m", "hugepages-2Mi": "4194304", "memory": "1Gi" })),
        ),
        (
            "own requests stay",
            json!({ "containers": two, "resources": { "requests": { "cpu": "2", "hugepages-2Mi": "2Mi" } } }),
            Some(json!({ "cpu": "2", "hugepages-2Mi": "2Mi" })),
        ),
        (
            "limits without container requests",
            json!({ "containers": [{ "name": "c" }], "resources": { "limits": { "cpu": "4", "example.com/gpu": "1" } } }),
            Some(json!({ "cpu": "4" })),
        ),
        (
            "an init container needs more than all others",
            json!({
                "containers": two, "initContainers": [sidecar, init],
                "resources": { "limits": { "cpu": "9" } }
            }),
            Some(json!({ "cpu": "4", "hugepages-2Mi": "4194304" })),
        ),
    ];
    for (name, spec, expected) in cases {
        let pod = created(spec);
        assert_eq!(pod.pointer("/spec/resources/requests"), expected.as_ref(), "case: {name}");
    }
}

#[test]
fn node_allocatable_defaults_to_capacity() {
    let cases = [
        (json!({ "capacity": { "cpu": "4" } }), Some(json!({ "cpu": "4" }))),
        (json!({ "capacity": { "cpu": "4" }, "allocatable": { "cpu": "3" } }), Some(json!({ "cpu": "3" }))),
        (json!({}), None),
    ];
    for (status, expected) in cases {
        let mut node: Node = serde_json::from_value(json!({ "metadata": {}, "status": status }))
            .expect("the test's node is well formed");
        default_node(&mut node);
        let stored = serde_json::to_value(&node).expect("a node has a JSON form");
        assert_eq!(stored.pointer("/status/allocatable"), expected.as_ref(), "status: {status}");
    }
}

#[test]
fn other_kinds_get_defaults_that_scheduling_reads() {
    let cases = [
        ("v1", "Namespace", "/metadata/labels/kubernetes.io~1metadata.name", "a"),
        ("v1", "Namespace", "/status/phase", "Active"),
        ("v1", "PersistentVolume", "/spec/volumeMode", "Filesystem"),
        ("v1", "PersistentVolume", "/status/phase", "Pending"),
        ("v1", "PersistentVolumeClaim", "/spec/volumeMode", "Filesystem"),
        ("v1", "PersistentVolumeClaim", "/status/phase", "Pending"),
        ("storage.k8s.io/v1", "StorageClass", "/volumeBindingMode", "Immediate"),
        ("scheduling.k8s.io/v1", "PriorityClass", "/preemptionPolicy", "PreemptLowerPriority"),
    ];
    for (api_version, kind, pointer, expected) in cases {
        let value = json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "a" } });
        let mut object: GenericObject = serde_json::from_value(value).expect("an object");
        default_other(&mut object);
        let stored = serde_json::to_value(&object).expect("an object has a JSON form");
        assert_eq!(stored.pointer(pointer), Some(&json!(expected)), "{kind} {pointer}");
    }
}
