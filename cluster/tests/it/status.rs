//! Status patches and updates.

use schedlab_cluster::StatusReason;
use schedlab_cluster::api::{
    Api, ConditionPatch, ConditionStatus, NominatedNodeNamePatch, Object, ObjectKey, PodPhase, PodStatusPatch,
};
use schedlab_core::ids::PodUid;
use serde_json::json;

use crate::support::{cluster, create, create_pod, get_pod, node_value, object, patch, pod_value};

const WAITING: ConditionPatch<'static> = ConditionPatch {
    type_: "PodScheduled",
    status: ConditionStatus::False,
    reason: "Unschedulable",
    message: "0/1 nodes are available",
};

#[test]
fn status_patch_sets_condition_nominated_node_name_and_phase() {
    let cluster = cluster();
    let pod = create_pod(&cluster, "web");
    let node = cluster.node_name_id("n1");
    let all = PodStatusPatch {
        condition: Some(WAITING.into()),
        nomination: NominatedNodeNamePatch::Set(node),
        phase: Some(PodPhase::Running),
        ..patch(pod)
    };
    cluster.patch_pod_status(all).expect("the pod exists");
    let status = get_pod(&cluster, "web").expect("it exists").status.expect("it has a status");
    assert_eq!(status.nominated_node_name.as_deref(), Some("n1"));
    assert_eq!(status.phase.as_deref(), Some("Running"));
    let condition = &status.conditions.expect("it has a condition")[0];
    assert_eq!(condition.message.as_deref(), Some("0/1 nodes are available"));

    cluster
        .patch_pod_status(PodStatusPatch { nomination: NominatedNodeNamePatch::Clear, ..patch(pod) })
        .expect("the pod exists");
    let status = get_pod(&cluster, "web").expect("it exists").status.expect("it has a status");
    assert_eq!(status.nominated_node_name, None);
    assert_eq!(status.conditions.map(|conditions| conditions.len()), Some(1), "kept");
}

#[test]
fn unchanged_status_patch_writes_nothing() {
    let cluster = cluster();
    let pod = create_pod(&cluster, "web");
    let waits = PodStatusPatch { condition: Some(WAITING.into()), ..patch(pod) };
    cluster.patch_pod_status(waits).expect("the pod exists");
    let version = cluster.resource_version();
    for again in
        [waits, patch(pod), PodStatusPatch { nomination: NominatedNodeNamePatch::Clear, ..patch(pod) }]
    {
        cluster.patch_pod_status(again).expect("the pod exists");
        assert_eq!(cluster.resource_version(), version, "patch: {again:?}");
    }
}

#[test]
fn last_transition_time_changes_with_status_only() {
    let cluster = cluster();
    let pod = create_pod(&cluster, "web");
    let transition = || cluster.pod_row(pod).expect("the pod exists").transition_ns;
    let set = |condition: ConditionPatch<'static>| {
        cluster.patch_pod_status(PodStatusPatch { condition: Some(condition.into()), ..patch(pod) })
    };
    set(WAITING).expect("the pod exists");
    let first = transition();
    set(ConditionPatch { message: "0/2 nodes are available", ..WAITING }).expect("the pod exists");
    assert_eq!(transition(), first, "only the text differs");
    set(ConditionPatch { status: ConditionStatus::True, ..WAITING }).expect("the pod exists");
    assert!(first < transition());
}

#[test]
fn conditions_of_a_pod_share_one_transition_time() {
    let cluster = cluster();
    let pod = create_pod(&cluster, "web");
    for type_ in ["PodScheduled", "Ready"] {
        let condition = ConditionPatch { type_, ..WAITING };
        let patch = PodStatusPatch { condition: Some(condition.into()), ..patch(pod) };
        cluster.patch_pod_status(patch).expect("the pod exists");
    }
    let status = get_pod(&cluster, "web").expect("the pod exists").status.expect("it has one");
    let times: Vec<_> =
        status.conditions.unwrap_or_default().into_iter().map(|it| it.last_transition_time).collect();
    assert_eq!(times.len(), 2);
    assert!(times[0].is_some());
    assert_eq!(times[0], times[1]);
}

