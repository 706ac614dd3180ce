//! Quotas through the API: what is refused, what is counted, and that the sums are those of a count.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use schedlab_core::cycle::select::Draws;
use serde_json::{Value, json};

use crate::EmbeddedCluster;
use crate::api::{
    Api, ListQuery, NominatedNodeNamePatch, Object, ObjectKey, PodFilter, PodPhase, PodStatusPatch,
};

fn cluster() -> EmbeddedCluster {
    EmbeddedCluster::new(Arc::new(|| 0))
}

fn create(api: &EmbeddedCluster, value: Value) -> Result<Object, crate::ApiError> {
    api.create(Object::from_json(value).expect("an object"))
}

fn quota(name: &str, hard: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": { "name": name, "namespace": "default" }, "spec": { "hard": hard } })
}

fn asking(name: &str, cpu: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "namespace": "default" },
        "spec": { "containers": [{ "name": "c", "resources": { "requests": { "cpu": cpu } } }] } })
}

fn used(api: &EmbeddedCluster, name: &str) -> Value {
    let key = ObjectKey::namespaced("v1", "ResourceQuota", "default", name);
    let object = api.get(&key).expect("there").into_other().expect("a quota");
    object.body["status"]["used"].clone()
}

#[test]
fn pods_beyond_the_quota_are_refused_with_upstreams_message() {
    let api = cluster();
    create(&api, quota("q", json!({ "pods": "2", "requests.cpu": "10" }))).expect("created");
    assert_eq!(used(&api, "q"), json!({ "pods": "0", "requests.cpu": "0" }));
    create(&api, asking("a", "1")).expect("room");
    create(&api, asking("b", "500m")).expect("room");
    let error = create(&api, asking("c", "1")).unwrap_err();
    assert_eq!(error.code(), 403);
    assert_eq!(
        error.message,
        "pods \"c\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"
    );
    assert_eq!(used(&api, "q"), json!({ "pods": "2", "requests.cpu": "1500m" }));
    api.delete(&ObjectKey::pod("default", "a"), None).expect("deleted");
    create(&api, asking("c", "1")).expect("room again");
    let error = create(
        &api,
        json!({ "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "d", "namespace": "default" }, "spec": { "containers": [{ "name": "c" }] } }),
    );
    assert_eq!(
        error.unwrap_err().message,
        "pods \"d\" is forbidden: failed quota: q: must specify requests.cpu for: c"
    );
}

#[test]
fn pods_of_a_template_are_made_as_far_as_the_quota_goes() {
    let api = cluster();
    create(&api, quota("q", json!({ "pods": 7 }))).expect("created");
    let mut body = asking("x", "1");
    body["metadata"] = json!({ "generateName": "web-" });
    let body: Pod = serde_json::from_value(body).expect("a pod");
    let template = api.pod_template(body, "default").expect("a template");
    let error = api.create_pods(&template, 10).unwrap_err().message;
    assert_eq!(
        error,
        "pods \"web-\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=7, limited: pods=7"
    );
    assert_eq!(api.pod_count(), 7);
    assert_eq!(api.create_pods(&template, 0).map(|created| created.count), Ok(0));
}

#[test]
fn finished_pods_give_their_share_back_but_for_the_count_of_objects() {
    let api = cluster();
    create(&api, quota("q", json!({ "pods": 1, "count/pods": 2 }))).expect("created");
    create(&api, asking("a", "1")).expect("room");
    let row = api.pods_now(PodFilter::default())[0];
    let phase = Some(PodPhase::Succeeded);
    let nomination = NominatedNodeNamePatch::Keep;
    api.patch_pod_status(PodStatusPatch { pod: row.uid, condition: None, nomination, phase }).expect("there");
    assert_eq!(used(&api, "q"), json!({ "pods": "0", "count/pods": "1" }));
    create(&api, asking("b", "1")).expect("room");
    let error = create(&api, asking("c", "1")).unwrap_err().message;
    assert!(
        error.ends_with(
            "requested: count/pods=1,pods=1, used: count/pods=2,pods=1, limited: count/pods=2,pods=1"
        ),
        "{error}"
    );
}

#[test]
fn quota_counts_what_was_there_before_it_and_objects_of_other_kinds() {
    let api = cluster();
    create(&api, asking("a", "1")).expect("no quota yet");
    let map = |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "default" } });
    create(&api, map("m")).expect("no quota yet");
    create(&api, quota("q", json!({ "pods": 1, "configmaps": 2, "count/configmaps": 5 }))).expect("created");
    assert_eq!(used(&api, "q"), json!({ "pods": "1", "configmaps": "1", "count/configmaps": "1" }));
    create(&api, map("n")).expect("room");
    let error = create(&api, map("o")).unwrap_err().message;
    assert_eq!(
        error,
        "configmaps \"o\" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2"
    );
    api.delete(&ObjectKey::namespaced("v1", "ConfigMap", "default", "m"), None).expect("deleted");
    assert_eq!(used(&api, "q")["configmaps"], "1");
}

