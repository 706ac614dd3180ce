use serde_json::{Value, json};

use super::*;
use crate::api::{Api, Object, ObjectKey};
use crate::{EmbeddedCluster, StatusReason};

fn cluster() -> EmbeddedCluster {
    let cluster = EmbeddedCluster::new(std::sync::Arc::new(|| 0));
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}});
    // Some clusters begin with it.
    let _ = cluster.create(Object::from_json(namespace).unwrap());
    cluster
}

/// What the API says to an object.
fn refusal(object: Value) -> Option<String> {
    let error = cluster().create(Object::from_json(object).unwrap()).err()?;
    assert_eq!(error.reason, StatusReason::Invalid, "{error}");
    Some(error.message)
}

/// What the API says to a pod of this spec.
fn pod_refusal(mut spec: Value) -> Option<String> {
    if spec["containers"].is_null() {
        spec["containers"] = json!([{"name": "c"}]);
    }
    refusal(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}))
}

fn resources(requests: Value, limits: Value) -> Value {
    json!({"containers": [{"name": "c", "resources": {"requests": requests, "limits": limits}}]})
}

fn port(port: Value) -> Value {
    json!({"containers": [{"name": "c", "ports": [port]}]})
}

fn node_term(term: Value) -> Value {
    let selector = json!({"nodeSelectorTerms": [term]});
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}})
}

fn pod_term(term: Value) -> Value {
    json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}})
}

