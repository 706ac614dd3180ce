//! Deletion, finalizers and namespaces.

use schedlab_cluster::api::{Api, EventKind, Object, ObjectKey, PodFilter, PodFlags, WatchedObject};
use schedlab_cluster::{EmbeddedCluster, StatusReason};
use schedlab_core::input::LabelSelectorInput;
use serde_json::{Value, json};

use crate::support::{cluster, create, create_pod, drain, get_pod, node_value, object, pod_value, template};

fn service(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": name, "namespace": "default" } })
}

/// One object of each way of storing, with its key.
fn one_of_each() -> Vec<(Value, ObjectKey)> {
    vec![
        (pod_value("a"), ObjectKey::pod("default", "a")),
        (node_value("a"), ObjectKey::node("a")),
        (service("a"), ObjectKey::namespaced("v1", "Service", "default", "a")),
    ]
}

fn exists(cluster: &EmbeddedCluster, key: &ObjectKey) -> bool {
    cluster.get(key).is_ok()
}

#[test]
fn object_without_finalizers_is_deleted_at_once() {
    for (value, key) in one_of_each() {
        let cluster = cluster();
        create(&cluster, value);
        let mut watch = cluster.watch(cluster.resource_version()).expect("the version exists");
        cluster.delete(&key, None).expect("the object exists");
        assert!(!exists(&cluster, &key), "kind: {}", key.kind);
        let events = drain(&mut watch);
        assert_eq!(events.len(), 1, "kind: {}", key.kind);
        assert_eq!(events[0].kind, EventKind::Deleted);
        assert_eq!(events[0].resource_version(), cluster.resource_version());
        let again = cluster.delete(&key, None).expect_err("it is gone");
        assert_eq!(again.reason, StatusReason::NotFound, "kind: {}", key.kind);
    }
}

#[test]
fn object_with_finalizers_is_deleted_with_the_last_finalizer() {
    for (mut value, key) in one_of_each() {
        let kind = key.kind.as_str();
        let cluster = cluster();
        value["metadata"]["finalizers"] = json!(["example.com/a", "example.com/b"]);
        create(&cluster, value);
        let mut watch = cluster.watch(cluster.resource_version()).expect("the version exists");
        cluster.delete(&key, None).expect("the object exists");
        cluster.delete(&key, None).expect("deleting twice is no error");
        let mut stored = cluster.get(&key).expect("it is still there");
        assert!(stored.metadata().deletion_timestamp.is_some(), "kind: {kind}");

        stored.metadata_mut().finalizers = Some(vec!["example.com/b".to_owned()]);
        let mut stored = cluster.update(stored).expect("the update is fine");
        assert!(exists(&cluster, &key), "kind: {kind}");
        stored.metadata_mut().finalizers = None;
        cluster.update(stored).expect("the update is fine");
        assert!(!exists(&cluster, &key), "kind: {kind}");
        let kinds: Vec<EventKind> = drain(&mut watch).iter().map(|event| event.kind).collect();
        use EventKind::{Deleted, Modified};
        assert_eq!(kinds, [Modified, Modified, Deleted], "kind: {kind}");
    }
}

#[test]
fn row_of_terminating_pod_is_marked_terminating() {
    let cluster = cluster();
    let mut value = pod_value("web");
    value["metadata"]["finalizers"] = json!(["example.com/a"]);
    create(&cluster, value);
    let mut watch = cluster.watch(cluster.resource_version()).expect("the version exists");
    cluster.delete(&ObjectKey::pod("default", "web"), None).expect("the pod exists");
    let events = drain(&mut watch);
    let WatchedObject::Pod(row) = &events[0].object else { panic!("the event is about a pod") };
    assert!(row.flags.contains(PodFlags::TERMINATING));
    assert!(cluster.pod_meta(row).is_terminating);
}

