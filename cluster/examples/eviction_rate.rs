//! What the controllers that evict cost.
//!
//! `cargo run --release -p schedlab-cluster --example eviction_rate`
//!
//! - `evictions`: pods that leave because their node lost a label (KEP-2358), a second, from the node's update to the
//!   last deletion in the embedded cluster.
//! - `label update`: a label of a node with a thousand pods changes, and no pod carries the term; what the controller
//!   does about it, in nanoseconds, the median of many.
#![allow(clippy::print_stdout, reason = "an example shows its numbers")]

use std::sync::Arc;
use std::time::Instant;

use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{Api, Object, WatchEvent};
use schedlab_cluster::clock::monotonic_ns;
use schedlab_cluster::controllers::{ControllerSettings, taint_eviction};
use schedlab_cluster::runtime::virtual_time::VirtualController;
use serde_json::{Value, json};

const NODES: usize = 100;
const PODS_PER_NODE: u32 = 1_000;
const ROUNDS: usize = 5;
const UPDATES: usize = 10_000;

fn main() {
    let rates: Vec<f64> = (0..ROUNDS).map(|_| evictions_per_second()).collect();
    println!("evictions: {:.0} pods/s", schedlab_stats::median(&rates));
    println!("label update: {:.0} ns", schedlab_stats::median(&label_updates_ns()));
}

fn cache_node(number: usize, labels: &Value) -> Object {
    let amounts = json!({ "cpu": "1000", "pods": "2000" });
    object(
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": format!("n{number}"), "labels": labels },
        "status": { "capacity": amounts, "allocatable": amounts } }),
    )
}

fn object(value: Value) -> Object {
    Object::from_json(value).expect("an object")
}

/// A cluster of such nodes, each with a thousand pods of this affinity.
fn cluster(nodes: usize, affinity: &Value) -> EmbeddedCluster {
    let api = EmbeddedCluster::new(Arc::new(monotonic_ns));
    api.keep_execution_affinity();
    for number in 0..nodes {
        api.create(cache_node(number, &json!({ "app": "cache" }))).expect("a node");
        let pod = json!({ "metadata": { "generateName": "p-" }, "spec": { "nodeName": format!("n{number}"),
            "affinity": affinity, "containers": [{ "name": "c", "image": "i" }] } });
        let pod = object({
            let mut pod = pod;
            pod["apiVersion"] = json!("v1");
            pod["kind"] = json!("Pod");
            pod
        });
        let pod = pod.into_pod().expect("a pod");
        let template = api.pod_template(*pod, "default").expect("a template");
        api.create_pods(&template, PODS_PER_NODE).expect("pods");
    }
    api
}

fn controller(api: &EmbeddedCluster) -> VirtualController {
    let mut controller =
        VirtualController::new(&taint_eviction::DESCRIPTOR, &ControllerSettings::default(), 1)
            .expect("it needs no configuration");
    controller.list(api, monotonic_ns()).expect("the store lists");
    controller
}

#[allow(clippy::cast_precision_loss, reason = "a rate")]
fn evictions_per_second() -> f64 {
    let term = json!({ "matchExpressions": [{ "key": "app", "operator": "In", "values": ["cache"] }] });
    let affinity = json!({ "nodeAffinity": {
        "requiredDuringSchedulingRequiredDuringExecution": { "nodeSelectorTerms": [term] } } });
    let api = cluster(NODES, &affinity);
    let mut controller = controller(&api);
    let mut watch = api.watch(api.resource_version()).expect("the log has it");
    let mut events: Vec<WatchEvent> = Vec::new();
    let begun = Instant::now();
    for number in 0..NODES {
        api.update(cache_node(number, &json!({}))).expect("a node");
        watch.drain_into(&mut events).expect("the log has it");
        events.drain(..).for_each(|event| controller.deliver(&event, &api, monotonic_ns()));
        while 0 < controller.perform_calls(&api, monotonic_ns()) {}
    }
    let seconds = begun.elapsed().as_secs_f64();
    assert_eq!(api.pod_count(), 0, "all of them had to go");
    NODES as f64 * f64::from(PODS_PER_NODE) / seconds
}

#[allow(clippy::cast_precision_loss, reason = "nanoseconds")]
fn label_updates_ns() -> Vec<f64> {
    let api = cluster(1, &Value::Null);
    let mut controller = controller(&api);
    let mut watch = api.watch(api.resource_version()).expect("the log has it");
    let mut events: Vec<WatchEvent> = Vec::new();
    let mut took = Vec::with_capacity(UPDATES);
    for update in 0..UPDATES {
        let label = if update % 2 == 0 { "one" } else { "other" };
        api.update(cache_node(0, &json!({ "app": label }))).expect("a node");
        watch.drain_into(&mut events).expect("the log has it");
        let begun = Instant::now();
        for event in &events {
            controller.deliver(event, &api, 0);
        }
        let calls = controller.perform_calls(&api, 0);
        took.push(begun.elapsed().as_nanos() as f64);
        assert_eq!(calls, 0, "nobody has to go");
        events.clear();
    }
    took
}
