//! Refused calls: reason, code and text.

use schedlab_cluster::api::{Api, Object, ObjectKey};
use schedlab_cluster::{ApiError, StatusReason};
use serde_json::{Value, json};

use crate::support::{cluster, create, create_pod, get_pod, node_value, object, pod_value};

#[test]
fn absent_objects_are_not_found() {
    let cluster = cluster();
    let cases = [
        (ObjectKey::pod("default", "x"), "pods \"x\" not found"),
        (ObjectKey::node("x"), "nodes \"x\" not found"),
        (ObjectKey::namespaced("apps/v1", "ReplicaSet", "default", "x"), "replicasets.apps \"x\" not found"),
    ];
    for (key, message) in cases {
        for refused in [cluster.get(&key).map(drop), cluster.delete(&key, None)] {
            let refused = refused.expect_err("there is no such object");
            assert_eq!((refused.reason, refused.code()), (StatusReason::NotFound, 404));
            assert_eq!(refused.message, message);
        }
    }
}

#[test]
fn existing_names_are_refused_as_already_exists() {
    let replica_set = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": { "name": "x", "namespace": "default" }
    });
    let cases = [
        (pod_value("x"), "pods \"x\" already exists"),
        (node_value("x"), "nodes \"x\" already exists"),
        (replica_set, "replicasets.apps \"x\" already exists"),
    ];
    for (value, message) in cases {
        let cluster = cluster();
        create(&cluster, value.clone());
        let version = cluster.resource_version();
        let refused = cluster.create(object(value)).expect_err("the name is taken");
        assert_eq!((refused.reason, refused.code()), (StatusReason::AlreadyExists, 409));
        assert_eq!(refused.message, message);
        assert_eq!(cluster.resource_version(), version, "a refused call writes nothing");
    }
}

fn labelled(mut object: Object, label: &str) -> Object {
    object.metadata_mut().labels = Some([(label.to_owned(), String::new())].into());
    object
}

#[test]
fn a_stale_version_conflicts_and_an_empty_one_does_not() {
    let service =
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "x", "namespace": "default" } });
    for (value, resource) in [(pod_value("x"), "pods"), (node_value("x"), "nodes"), (service, "services")] {
        let cluster = cluster();
        let stale = create(&cluster, value);
        let latest = cluster.update(labelled(stale.clone(), "one")).expect("the version is the latest");
        let refused = cluster.update(labelled(stale.clone(), "two")).expect_err("it is stale");
        assert_eq!((refused.reason, refused.code()), (StatusReason::Conflict, 409));
        assert_eq!(
            refused.message,
            format!(
                "Operation cannot be fulfilled on {resource} \"x\": the object has been modified; \
                 please apply your changes to the latest version and try again"
            )
        );
        let refused = cluster.update_status(stale.clone()).expect_err("it is stale");
        assert_eq!(refused.reason, StatusReason::Conflict, "resource: {resource}");

        let mut unconditional = labelled(stale, "three");
        unconditional.metadata_mut().resource_version = None;
        let stored = cluster.update(unconditional).expect("no version, no condition");
        assert_ne!(stored.metadata().resource_version, latest.metadata().resource_version);
        assert_eq!(stored.metadata().uid, latest.metadata().uid);
    }
}

#[test]
fn unchanged_update_writes_nothing() {
    for value in [pod_value("x"), node_value("x")] {
        let cluster = cluster();
        let stored = create(&cluster, value);
        let version = cluster.resource_version();
        let again = cluster.update(stored.clone()).expect("the version is the latest");
        assert_eq!(again, stored);
        assert_eq!(cluster.resource_version(), version);
    }
}

#[test]
fn bad_objects_are_refused() {
    let without = |field: &str| {
        let mut value = pod_value("x");
        value[field] = json!({});
        value
    };
    let mut bad_quantity = pod_value("x");
    bad_quantity["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("1x");
    let mut no_containers = pod_value("x");
    no_containers["spec"]["containers"] = json!([]);
    let mut bad_node = node_value("n");
    bad_node["status"]["capacity"]["cpu"] = json!("1x");
    let cases: [(Value, &str); 5] = [
        (
            without("metadata"),
            "Pod \"\" is invalid: metadata.name: Required value: name or generateName is required",
        ),
        (
            json!({ "apiVersion": "v1", "kind": "Node" , "metadata": {} }),
            "Node \"\" is invalid: metadata.name: Required value",
        ),
        (no_containers, "Pod \"x\" is invalid: spec.containers: Required value"),
        (bad_quantity, "Pod \"x\" is invalid: pod default/"),
        (bad_node, "Node \"n\" is invalid: node n: status.allocatable[\"cpu\"]: \"1x\" is not a quantity"),
    ];
    for (value, expected) in cases {
        let cluster = cluster();
        let version = cluster.resource_version();
        let refused: ApiError = cluster.create(object(value)).expect_err("the object is bad");
        assert_eq!((refused.reason, refused.code()), (StatusReason::Invalid, 422));
        assert!(refused.message.starts_with(expected), "{} is not {expected}", refused.message);
        assert_eq!(cluster.resource_version(), version);
    }
}

#[test]
fn pod_update_cannot_change_node_name_nor_add_scheduling_gates() {
    let cluster = cluster();
    create_pod(&cluster, "web");
    let mut moved = get_pod(&cluster, "web").expect("the pod exists");
    moved.spec.as_mut().expect("a spec").node_name = Some("n1".to_owned());
    let mut gated = get_pod(&cluster, "web").expect("the pod exists");
    gated.spec.as_mut().expect("a spec").scheduling_gates =
        serde_json::from_value(json!([{ "name": "g" }])).expect("gates");
    let cases = [
        (moved, "Pod \"web\" is invalid: spec: Forbidden: pod updates may not change spec.nodeName"),
        (
            gated,
            "Pod \"web\" is invalid: spec.schedulingGates: Forbidden: only deletion is allowed, \
             but found new scheduling gate 'g'",
        ),
    ];
    for (pod, expected) in cases {
        let refused = cluster.update(Object::Pod(Box::new(pod))).expect_err("refused");
        assert!(refused.message.starts_with(expected), "{} is not {expected}", refused.message);
    }
}

#[test]
fn scheduling_gates_can_be_removed() {
    let cluster = cluster();
    let mut value = pod_value("web");
    value["spec"]["schedulingGates"] = json!([{ "name": "g" }]);
    create(&cluster, value);
    let mut free = get_pod(&cluster, "web").expect("the pod exists");
    free.spec.as_mut().expect("a spec").scheduling_gates = None;
    cluster.update(Object::Pod(Box::new(free))).expect("taking gates away is allowed");
    let binding =
        schedlab_cluster::api::NamedBinding { namespace: "default", name: "web", uid: None, node: "n1" };
    assert_eq!(cluster.bind(&binding), Ok(()));
}

#[test]
fn the_namespace_of_a_template_is_the_namespace_of_its_pods() {
    let cluster = cluster();
    let pod = *object(pod_value("x")).into_pod().expect("a pod");
    let refused = cluster.pod_template(pod, "kube-system").expect_err("the namespaces differ");
    assert_eq!((refused.reason, refused.code()), (StatusReason::BadRequest, 400));
}