fn spread(changes: Value) -> Value {
    let mut constraint = json!({"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}});
    for (name, value) in changes.as_object().unwrap() {
        constraint[name] = value.clone();
    }
    json!({"topologySpreadConstraints": [constraint]})
}

#[test]
fn pods_that_the_api_server_refuses_are_refused_with_its_message() {
    let seventy = "x".repeat(70);
    let cases: Vec<(&str, Value, &str)> = vec![
        (
            "negative request",
            resources(json!({"memory": "-1Gi"}), json!({})),
            "spec.containers[0].resources.requests[memory]: Invalid value: \"-1Gi\": must be greater than or equal to 0",
        ),
        (
            "request over limit",
            resources(json!({"cpu": "2"}), json!({"cpu": "1"})),
            "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
        ),
        (
            "extended resource without limit",
            resources(json!({"example.com/gpu": "1"}), json!({})),
            "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
        ),
        (
            "half an extended resource",
            resources(json!({"example.com/gpu": "500m"}), json!({"example.com/gpu": "500m"})),
            "spec.containers[0].resources.limits[example.com/gpu]: Invalid value: \"500m\": must be an integer",
        ),
        (
            "unknown resource",
            resources(json!({"memroy": "1"}), json!({})),
            "spec.containers[0].resources.requests[memroy]: Invalid value: \"memroy\": must be a standard resource for containers",
        ),
        (
            "host port",
            port(json!({"containerPort": 80, "hostPort": 99_999_999})),
            "spec.containers[0].ports[0].hostPort: Invalid value: 99999999: must be between 1 and 65535, inclusive",
        ),
        (
            "negative container port",
            port(json!({"containerPort": -1})),
            "spec.containers[0].ports[0].containerPort: Invalid value: -1: must be between 1 and 65535, inclusive",
        ),
        (
            "no container port",
            port(json!({"hostPort": 80})),
            "spec.containers[0].ports[0].containerPort: Required value",
        ),
        (
            "protocol",
            port(json!({"containerPort": 80, "protocol": "ICMP"})),
            "spec.containers[0].ports[0].protocol: Unsupported value: \"ICMP\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
        ),
        (
            "host port twice",
            json!({"containers": [{"name": "c", "ports": [{"containerPort": 1, "hostPort": 80}, {"containerPort": 2, "hostPort": 80}]}]}),
            "spec.containers[0].ports[1].hostPort: Duplicate value: \"TCP//80\"",
        ),
        (
            "container name twice",
            json!({"containers": [{"name": "c"}, {"name": "c"}]}),
            "spec.containers[1].name: Duplicate value: \"c\"",
        ),
        (
            "node affinity operator",
            node_term(json!({"matchExpressions": [{"key": "disk", "operator": "Foo", "values": ["a"]}]})),
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: \"Foo\": not a valid selector operator",
        ),
        (
            "no values",
            node_term(json!({"matchExpressions": [{"key": "disk", "operator": "In"}]})),
            "nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        ),
        (
            "field selector",
            node_term(json!({"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["a"]}]})),
            "nodeSelectorTerms[0].matchFields[0].key: Invalid value: \"metadata.uid\": not a valid field selector key",
        ),
        (
            "no terms",
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}}),
            "nodeSelectorTerms: Required value: must have at least one node selector term",
        ),
        (
            "weight",
            json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101, "preference": {}}]}}}),
            "preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in the range 1-100",
        ),
        (
            "pod affinity operator",
            pod_term(
                json!({"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}}),
            ),
            "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0].operator: Invalid value: \"Gt\": not a valid selector operator",
        ),
        (
            "pod affinity without topology key",
            pod_term(json!({"topologyKey": "", "labelSelector": {}})),
            "[0].topologyKey: Required value: can not be empty",
        ),
        (
            "max skew",
            spread(json!({"maxSkew": 0})),
            "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
        ),
        (
            "when unsatisfiable",
            spread(json!({"whenUnsatisfiable": "Panic"})),
            "spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: \"Panic\": supported values: \"DoNotSchedule\", \"ScheduleAnyway\"",
        ),
        (
            "no topology key",
            spread(json!({"topologyKey": ""})),
            "topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
        ),
        (
            "min domains with ScheduleAnyway",
            spread(json!({"minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"})),
            "minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
        ),
        (
            "toleration operator",
            json!({"tolerations": [{"key": "a", "operator": "In"}]}),
            "spec.tolerations[0].operator: Unsupported value: \"In\": supported values: \"Equal\", \"Exists\"",
        ),
        (
            "toleration seconds",
            json!({"tolerations": [{"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 5}]}),
            "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set",
        ),
        (
            "toleration effect",
            json!({"tolerations": [{"key": "a", "operator": "Exists", "effect": "Never"}]}),
            "spec.tolerations[0].effect: Unsupported value: \"Never\": supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"",
        ),
        (
            "toleration without key",
            json!({"tolerations": [{"value": "a"}]}),
            "operator must be Exists when `key` is empty",
        ),
        (
            "node selector key",
            json!({"nodeSelector": {"a b": "c"}}),
            "spec.nodeSelector: Invalid value: \"a b\": name part must consist of alphanumeric characters",
        ),
        ("node selector value", json!({"nodeSelector": {"a": seventy}}), "must be no more than 63 bytes"),
        (
            "gate twice",
            json!({"schedulingGates": [{"name": "a"}, {"name": "a"}]}),
            "spec.schedulingGates[1]: Duplicate value: \"a\"",
        ),
        (
            "gated and bound",
            json!({"nodeName": "n", "schedulingGates": [{"name": "a"}]}),
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
        ),
        (
            "preemption policy",
            json!({"preemptionPolicy": "Always"}),
            "spec.preemptionPolicy: Unsupported value: \"Always\": supported values: \"Never\", \"PreemptLowerPriority\"",
        ),
    ];
    for (name, spec, expected) in cases {
        let refused = pod_refusal(spec).unwrap_or_else(|| panic!("case: {name}: accepted"));
        assert!(refused.starts_with("Pod \"web\" is invalid: "), "case: {name}: {refused}");
        assert!(refused.contains(expected), "case: {name}: {refused}");
    }
}

#[test]
fn pods_at_the_edge_of_the_rules_are_accepted() {
    let cases = [
        ("no request", resources(json!({}), json!({}))),
        ("zero", resources(json!({"cpu": "0"}), json!({}))),
        ("request at its limit", resources(json!({"cpu": "1"}), json!({"cpu": "1000m"}))),
        (
            "huge pages and extended",
            resources(
                json!({"cpu": "1", "hugepages-2Mi": "4Mi", "example.com/gpu": "2"}),
                json!({"cpu": "1", "hugepages-2Mi": "4Mi", "example.com/gpu": "2"}),
            ),
        ),
        ("last port", port(json!({"containerPort": 65535, "hostPort": 65535, "protocol": "UDP"}))),
        ("numeric toleration", json!({"tolerations": [{"key": "a", "operator": "Gt", "value": "-5"}]})),
        ("tolerate everything", json!({"tolerations": [{"operator": "Exists"}]})),
        (
            "tolerate for a time",
            json!({"tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}]}),
        ),
        (
            "free values in preferences",
            json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 100, "preference": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["a b"]}]}},
            ]}}}),
        ),
        ("min domains", spread(json!({"minDomains": 1}))),
    ];
    for (name, spec) in cases {
        assert_eq!(pod_refusal(spec), None, "case: {name}");
    }
}

