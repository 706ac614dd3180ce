use serde_json::{Value, json};

use super::super::testing::{Bench, SECOND};
use super::super::{ControllerSettings, testing};
use super::*;
use crate::api::Api as _;

/// A policy of one plugin.
fn policy(plugin: &str, args: Value, evictor: Value) -> Value {
    let point = match plugin {
        "RemoveDuplicates"
        | "LowNodeUtilization"
        | "HighNodeUtilization"
        | "RemovePodsViolatingTopologySpreadConstraint" => "balance",
        _ => "deschedule",
    };
    json!({ "apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy", "profiles": [{
        "name": "default",
        "pluginConfig": [
            { "name": plugin, "args": args }, { "name": "DefaultEvictor", "args": evictor } ],
        "plugins": { point: { "enabled": [plugin] } } }] })
}

fn bench(policy: Value) -> Bench {
    Bench::new(&[(&DESCRIPTOR, json!({ "intervalSeconds": 10, "policy": policy }))])
}

/// A pod on a node that a ReplicaSet owns and that asks for a CPU; `more` is put over its spec.
fn owned_pod(bench: &Bench, name: &str, node: &str, more: Value) {
    let mut pod = json!({ "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": "default", "labels": { "app": "web" }, "ownerReferences": [
            { "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": true }] },
        "spec": { "nodeName": node, "containers": [
            { "name": "c", "image": "i", "resources": { "requests": { "cpu": "1" } } }] } });
    for (key, value) in more.as_object().into_iter().flatten() {
        match key.as_str() {
            "metadata" => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    pod["metadata"][key] = value.clone();
                }
            }
            "status" => pod["status"] = value.clone(),
            key => pod["spec"][key] = value.clone(),
        }
    }
    bench.create(pod);
}

fn labelled_node(bench: &Bench, name: &str, cpu: &str, labels: Value, spec: Value) {
    let amounts = json!({ "cpu": cpu, "memory": "8Gi", "pods": "10" });
    bench.create(json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": labels },
        "spec": spec, "status": { "capacity": amounts, "allocatable": amounts } }));
}

fn left(bench: &Bench) -> Vec<String> {
    bench.pods().iter().map(|row| bench.api.pod_name(row.name)).collect()
}

/// The pods that are left after one cycle.
fn after_a_cycle(bench: &mut Bench) -> Vec<String> {
    bench.settle();
    bench.pass(10 * SECOND);
    left(bench)
}

#[test]
fn duplicates_leave_until_each_node_has_an_even_share() {
    let run = |args: Value, make: &dyn Fn(&Bench)| {
        let mut bench = bench(policy("RemoveDuplicates", args, json!({})));
        make(&bench);
        after_a_cycle(&mut bench)
    };
    let four_on_one = |bench: &Bench| {
        bench.node("n1", "8");
        bench.node("n2", "8");
        (1..=4).for_each(|number| owned_pod(bench, &format!("p{number}"), "n1", json!({})));
    };
    assert_eq!(run(json!({}), &four_on_one), ["p1", "p2"], "two of four belong on the other node");
    let kept = run(json!({ "excludeOwnerKinds": ["ReplicaSet"] }), &four_on_one);
    assert_eq!(kept.len(), 4);
    let kept = run(json!({ "namespaces": { "exclude": ["default"] } }), &four_on_one);
    assert_eq!(kept.len(), 4);
    let one_node = |bench: &Bench| {
        bench.node("n1", "8");
        (1..=4).for_each(|number| owned_pod(bench, &format!("p{number}"), "n1", json!({})));
    };
    assert_eq!(run(json!({}), &one_node).len(), 4, "there is nowhere to go");
}

#[test]
fn pods_leave_full_nodes_while_empty_ones_have_room() {
    let args = json!({ "thresholds": { "cpu": 20 }, "targetThresholds": { "cpu": 50 } });
    let mut full = bench(policy("LowNodeUtilization", args.clone(), json!({})));
    full.node("full", "10");
    full.node("empty", "10");
    (1..=8).for_each(|number| owned_pod(&full, &format!("p{number}"), "full", json!({})));
    assert_eq!(after_a_cycle(&mut full).len(), 5, "50 % is the target");
    let mut even = bench(policy("LowNodeUtilization", args, json!({})));
    even.node("a", "10");
    even.node("b", "10");
    (1..=4).for_each(|number| owned_pod(&even, &format!("a{number}"), "a", json!({})));
    (1..=8).for_each(|number| owned_pod(&even, &format!("b{number}"), "b", json!({})));
    assert_eq!(after_a_cycle(&mut even).len(), 12, "no node is below 20 %");
}

