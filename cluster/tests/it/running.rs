//! What a watch of running pods leaves out, and what the taint eviction controller makes of it.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{Api, Binding, EventKind, RunningWatch, WatchedObject};
use schedlab_cluster::controllers::{ControllerReport, ControllerSettings, taint_eviction};
use schedlab_cluster::convert::EXECUTION_AFFINITY;
use schedlab_cluster::runtime::WallController;
use schedlab_core::ids::PodUid;
use schedlab_testkit::manifest::node;
use serde_json::{Value, json};

use crate::support::{cluster, create, object, pod_value};

/// Long enough for any machine; a test that waits this long fails.
const PATIENCE: Duration = Duration::from_secs(60);

fn gated_cluster() -> EmbeddedCluster {
    let cluster = cluster();
    cluster.keep_execution_affinity();
    cluster
}

fn create_on(cluster: &EmbeddedCluster, pod: Value, node: &str) -> PodUid {
    let created = create(cluster, pod);
    let uid = created.metadata().uid.as_deref().and_then(schedlab_cluster::api::parse_pod_uid);
    let pod = uid.expect("a stored pod has a UID");
    cluster.bind_pod(Binding { pod, node: cluster.node_name_id(node) }).expect("the pod is free");
    pod
}

/// A pod that has to be on a node of caches while it runs.
fn asking(name: &str) -> Value {
    let terms = json!([{ "matchExpressions": [{ "key": "app", "operator": "In", "values": ["cache"] }] }]);
    let mut pod = pod_value(name);
    pod["metadata"]["annotations"] =
        json!({ EXECUTION_AFFINITY: json!({ "nodeSelectorTerms": terms }).to_string() });
    pod
}

fn cache_node(name: &str, taints: &Value) -> Value {
    node(name).has("cpu", "4").label("app", "cache").set("/spec/taints", taints.clone()).into()
}

fn no_execute() -> Value {
    json!([{ "key": "down", "effect": "NoExecute" }])
}

/// `+n1` is a node that came, `~7` a pod that changed, `-7` one that went.
fn drained(watch: &mut Box<dyn RunningWatch>) -> Vec<String> {
    let mut events = Vec::new();
    watch.drain_into(&mut events).expect("the events are kept");
    shown(&events)
}

fn shown(events: &[schedlab_cluster::api::WatchEvent]) -> Vec<String> {
    let show = |event: &schedlab_cluster::api::WatchEvent| {
        let sign = match event.kind {
            EventKind::Added => '+',
            EventKind::Modified => '~',
            EventKind::Deleted => '-',
        };
        match &event.object {
            WatchedObject::Pod(row) => format!("{sign}{}", row.uid.0),
            WatchedObject::Node(entry) => format!("{sign}{}", entry.input.name),
            WatchedObject::PodEvent(event) => format!("{sign}event {}", event.number),
            WatchedObject::Other(object) => format!("{sign}{}", object.kind),
        }
    };
    events.iter().map(show).collect()
}

#[test]
fn plain_pods_are_left_out_of_the_watch_until_all_pods_are_followed() {
    let cluster = gated_cluster();
    create(&cluster, cache_node("n1", &json!([])));
    let from = cluster.resource_version();
    let missed = create_on(&cluster, asking("missed"), "n1");
    let mut watch = cluster.watch_running(from).expect("the version is kept");
    assert_eq!(drained(&mut watch), [format!("~{}", missed.0)], "what came before it was opened");

    let plain = create_on(&cluster, pod_value("plain"), "n1");
    create(&cluster, json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "s" } }));
    assert!(!watch.wait(Duration::ZERO), "nothing of this is news");
    assert_eq!(drained(&mut watch), [] as [String; 0]);
    assert_eq!(watch.seen_version(), cluster.resource_version(), "it has seen them nevertheless");

    let asks = create_on(&cluster, asking("asks"), "n1");
    create(&cluster, cache_node("n2", &json!([])));
    cluster.delete_pod(missed).expect("it exists");
    let news = [format!("~{}", asks.0), "+n2".to_owned(), format!("-{}", missed.0)];
    assert_eq!(drained(&mut watch), news);

    create_on(&cluster, asking("late"), "n1");
    let unbound = create(&cluster, pod_value("unbound"));
    let mut events = Vec::new();
    watch.follow_all(&mut events).expect("the events are kept");
    let late = plain.0 + 2;
    assert_eq!(shown(&events), [format!("~{late}"), format!("+{}", plain.0)], "{unbound:?} is on no node");
    cluster.delete_pod(plain).expect("it exists");
    let next = create_on(&cluster, pod_value("next"), "n2");
    assert_eq!(drained(&mut watch), [format!("-{}", plain.0), format!("~{}", next.0)]);
}

