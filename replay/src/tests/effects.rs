//! Steps are applied as recorded, and steps that cannot be are errors.

use schedlab_testkit::manifest::{node, pod};
use serde_json::{Value, json};

use super::*;

fn small_node(name: &str) -> Value {
    node(name).has("cpu", "1").has("memory", "1Gi").has("pods", "10").into()
}

fn asking(name: &str, cpu: &str) -> Value {
    pod(name).asks("cpu", cpu).set("/metadata/creationTimestamp", json!("2026-01-01T00:00:00Z")).into()
}

fn bound(name: &str, cpu: &str, node: &str) -> Value {
    let mut pod = asking(name, cpu);
    pod["spec"]["nodeName"] = json!(node);
    pod
}

fn nominated(name: &str, node: &str) -> Value {
    let mut pod = asking(name, "100m");
    pod["status"] = json!({"nominatedNodeName": node});
    pod
}

/// Schedules a pod that asks for a whole node; the record is about `nodes` and says only who is
/// feasible, the rest is left out and differs.
fn probe(name: &str, nodes: &[(&str, bool)]) -> Value {
    let nodes: Vec<Value> =
        nodes.iter().map(|(name, feasible)| json!({"name": name, "feasible": feasible})).collect();
    json!({"op": "schedule", "pod": asking(name, "1"), "result": {"nodes": nodes}})
}

fn replayed(cluster: Value, steps: Value) -> Result<TraceReport, ReplayError> {
    let document = json!({
        "formatVersion": 1, "kubernetesVersion": "v1.38.0-alpha.0", "family": "hand-made", "seed": 1,
        "cluster": cluster, "steps": steps,
    });
    replay(&parse_trace("hand-made.json", document.to_string().as_bytes())?)
}

/// What differs about node names, their order and who is feasible.
fn feasibility(report: &TraceReport) -> Vec<String> {
    let is_about =
        |it: &&TraceDifference| matches!(it.what, DifferenceKind::Feasible { .. } | DifferenceKind::NodeList);
    report.differences.iter().filter(is_about).map(ToString::to_string).collect()
}

#[test]
fn recorded_steps_are_applied_to_the_world() {
    let cluster = json!({"nodes": [small_node("n1"), small_node("n2")], "pods": [bound("b1", "500m", "n1")]});
    let record = json!({"nodes": [{"name": "n1", "feasible": false}, {"name": "n2", "feasible": true}], "chosen": "n2"});
    let steps = json!([
        {"op": "schedule", "pod": asking("p1", "600m"), "result": record},
        probe("q1", &[("n1", false), ("n2", false)]),
        {"op": "deletePod", "pod": "default/b1"},
        probe("q2", &[("n1", true), ("n2", false)]),
        {"op": "addNode", "node": small_node("n0")},
        probe("q3", &[("n1", true), ("n2", false), ("n0", true)]),
        {"op": "updatePod", "pod": bound("p1", "0", "n2")},
        probe("q4", &[("n1", true), ("n2", true), ("n0", true)]),
        {"op": "removeNode", "node": "n2", "podsRemoved": ["default/p1"]},
        probe("q5", &[("n1", true), ("n0", true)]),
        {"op": "updateNode", "node": {"metadata": {"name": "n1"}, "spec": {"unschedulable": true}, "status": small_node("n1")["status"]}},
        probe("q6", &[("n1", false), ("n0", true)]),
        {"op": "addNode", "node": small_node("n2")},
        probe("q7", &[("n1", false), ("n0", true), ("n2", true)]),
    ]);
    let report = replayed(cluster, steps).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(feasibility(&report), [""; 0]);
    assert_eq!((report.steps, report.schedule_steps), (14, 8));
}

#[test]
fn recorded_choice_is_applied_even_when_ours_differs() {
    let cluster = json!({"nodes": [small_node("n1"), small_node("n2")]});
    let record = json!({"nodes": [{"name": "n1", "feasible": true}, {"name": "n2", "feasible": true}], "chosen": "n2"});
    let steps = json!([
        {"op": "schedule", "pod": asking("p1", "600m"), "result": record},
        probe("q1", &[("n1", true), ("n2", false)]),
    ]);
    let report = replayed(cluster, steps).unwrap_or_else(|error| panic!("{error}"));
    let chosen = report
        .differences
        .iter()
        .find(|it| it.what == DifferenceKind::EngineChosen)
        .expect("n1 is the first of two equals");
    assert_eq!((chosen.recorded.as_str(), chosen.ours.as_str()), ("n2", "n1"));
    assert_eq!(feasibility(&report), [""; 0]);
}

