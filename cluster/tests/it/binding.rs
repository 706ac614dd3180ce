//! pods/binding.

use schedlab_cluster::api::{
    Api, Binding, ConditionPatch, ConditionStatus, NamedBinding, NominatedNodeNamePatch, ObjectKey,
    PodStatusPatch, format_pod_uid,
};
use schedlab_cluster::{EmbeddedCluster, StatusReason};
use schedlab_core::ids::PodUid;
use serde_json::json;

use crate::support::{cluster, create, create_pod, get_pod, object, patch, pod_value, template};

fn bind(cluster: &EmbeddedCluster, pod: PodUid, node: &str) -> Result<(), schedlab_cluster::ApiError> {
    cluster.bind_pod(Binding { pod, node: cluster.node_name_id(node) })
}

#[test]
fn bound_pod_has_node_name_condition_and_no_nominated_node_name() {
    let cluster = cluster();
    let pod = create_pod(&cluster, "web");
    let nominated = cluster.node_name_id("n1");
    let waiting = ConditionPatch {
        type_: "PodScheduled",
        status: ConditionStatus::False,
        reason: "Unschedulable",
        message: "0/1 nodes are available",
    };
    let waits = PodStatusPatch {
        condition: Some(waiting.into()),
        nomination: NominatedNodeNamePatch::Set(nominated),
        ..patch(pod)
    };
    cluster.patch_pod_status(waits).expect("the pod exists");
    bind(&cluster, pod, "n2").expect("the pod is free");

    let bound = get_pod(&cluster, "web").expect("the pod exists");
    assert_eq!(bound.spec.and_then(|spec| spec.node_name).as_deref(), Some("n2"));
    let status = bound.status.expect("a stored pod has a status");
    assert_eq!(status.nominated_node_name, None);
    let conditions = status.conditions.expect("a bound pod has a condition");
    assert_eq!(conditions.len(), 1, "the condition is replaced");
    assert_eq!(conditions[0].type_, "PodScheduled");
    assert_eq!(conditions[0].status, "True");
    assert_eq!(conditions[0].reason, None);
    assert_eq!(conditions[0].message, None);
}

/// The API server's gate `ClearingNominatedNodeNameAfterBinding`.
#[test]
fn without_feature_gate_binding_keeps_nominated_node_name_and_bound_pod_may_get_one() {
    let nominated = |cluster: &EmbeddedCluster| {
        get_pod(cluster, "web").expect("the pod exists").status.and_then(|status| status.nominated_node_name)
    };
    for is_on in [true, false] {
        let cluster = cluster();
        if !is_on {
            cluster.keep_nomination_of_bound_pods();
        }
        let pod = create_pod(&cluster, "web");
        let nominate = |node: &str| {
            let nomination = NominatedNodeNamePatch::Set(cluster.node_name_id(node));
            cluster.patch_pod_status(PodStatusPatch { nomination, ..patch(pod) })
        };
        nominate("n1").expect("the pod waits");
        bind(&cluster, pod, "n2").expect("the pod is free");
        assert_eq!(nominated(&cluster), (!is_on).then(|| "n1".to_owned()), "gate {is_on}");

        let late = nominate("n3");
        assert_eq!(nominated(&cluster), (!is_on).then(|| "n3".to_owned()), "gate {is_on}");
        let mut whole = get_pod(&cluster, "web").expect("the pod exists");
        whole.status.get_or_insert_default().nominated_node_name = Some("n4".to_owned());
        let replaced = cluster.update_status(object(json!(whole)));
        assert_eq!(nominated(&cluster), (!is_on).then(|| "n4".to_owned()), "gate {is_on}");
        let refused = "Pod \"web\" is invalid: status.nominatedNodeName: Forbidden: may not be set on pods that \
            are already bound to a node";
        for message in
            [late.map_err(|error| error.message).err(), replaced.map_err(|error| error.message).err()]
        {
            assert_eq!(message.as_deref(), is_on.then_some(refused), "gate {is_on}");
        }
    }
}