#[test]
fn waiting_follower_is_woken_by_relevant_events_only() {
    let cluster = gated_cluster();
    let mut watch = cluster.watch_running(cluster.resource_version()).expect("the version exists");
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut events = Vec::new();
            // A wait may end early, so it is repeated until the event is there.
            while watch.drain_into(&mut events).expect("the events are kept") == 0 {
                watch.wait(PATIENCE);
            }
            shown(&events)
        });
        create(&cluster, pod_value("plain"));
        create(&cluster, cache_node("n1", &json!([])));
        assert_eq!(reader.join().expect("the reader ends"), ["+n1"]);
    });
}

/// Runs the controller while `work` is done, until it has dealt with all of it.
fn managed(cluster: &EmbeddedCluster, work: impl FnOnce(&dyn Fn())) -> ControllerReport {
    let api: Arc<dyn Api> = Arc::new(cluster.clone());
    let (descriptor, settings) = (&taint_eviction::DESCRIPTOR, ControllerSettings::default());
    let manager = WallController::start_shards(api, descriptor, &settings, 2).expect("threads");
    let settle = || {
        let end = Instant::now() + PATIENCE;
        while !manager.is_quiescent(cluster.resource_version()) {
            assert!(Instant::now() < end, "the controller never rests");
            thread::yield_now();
        }
    };
    work(&settle);
    settle();
    manager.stop().expect("the threads end well")
}

#[test]
fn first_no_execute_taint_evicts_running_and_later_plain_pods() {
    let cluster = gated_cluster();
    for name in ["n1", "n2"] {
        create(&cluster, cache_node(name, &json!([])));
    }
    create_on(&cluster, pod_value("before-the-manager"), "n1");
    let report = managed(&cluster, |settle| {
        create_on(&cluster, pod_value("after-it"), "n1");
        let stays = create_on(&cluster, pod_value("elsewhere"), "n2");
        settle();
        assert_eq!(cluster.pod_count(), 3, "nobody has a reason to go");
        cluster.update(object(cache_node("n1", &no_execute()))).expect("the node exists");
        settle();
        assert_eq!(cluster.pod_count(), 1, "those on the tainted node went");
        create_on(&cluster, pod_value("too-late"), "n1");
        settle();
        assert!(cluster.pod_row(stays).is_some(), "it is on the other node");
    });
    assert_eq!((report.counter("evicted_by_taint"), report.counter("evicted_by_affinity")), (3, 0));
    assert_eq!(report.counter("already_gone"), 0);
}

#[test]
fn eviction_manager_started_beside_tainted_node_follows_all_pods() {
    let cluster = gated_cluster();
    create(&cluster, cache_node("n1", &no_execute()));
    create_on(&cluster, pod_value("runs"), "n1");
    let report = managed(&cluster, |settle| {
        settle();
        create_on(&cluster, pod_value("comes"), "n1");
    });
    assert_eq!(report.counter("evicted_by_taint"), 2);
    assert_eq!(cluster.pod_count(), 0);
}

#[test]
fn pod_with_execution_affinity_created_later_is_followed() {
    let cluster = gated_cluster();
    create(&cluster, cache_node("n1", &json!([])));
    let report = managed(&cluster, |settle| {
        create_on(&cluster, pod_value("plain"), "n1");
        settle();
        create_on(&cluster, asking("asks"), "n1");
        settle();
        let mut other = cache_node("n1", &json!([]));
        other["metadata"]["labels"] = json!({});
        cluster.update(object(other)).expect("the node exists");
    });
    assert_eq!((report.counter("evicted_by_affinity"), report.counter("pods_checked")), (1, 2));
    assert_eq!(cluster.pod_count(), 1, "the plain one stays");
}
