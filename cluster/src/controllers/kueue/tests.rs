//! Kueue's model against a cluster, without a scheduler.

use serde_json::{Value, json};

use super::{ADMISSION_GATE, DESCRIPTOR, POD_GROUP_NAME, POD_GROUP_TOTAL_COUNT};
use crate::controllers::testing::{Bench, SECOND};
use crate::controllers::{ControllerSettings, Remaining};

fn bench(extra: Value) -> Bench {
    let mut config = json!({ "topologyKey": "rack", "admissionSeconds": 2 });
    config.as_object_mut().expect("a mapping").extend(extra.as_object().expect("a mapping").clone());
    let bench = Bench::new(&[(&DESCRIPTOR, config)]);
    for (name, rack, cpu) in [("a1", "a", "1"), ("a2", "a", "1"), ("b1", "b", "2"), ("b2", "b", "1")] {
        let amounts = json!({ "cpu": cpu, "pods": "10" });
        bench.create(json!({ "apiVersion": "v1", "kind": "Node",
            "metadata": { "name": name, "labels": { "rack": rack, "kubernetes.io/hostname": name } },
            "status": { "capacity": amounts, "allocatable": amounts } }));
    }
    bench
}

fn member(bench: &Bench, name: &str, total: u32) {
    bench.create(json!({ "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": "default", "labels": { POD_GROUP_NAME: "job" },
            "annotations": { POD_GROUP_TOTAL_COUNT: total.to_string() } },
        "spec": { "schedulingGates": [{ "name": ADMISSION_GATE }],
            "containers": [{ "name": "c", "resources": { "requests": { "cpu": "1" } } }] } }));
}

fn nominated(bench: &Bench) -> Vec<Option<String>> {
    let name = |node| crate::api::Api::node_name(&bench.api, node).to_string();
    bench.pods().iter().map(|row| row.nominated.map(name)).collect()
}

fn gates(bench: &Bench) -> usize {
    let has_gate = |row: &&crate::api::StoredPodRow| bench.pod(row)["spec"]["schedulingGates"].is_array();
    bench.pods().iter().filter(has_gate).count()
}

#[test]
fn group_is_admitted_as_a_whole_to_one_domain_with_room_for_all() {
    let mut bench = bench(json!({ "nominatesPods": true }));
    member(&bench, "p0", 3);
    member(&bench, "p1", 3);
    bench.settle();
    assert_eq!((nominated(&bench), gates(&bench)), (vec![None, None], 2), "one is missing");
    member(&bench, "p2", 3);
    bench.settle();
    let expected = ["b1", "b1", "b2"].map(|node| Some(node.to_owned()));
    assert_eq!(nominated(&bench), expected, "rack a has room for two");
    assert_eq!((gates(&bench), bench.controllers[0].remaining()), (3, Remaining::Timers));
    bench.pass(2 * SECOND);
    assert_eq!((gates(&bench), bench.counter(0, "pods_let_go")), (0, 3));
    for (row, node) in bench.pods().iter().zip(["b1", "b1", "a1"]) {
        bench.bind(row, node);
    }
    bench.settle();
    assert_eq!((bench.counter(0, "pods_as_decided"), bench.counter(0, "pods_elsewhere")), (2, 1));
    assert_eq!((bench.counter(0, "groups_together"), bench.counter(0, "groups_split")), (0, 1));
    assert_eq!(bench.controllers[0].remaining(), Remaining::Nothing);
}

#[test]
fn pinned_pods_ask_for_their_node_and_are_not_nominated() {
    let mut bench = bench(json!({ "pinsPods": true }));
    member(&bench, "p0", 1);
    bench.settle();
    bench.pass(2 * SECOND);
    assert_eq!(nominated(&bench), [None]);
    let pod = bench.pod(&bench.pods()[0]);
    assert_eq!(pod["spec"]["nodeSelector"], json!({ "kubernetes.io/hostname": "a1" }));
    bench.bind(&bench.pods()[0], "a1");
    bench.settle();
    assert_eq!((bench.counter(0, "pods_as_decided"), bench.counter(0, "groups_together")), (1, 1));
}

#[test]
fn group_without_room_waits_until_there_is_some() {
    let mut bench = bench(json!({}));
    for number in 0..4 {
        member(&bench, &format!("p{number}"), 4);
    }
    bench.settle();
    bench.pass(10 * SECOND);
    assert_eq!((gates(&bench), bench.counter(0, "groups_admitted")), (4, 0));
    assert_eq!(bench.controllers[0].remaining(), Remaining::Nothing);
    bench.node("c1", "4");
    let mut node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "c1",
        "labels": { "rack": "c", "kubernetes.io/hostname": "c1" } } });
    node["spec"] = json!({});
    bench.update(node);
    bench.settle();
    bench.pass(2 * SECOND);
    assert_eq!((gates(&bench), bench.counter(0, "groups_admitted")), (0, 1));
}

#[test]
fn bad_configuration_is_refused_by_name() {
    let settings = ControllerSettings { config: Some(json!({ "pins": true })), ..Default::default() };
    let error = (DESCRIPTOR.constructor)(&settings).err().expect("refused").to_string();
    assert_eq!(
        error,
        "unknown field `pins` of `config`; known: topologyKey, admissionSeconds, nominatesPods, pinsPods"
    );
}
