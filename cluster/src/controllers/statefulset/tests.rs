//! Stateful sets against a cluster.

use serde_json::{Value, json};

use super::DESCRIPTOR;
use crate::api::{Api, PodPhase};
use crate::controllers::testing::{Bench, owner, plain};

fn set(replicas: i64, policy: &str) -> Value {
    owner(
        "apps/v1",
        "StatefulSet",
        "db",
        json!({ "replicas": replicas, "podManagementPolicy": policy, "serviceName": "db",
            "volumeClaimTemplates": [{ "metadata": { "name": "data" } }] }),
    )
}

fn names(bench: &Bench) -> Vec<String> {
    bench.pods().iter().map(|row| bench.api.pod_name(row.name)).collect()
}

#[test]
fn ordered_pods_come_one_after_the_other_and_go_the_other_way() {
    let mut bench = Bench::new(&[plain(&DESCRIPTOR)]);
    bench.create(set(3, "OrderedReady"));
    bench.settle();
    assert_eq!(names(&bench), ["db-0"]);
    bench.run(&bench.pods()[0], false);
    bench.settle();
    assert_eq!(names(&bench), ["db-0"], "not ready yet");
    for count in 1..=3 {
        assert_eq!(bench.pods().len(), count);
        bench.run(&bench.pods()[count - 1], true);
        bench.settle();
    }
    let pod = bench.pod(&bench.pods()[1]);
    assert_eq!(pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"], json!("data-db-1"));
    assert_eq!(pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"], json!("1"));
    bench.update(set(1, "OrderedReady"));
    bench.settle();
    assert_eq!(names(&bench), ["db-0"]);
}

#[test]
fn parallel_pods_come_at_once_and_a_failed_one_comes_back_under_its_name() {
    let mut bench = Bench::new(&[plain(&DESCRIPTOR)]);
    bench.create(set(3, "Parallel"));
    bench.settle();
    assert_eq!(names(&bench), ["db-0", "db-1", "db-2"]);
    bench.finish(&bench.pods()[1], PodPhase::Failed);
    bench.settle();
    let mut left = names(&bench);
    left.sort();
    assert_eq!(left, ["db-0", "db-1", "db-2"]);
    assert!(bench.pods().iter().all(|row| !row.phase.is_finished()));
}