#[test]
fn nominated_node_name_of_a_new_pod_is_kept() {
    let cluster = cluster();
    let mut value = pod_value("web");
    value["status"] = json!({ "phase": "Running", "nominatedNodeName": "n9" });
    create(&cluster, value);
    let status = get_pod(&cluster, "web").expect("the pod exists").status.expect("it has one");
    assert_eq!(status.nominated_node_name.as_deref(), Some("n9"));
    assert_eq!(status.phase.as_deref(), Some("Pending"), "all else of the status is dropped");
}

#[test]
fn status_patch_of_missing_pod_is_not_found() {
    let cluster = cluster();
    let refused = cluster.patch_pod_status(patch(PodUid(77))).expect_err("there is no such pod");
    assert_eq!(refused.reason, StatusReason::NotFound);
    assert_eq!(refused.message, "pods \"00000000-0000-4000-8000-00000000004d\" not found");
}

#[test]
fn status_update_keeps_the_spec_and_reaches_the_scheduler_input() {
    let cluster = cluster();
    let uid = create_pod(&cluster, "web");
    let before = cluster.pod_row(uid).expect("the pod exists");
    let mut pod = get_pod(&cluster, "web").expect("the pod exists");
    pod.spec = None;
    pod.status = serde_json::from_value(json!({
        "phase": "Running", "startTime": "1970-01-01T00:00:09Z", "nominatedNodeName": "n9",
        "conditions": [
            { "type": "PodResizePending", "status": "True", "reason": "Deferred" },
            { "type": "Ready", "status": "True" }
        ]
    }))
    .expect("the test's status is well formed");
    let stored = cluster.update_status(Object::Pod(Box::new(pod))).expect("the update is fine");
    let stored = stored.into_pod().expect("it is a pod");
    assert_eq!(stored.spec.map(|spec| spec.containers.len()), Some(1));
    let conditions = stored.status.and_then(|status| status.conditions).expect("conditions");
    let types: Vec<&str> = conditions.iter().map(|condition| condition.type_.as_str()).collect();
    assert_eq!(types, ["Ready", "PodResizePending"]);

    let row = cluster.pod_row(uid).expect("the pod exists");
    assert_ne!(row.spec, before.spec, "scheduling reads another body now");
    let spec = cluster.pod_spec(row.spec);
    assert!(spec.input.resource_status.resize_deferred);
    let meta = cluster.pod_meta(&row);
    assert_eq!(meta.start_time_s, Some(9));
    assert_eq!(meta.nominated_node_name.as_deref(), Some("n9"));
    assert_eq!(meta.name, "web");
}

#[test]
fn a_node_status_patch_replaces_the_fields_it_has() {
    let cluster = cluster();
    create(&cluster, node_value("n1"));
    let status = serde_json::from_value(json!({ "declaredFeatures": ["F"] })).expect("a status");
    cluster.patch_node_status("n1", status).expect("the node exists");
    let node = cluster.get(&ObjectKey::node("n1")).expect("it exists").into_node().expect("a node");
    let status = node.status.expect("a node has a status");
    assert_eq!(status.declared_features, Some(vec!["F".to_owned()]));
    assert_eq!(status.allocatable.map(|list| list.len()), Some(2));
    let refused = cluster.patch_node_status("n2", Default::default()).expect_err("no such node");
    assert_eq!(refused.message, "nodes \"n2\" not found");
}

#[test]
fn updates_keep_the_status_and_status_updates_keep_the_rest() {
    let cluster = cluster();
    create(&cluster, node_value("n1"));
    let mut changed = node_value("n1");
    changed["metadata"]["labels"] = json!({ "zone": "a" });
    changed["status"] = json!({ "capacity": { "cpu": "99" } });
    let allocatable = |object: Object| {
        let node = object.into_node().expect("a node");
        let labels = node.metadata.labels.map(|labels| labels.len());
        let status = node.status.expect("a node has a status");
        (labels, status.allocatable.expect("defaulted")["cpu"].0.clone())
    };
    let updated = cluster.update(object(changed.clone())).expect("the update is fine");
    assert_eq!(allocatable(updated), (Some(1), "4".to_owned()));
    changed["metadata"]["labels"] = json!({});
    let updated = cluster.update_status(object(changed)).expect("the update is fine");
    assert_eq!(allocatable(updated), (Some(1), "99".to_owned()));
}
