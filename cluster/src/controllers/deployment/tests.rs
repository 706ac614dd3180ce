//! Deployments against a cluster, with the controller of their replica sets beside them.

use serde_json::{Value, json};

use super::DESCRIPTOR;
use crate::api::{Api, ListQuery, Object, ObjectKey};
use crate::controllers::replicaset;
use crate::controllers::testing::{Bench, owner, plain};

fn deployment(replicas: i64, cpu: &str) -> Value {
    let template = json!({ "metadata": { "labels": { "app": "web" } },
        "spec": { "containers": [{ "name": "c", "resources": { "requests": { "cpu": cpu } } }] } });
    owner("apps/v1", "Deployment", "web", json!({ "replicas": replicas, "template": template }))
}

fn bench() -> Bench {
    Bench::new(&[plain(&DESCRIPTOR), plain(&replicaset::DESCRIPTOR)])
}

/// Replica sets, by the size they ask for.
fn sizes(bench: &Bench) -> Vec<i64> {
    let sets = bench.api.list(&ListQuery::all("apps/v1", "ReplicaSet")).expect("a list").items;
    let size = |set: Object| set.into_other().expect("another kind").body["spec"]["replicas"].as_i64();
    let mut sizes: Vec<i64> = sets.into_iter().filter_map(size).collect();
    sizes.sort_unstable();
    sizes
}

/// All pods run and are ready.
fn run_all(bench: &mut Bench) {
    for row in bench.pods().iter().filter(|row| row.phase != crate::api::PodPhase::Running) {
        bench.run(row, true);
    }
    bench.settle();
}

#[test]
fn deployment_has_a_replica_set_of_its_template_that_owns_the_pods() {
    let mut bench = bench();
    bench.create(deployment(3, "1"));
    bench.settle();
    assert_eq!((sizes(&bench), bench.pods().len()), (vec![3], 3));
    let pod = bench.pod(&bench.pods()[0]);
    assert_eq!(pod["metadata"]["ownerReferences"][0]["kind"], json!("ReplicaSet"));
    assert!(pod["metadata"]["labels"]["pod-template-hash"].is_string());
    run_all(&mut bench);
    let status = bench.status("apps/v1", "Deployment", "web");
    assert_eq!(
        (&status["replicas"], &status["updatedReplicas"], &status["availableReplicas"]),
        (&json!(3), &json!(3), &json!(3))
    );
    bench.update(deployment(5, "1"));
    bench.settle();
    assert_eq!(sizes(&bench), [5], "a new size is no new template");
}

#[test]
fn new_template_rolls_over_a_few_pods_at_a_time() {
    let mut bench = bench();
    bench.create(deployment(8, "1"));
    bench.settle();
    run_all(&mut bench);
    bench.update(deployment(8, "2"));
    bench.settle();
    // A quarter more than asked for, a quarter of which may be unavailable: as many new ones as that leaves.
    assert_eq!(sizes(&bench), [4, 6]);
    assert_eq!(bench.pods().len(), 10);
    for _ in 0..10 {
        run_all(&mut bench);
        assert!(6 <= bench.pods().len() && bench.pods().len() <= 10);
    }
    assert_eq!((sizes(&bench), bench.pods().len()), (vec![0, 8], 8), "the old set is kept for a rollback");
    let status = bench.status("apps/v1", "Deployment", "web");
    assert_eq!((&status["updatedReplicas"], &status["unavailableReplicas"]), (&json!(8), &json!(0)));
    bench.update(deployment(8, "1"));
    bench.settle();
    assert_eq!(sizes(&bench), [4, 6], "going back uses the set there was");
}

#[test]
fn pods_of_a_deleted_deployment_go_with_its_replica_sets() {
    let mut bench = bench();
    bench.create(deployment(2, "1"));
    bench.settle();
    let key = ObjectKey::namespaced("apps/v1", "Deployment", "default", "web");
    bench.api.delete(&key, None).expect("there");
    bench.settle();
    assert_eq!((sizes(&bench), bench.pods().len()), (vec![], 0));
}

#[test]
fn paused_deployment_is_left_as_it_is() {
    let mut bench = bench();
    let mut paused = deployment(2, "1");
    paused["spec"]["paused"] = json!(true);
    bench.create(paused);
    bench.settle();
    assert_eq!(bench.pods().len(), 0);
    bench.update(deployment(2, "1"));
    bench.settle();
    assert_eq!(bench.pods().len(), 2);
}