#[test]
fn object_names_follow_dns_rules() {
    for (name, expected) in [
        ("Web", "metadata.name: Invalid value: \"Web\": a lowercase RFC 1123 subdomain must consist of"),
        ("a\u{1b}[2J", "metadata.name: Invalid value: \"a\\u{1b}[2J\": a lowercase RFC 1123 subdomain"),
        ("../x", "a lowercase RFC 1123 subdomain"),
        ("a..b", "a lowercase RFC 1123 subdomain"),
        ("-a", "a lowercase RFC 1123 subdomain"),
    ] {
        for kind in ["Pod", "Node"] {
            let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}});
            if kind == "Pod" {
                object["spec"] = json!({"containers": [{"name": "c"}]});
            }
            let refused = refusal(object);
            let refused = refused.unwrap_or_else(|| panic!("{kind} {name}: accepted"));
            assert!(refused.contains(expected), "{kind} {name}: {refused}");
        }
    }
    let long = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n".repeat(254)}});
    assert!(refusal(long).unwrap().contains("metadata.name: Invalid value"));
    let labels =
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"a/b/c": "x y"}}});
    let refused = refusal(labels).unwrap();
    assert!(
        refused.starts_with(
            "Node \"n\" is invalid: [metadata.labels: Invalid value: \"a/b/c\": a valid label key"
        ),
        "{refused}"
    );
    assert!(
        refused.contains(", metadata.labels: Invalid value: \"x y\": a valid label must be"),
        "{refused}"
    );
    for name in ["web", "a.b-c.9", "x"] {
        assert_eq!(refusal(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})), None);
    }
    let generated = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"generateName": "node-"}});
    assert_eq!(refusal(generated), None);
}

#[test]
fn nodes_that_the_api_server_refuses_are_refused_with_its_message() {
    let node = |spec: Value, status: Value| {
        refusal(
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": spec, "status": status}),
        )
    };
    let cases = [
        (
            json!({"taints": [{"key": "a", "effect": "Never"}]}),
            json!({}),
            "metadata.taints[0].effect: Unsupported value: \"Never\": supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"",
        ),
        (
            json!({"taints": [{"key": "a", "effect": ""}]}),
            json!({}),
            "metadata.taints[0].effect: Required value",
        ),
        (
            json!({"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule", "value": "x"}]}),
            json!({}),
            "metadata.taints[1]: Duplicate value: ",
        ),
        (
            json!({}),
            json!({"allocatable": {"memory": "-1"}}),
            "status.allocatable.memory: Invalid value: \"-1\": must be greater than or equal to 0",
        ),
        (
            json!({}),
            json!({"capacity": {"pods": "1.5"}}),
            "status.capacity.pods: Invalid value: \"1.5\": must be an integer",
        ),
    ];
    for (spec, status, expected) in cases {
        let refused = node(spec, status).unwrap_or_else(|| panic!("accepted, not {expected}"));
        assert!(refused.contains(expected), "{refused}");
    }
}

fn priority_class(name: &str, value: i64, policy: &str) -> Object {
    let class = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
        "value": value, "preemptionPolicy": policy,
    });
    Object::from_json(class).unwrap()
}

#[test]
fn priority_class_is_bounded_and_immutable() {
    let cluster = cluster();
    let refused = |object| cluster.create(object).unwrap_err().message;
    assert!(
        refused(priority_class("p", 1_000_000_001, "Never"))
            .ends_with("value: Forbidden: maximum allowed value of a user defined priority is 1000000000")
    );
    assert!(refused(priority_class("system-mine", 1, "Never")).contains("metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only"));
    assert!(
        refused(priority_class("p", 1, "Maybe")).contains("preemptionPolicy: Unsupported value: \"Maybe\"")
    );
    assert!(refused(priority_class("p", 1 << 40, "Never")).contains("value: Invalid value: 1099511627776"));
    cluster.create(priority_class("p", 1_000_000_000, "Never")).unwrap();
    let changed = |value, policy| cluster.update(priority_class("p", value, policy)).unwrap_err().message;
    assert_eq!(
        changed(7, "Never"),
        "PriorityClass \"p\" is invalid: value: Forbidden: may not be changed in an update."
    );
    assert_eq!(
        changed(1_000_000_000, "PreemptLowerPriority"),
        "PriorityClass \"p\" is invalid: preemptionPolicy: Invalid value: \"PreemptLowerPriority\": field is immutable"
    );
    let key = ObjectKey {
        namespace: None,
        ..ObjectKey::namespaced("scheduling.k8s.io/v1", "PriorityClass", "", "p")
    };
    let Object::Other(stored) = cluster.get(&key).unwrap() else { panic!("a priority class") };
    assert_eq!(stored.body["value"], json!(1_000_000_000));
}

