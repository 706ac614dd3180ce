//! Patches of all kinds, through the server.

use serde_json::json;

use crate::client::serve;

const POD: &str = "/api/v1/namespaces/default/pods/a";

#[test]
fn scheduler_patches_a_condition_as_kube_scheduler_does() {
    let served = serve(0);
    served.pod("a");
    let patch = json!({"status": {
        "$setElementOrder/conditions": [{"type": "PodScheduled"}],
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "0/1 nodes are available", "lastProbeTime": null,
            "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        "nominatedNodeName": "node-0",
    }});
    let status = format!("{POD}/status");
    let patched = served.patch(&status, "strategic-merge-patch+json", &patch);
    assert_eq!(patched.code, 200, "{}", patched.json());
    let pod = served.get(POD).json();
    assert_eq!(pod["status"]["conditions"][0]["message"], "0/1 nodes are available");
    assert_eq!(pod["status"]["nominatedNodeName"], "node-0");
    let again =
        served.patch(&status, "strategic-merge-patch+json", &json!({"status": {"nominatedNodeName": null}}));
    assert_eq!(again.json()["status"].get("nominatedNodeName"), None);
    assert_eq!(again.json()["status"]["conditions"][0]["reason"], "Unschedulable");
}

#[test]
fn labels_are_changed_by_patches_of_each_kind() {
    let served = serve(1);
    let node = "/api/v1/nodes/node-0";
    let labels = || served.get(node).json()["metadata"]["labels"].clone();
    served.patch(node, "merge-patch+json", &json!({"metadata": {"labels": {"a": "1"}}}));
    assert_eq!(labels()["a"], "1");
    let operations = json!([{"op": "replace", "path": "/metadata/labels/a", "value": "2"}]);
    served.patch(node, "json-patch+json", &operations);
    assert_eq!(labels()["a"], "2");
    served.patch(node, "strategic-merge-patch+json", &json!({"metadata": {"labels": {"a": null}}}));
    assert_eq!(labels().get("a"), None);
    let taints = json!({"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}], "unschedulable": true}});
    let tainted = served.patch(node, "strategic-merge-patch+json", &taints).json();
    assert_eq!(
        (tainted["spec"]["taints"][0]["key"].as_str(), tainted["spec"]["unschedulable"].as_bool()),
        (Some("k"), Some(true))
    );
}

#[test]
fn patch_with_a_stale_version_is_a_conflict_and_without_one_is_not() {
    let served = serve(0);
    let first = served.pod("a")["metadata"]["resourceVersion"].clone();
    let label = |value: &str| json!({"metadata": {"labels": {"x": value}}});
    assert_eq!(served.patch(POD, "merge-patch+json", &label("1")).code, 200);
    let stale = json!({"metadata": {"labels": {"x": "2"}, "resourceVersion": first}});
    assert_eq!(served.patch(POD, "merge-patch+json", &stale).code, 409);
    assert_eq!(served.patch(POD, "merge-patch+json", &label("3")).code, 200);
}

#[test]
fn bad_patches_are_refused() {
    let served = serve(0);
    served.pod("a");
    let cases = [
        ("unknown kind", "yaml", json!({}), 415),
        ("no object", "merge-patch+json", json!([]), 400),
        ("no operations", "json-patch+json", json!({}), 422),
        ("failed test", "json-patch+json", json!([{"op": "test", "path": "/kind", "value": "Node"}]), 422),
        ("another kind of object", "merge-patch+json", json!({"kind": "Node"}), 400),
        ("another name", "merge-patch+json", json!({"metadata": {"name": "b"}}), 400),
        ("everything replaced", "json-patch+json", json!([{"op": "add", "path": "", "value": 3}]), 400),
        (
            "no merge key",
            "strategic-merge-patch+json",
            json!({"spec": {"containers": [{"image": "x"}]}}),
            400,
        ),
    ];
    for (name, kind, patch, code) in cases {
        assert_eq!(served.patch(POD, kind, &patch).code, code, "case: {name}");
    }
    assert_eq!(
        served.patch("/api/v1/namespaces/default/pods/none", "merge-patch+json", &json!({})).code,
        404
    );
}

#[test]
fn configuration_is_applied_by_the_server() {
    let served = serve(0);
    let path = "/apis/apps/v1/namespaces/default/deployments/web";
    let deployment = |replicas: u32, image: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, labels: {{app: web}}}}\nspec:\n  replicas: {replicas}\n  \
             selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec: \
             {{containers: [{{name: c, image: {image}}}]}}\n"
        )
    };
    let apply = |manager: &str, body: String, more: &str| {
        let path = format!("{path}?fieldManager={manager}{more}");
        served
            .ask("PATCH", &path)
            .header("content-type", "application/apply-patch+yaml")
            .body(body.into_bytes())
            .send()
    };
    let created = apply("kubectl", deployment(2, "a"), "");
    assert_eq!(created.code, 201, "{}", created.json());
    let again = apply("kubectl", deployment(2, "a"), "");
    let version = |answer: &crate::client::Answer| answer.json()["metadata"]["resourceVersion"].clone();
    assert_eq!((again.code, version(&again)), (200, version(&created)), "nothing changes");
    served.patch(&format!("{path}/scale"), "merge-patch+json", &json!({"spec": {"replicas": 5}}));
    served.patch(
        &format!("{path}?fieldManager=other"),
        "merge-patch+json",
        &json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "x"}]}}}}),
    );
    let conflict = apply("kubectl", deployment(2, "b"), "");
    assert_eq!(conflict.code, 409, "{}", conflict.json());
    assert!(conflict.json()["message"].as_str().unwrap().contains("\"other\""), "{}", conflict.json());
    let forced = apply("kubectl", deployment(2, "b"), "&force=true");
    assert_eq!(forced.json()["spec"]["template"]["spec"]["containers"][0]["image"], "b");
    let missing = served.ask("PATCH", path).header("content-type", "application/apply-patch+yaml");
    assert_eq!(missing.body(b"{}".to_vec()).send().code, 400);
}

#[test]
fn pod_keeps_what_was_applied() {
    let served = serve(0);
    let body = crate::client::web_pod("a").to_string().into_bytes();
    let path = format!("{POD}?fieldManager=me");
    let applied =
        served.ask("PATCH", &path).header("content-type", "application/apply-patch+yaml").body(body).send();
    assert_eq!(applied.code, 201, "{}", applied.json());
    assert_eq!(served.get(POD).json()["metadata"]["managedFields"][0]["manager"], "me");
}
