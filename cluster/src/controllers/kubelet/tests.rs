//! Kubelets against a cluster.

use serde_json::{Value, json};

use super::DESCRIPTOR;
use crate::api::{Api, ObjectKey, PodPhase};
use crate::controllers::testing::{Bench, SECOND, plain};

fn asking(name: &str, cpu: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "namespace": "default" },
        "spec": { "containers": [{ "name": "c", "resources": { "requests": { "cpu": cpu } } }] } })
}

fn phases(bench: &Bench) -> Vec<PodPhase> {
    bench.pods().iter().map(|row| row.phase).collect()
}

#[test]
fn bound_pods_run_and_the_one_without_room_is_refused() {
    let mut bench = Bench::new(&[plain(&DESCRIPTOR)]);
    bench.node("n", "2");
    ["a", "b", "c"].into_iter().for_each(|name| drop(bench.create(asking(name, "1"))));
    bench.settle();
    assert_eq!(phases(&bench), [PodPhase::Pending; 3], "nobody has bound them");
    bench.pods().iter().for_each(|row| bench.bind(row, "n"));
    bench.settle();
    assert_eq!(phases(&bench), [PodPhase::Running, PodPhase::Running, PodPhase::Failed]);
    let refused = bench.pod(&bench.pods()[2]);
    let conditions = refused["status"]["conditions"].as_array().expect("a list").clone();
    let ready = conditions.iter().find(|it| it["type"] == "Ready").expect("the kubelet says so");
    assert_eq!(
        (&ready["reason"], &ready["message"]),
        (
            &json!("OutOfcpu"),
            &json!("Node didn't have enough resource: cpu, requested: 1, used: 2, capacity: 2")
        )
    );
    // Room that is given back is taken by the next.
    bench.api.delete_pod(bench.pods()[0].uid).expect("there");
    bench.create(asking("d", "1"));
    bench.settle();
    bench.bind(bench.pods().last().expect("d"), "n");
    bench.settle();
    assert_eq!(phases(&bench).last(), Some(&PodPhase::Running));
    assert_eq!((bench.counter(0, "pods_started"), bench.counter(0, "pods_refused")), (3, 1));
}

#[test]
fn pods_start_and_end_when_their_time_has_come() {
    let config = json!({ "startupSeconds": 2, "lifetimeSeconds": 10 });
    let mut bench = Bench::new(&[(&DESCRIPTOR, config)]);
    bench.node("n", "2");
    bench.create(asking("a", "1"));
    bench.bind(&bench.pods()[0], "n");
    bench.settle();
    for (seconds, expected) in
        [(1, PodPhase::Pending), (1, PodPhase::Running), (9, PodPhase::Running), (1, PodPhase::Succeeded)]
    {
        bench.pass(seconds * SECOND);
        assert_eq!(phases(&bench), [expected]);
    }
    assert_eq!(bench.controllers[0].remaining(), crate::controllers::Remaining::Nothing);
}

#[test]
fn pod_on_a_node_that_is_not_there_waits_for_it() {
    let mut bench = Bench::new(&[plain(&DESCRIPTOR)]);
    bench.create(asking("a", "1"));
    bench.bind(&bench.pods()[0], "late");
    bench.settle();
    assert_eq!(phases(&bench), [PodPhase::Pending]);
    bench.node("late", "1");
    bench.settle();
    assert_eq!(phases(&bench), [PodPhase::Running]);
    bench.api.delete(&ObjectKey::node("late"), None).expect("there");
    bench.settle();
    assert_eq!(phases(&bench), [PodPhase::Running], "nobody else has said so");
}

#[test]
fn bad_configuration_is_refused_by_name() {
    let refused = |config: Value| {
        let settings = crate::controllers::ControllerSettings { config: Some(config), ..Default::default() };
        (DESCRIPTOR.constructor)(&settings).err().expect("refused").to_string()
    };
    assert_eq!(
        refused(json!({ "lifetime": "uniform" })),
        "`config.lifetime` is \"uniform\"; write `fixed`, `exponential` or `logNormal`"
    );
    assert_eq!(
        refused(json!({ "startupSeconds": -1 })),
        "`config.startupSeconds` is -1; write a number of at least 0"
    );
}
