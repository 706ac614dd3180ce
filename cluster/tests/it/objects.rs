//! Objects of other kinds, and bodies that pods share.

use schedlab_cluster::api::{Api, ListQuery, Object, ObjectKey};
use schedlab_core::input::LabelSelectorInput;
use serde_json::{Value, json};

use crate::support::{cluster, create, create_pod, get_pod, object, pod_value, template};

fn claim(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": { "name": name, "namespace": "default", "labels": { "app": name } },
        "spec": { "storageClassName": "fast" }, "status": { "phase": "Bound" }
    })
}

fn body(object: Object, pointer: &str) -> Option<Value> {
    let other = object.into_other().expect("an object of another kind");
    serde_json::to_value(other).expect("JSON").pointer(pointer).cloned()
}

#[test]
fn pvc_is_pending_until_its_status_is_updated() {
    let cluster = cluster();
    let created = create(&cluster, claim("a"));
    assert_eq!(body(created, "/status/phase"), Some(json!("Pending")), "a create has no status");
    let key = ObjectKey::namespaced("v1", "PersistentVolumeClaim", "default", "a");
    let changed = cluster.update_status(object(claim("a"))).expect("the update is fine");
    assert_eq!(body(changed, "/status/phase"), Some(json!("Bound")));
    let mut other = claim("a");
    other["spec"]["volumeName"] = json!("pv");
    other["status"]["phase"] = json!("Lost");
    cluster.update(object(other)).expect("the update is fine");
    let stored = cluster.get(&key).expect("it exists");
    assert_eq!(body(stored.clone(), "/status/phase"), Some(json!("Bound")), "an update keeps it");
    assert_eq!(body(stored, "/spec/volumeName"), Some(json!("pv")));
}

#[test]
fn custom_kinds_are_stored_as_they_are() {
    let cluster = cluster();
    let thing = json!({
        "apiVersion": "example.com/v1", "kind": "Thing",
        "metadata": { "name": "a", "namespace": "default" }, "status": { "ok": true }, "more": [1, 2]
    });
    let created = create(&cluster, thing);
    assert_eq!(body(created.clone(), "/status/ok"), Some(json!(true)));
    assert_eq!(body(created, "/more/1"), Some(json!(2)));
    assert!(cluster.get(&ObjectKey::namespaced("example.com/v1", "Thing", "default", "a")).is_ok());
}

#[test]
fn lists_are_filtered_and_in_order() {
    let cluster = cluster();
    for name in ["b", "a"] {
        create(&cluster, claim(name));
    }
    let names = |query: &ListQuery| -> Vec<String> {
        let list = cluster.list(query).expect("a list");
        list.items.iter().filter_map(|item| item.metadata().name.clone()).collect()
    };
    let all = ListQuery::all("v1", "PersistentVolumeClaim");
    assert_eq!(names(&all), ["a", "b"]);
    assert_eq!(names(&ListQuery::within("v1", "PersistentVolumeClaim", "kube-system")), [""; 0]);
    let labels = LabelSelectorInput {
        match_labels: [("app".to_owned(), "b".to_owned())].into(),
        ..LabelSelectorInput::default()
    };
    assert_eq!(names(&ListQuery { labels: Some(labels), ..all }), ["b"]);
    assert_eq!(
        names(&ListQuery::all("v1", "Namespace")),
        ["default", "kube-node-lease", "kube-public", "kube-system"]
    );
}

#[test]
fn resource_versions_only_grow() {
    let cluster = cluster();
    let mut last = cluster.resource_version();
    for name in ["a", "b", "c"] {
        let claim = create(&cluster, claim(name));
        let version: u64 = claim
            .metadata()
            .resource_version
            .as_deref()
            .and_then(|text| text.parse().ok())
            .expect("a stored object has a version");
        assert_eq!(version, last + 1);
        assert_eq!(cluster.resource_version(), version);
        last = version;
    }
}

#[test]
fn equal_pods_share_a_body() {
    let cluster = cluster();
    let spec = |uid| cluster.pod_row(uid).expect("the pod exists").spec;
    let (first, second) = (create_pod(&cluster, "a"), create_pod(&cluster, "b"));
    assert_eq!(spec(first), spec(second));
    let mut other = pod_value("c");
    other["metadata"]["labels"] = json!({ "app": "c" });
    create(&cluster, other);
    let third = schedlab_core::ids::PodUid(second.0 + 1);
    assert_ne!(spec(first), spec(third));
    assert_eq!(cluster.pod_spec(spec(third)).input.labels.len(), 1);
}

#[test]
fn a_pod_of_a_template_is_a_whole_object() {
    let cluster = cluster();
    cluster.create_pods(&template(&cluster, "web-"), 2).expect("created");
    let pod = get_pod(&cluster, "web-1").expect("the pod exists");
    assert_eq!(pod.metadata.namespace.as_deref(), Some("default"));
    assert_eq!(pod.metadata.uid.as_deref(), Some("00000000-0000-4000-8000-000000000002"));
    assert!(pod.metadata.creation_timestamp.is_some());
    let spec = pod.spec.expect("a pod has a spec");
    assert_eq!(spec.scheduler_name.as_deref(), Some("default-scheduler"));
    assert_eq!(spec.tolerations.map(|tolerations| tolerations.len()), Some(2));
    assert_eq!(pod.status.and_then(|status| status.phase).as_deref(), Some("Pending"));
}

#[test]
fn a_pod_takes_the_priority_of_a_stored_class() {
    let cluster = cluster();
    create(
        &cluster,
        json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": { "name": "high" }, "value": 1000, "preemptionPolicy": "Never"
        }),
    );
    let mut value = pod_value("web");
    value["spec"]["priorityClassName"] = json!("high");
    let pod = create(&cluster, value).into_pod().expect("a pod");
    let spec = pod.spec.expect("a pod has a spec");
    assert_eq!((spec.priority, spec.preemption_policy.as_deref()), (Some(1000), Some("Never")));
}

#[test]
fn a_hundred_thousand_pods_of_a_template_are_small() {
    const PODS: u32 = 100_000;
    let cluster = cluster();
    let before = cluster.memory_bytes();
    cluster.create_pods(&template(&cluster, "pod-"), PODS).expect("created");
    let per_pod = (cluster.memory_bytes() - before) / PODS as usize;
    assert!(per_pod < 200, "{per_pod} bytes a pod");
}

/// What scheduler_perf's fake PV controller does, in the step that writes the volume.
#[test]
fn persistent_volume_with_claim_ref_binds_the_pvc() {
    let cluster = cluster();
    create(&cluster, claim("a"));
    let volume = |claim: &str| {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": format!("pv-{claim}") },
            "spec": { "claimRef": { "namespace": "default", "name": claim } }
        })
    };
    create(&cluster, volume("a"));
    create(&cluster, volume("absent"));
    let key = ObjectKey::namespaced("v1", "PersistentVolumeClaim", "default", "a");
    let bound = cluster.get(&key).expect("it exists");
    assert_eq!(body(bound.clone(), "/spec/volumeName"), Some(json!("pv-a")));
    let annotation = "/metadata/annotations/pv.kubernetes.io~1bind-completed";
    assert_eq!(body(bound, annotation), Some(json!("yes")));
    let mut second = volume("a");
    second["metadata"]["name"] = json!("late");
    create(&cluster, second);
    let still = cluster.get(&key).expect("it exists");
    assert_eq!(body(still, "/spec/volumeName"), Some(json!("pv-a")), "the first volume keeps it");
}