#[test]
fn deviation_thresholds_stand_around_the_mean() {
    let args = json!({ "thresholds": { "cpu": 20 }, "targetThresholds": { "cpu": 20 },
        "useDeviationThresholds": true });
    let mut bench = bench(policy("LowNodeUtilization", args, json!({})));
    bench.node("full", "10");
    bench.node("empty", "10");
    (1..=8).for_each(|number| owned_pod(&bench, &format!("p{number}"), "full", json!({})));
    assert_eq!(after_a_cycle(&mut bench).len(), 6, "the mean is 40 %, 60 % is the bound");
}

#[test]
fn pods_leave_nodes_that_are_used_little() {
    let args = json!({ "thresholds": { "cpu": 30 } });
    let mut bench = bench(policy("HighNodeUtilization", args, json!({})));
    bench.node("little", "10");
    bench.node("much", "10");
    (1..=2).for_each(|number| owned_pod(&bench, &format!("l{number}"), "little", json!({})));
    (1..=5).for_each(|number| owned_pod(&bench, &format!("m{number}"), "much", json!({})));
    let left = after_a_cycle(&mut bench);
    assert!(left.len() == 5 && left.iter().all(|name| name.starts_with('m')), "{left:?}");
}

#[test]
fn pods_leave_nodes_that_lost_what_they_require_or_prefer() {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    let term = json!({ "matchExpressions": [{ "key": "disk", "operator": "In", "values": ["ssd"] }] });
    let required = json!({ "affinity": { "nodeAffinity": { REQUIRED: { "nodeSelectorTerms": [term] } } } });
    let preferred =
        json!({ "affinity": { "nodeAffinity": { PREFERRED: [{ "weight": 1, "preference": term }] } } });
    let run = |kind: &str, has_other: bool| {
        let args = json!({ "nodeAffinityType": [kind] });
        let mut bench = bench(policy("RemovePodsViolatingNodeAffinity", args, json!({})));
        labelled_node(&bench, "n1", "8", json!({}), json!({}));
        let label = if has_other { json!({ "disk": "ssd" }) } else { json!({}) };
        labelled_node(&bench, "n2", "8", label, json!({}));
        owned_pod(&bench, "requires", "n1", required.clone());
        owned_pod(&bench, "prefers", "n1", preferred.clone());
        owned_pod(&bench, "plain", "n1", json!({}));
        after_a_cycle(&mut bench)
    };
    assert_eq!(run(REQUIRED, true), ["prefers", "plain"]);
    assert_eq!(run(PREFERRED, true), ["requires", "plain"]);
    assert_eq!(run(REQUIRED, false).len(), 3, "no other node would do");
}

#[test]
fn least_important_of_pods_that_cannot_stand_each_other_leaves() {
    let mut bench = bench(policy("RemovePodsViolatingInterPodAntiAffinity", json!({}), json!({})));
    bench.node("n1", "8");
    let apart = |priority: i32| {
        json!({ "priority": priority, "affinity": { "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{ "topologyKey": "kubernetes.io/hostname",
                "labelSelector": { "matchLabels": { "app": "web" } } }] } } })
    };
    for (name, value) in [("important", 10), ("unimportant", 1)] {
        bench.create(json!({ "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": { "name": name }, "value": value }));
        let mut spec = apart(value);
        spec["priorityClassName"] = json!(name);
        owned_pod(&bench, name, "n1", spec);
    }
    assert_eq!(after_a_cycle(&mut bench), ["important"]);
}

#[test]
fn pods_leave_nodes_whose_taints_they_do_not_tolerate() {
    let run = |args: Value, effect: &str| {
        let mut bench = bench(policy("RemovePodsViolatingNodeTaints", args, json!({})));
        let taint = json!({ "taints": [{ "key": "gpu", "value": "yes", "effect": effect }] });
        labelled_node(&bench, "n1", "8", json!({}), taint);
        let tolerates = json!({ "tolerations": [{ "key": "gpu", "operator": "Exists" }] });
        owned_pod(&bench, "tolerates", "n1", tolerates);
        owned_pod(&bench, "suffers", "n1", json!({}));
        after_a_cycle(&mut bench)
    };
    assert_eq!(run(json!({}), "NoSchedule"), ["tolerates"]);
    assert_eq!(run(json!({}), "PreferNoSchedule").len(), 2);
    assert_eq!(run(json!({ "includePreferNoSchedule": true }), "PreferNoSchedule"), ["tolerates"]);
    assert_eq!(run(json!({ "excludedTaints": ["gpu=yes"] }), "NoSchedule").len(), 2);
    assert_eq!(run(json!({ "includedTaints": ["disk"] }), "NoSchedule").len(), 2);
}

