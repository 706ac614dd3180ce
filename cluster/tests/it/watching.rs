//! Watches.

use std::thread;
use std::time::Duration;

use schedlab_cluster::StatusReason;
use schedlab_cluster::api::{Api, Binding, EventKind, ListQuery, PodFilter, WatchEvent, WatchedObject};
use serde_json::json;

use crate::support::{FIRST_VERSION, cluster, create, create_pod, drain, node_value, template};

/// Long enough for any machine; a test that waits this long fails.
const PATIENCE: Duration = Duration::from_secs(60);

fn versions(events: &[WatchEvent]) -> Vec<u64> {
    events.iter().map(WatchEvent::resource_version).collect()
}

#[test]
fn all_kinds_come_in_one_ordered_stream() {
    let cluster = cluster();
    let mut watch = cluster.watch(cluster.resource_version()).expect("the version exists");
    create(&cluster, node_value("n1"));
    let pod = create_pod(&cluster, "web");
    create(&cluster, json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "s" } }));
    let node = cluster.node_name_id("n1");
    cluster.bind_pod(Binding { pod, node }).expect("the pod is free");
    cluster.delete_pod(pod).expect("the pod exists");

    let events = drain(&mut watch);
    let first = FIRST_VERSION + 1;
    assert_eq!(versions(&events), (first..first + 5).collect::<Vec<u64>>());
    let seen: Vec<(EventKind, &str)> = events
        .iter()
        .map(|event| {
            let kind = match &event.object {
                WatchedObject::Pod(_) => "Pod",
                WatchedObject::Node(_) => "Node",
                WatchedObject::PodEvent(_) => "Event",
                WatchedObject::Other(object) => object.kind.as_str(),
            };
            (event.kind, kind)
        })
        .collect();
    use EventKind::{Added, Deleted, Modified};
    assert_eq!(
        seen,
        [(Added, "Node"), (Added, "Pod"), (Added, "Service"), (Modified, "Pod"), (Deleted, "Pod")]
    );
    let WatchedObject::Pod(row) = &events[3].object else { panic!("the event is about a pod") };
    assert_eq!(row.node, Some(node));
}

#[test]
fn a_list_and_a_watch_from_it_miss_nothing_and_repeat_nothing() {
    let cluster = cluster();
    let web = template(&cluster, "web-");
    cluster.create_pods(&web, 3).expect("created");
    let rows = cluster.pods_in(PodFilter::default()).expect("a list");
    let objects = cluster.list(&ListQuery::all("v1", "Pod")).expect("a list");
    assert_eq!(rows.resource_version, objects.resource_version);
    assert_eq!((rows.rows.len(), objects.items.len()), (3, 3));
    cluster.create_pods(&web, 2).expect("created");
    let mut watch = cluster.watch(rows.resource_version).expect("the version is kept");
    let from = rows.resource_version;
    assert_eq!(versions(&drain(&mut watch)), [from + 1, from + 2]);
}

#[test]
fn expired_resource_version_is_gone() {
    let cluster = cluster();
    cluster.create_pods(&template(&cluster, "web-"), 100_000).expect("created");
    let refused = cluster.watch(0).map(drop).expect_err("the first events are trimmed");
    assert_eq!((refused.reason, refused.code()), (StatusReason::Gone, 410));
    assert!(refused.message.starts_with("too old resource version: 0 ("), "{}", refused.message);
    let refused = cluster.watch(10_000_000).map(drop).expect_err("the version does not exist");
    assert_eq!(refused.reason, StatusReason::Timeout);
}

#[test]
fn events_wait_for_the_slowest_reader() {
    let cluster = cluster();
    let web = template(&cluster, "web-");
    let mut slow = cluster.watch(FIRST_VERSION).expect("the version exists");
    let mut quick = cluster.watch(FIRST_VERSION).expect("the version exists");
    for _ in 0..10 {
        cluster.create_pods(&web, 10_000).expect("created");
        assert_eq!(drain(&mut quick).len(), 10_000);
    }
    assert_eq!(drain(&mut slow).len(), 100_000);
}

#[test]
fn blocking_watch_returns_on_write() {
    let cluster = cluster();
    let web = template(&cluster, "web-");
    let mut watch = cluster.watch(cluster.resource_version()).expect("the version exists");
    assert!(!watch.wait(Duration::ZERO), "nothing has happened");
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut events = Vec::new();
            // A wait may end early, so it is repeated until the event is there.
            while watch.drain_into(&mut events).expect("the events are kept") == 0 {
                watch.wait(PATIENCE);
            }
            events.len()
        });
        cluster.create_pods(&web, 1).expect("created");
        assert_eq!(reader.join().expect("the reader ends"), 1);
    });
    cluster.create_pods(&web, 1).expect("created");
    assert!(watch.wait(Duration::ZERO), "there is an event already");
}

#[test]
fn writers_and_a_reader_run_side_by_side() {
    let cluster = cluster();
    let mut watch = cluster.watch(cluster.resource_version()).expect("the version exists");
    let (a, b) = (template(&cluster, "a-"), template(&cluster, "b-"));
    let mut events = Vec::new();
    thread::scope(|scope| {
        for web in [&a, &b] {
            let cluster = &cluster;
            scope.spawn(move || {
                for _ in 0..100 {
                    cluster.create_pods(web, 10).expect("created");
                }
            });
        }
        while events.len() < 2000 {
            watch.wait(PATIENCE);
            watch.drain_into(&mut events).expect("the events are kept");
        }
    });
    let first = FIRST_VERSION + 1;
    assert_eq!(versions(&events), (first..first + 2000).collect::<Vec<u64>>());
}
