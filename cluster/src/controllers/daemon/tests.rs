//! Daemon sets against a cluster.

use serde_json::{Value, json};

use super::DESCRIPTOR;
use crate::api::{Api, ObjectKey, PodPhase};
use crate::controllers::testing::{Bench, owner, plain};

fn names(bench: &Bench) -> Vec<String> {
    let node = |pod: Value| {
        let required = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
        let path = format!("{required}/nodeSelectorTerms/0/matchFields/0/values/0");
        pod.pointer(&path).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let mut names: Vec<String> = bench.pods().iter().map(|row| node(bench.pod(row))).collect();
    names.sort();
    names
}

#[test]
fn daemon_pods_carry_affinity_tolerations_and_owner() {
    let mut bench = Bench::new(&[plain(&DESCRIPTOR)]);
    bench.node("a", "1");
    bench.node("b", "1");
    bench.create(owner("apps/v1", "DaemonSet", "log", json!({})));
    bench.settle();
    assert_eq!(names(&bench), ["a", "b"]);
    let pod = bench.pod(&bench.pods()[0]);
    assert_eq!(pod["metadata"]["ownerReferences"][0]["kind"], json!("DaemonSet"));
    let tolerations = pod["spec"]["tolerations"].as_array().expect("a list");
    let shown: Vec<String> = tolerations
        .iter()
        .map(|it| {
            format!(
                "{}:{}{}",
                it["key"].as_str().unwrap_or(""),
                it["effect"].as_str().unwrap_or(""),
                it["tolerationSeconds"]
            )
        })
        .map(|text| text.replace("node.kubernetes.io/", "").replace("null", ""))
        .collect();
    let expected = [
        "not-ready:NoExecute",
        "unreachable:NoExecute",
        "disk-pressure:NoSchedule",
        "memory-pressure:NoSchedule",
        "pid-pressure:NoSchedule",
        "unschedulable:NoSchedule",
    ];
    assert_eq!(shown, expected, "for ever, so that admission adds no 300 s");
    bench.settle();
    assert_eq!(bench.status("apps/v1", "DaemonSet", "log")["desiredNumberScheduled"], json!(2));
}

#[test]
fn nodes_that_come_and_go_get_and_lose_their_pod() {
    let mut bench = Bench::new(&[plain(&DESCRIPTOR)]);
    bench.node("a", "1");
    bench.create(owner("apps/v1", "DaemonSet", "log", json!({})));
    bench.settle();
    bench.node("b", "1");
    bench.settle();
    assert_eq!(names(&bench), ["a", "b"]);
    bench.api.delete(&ObjectKey::node("a"), None).expect("there");
    bench.settle();
    assert_eq!(names(&bench), ["b"]);
    bench.finish(&bench.pods()[0], PodPhase::Failed);
    bench.settle();
    assert_eq!((names(&bench), bench.counter(0, "pods_created")), (vec!["b".to_owned()], 3));
    bench.api.delete_pod(bench.pods()[0].uid).expect("there");
    bench.settle();
    assert_eq!(names(&bench), ["b"]);
}

#[test]
fn daemon_runs_where_its_selector_and_the_taints_let_it() {
    let taint = |effect: &str| json!([{ "key": "gpu", "effect": effect }]);
    let node = |labels: Value, taints: Value| {
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n", "labels": labels },
            "spec": { "taints": taints } })
    };
    let fast = json!({ "disk": "fast" });
    // Whether a pod is made, and whether one that is there stays.
    let cases = [
        ("selected", node(fast.clone(), json!([])), 1, 1),
        ("not selected", node(json!({}), json!([])), 0, 0),
        ("NoSchedule", node(fast.clone(), taint("NoSchedule")), 0, 1),
        ("NoExecute", node(fast.clone(), taint("NoExecute")), 0, 0),
        (
            "cordoned",
            node(
                fast.clone(),
                json!([{ "key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule" }]),
            ),
            1,
            1,
        ),
    ];
    let template = json!({ "metadata": { "labels": { "app": "log" } },
        "spec": { "containers": [{ "name": "c" }], "nodeSelector": { "disk": "fast" } } });
    let set = || owner("apps/v1", "DaemonSet", "log", json!({ "template": template.clone() }));
    for (name, changed, made, stays) in cases {
        let mut bench = Bench::new(&[plain(&DESCRIPTOR)]);
        bench.create(changed.clone());
        bench.create(set());
        bench.settle();
        assert_eq!(bench.pods().len(), made, "case: {name}, made");
        let mut bench = Bench::new(&[plain(&DESCRIPTOR)]);
        bench.create(node(fast.clone(), json!([])));
        bench.create(set());
        bench.settle();
        bench.update(changed);
        bench.settle();
        assert_eq!(bench.pods().len(), stays, "case: {name}, stays");
    }
}
