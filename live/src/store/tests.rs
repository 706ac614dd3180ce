use serde_json::{Value, json};

use super::*;
use crate::discovery::ServedKind;
use schedlab_core::scheduler::KINDS;

fn served(kind: &str) -> ServedKind {
    let row = KINDS.iter().find(|row| row.name == kind).expect("a kind");
    ServedKind { row, api_version: row.api_version.to_owned() }
}

fn read(kind: &str, object: &Value) -> ReadObject {
    ReadObject::read(object.to_string().as_bytes(), &served(kind)).expect("it can be read")
}

fn listed_pod(name: &str, version: u64, node: Option<&str>) -> ReadObject {
    let metadata = json!({
        "name": name, "namespace": "default", "uid": format!("uid-{name}"), "resourceVersion": version.to_string(),
        "creationTimestamp": "2026-01-01T00:00:00Z",
    });
    let volume = json!({"name": format!("kube-api-access-{name}"), "projected": {"sources": []}});
    let spec = json!({"containers": [{"name": "c"}], "nodeName": node, "volumes": [volume]});
    read("Pod", &json!({"metadata": metadata, "spec": spec}))
}

fn listed_node(name: &str, version: u64) -> ReadObject {
    read("Node", &json!({"metadata": {"name": name, "resourceVersion": version.to_string()}}))
}

fn service(name: &str, version: u64) -> ReadObject {
    let metadata = json!({"name": name, "namespace": "default", "resourceVersion": version.to_string()});
    read("Service", &json!({"metadata": metadata, "spec": {"selector": {"app": name}}}))
}

/// `+ web`, `~ web on n1`, `- n1`, since the last time.
fn news(state: &mut State, reader: u64) -> Vec<String> {
    let mut events = Vec::new();
    state.drain(reader, &mut events);
    let text = |event: WatchEvent| {
        let sign = match event.kind {
            EventKind::Added => '+',
            EventKind::Modified => '~',
            EventKind::Deleted => '-',
        };
        let what = match event.object {
            WatchedObject::Pod(row) => {
                let name = state.pod_named(row.name).map(|pod| pod.name.to_string()).unwrap_or_default();
                let node = row.node.map(|node| format!(" on {}", state.node_names.text(node.index())));
                name + &node.unwrap_or_default()
            }
            WatchedObject::Node(node) => node.input.name.clone(),
            WatchedObject::Other(object) => object.metadata.name.clone().unwrap_or_default(),
            WatchedObject::PodEvent(_) => unreachable!("events are not followed"),
        };
        format!("{sign} {what}")
    };
    events.into_iter().map(text).collect()
}

#[test]
fn relist_tells_what_came_changed_and_went_meanwhile() {
    let mut state = State::default();
    let reader = state.open();
    state.replace(
        "Pod",
        vec![listed_pod("a", 1, None), listed_pod("b", 2, None), listed_pod("c", 3, None)],
        10,
    );
    state.replace("Node", vec![listed_node("n1", 4), listed_node("n2", 5)], 10);
    state.replace("Service", vec![service("s", 6)], 10);
    assert_eq!(news(&mut state, reader), ["+ a", "+ b", "+ c", "+ n1", "+ n2", "+ s"]);
    state.replace(
        "Pod",
        vec![listed_pod("a", 1, None), listed_pod("b", 7, Some("n1")), listed_pod("d", 8, None)],
        20,
    );
    state.replace("Node", vec![listed_node("n2", 5), listed_node("n3", 9)], 20);
    state.replace("Service", Vec::new(), 20);
    assert_eq!(news(&mut state, reader), ["- c", "~ b on n1", "+ d", "- n1", "+ n3", "- s"]);
}

#[test]
fn pod_keeps_its_id_and_queue_time_through_versions() {
    let mut state = State::default();
    state.apply(EventKind::Added, listed_pod("a", 1, None), 10);
    let first = state.pods.values().next().expect("a pod").row;
    state.apply(EventKind::Modified, listed_pod("a", 2, Some("n1")), 20);
    let second = state.pods.values().next().expect("a pod").row;
    assert_eq!((first.uid, first.created_ns), (second.uid, second.created_ns));
    assert_eq!(first.spec, second.spec, "it asks for the same");
    assert!(second.node.is_some() && second.resource_version == 2);
    state.apply(EventKind::Deleted, listed_pod("a", 3, Some("n1")), 30);
    assert!(state.pods.is_empty());
    assert_eq!(state.pod_named(second.name).map(|pod| &*pod.name), Some("a"), "there is more to say of it");
    state.apply(EventKind::Added, listed_pod("a", 4, None), 40);
    assert_ne!(state.pods.values().next().expect("a pod").row.uid, first.uid, "another pod of this name");
}

#[test]
fn pods_with_token_volumes_of_their_own_share_a_spec() {
    let mut state = State::default();
    state.replace("Pod", vec![listed_pod("a", 1, None), listed_pod("b", 2, None)], 10);
    let specs: Vec<_> = state.pods.values().map(|pod| pod.row.spec).collect();
    assert_eq!(specs[0], specs[1]);
}

#[test]
fn late_reader_hears_of_all_that_is_there_pods_last() {
    let mut state = State::default();
    state.replace("Pod", vec![listed_pod("b", 1, None), listed_pod("a", 2, None)], 10);
    state.replace("Node", vec![listed_node("n1", 3)], 10);
    let reader = state.open();
    assert_eq!(news(&mut state, reader), ["+ n1", "+ b", "+ a"]);
    state.close(reader);
    state.apply(EventKind::Deleted, listed_pod("a", 4, None), 20);
    assert!(!state.has_news(reader));
}

#[test]
fn equal_versions_are_told_once() {
    let mut state = State::default();
    let reader = state.open();
    for _ in 0..2 {
        state.apply(EventKind::Added, listed_pod("a", 1, None), 10);
        state.apply(EventKind::Added, listed_node("n1", 2), 10);
        state.apply(EventKind::Added, service("s", 3), 10);
    }
    assert_eq!(news(&mut state, reader), ["+ a", "+ n1", "+ s"]);
}