#[test]
fn replicas_of_one_body_are_validated_once() {
    let cluster = cluster();
    let pod = |name: &str| {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": resources(json!({"cpu": "1"}), json!({}))});
        Object::from_json(pod).unwrap()
    };
    let before = pod::body_checks();
    for number in 0..50 {
        cluster.create(pod(&format!("p{number}"))).unwrap();
    }
    assert_eq!(pod::body_checks() - before, 1);
}

#[test]
fn misspelt_fields_are_named_with_their_path() {
    let unknown = |value: Value| {
        let object = Object::from_json(value.clone()).unwrap();
        unknown_field_of(&value, &object, &["spec.workloadRef"])
    };
    let pod =
        |spec: Value| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec});
    assert_eq!(unknown(pod(json!({"nodeSelecter": {"a": "b"}}))), Some("spec.nodeSelecter".to_owned()));
    let deep = json!({"containers": [{"name": "a"}, {"name": "b", "resource": {}}]});
    assert_eq!(unknown(pod(deep)), Some("spec.containers[1].resource".to_owned()));
    assert_eq!(unknown(pod(json!({"workloadRef": {"name": "w"}, "nodeName": null}))), None);
    let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "p"}, "vlaue": 1});
    assert_eq!(unknown(class), Some("vlaue".to_owned()));
}

#[test]
fn a_million_errors_make_one_short_message() {
    let tolerations: Vec<Value> = (0..1000).map(|_| json!({"key": "a", "operator": "In"})).collect();
    let refused = pod_refusal(json!({"tolerations": tolerations})).unwrap();
    assert!(refused.ends_with(", and 980 more]"), "{refused}");
    assert!(refused.len() < 4000);
}

fn pod_group(spec: Value) -> Value {
    json!({
        "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": "default"}, "spec": spec,
    })
}

#[test]
fn pod_groups_that_the_api_server_refuses_are_refused_with_its_message() {
    let gang = |count: Value| json!({"gang": {"minCount": count}});
    let with = |name: &str, value: Value| json!({"schedulingPolicy": {"basic": {}}, name: value});
    let cases = [
        ("sound", json!({"schedulingPolicy": gang(json!(3))}), None),
        (
            "no policy",
            json!({}),
            Some("spec.schedulingPolicy: Invalid value: \"\": must specify one of: `basic`, `gang`"),
        ),
        (
            "two policies",
            json!({"schedulingPolicy": {"basic": {}, "gang": {"minCount": 1}}}),
            Some(
                "spec.schedulingPolicy: Invalid value: \"{`basic`, `gang`}\": must specify exactly one of: `basic`, `gang`",
            ),
        ),
        (
            "minCount 0",
            json!({"schedulingPolicy": gang(json!(0))}),
            Some("spec.schedulingPolicy.gang.minCount: Required value"),
        ),
        (
            "negative minCount",
            json!({"schedulingPolicy": gang(json!(-1))}),
            Some(
                "spec.schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1",
            ),
        ),
        (
            "two topology constraints",
            with("schedulingConstraints", json!({"topology": [{"key": "zone"}, {"key": "rack"}]})),
            Some("spec.schedulingConstraints.topology: Too many: 2: must have at most 1 item"),
        ),
        (
            "topology constraint without key",
            with("schedulingConstraints", json!({"topology": [{}]})),
            Some("spec.schedulingConstraints.topology[0].key: Required value"),
        ),
        (
            "empty disruption mode",
            with("disruptionMode", json!({})),
            Some("spec.disruptionMode: Invalid value: \"\": must specify one of: `single`, `all`"),
        ),
        (
            "priority of the system",
            with("priority", json!(1_000_000_001)),
            Some("spec.priority: Invalid value: 1000000001: must be less than or equal to 1000000000"),
        ),
        (
            "preemption policy",
            with("preemptionPolicy", json!("Sometimes")),
            Some(
                "spec.preemptionPolicy: Unsupported value: \"Sometimes\": supported values: \"Never\", \"PreemptLowerPriority\"",
            ),
        ),
    ];
    for (name, spec, expected) in cases {
        let refused = refusal(pod_group(spec));
        match expected {
            None => assert_eq!(refused, None, "case: {name}"),
            Some(expected) => {
                let refused = refused.unwrap_or_default();
                assert!(refused.ends_with(expected), "case: {name}: {refused}");
            }
        }
    }
}