#[test]
fn quota_limits_pod_resize_until_it_is_deleted() {
    let api = cluster();
    create(&api, quota("q", json!({ "requests.cpu": 2 }))).expect("created");
    create(&api, asking("a", "1")).expect("room");
    let resized = |cpu: &str| api.update(Object::from_json(asking("a", cpu)).expect("a pod"));
    resized("2").expect("room");
    let error = resized("3").unwrap_err().message;
    assert!(error.contains("exceeded quota: q, requested: requests.cpu=3, used: requests.cpu=0"), "{error}");
    assert_eq!(used(&api, "q"), json!({ "requests.cpu": "2" }));
    api.delete(&ObjectKey::namespaced("v1", "ResourceQuota", "default", "q"), None).expect("deleted");
    resized("3").expect("no quota");
}

#[test]
fn sums_of_quotas_equal_a_count_after_any_writes_and_are_never_above_the_limit() {
    for seed in 0..60 {
        let mut draws = Draws::new(seed);
        let api = cluster();
        let mut below = |most: usize| draws.below(most);
        for step in 0..80 {
            let name = format!("p{}", below(12));
            let key = ObjectKey::pod("default", &name);
            // Refusals are part of the game.
            match below(8) {
                0 => drop(create(
                    &api,
                    quota(
                        &format!("q{}", below(2)),
                        json!({ "pods": 3 + below(4), "requests.cpu": 1 + below(6) }),
                    ),
                )),
                1 => drop(api.delete(
                    &ObjectKey::namespaced("v1", "ResourceQuota", "default", &format!("q{}", below(2))),
                    None,
                )),
                2..=4 => drop(create(&api, asking(&name, &format!("{}m", 250 * (1 + below(6)))))),
                5 => drop(api.delete(&key, None)),
                6 => drop(api.update(
                    Object::from_json(asking(&name, &format!("{}m", 250 * (1 + below(9))))).expect("a pod"),
                )),
                _ => {
                    let rows = api.pods_now(PodFilter::default());
                    if let Some(row) = rows.first() {
                        let phase = Some(PodPhase::Failed);
                        let nomination = NominatedNodeNamePatch::Keep;
                        drop(api.patch_pod_status(PodStatusPatch {
                            pod: row.uid,
                            condition: None,
                            nomination,
                            phase,
                        }));
                    }
                }
            }
            let sums = api.shared.lock().quota_sums();
            for (kept, counted) in sums {
                let equal = kept
                    .iter()
                    .all(|(name, amount)| counted[name].covers(*amount) && amount.covers(counted[name]));
                assert!(equal, "SEED={seed} step {step}: {kept:?} is not {counted:?}");
            }
        }
        let list = api.list(&ListQuery::all("v1", "ResourceQuota")).expect("listed");
        assert!(list.items.len() <= 2);
    }
}

#[test]
fn quota_with_a_bad_quantity_is_refused_by_its_field() {
    let api = EmbeddedCluster::new(Arc::new(|| 1));
    let refusal = |pods: Value| {
        let object = Object::from_json(json!({ "apiVersion": "v1", "kind": "ResourceQuota",
            "metadata": { "name": "q", "namespace": "default" }, "spec": { "hard": { "pods": pods } } }));
        api.create(object.expect("an object")).expect_err("it is refused").message
    };
    for (pods, why) in [(json!("five"), "\"five\""), (json!("-1"), "must be greater than or equal to 0")] {
        let message = refusal(pods);
        assert!(message.contains("spec.hard[pods]: Invalid value") && message.contains(why), "{message}");
    }
}
