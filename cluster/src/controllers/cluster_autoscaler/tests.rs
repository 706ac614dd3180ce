//! The autoscaler against a cluster, without a scheduler: the test says what fits nowhere, and binds.

use serde_json::{Value, json};

use super::DESCRIPTOR;
use crate::api::{
    Api, ConditionEdit, ConditionPatch, ConditionStatus, NominatedNodeNamePatch, ObjectKey, PodStatusPatch,
    StoredPodRow,
};
use crate::controllers::testing::{Bench, SECOND};
use crate::controllers::{ControllerSettings, Remaining};

fn config(extra: Value) -> Value {
    let mut config = json!({
        "nodeGroups": [
            { "name": "small", "max": 3, "allocatable": { "cpu": 2, "pods": 10 } },
            { "name": "large", "max": 2, "allocatable": { "cpu": "8", "pods": 10 }, "labels": { "disk": "ssd" } },
        ],
        "scanIntervalSeconds": 1, "unneededSeconds": 5,
    });
    config.as_object_mut().expect("a mapping").extend(extra.as_object().expect("a mapping").clone());
    config
}

fn bench(extra: Value) -> Bench {
    Bench::new(&[(&DESCRIPTOR, config(extra))])
}

/// A pod that the scheduler found no node for.
fn pending(bench: &Bench, name: &str, cpu: &str, selector: Value) -> StoredPodRow {
    bench.create(json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "namespace": "default" },
        "spec": { "nodeSelector": selector, "containers": [{ "name": "c", "resources": { "requests": { "cpu": cpu } } }] } }));
    let row = *bench.pods().last().expect("just created");
    let condition = ConditionPatch {
        type_: "PodScheduled",
        status: ConditionStatus::False,
        reason: "Unschedulable",
        message: "",
    };
    let (condition, nomination) = (Some(ConditionEdit::Set(condition)), NominatedNodeNamePatch::Keep);
    let patch = PodStatusPatch { pod: row.uid, condition, nomination, phase: None };
    bench.api.patch_pod_status(patch).expect("there");
    row
}

fn nodes(bench: &Bench) -> Vec<String> {
    let mut names: Vec<String> = bench.api.nodes_now().iter().map(|node| node.input.name.clone()).collect();
    names.sort();
    names
}

#[test]
fn pods_that_fit_nowhere_get_nodes_of_the_first_group_that_suits_them() {
    let mut bench = bench(json!({ "provisionSeconds": 3 }));
    for name in ["a", "b", "c"] {
        pending(&bench, name, "1", json!({}));
    }
    pending(&bench, "ssd", "1", json!({ "disk": "ssd" }));
    pending(&bench, "big", "4", json!({}));
    pending(&bench, "huge", "100", json!({}));
    bench.settle();
    assert_eq!(nodes(&bench), [""; 0], "machines take three seconds");
    assert_eq!(bench.controllers[0].remaining(), Remaining::Timers);
    bench.pass(3 * SECOND);
    assert_eq!(
        nodes(&bench),
        ["large-auto-3", "small-auto-1", "small-auto-2"],
        "two of 1 CPU on each small one"
    );
    assert_eq!(bench.counter(0, "nodes_added"), 3);
    bench.pass(2 * SECOND);
    assert_eq!(nodes(&bench).len(), 3, "room that is there is not ordered again");
}

#[test]
fn group_has_no_more_nodes_than_its_maximum() {
    let mut bench = bench(json!({ "scaleDown": false }));
    for number in 0..20 {
        pending(&bench, &format!("p{number}"), "2", json!({}));
    }
    for _ in 0..5 {
        bench.pass(SECOND);
    }
    assert_eq!(nodes(&bench).len(), 5, "three small ones and two large ones");
    assert_eq!(bench.controllers[0].remaining(), Remaining::Nothing);
}

#[test]
fn pods_are_nominated_to_their_nodes_only_if_asked() {
    for nominates in [false, true] {
        let mut bench = bench(json!({ "nominatesPods": nominates }));
        pending(&bench, "a", "1", json!({}));
        bench.settle();
        let nominated = bench.pods()[0].nominated.map(|node| bench.api.node_name(node).to_string());
        assert_eq!(nominated.as_deref(), nominates.then_some("small-auto-1"));
        assert_eq!(bench.counter(0, "pods_nominated"), u64::from(nominates));
    }
}