#[test]
fn preemptions_nominated_pods_and_objects_are_applied_and_counted() {
    let cluster = json!({
        "nodes": [small_node("n1")], "pods": [bound("b1", "1", "n1")], "nominated": [nominated("w1", "n1")],
    });
    let preemption = json!({
        "eligible": true, "potentialNodes": ["n1"], "chosen": "n1",
        "candidates": [{"node": "n1", "victims": ["default/b1"], "pdbViolations": 0}],
        "applied": {"evicted": ["default/b1"], "nominatedNodeName": "n1", "nominationsCleared": ["default/w1"]},
    });
    let steps = json!([
        {"op": "schedule", "pod": asking("p1", "1"), "result": {"nodes": [{"name": "n1", "feasible": false}], "preemption": preemption}},
        // The victim is gone, but the pod that it made room for holds the room.
        probe("q1", &[("n1", false)]),
        {"op": "schedule", "pod": nominated("p1", "n1"), "result": {
            "nodes": [{"name": "n1", "feasible": true}], "chosen": "n1", "viaNominated": true,
            "volumes": {"static": [{"pvc": "default/c", "pv": "v"}], "provisioned": ["default/d"]}}},
        {"op": "applyObjects", "objects": [
            {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}},
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "default"}}]},
        {"op": "nominate", "pod": nominated("w2", "n1")},
        {"op": "clearNomination", "pod": "default/w2"},
        {"op": "nominate", "pod": nominated("w3", "n1")},
        {"op": "removeNode", "node": "n1", "podsRemoved": ["default/p1"], "nominationsCleared": ["default/w3"]},
    ]);
    let report = replayed(cluster, steps).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(feasibility(&report), [""; 0]);
    let volumes: Vec<_> = report.differences.iter().filter(|it| it.what == DifferenceKind::Volumes).collect();
    assert_eq!(volumes.len(), 1, "the pod has no claims, so nothing is bound for it");
    assert_eq!(volumes[0].recorded, "[default/c to v, default/d provisioned]");
    let is_choice =
        |what: &DifferenceKind| matches!(what, DifferenceKind::EngineChosen | DifferenceKind::ViaNominated);
    let choices = report.differences.iter().filter(|it| it.step == 2 && is_choice(&it.what)).count();
    assert_eq!(choices, 0, "the nominated node is taken");
}

#[test]
fn a_step_that_cannot_be_applied_is_an_error_with_its_number() {
    struct Case {
        name: &'static str,
        step: Value,
        message: &'static str,
    }
    let chosen = json!({"op": "schedule", "pod": asking("p", "1"), "result": {"nodes": [], "chosen": "n9"}});
    let cases = [
        Case {
            name: "unknown pod",
            step: json!({"op": "deletePod", "pod": "default/x"}),
            message: "pod default/x is not bound",
        },
        Case {
            name: "update of an unknown pod",
            step: json!({"op": "updatePod", "pod": bound("x", "1", "n1")}),
            message: "pod default/x is not bound",
        },
        Case {
            name: "update without a node",
            step: json!({"op": "updatePod", "pod": asking("b1", "1")}),
            message: "pod default/b1 has no spec.nodeName",
        },
        Case {
            name: "node twice",
            step: json!({"op": "addNode", "node": small_node("n1")}),
            message: "node n1 exists already",
        },
        Case {
            name: "update of an unknown node",
            step: json!({"op": "updateNode", "node": small_node("n9")}),
            message: "node n9 is not in the list",
        },
        Case {
            name: "removal of an unknown node",
            step: json!({"op": "removeNode", "node": "n9"}),
            message: "node n9 is not in the list",
        },
        Case { name: "choice of an unknown node", step: chosen, message: "node n9 is not in the list" },
        Case {
            name: "not nominated",
            step: json!({"op": "clearNomination", "pod": "default/x"}),
            message: "pod default/x is not nominated",
        },
        Case {
            name: "no quantity",
            step: json!({"op": "updatePod", "pod": bound("b1", "much", "n1")}),
            message: "\"much\" is not a quantity",
        },
        Case {
            name: "unknown op",
            step: json!({"op": "reboot", "node": "n1"}),
            message: "unknown op `reboot`; version 1 knows schedule, deletePod",
        },
        Case {
            name: "no result",
            step: json!({"op": "schedule", "pod": asking("p", "1")}),
            message: "op `schedule` needs `result` to be what was decided",
        },
        Case {
            name: "name for a pod",
            step: json!({"op": "schedule", "pod": "default/p", "result": {}}),
            message: "op `schedule` needs `pod` to be a pod",
        },
        Case {
            name: "pod for a name",
            step: json!({"op": "deletePod", "pod": asking("p", "1")}),
            message: "op `deletePod` needs `pod` to be \"namespace/name\"",
        },
        Case {
            name: "unknown field",
            step: json!({"op": "deletePod", "pod": "default/b1", "why": "?"}),
            message: "unknown field `why`",
        },
        Case {
            name: "wrong type",
            step: json!({"op": "deletePod", "pod": 7}),
            message: "expected a name or an object",
        },
        Case {
            name: "wrong kind",
            step: json!({"op": "addNode", "node": {"apiVersion": "v1", "kind": "Pod"}}),
            message: "expected Node",
        },
    ];
    for case in cases {
        let cluster = json!({"nodes": [small_node("n1")], "pods": [bound("b1", "1", "n1")]});
        let add = json!({"op": "addNode", "node": small_node("n2")});
        let steps = json!([add, {"op": "removeNode", "node": "n2"}, add, case.step]);
        let error = replayed(cluster, steps).expect_err(case.name).to_string();
        assert!(error.starts_with("hand-made.json: step 3: "), "case: {}: {error}", case.name);
        assert!(error.contains(case.message), "case: {}: {error}", case.name);
    }
}

#[test]
fn a_cluster_that_makes_no_sense_is_an_error() {
    let twice = replayed(json!({"nodes": [small_node("n1"), small_node("n1")]}), json!([]))
        .expect_err("a node twice");
    assert_eq!(
        twice.to_string(),
        "hand-made.json: cluster: node n1 exists already; was an earlier step left out?"
    );
    let pending = replayed(json!({"pods": [asking("p", "1")]}), json!([])).expect_err("a pending pod");
    assert!(pending.to_string().contains("cluster: pod default/p has no spec.nodeName"), "{pending}");
}