#[test]
fn binding_to_missing_node_is_accepted() {
    let cluster = cluster();
    let pod = create_pod(&cluster, "web");
    assert_eq!(bind(&cluster, pod, "nowhere"), Ok(()));
}

#[test]
fn binding_refusals_have_the_messages_of_the_api_server() {
    let cluster = cluster();
    let bound = create_pod(&cluster, "bound");
    bind(&cluster, bound, "n1").expect("the pod is free");

    let mut gated = pod_value("gated");
    gated["spec"]["schedulingGates"] = json!([{ "name": "g" }]);
    create(&cluster, gated);

    let mut leaving = pod_value("leaving");
    leaving["metadata"]["finalizers"] = json!(["example.com/f"]);
    create(&cluster, leaving);
    cluster.delete(&ObjectKey::pod("default", "leaving"), None).expect("the pod exists");

    let cases = [
        (
            "bound",
            StatusReason::Conflict,
            "Operation cannot be fulfilled on pods/binding \"bound\": pod bound is already assigned to node \"n1\"",
        ),
        (
            "gated",
            StatusReason::Conflict,
            "Operation cannot be fulfilled on pods/binding \"gated\": pod gated has non-empty .spec.schedulingGates",
        ),
        (
            "leaving",
            StatusReason::Conflict,
            "Operation cannot be fulfilled on pods/binding \"leaving\": pod leaving is being deleted, cannot be assigned to a host",
        ),
        ("absent", StatusReason::NotFound, "pods \"absent\" not found"),
    ];
    for (name, reason, message) in cases {
        let binding = NamedBinding { namespace: "default", name, uid: None, node: "n2" };
        let refused = cluster.bind(&binding).expect_err("the binding is refused");
        assert_eq!((refused.reason, refused.message.as_str()), (reason, message), "pod: {name}");
    }
}

#[test]
fn binding_with_uid_of_deleted_pod_is_refused() {
    let cluster = cluster();
    let first = create_pod(&cluster, "web");
    cluster.delete_pod(first).expect("the pod exists");
    let gone = bind(&cluster, first, "n1").expect_err("the pod is gone");
    assert_eq!((gone.reason, gone.message.as_str()), (StatusReason::NotFound, "pods \"web\" not found"));

    let second = create_pod(&cluster, "web");
    let (wanted, found) = (format_pod_uid(first), format_pod_uid(second));
    let expected = format!(
        "Operation cannot be fulfilled on pods \"web\": StorageError: invalid object, Code: 4, \
         Key: /registry/pods/default/web, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
         UID in precondition: {wanted}, UID in object meta: {found}"
    );
    let by_id = bind(&cluster, first, "n1").expect_err("another pod has the name");
    let named = NamedBinding { namespace: "default", name: "web", uid: Some(&wanted), node: "n1" };
    let by_name = cluster.bind(&named).expect_err("another pod has the name");
    for refused in [by_id, by_name] {
        assert_eq!((refused.reason, refused.message.as_str()), (StatusReason::Conflict, expected.as_str()));
    }
    let right = NamedBinding { uid: Some(&found), ..named };
    assert_eq!(cluster.bind(&right), Ok(()));
}

#[test]
fn bind_batch_answers_each_binding() {
    let cluster = cluster();
    let created = cluster.create_pods(&template(&cluster, "pod-"), 3).expect("created");
    let node = cluster.node_name_id("n1");
    let mut bindings: Vec<Binding> = created.uids().map(|pod| Binding { pod, node }).collect();
    bindings.insert(1, bindings[0]);
    let mut results = Vec::new();
    cluster.bind_batch(&bindings, &mut results);
    let outcomes: Vec<bool> = results.iter().map(Result::is_ok).collect();
    assert_eq!(outcomes, [true, false, true, true]);
}

#[test]
fn pod_can_be_created_with_node_name() {
    let cluster = cluster();
    let mut value = pod_value("static");
    value["spec"]["nodeName"] = json!("n1");
    let created = cluster.create(object(value)).expect("created").into_pod().expect("a pod");
    assert_eq!(created.spec.and_then(|spec| spec.node_name).as_deref(), Some("n1"));
    assert_eq!(created.status.and_then(|status| status.conditions), None);
}
