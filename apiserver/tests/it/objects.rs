//! Objects: created, read, listed, changed, bound, deleted.

use serde_json::{Value, json};

use crate::client::{serve, serve_with, web_pod};
use schedlab_apiserver::ServeOptions;

const PODS: &str = "/api/v1/namespaces/default/pods";

#[test]
fn pod_is_created_defaulted_read_and_deleted() {
    let served = serve(0);
    let created = served.pod("a");
    assert_eq!(created["spec"]["schedulerName"], "default-scheduler");
    assert_eq!((created["kind"].as_str(), created["apiVersion"].as_str()), (Some("Pod"), Some("v1")));
    assert_eq!(served.get(&format!("{PODS}/a")).json(), created);
    assert_eq!(served.post(PODS, &web_pod("a")).code, 409);
    assert_eq!(served.delete(&format!("{PODS}/a")).json()["status"], "Success");
    let gone = served.get(&format!("{PODS}/a"));
    assert_eq!((gone.code, gone.json()["reason"].as_str()), (404, Some("NotFound")));
    assert_eq!(gone.json()["details"]["kind"], "pods");
}

#[test]
fn bad_objects_are_refused_with_the_reason() {
    let served = serve(0);
    let cases = [
        ("no JSON", PODS, "{", 400),
        ("no object", PODS, "[]", 400),
        ("another kind", PODS, r#"{"kind":"Node"}"#, 400),
        ("another version", PODS, r#"{"apiVersion":"v2","kind":"Pod"}"#, 400),
        ("another namespace", PODS, r#"{"metadata":{"namespace":"b","name":"a"}}"#, 400),
        ("no containers", PODS, r#"{"metadata":{"name":"a"}}"#, 422),
        ("a field of another type", PODS, r#"{"metadata":{"name":"a"},"spec":{"containers":"c"}}"#, 400),
        ("no such namespace", "/api/v1/namespaces/none/pods", &web_pod("a").to_string(), 404),
        ("no name", "/api/v1/nodes", "{}", 422),
        ("namespaced, in all", "/api/v1/pods", &web_pod("a").to_string(), 405),
        ("metadata of another type", "/api/v1/nodes", r#"{"metadata":[]}"#, 400),
    ];
    for (name, path, body, code) in cases {
        let answer = served.ask("POST", path).header("content-type", "application/json");
        let answer = answer.body(body.as_bytes().to_vec()).send();
        assert_eq!(answer.code, code, "case: {name}: {}", answer.json());
        assert_eq!(answer.json()["kind"], "Status", "case: {name}");
    }
    let strict = format!("{PODS}?fieldValidation=Strict");
    let mut misspelt = web_pod("a");
    misspelt["spec"]["nodeSelektor"] = json!({});
    let refused = served.post(&strict, &misspelt);
    assert_eq!(refused.code, 400);
    assert!(refused.json()["message"].as_str().unwrap().contains("nodeSelektor"));
    let protobuf = served.ask("POST", PODS).header("content-type", "application/vnd.kubernetes.protobuf");
    assert_eq!(protobuf.body(b"k8s\0".to_vec()).send().code, 415);
    assert_eq!(
        served.ask("GET", PODS).header("accept", "application/vnd.kubernetes.protobuf").send().code,
        406
    );
}

#[test]
fn list_selects_by_labels_fields_and_namespace_in_pages() {
    let served = serve(0);
    for name in ["a", "b", "c", "d"] {
        served.pod(name);
    }
    let mut other = web_pod("e");
    other["metadata"]["labels"]["app"] = json!("db");
    served.post("/api/v1/namespaces/kube-system/pods", &other);
    let names = |path: &str| -> Vec<String> {
        let list = served.get(path).json();
        assert_eq!(list["kind"], "PodList", "{list}");
        let items = list["items"].as_array().expect("items").iter();
        items.map(|item| item["metadata"]["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names("/api/v1/pods"), ["a", "b", "c", "d", "e"]);
    assert_eq!(names("/api/v1/pods?labelSelector=app%3Ddb"), ["e"]);
    assert_eq!(
        names("/api/v1/pods?labelSelector=app+notin+(db)&fieldSelector=metadata.name!=a"),
        ["b", "c", "d"]
    );
    assert_eq!(names("/api/v1/pods?fieldSelector=spec.nodeName="), ["a", "b", "c", "d", "e"]);
    assert_eq!(names("/api/v1/namespaces/none/pods"), [] as [&str; 0]);
    assert_eq!(served.get("/api/v1/pods?fieldSelector=spec.colour=red").code, 400);
    let first = served.get("/api/v1/pods?limit=2").json();
    let token = first["metadata"]["continue"].as_str().expect("there is more");
    served.pod("bb");
    let second = served.get(&format!("/api/v1/pods?limit=10&continue={token}")).json();
    let shown: Vec<&Value> =
        second["items"].as_array().unwrap().iter().map(|it| &it["metadata"]["name"]).collect();
    assert_eq!(shown, ["c", "d", "e"], "a list shows one moment");
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
}

#[test]
fn stale_update_is_a_conflict() {
    let served = serve(1);
    let path = "/api/v1/nodes/node-0";
    let mut node = served.get(path).json();
    node["metadata"]["labels"]["zone"] = json!("a");
    let updated = served.put(path, &node);
    assert_eq!(updated.json()["metadata"]["labels"]["zone"], "a");
    node["metadata"]["labels"]["zone"] = json!("b");
    assert_eq!(served.put(path, &node).code, 409);
    node["metadata"]["name"] = json!("node-1");
    assert_eq!(served.put(path, &node).code, 400);
}

#[test]
fn pod_is_bound_once() {
    let served = serve(1);
    let uid = served.pod("a")["metadata"]["uid"].clone();
    let path = format!("{PODS}/a/binding");
    let binding = |uid: &Value, node: &str| json!({"metadata": {"name": "a", "uid": uid}, "target": {"kind": "Node", "name": node}});
    assert_eq!(served.post(&path, &binding(&json!("another"), "node-0")).code, 409);
    assert_eq!(served.post(&path, &binding(&uid, "")).code, 422);
    let bound = served.post(&path, &binding(&uid, "node-0"));
    assert_eq!((bound.code, bound.json()["status"].as_str()), (201, Some("Success")));
    assert_eq!(served.post(&path, &binding(&uid, "node-0")).code, 409);
    let pod = served.get(&format!("{PODS}/a")).json();
    assert_eq!(pod["spec"]["nodeName"], "node-0");
    assert_eq!(pod["status"]["conditions"][0]["type"], "PodScheduled");
}

#[test]
fn event_is_seen_in_both_groups() {
    let served = serve(0);
    let event = json!({
        "metadata": {"name": "a.1", "namespace": "default"}, "eventTime": "2026-01-01T00:00:00.000000Z",
        "regarding": {"kind": "Pod", "name": "a", "namespace": "default"}, "reason": "Scheduled", "note": "done",
        "type": "Normal", "action": "Binding", "reportingController": "default-scheduler",
        "reportingInstance": "me",
    });
    let path = "/apis/events.k8s.io/v1/namespaces/default/events";
    assert_eq!(served.post(path, &event).code, 201);
    let core = served.get("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=a").json();
    assert_eq!(core["items"][0]["message"], "done", "{core}");
    assert_eq!(core["items"][0]["involvedObject"]["kind"], "Pod");
    assert_eq!(core["items"][0]["apiVersion"], "v1");
    let one = served.get("/api/v1/namespaces/default/events/a.1").json();
    assert_eq!(
        (one["message"].as_str(), one["reportingComponent"].as_str()),
        (Some("done"), Some("default-scheduler"))
    );
}

#[test]
fn lease_can_be_taken_by_update() {
    let served = serve(0);
    let path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/scheduler";
    let lease = json!({"metadata": {"name": "scheduler"}, "spec": {"holderIdentity": "me"}});
    assert_eq!(served.put(path, &lease).code, 201);
    assert_eq!(served.put(path, &lease).code, 200);
    assert_eq!(served.get(path).json()["spec"]["holderIdentity"], "me");
}

#[test]
fn deployment_is_scaled() {
    let served = serve(0);
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}},
    });
    assert_eq!(served.post(deployments, &deployment).code, 201);
    let scale = format!("{deployments}/web/scale");
    let mut body = served.get(&scale).json();
    assert_eq!(
        (body["spec"]["replicas"].as_i64(), body["status"]["selector"].as_str()),
        (Some(2), Some("app=web"))
    );
    body["spec"]["replicas"] = json!(5);
    assert_eq!(served.put(&scale, &body).json()["spec"]["replicas"], 5);
    let patch = json!({"spec": {"replicas": 7}});
    assert_eq!(served.patch(&scale, "merge-patch+json", &patch).json()["spec"]["replicas"], 7);
    assert_eq!(served.get(&format!("{deployments}/web")).json()["spec"]["replicas"], 7);
    body["spec"]["replicas"] = json!(-1);
    assert_eq!(served.put(&scale, &body).code, 422);
}

#[test]
fn collection_is_deleted_by_selector() {
    let served = serve(0);
    for name in ["a", "b"] {
        served.pod(name);
    }
    let gone = served.delete(&format!("{PODS}?fieldSelector=metadata.name=a")).json();
    assert_eq!(gone["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(served.get(&format!("{PODS}/a")).code, 404);
    assert_eq!(served.get(&format!("{PODS}/b")).code, 200);
    assert_eq!(served.delete("/api/v1/pods").code, 405);
}

#[test]
fn discovery_lists_what_is_served() {
    let served = serve(0);
    let groups = served.get("/apis").json();
    let names: Vec<&str> =
        groups["groups"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    assert!(names.contains(&"apps") && names.contains(&"resource.k8s.io"), "{names:?}");
    let core = served.get("/api/v1").json();
    let resources = core["resources"].as_array().unwrap();
    assert!(resources.iter().any(|it| it["name"] == "pods/binding" && it["verbs"] == json!(["create"])));
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let aggregated = served.ask("GET", "/apis").header("accept", accept).send().json();
    assert_eq!(aggregated["kind"], "APIGroupDiscoveryList");
    assert_eq!(served.get("/apis/none.example.com").code, 404);
    assert_eq!(served.get("/version").json()["major"], "1");
    assert_eq!(served.get("/readyz").body, b"ok");
    assert_eq!(
        served.get("/openapi/v3").json()["paths"]["api/v1"]["serverRelativeURL"],
        "/openapi/v3/api/v1"
    );
    assert_eq!(served.get("/openapi/v3/apis/apps/v1").code, 200);
}

#[test]
fn table_is_served_when_accept_header_asks() {
    let served = serve(2);
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let table = served.ask("GET", "/api/v1/nodes").header("accept", accept).send().json();
    assert_eq!(table["kind"], "Table");
    assert_eq!(table["rows"][1]["cells"][0], "node-1");
    assert_eq!(table["rows"][1]["cells"][1], "Ready");
    assert_eq!(table["rows"][1]["object"]["kind"], "PartialObjectMetadata");
}

#[test]
fn calls_are_audited_by_verb_resource_and_agent() {
    let served = serve(1);
    served.ask("GET", "/api/v1/nodes").header("user-agent", "kubectl/v1.38").send();
    served.ask("GET", "/api/v1/nodes/none").header("user-agent", "kubectl/v1.38").send();
    let counts = served.server.audit();
    let of = |verb: &str| {
        let found = counts.iter().find(|(key, _)| key.verb == verb && key.agent == "kubectl");
        found.map(|(key, count)| (key.resource.clone(), count.calls, count.failed))
    };
    assert_eq!(of("list"), Some(("nodes".to_owned(), 1, 0)));
    assert_eq!(of("get"), Some(("nodes".to_owned(), 1, 1)));
    assert!(String::from_utf8(served.get("/metrics").body).unwrap().contains("agent=\"kubectl\""));
}

#[test]
fn token_is_demanded() {
    let served = serve_with(0, ServeOptions { token: Some("secret".to_owned()), ..ServeOptions::default() });
    assert_eq!(served.get("/api/v1/nodes").code, 401);
    let with = |value: &str| served.ask("GET", "/api/v1/nodes").header("authorization", value).send().code;
    assert_eq!((with("Bearer secre"), with("Bearer secret"), with("Basic secret")), (401, 200, 401));
    assert!(served.server.kubeconfig().contains("secret"));
}

#[test]
fn self_subject_access_review_allows_everything() {
    let served = serve(0);
    let review = json!({"spec": {"resourceAttributes": {"verb": "create", "resource": "pods"}}});
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let answer = served.post(path, &review);
    assert_eq!((answer.code, answer.json()["status"]["allowed"].as_bool()), (201, Some(true)));
}