#[test]
fn delete_with_another_uid_is_refused() {
    for (value, key) in one_of_each() {
        let cluster = cluster();
        let stored = create(&cluster, value);
        let refused = cluster.delete(&key, Some("another")).expect_err("the UID differs");
        assert_eq!(refused.reason, StatusReason::Conflict, "kind: {}", key.kind);
        assert!(refused.message.contains("UID in precondition: another"), "{}", refused.message);
        let uid = stored.metadata().uid.clone();
        assert_eq!(cluster.delete(&key, uid.as_deref()), Ok(()), "kind: {}", key.kind);
    }
}

#[test]
fn a_deleted_name_can_be_used_again() {
    let cluster = cluster();
    let first = create_pod(&cluster, "web");
    cluster.delete_pod(first).expect("the pod exists");
    let second = create_pod(&cluster, "web");
    assert_ne!(first, second, "a UID is never given out again");
}

#[test]
fn pods_are_chosen_by_namespace_and_labels() {
    let cluster = cluster();
    create(&cluster, json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop" } }));
    for (name, namespace, app) in [("a", "default", "web"), ("b", "shop", "web"), ("c", "shop", "db")] {
        let mut value = pod_value(name);
        value["metadata"] = json!({ "name": name, "namespace": namespace, "labels": { "app": app } });
        create(&cluster, value);
    }
    let web = LabelSelectorInput {
        match_labels: [("app".to_owned(), "web".to_owned())].into(),
        ..LabelSelectorInput::default()
    };
    let cases = [
        (PodFilter { namespace: None, labels: None }, "abc"),
        (PodFilter { namespace: Some("shop"), labels: None }, "bc"),
        (PodFilter { namespace: None, labels: Some(&web) }, "ab"),
        (PodFilter { namespace: Some("shop"), labels: Some(&web) }, "b"),
        (PodFilter { namespace: Some("nowhere"), labels: None }, ""),
    ];
    for (filter, expected) in cases {
        let rows = cluster.pods_in(filter).expect("a list").rows;
        let names: String = rows.iter().map(|row| cluster.pod_name(row.name)).collect();
        assert_eq!(names, expected, "filter: {filter:?}");
    }
}

#[test]
fn a_batch_of_deletions_answers_each() {
    let cluster = cluster();
    let created = cluster.create_pods(&template(&cluster, "pod-"), 2).expect("created");
    let mut pods: Vec<_> = created.uids().collect();
    pods.push(pods[0]);
    let mut results = Vec::new();
    cluster.delete_pods_batch(&pods, &mut results);
    let outcomes: Vec<bool> = results.iter().map(Result::is_ok).collect();
    assert_eq!(outcomes, [true, true, false]);
    assert_eq!(cluster.pod_count(), 0);
}

#[test]
fn namespace_delete_deletes_its_objects() {
    let cluster = cluster();
    create(&cluster, json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop" } }));
    for mut value in [pod_value("web"), service("web")] {
        value["metadata"]["namespace"] = json!("shop");
        create(&cluster, value);
    }
    create_pod(&cluster, "other");
    cluster.delete(&ObjectKey::cluster("v1", "Namespace", "shop"), None).expect("it exists");
    assert!(!exists(&cluster, &ObjectKey::pod("shop", "web")));
    assert!(!exists(&cluster, &ObjectKey::namespaced("v1", "Service", "shop", "web")));
    assert!(get_pod(&cluster, "other").is_ok());
    let mut late = pod_value("late");
    late["metadata"]["namespace"] = json!("shop");
    let refused = cluster.create(object(late)).expect_err("the namespace is gone");
    assert_eq!(refused.message, "namespaces \"shop\" not found");
}

#[test]
fn terminating_namespace_refuses_new_objects() {
    let cluster = cluster();
    create(
        &cluster,
        json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": { "name": "shop", "finalizers": ["example.com/f"] }
        }),
    );
    cluster.delete(&ObjectKey::cluster("v1", "Namespace", "shop"), None).expect("it exists");
    let mut late = pod_value("late");
    late["metadata"]["namespace"] = json!("shop");
    let refused: Result<Object, _> = cluster.create(object(late));
    assert_eq!(refused.map_err(|refused| refused.reason), Err(StatusReason::Forbidden));
}