#[test]
fn pod_group_keeps_all_but_its_min_count() {
    let cluster = cluster();
    let spec = json!({"schedulingPolicy": {"gang": {"minCount": 3}}});
    cluster.create(Object::from_json(pod_group(spec)).unwrap()).expect("it is sound");
    let update = |name: &str, value: Value| {
        let key = ObjectKey::namespaced("scheduling.k8s.io/v1beta1", "PodGroup", "default", "gang");
        let mut object = cluster.get(&key).unwrap().into_other().unwrap();
        object.body["spec"][name] = value;
        cluster.update(Object::Other(object)).err().map(|error| error.message)
    };
    assert_eq!(update("schedulingPolicy", json!({"gang": {"minCount": 5}})), None);
    let refused = update("priority", json!(5)).expect("it is refused");
    assert!(refused.ends_with("spec.priority: Invalid value: null: field is immutable"), "{refused}");
    let refused = update("schedulingPolicy", json!({"basic": {}})).expect("it is refused");
    assert!(
        refused.contains("spec.schedulingPolicy.gang: Invalid value: null: field cannot be cleared once set"),
        "{refused}"
    );
}

#[test]
fn status_of_resource_claims_that_the_api_server_refuses_is_refused() {
    let consumer = |uid: &str| json!({"resource": "pods", "name": "p", "uid": uid});
    let allocation = |device: &str| json!({"devices": {"results": [{"device": device}]}});
    let cluster = cluster();
    let claim = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": "one"}, "spec": {}});
    cluster.create(Object::from_json(claim).unwrap()).unwrap();
    let update = |status: Value| {
        let key = ObjectKey::namespaced("resource.k8s.io/v1", "ResourceClaim", "default", "one");
        let mut object = cluster.get(&key).unwrap().into_other().unwrap();
        object.body.insert("status".to_owned(), status);
        cluster.update_status(Object::Other(object)).err().map(|error| error.message).unwrap_or_default()
    };
    let open = update(json!({"reservedFor": [consumer("a")]}));
    let why = "status.reservedFor: Forbidden: may not be specified when `allocated` is not set";
    assert!(open.ends_with(why), "{open}");
    let twice =
        update(json!({"allocation": allocation("d0"), "reservedFor": [consumer("a"), consumer("a")]}));
    assert!(twice.ends_with("status.reservedFor[1]: Duplicate value: \"a\""), "{twice}");
    assert_eq!(update(json!({"allocation": allocation("d0"), "reservedFor": [consumer("a")]})), "");
    let other = update(json!({"allocation": allocation("d1"), "reservedFor": [consumer("a")]}));
    assert!(other.contains("status.allocation: Invalid value"), "{other}");
    assert!(other.ends_with("field is immutable"), "{other}");
    assert_eq!(update(json!({})), "", "devices may be given back");
}

#[test]
fn pod_names_its_group_by_a_dns_subdomain() {
    assert_eq!(pod_refusal(json!({"schedulingGroup": {"podGroupName": "gang.a"}})), None);
    let refused = pod_refusal(json!({"schedulingGroup": {"podGroupName": "Gang"}})).expect("it is refused");
    assert!(refused.contains("spec.schedulingGroup.podGroupName: Invalid value: \"Gang\""), "{refused}");
    let refused = pod_refusal(json!({"schedulingGroup": {}})).expect("it is refused");
    assert!(refused.contains("must specify one of: `podGroupName`"), "{refused}");
}

#[test]
fn pod_group_takes_the_priority_of_its_class() {
    let cluster = cluster();
    let class = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "high"}, "value": 1000,
    });
    cluster.create(Object::from_json(class).unwrap()).unwrap();
    let priority = |name: &str, class: Value| {
        let mut object = pod_group(json!({"schedulingPolicy": {"basic": {}}, "priorityClassName": class}));
        object["metadata"]["name"] = json!(name);
        let object = cluster.create(Object::from_json(object).unwrap())?;
        Ok::<_, crate::ApiError>(object.into_other().unwrap().body["spec"]["priority"].clone())
    };
    assert_eq!(priority("one", json!("high")).unwrap(), json!(1000));
    assert_eq!(priority("other", Value::Null).unwrap(), json!(0));
    let error = priority("third", json!("no-such")).expect_err("there is no such class");
    assert!(error.message.ends_with("no PriorityClass with name no-such was found"), "{error}");
}