#[test]
fn pods_leave_large_domains_until_the_skew_is_kept() {
    let mut bench = bench(policy("RemovePodsViolatingTopologySpreadConstraint", json!({}), json!({})));
    labelled_node(&bench, "n1", "9", json!({ "zone": "a" }), json!({}));
    labelled_node(&bench, "n2", "9", json!({ "zone": "b" }), json!({}));
    let spread = json!({ "topologySpreadConstraints": [{ "maxSkew": 1, "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": { "matchLabels": { "app": "web" } } }] });
    (1..=5).for_each(|number| owned_pod(&bench, &format!("a{number}"), "n1", spread.clone()));
    owned_pod(&bench, "b1", "n2", spread);
    let left = after_a_cycle(&mut bench);
    assert_eq!(left.len(), 4, "two of five go, which makes three and three: {left:?}");
    assert!(left.contains(&"b1".to_owned()));
}

#[test]
fn pods_that_restart_too_often_or_are_too_old_leave() {
    let args = json!({ "podRestartThreshold": 3 });
    let mut restarts = bench(policy("RemovePodsHavingTooManyRestarts", args, json!({})));
    restarts.node("n1", "8");
    for (name, count) in [("calm", 2), ("restless", 3)] {
        owned_pod(&restarts, name, "n1", json!({}));
        let row = *restarts.pods().last().expect("made just now");
        let mut pod = restarts.pod(&row);
        pod["status"]["containerStatuses"] = json!([{ "name": "c", "image": "i", "imageID": "i",
            "ready": true, "restartCount": count }]);
        let pod = crate::api::Object::from_json(pod).expect("a pod");
        restarts.api.update_status(pod).expect("it is there");
    }
    assert_eq!(after_a_cycle(&mut restarts), ["calm"]);
    let mut old = bench(policy("PodLifeTime", json!({ "maxPodLifeTimeSeconds": 25 }), json!({})));
    old.node("n1", "8");
    owned_pod(&old, "first", "n1", json!({}));
    old.settle();
    old.pass(20 * SECOND);
    owned_pod(&old, "second", "n1", json!({}));
    old.settle();
    old.pass(10 * SECOND);
    assert_eq!(left(&old), ["second"], "30 seconds are more than 25");
}

#[test]
fn evictor_spares_pods_that_nobody_makes_again_and_what_it_is_told_to_spare() {
    let lone = json!({ "metadata": { "ownerReferences": [] } });
    let daemon = json!({ "metadata": { "ownerReferences": [
        { "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": true }] } });
    let local = json!({ "volumes": [{ "name": "v", "emptyDir": {} }] });
    let wanted = json!({ "metadata": { "ownerReferences": [],
        "annotations": { "descheduler.alpha.kubernetes.io/evict": "true" } } });
    let mirror = json!({ "metadata": { "annotations": { "kubernetes.io/config.mirror": "x" } } });
    let cases = [
        ("an owned pod goes", json!({}), json!({}), true),
        ("a bare one stays", lone, json!({}), false),
        ("one of a daemon stays", daemon.clone(), json!({}), false),
        ("one of a daemon goes if told so", daemon, json!({ "evictDaemonSetPods": true }), true),
        ("local storage stays", local.clone(), json!({}), false),
        ("local storage goes if told so", local, json!({ "evictLocalStoragePods": true }), true),
        ("a bare one that wants to", wanted, json!({}), true),
        ("a mirror of the kubelet's", mirror, json!({}), false),
        ("too few replicas", json!({}), json!({ "minReplicas": 2 }), false),
        ("too young", json!({}), json!({ "minPodAgeSeconds": 1000 }), false),
        ("nowhere else to go", json!({}), json!({ "nodeFit": true }), false),
        ("too important", json!({}), json!({ "priorityThreshold": { "value": 0 } }), false),
        ("other labels", json!({}), json!({ "labelSelector": { "matchLabels": { "app": "db" } } }), false),
    ];
    for (name, more, evictor, goes) in cases {
        let mut bench = bench(policy("PodLifeTime", json!({ "maxPodLifeTimeSeconds": 1 }), evictor));
        bench.node("n1", "8");
        owned_pod(&bench, "p", "n1", more);
        assert_eq!(after_a_cycle(&mut bench).is_empty(), goes, "case: {name}");
    }
}