#[test]
fn idle_node_goes_and_node_with_a_pod_stays() {
    let mut bench = bench(json!({}));
    pending(&bench, "a", "2", json!({}));
    pending(&bench, "b", "2", json!({}));
    bench.settle();
    assert_eq!(nodes(&bench), ["small-auto-1", "small-auto-2"]);
    bench.bind(&bench.pods()[0], "small-auto-1");
    bench.api.delete_pod(bench.pods()[1].uid).expect("there");
    bench.settle();
    bench.pass(4 * SECOND);
    assert_eq!(nodes(&bench).len(), 2, "not before its time");
    bench.pass(2 * SECOND);
    assert_eq!(nodes(&bench), ["small-auto-1"]);
    bench.pass(100 * SECOND);
    assert_eq!((nodes(&bench).len(), bench.counter(0, "nodes_removed_wrongly")), (1, 0));
}

#[test]
fn node_that_a_pod_is_nominated_to_is_idle_only_for_one_who_does_not_look() {
    for honours in [true, false] {
        let mut bench = bench(json!({ "honoursNominations": honours }));
        pending(&bench, "a", "1", json!({}));
        bench.settle();
        let (row, node) = (bench.pods()[0], bench.api.node_name_id("small-auto-1"));
        let nomination = NominatedNodeNamePatch::Set(node);
        let patch = PodStatusPatch { pod: row.uid, condition: None, nomination, phase: None };
        bench.api.patch_pod_status(patch).expect("there");
        bench.settle();
        bench.pass(6 * SECOND);
        bench.pass(SECOND);
        assert_eq!(nodes(&bench).contains(&"small-auto-1".to_owned()), honours);
        bench.bind(&row, "small-auto-1");
        bench.settle();
        assert_eq!(bench.counter(0, "nodes_removed_wrongly"), u64::from(!honours));
    }
}

#[test]
fn group_keeps_its_minimum() {
    let groups = json!([{ "name": "g", "min": 1, "max": 3, "allocatable": { "cpu": 1, "pods": 10 } }]);
    let mut bench = bench(json!({ "nodeGroups": groups }));
    pending(&bench, "a", "1", json!({}));
    pending(&bench, "b", "1", json!({}));
    bench.settle();
    bench.pods().iter().for_each(|row| bench.api.delete_pod(row.uid).expect("there"));
    bench.settle();
    bench.pass(20 * SECOND);
    assert_eq!(nodes(&bench).len(), 1);
    bench.api.delete(&ObjectKey::node(&nodes(&bench)[0]), None).expect("there");
    bench.settle();
    assert_eq!(bench.controllers[0].remaining(), Remaining::Nothing);
}

#[test]
fn bad_configuration_is_refused_by_name() {
    let refused = |config: Value| {
        let settings = ControllerSettings { config: Some(config), ..ControllerSettings::default() };
        (DESCRIPTOR.constructor)(&settings).err().expect("refused").to_string()
    };
    let group = |group: Value| json!({ "nodeGroups": [group] });
    let cases = [
        (
            json!({ "nodeGroups": [] }),
            "`config.nodeGroups` is []; write a list of node groups, each with `name`, `max` and `allocatable`",
        ),
        (
            group(json!({ "name": "a", "max": -1, "allocatable": { "cpu": 1 } })),
            "`config.nodeGroups[].max` is -1; write a whole number of at least 0",
        ),
        (
            group(json!({ "name": "a", "max": 1, "allocatable": { "cpu": "many" } })),
            "`config.nodeGroups[].allocatable` is \"many\"; write a quantity, as 500m or 16Gi",
        ),
        (
            group(json!({ "name": "a", "size": 1 })),
            "unknown field `size` of `config.nodeGroups[]`; known: name, min, max, allocatable, labels, taints",
        ),
        (
            config(json!({ "nominatesPods": "often" })),
            "`config.nominatesPods` is \"often\"; write true or false",
        ),
    ];
    for (config, expected) in cases {
        assert_eq!(refused(config), expected);
    }
}