#[test]
fn limits_and_budgets_hold_evictions_back() {
    let with = |limit: &str| {
        let mut policy = policy("PodLifeTime", json!({ "maxPodLifeTimeSeconds": 1 }), json!({}));
        policy[limit] = json!(2);
        let mut bench = bench(policy);
        bench.node("n1", "8");
        (1..=5).for_each(|number| owned_pod(&bench, &format!("p{number}"), "n1", json!({})));
        after_a_cycle(&mut bench).len()
    };
    for limit in ["maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace", "maxNoOfPodsToEvictTotal"] {
        assert_eq!(with(limit), 3, "{limit}");
    }
    let policy = policy("PodLifeTime", json!({ "maxPodLifeTimeSeconds": 1 }), json!({}));
    let config = json!({ "intervalSeconds": 10, "policy": policy });
    let mut bench =
        Bench::new(&[(&DESCRIPTOR, config), testing::plain(&super::super::disruption::DESCRIPTOR)]);
    bench.node("n1", "8");
    bench.create(json!({ "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": { "name": "web", "namespace": "default" },
        "spec": { "minAvailable": 2, "selector": { "matchLabels": { "app": "web" } } } }));
    (1..=3).for_each(|number| owned_pod(&bench, &format!("p{number}"), "n1", json!({})));
    bench.pods().iter().for_each(|row| bench.run(row, true));
    assert_eq!(after_a_cycle(&mut bench).len(), 2);
    assert_eq!((bench.counter(0, "pods_evicted"), bench.counter(0, "refused_by_budget")), (1, 2));
}

#[test]
fn policy_with_a_slip_is_refused_by_its_place() {
    let of = |plugin: &str, args: Value| policy(plugin, args, json!({}));
    let set = |mut policy: Value, path: &str, value: Value| {
        *policy.pointer_mut(path).expect("it is there") = value;
        policy
    };
    let plain = || of("RemoveDuplicates", json!({}));
    let cases = [
        (
            of("RemoveDuplicates", json!({ "exclude": 1 })),
            "`policy.profiles[0].pluginConfig[0].args` has an unknown field `exclude`; known: namespaces, \
             excludeOwnerKinds",
        ),
        (
            of("LowNodeUtilization", json!({ "thresholds": { "cpu": 120 } })),
            "`policy.profiles[0].pluginConfig[0].args.thresholds.cpu` is 120; write a percentage from 0 to 100",
        ),
        (
            of("LowNodeUtilization", json!({ "thresholds": { "cpu": 20 } })),
            "`policy.profiles[0].pluginConfig[0].args` must name the same resources in `thresholds` and \
             `targetThresholds`",
        ),
        (
            of("PodLifeTime", json!({})),
            "`policy.profiles[0].pluginConfig[0].args` has no `maxPodLifeTimeSeconds`; write such as 86400",
        ),
        (
            of("RemovePodsHavingTooManyRestarts", json!({ "podRestartThreshold": -1 })),
            "`policy.profiles[0].pluginConfig[0].args.podRestartThreshold` is -1; write a whole number of at \
             least 1",
        ),
        (
            set(plain(), "/apiVersion", json!("descheduler/v1alpha1")),
            "`policy.apiVersion` is \"descheduler/v1alpha1\"; write `descheduler/v1alpha2`",
        ),
        (
            set(plain(), "/profiles/0/plugins/balance/enabled/0", json!("PodLifeTime")),
            "`policy.profiles[0].plugins.balance.enabled[0]` is \"PodLifeTime\"; write it under `deschedule`, \
             where it belongs",
        ),
        (
            set(plain(), "/profiles", json!([])),
            "`policy.profiles` is empty; add a profile with the plugins that \
             are to run",
        ),
    ];
    for (policy, expected) in cases {
        let config = Some(json!({ "policy": policy }));
        let settings = ControllerSettings { config, ..ControllerSettings::default() };
        let error = (DESCRIPTOR.constructor)(&settings).err().expect("it is refused").to_string();
        assert_eq!(error, expected);
    }
    let unknown = set(plain(), "/profiles/0/plugins/balance/enabled/0", json!("RemoveAll"));
    let settings =
        ControllerSettings { config: Some(json!({ "policy": unknown })), ..ControllerSettings::default() };
    let error = (DESCRIPTOR.constructor)(&settings).err().expect("it is refused").to_string();
    assert!(
        error.starts_with("`policy.profiles[0].plugins.balance.enabled[0]` is \"RemoveAll\"; write a plugin")
    );
}
