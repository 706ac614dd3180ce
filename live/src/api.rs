//! The verbs of the API trait, over the network. Each waits for its answer.
//!
//! What a remote cluster has no counterpart for is refused with a reason: pods of a template that share a
//! row, and the watch of controllers that run on the embedded cluster only.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::Method;
use k8s_openapi::api::core::v1::{NodeStatus, Pod};
use schedlab_cluster::api::{
    Api, ApiCallCounts, Binding, ConditionSetId, CreatedPods, ListQuery, NamedBinding, NamespaceId,
    NodeNameId, Object, ObjectKey, ObjectList, PodConditionEntry, PodEventPost, PodEventRef, PodFilter,
    PodName, PodRowList, PodSpecEntry, PodStatusPatch, PodTemplateRef, RunningWatch, SpecId, StoredPodRow,
    Watch,
};
use schedlab_cluster::selector;
use schedlab_cluster::{ApiError, StatusReason};
use schedlab_core::api_call::VolumeWrites;
use schedlab_core::ids::PodUid;
use schedlab_objects::ApiJson as _;
use serde_json::{Value, json};

use crate::claims_bound;
use crate::cluster::LiveCluster;
use crate::path;
use crate::requests::BodyKind;
use crate::watch::LiveWatch;

/// Controllers of the lab, and templates of pods, are for the embedded cluster.
fn not_remote(what: &str) -> ApiError {
    ApiError::bad_request(format!("{what} is of the embedded cluster only; this one is behind an API server"))
}

fn unreadable(path: &str, error: &serde_json::Error) -> ApiError {
    ApiError::bad_request(format!("{path}: the answer cannot be read: {error}"))
}

impl LiveCluster {
    fn ask(
        &self,
        method: Method,
        path: &str,
        kind: BodyKind,
        body: Option<&Value>,
    ) -> Result<Value, ApiError> {
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let answer = self.wait(self.requests.send(method, path, kind, body))?;
        serde_json::from_slice(&answer).map_err(|error| unreadable(path, &error))
    }

    fn write(&self, method: Method, path: &str, object: &Object) -> Result<Object, ApiError> {
        let body = json_of(object).map_err(|error| ApiError::bad_request(error.to_string()))?;
        let answer = self.ask(method, path, BodyKind::Json, Some(&body))?;
        object_of(answer, path)
    }
}

/// Also of a pod or a node, whose types do not write what they are.
fn json_of(object: &Object) -> Result<Value, serde_json::Error> {
    let mut value = match object {
        Object::Pod(pod) => pod.to_json(),
        Object::Node(node) => node.to_json(),
        Object::Other(other) => other.to_json(),
    }?;
    value["apiVersion"] = Value::from(object.api_version());
    value["kind"] = Value::from(object.kind());
    Ok(value)
}

fn object_of(value: Value, path: &str) -> Result<Object, ApiError> {
    let mut object = Object::from_json(value).map_err(|error| unreadable(path, &error))?;
    if let Object::Other(other) = &mut object {
        let version = other.metadata.resource_version.as_deref();
        other.resource_version = version.and_then(|version| version.parse().ok()).unwrap_or(0);
    }
    Ok(object)
}

impl Api for LiveCluster {
    fn create(&self, object: Object) -> Result<Object, ApiError> {
        let key = object.key();
        let path = path::of_kind(&key.api_version, &key.kind, key.namespace.as_deref());
        self.write(Method::POST, &path, &object)
    }

    fn get(&self, key: &ObjectKey) -> Result<Object, ApiError> {
        let path = path::of_object(key);
        object_of(self.ask(Method::GET, &path, BodyKind::Json, None)?, &path)
    }

    fn list(&self, query: &ListQuery) -> Result<ObjectList, ApiError> {
        let path = path::of_kind(&query.api_version, &query.kind, query.namespace.as_deref());
        let mut list = self.ask(Method::GET, &path, BodyKind::Json, None)?;
        let version = list["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
        let Value::Array(items) = list["items"].take() else {
            return Ok(ObjectList { resource_version: version.unwrap_or(0), items: Vec::new() });
        };
        let none = BTreeMap::new();
        let is_wanted = |object: &Object| {
            let labels = object.metadata().labels.as_ref().unwrap_or(&none);
            query.labels.as_ref().is_none_or(|wanted| selector::matches(wanted, labels))
        };
        let read = |mut item: Value| {
            item["apiVersion"] = Value::from(&*query.api_version);
            item["kind"] = Value::from(&*query.kind);
            object_of(item, &path)
        };
        let items = items.into_iter().map(read).filter(|object| object.as_ref().map_or(true, is_wanted));
        Ok(ObjectList { resource_version: version.unwrap_or(0), items: items.collect::<Result<_, _>>()? })
    }

    fn update(&self, object: Object) -> Result<Object, ApiError> {
        self.write(Method::PUT, &path::of_object(&object.key()), &object)
    }

    fn update_status(&self, object: Object) -> Result<Object, ApiError> {
        self.write(Method::PUT, &format!("{}/status", path::of_object(&object.key())), &object)
    }

    fn delete(&self, key: &ObjectKey, uid: Option<&str>) -> Result<(), ApiError> {
        let body = uid.map(|uid| json!({"preconditions": {"uid": uid}}));
        self.ask(Method::DELETE, &path::of_object(key), BodyKind::Json, body.as_ref()).map(drop)
    }

    fn pod_template(&self, _: Pod, _: &str) -> Result<PodTemplateRef, ApiError> {
        Err(not_remote("a template of pods"))
    }

    fn create_pods(&self, _: &PodTemplateRef, _: u32) -> Result<CreatedPods, ApiError> {
        Err(not_remote("a template of pods"))
    }

    fn bind(&self, binding: &NamedBinding<'_>) -> Result<(), ApiError> {
        let NamedBinding { namespace, name, uid, node } = *binding;
        let body = json!({
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"namespace": namespace, "name": name, "uid": uid},
            "target": {"kind": "Node", "name": node},
        });
        let path = format!("{}/binding", path::of_pod(namespace, name));
        self.ask(Method::POST, &path, BodyKind::Json, Some(&body)).map(drop)
    }

    fn bind_batch(&self, bindings: &[Binding], results: &mut Vec<Result<(), ApiError>>) {
        results.extend(bindings.iter().map(|binding| self.wait(self.bind_on_server(*binding))));
    }

    fn patch_pod_status_batch(
        &self,
        patches: &[PodStatusPatch<'_>],
        results: &mut Vec<Result<u64, ApiError>>,
    ) {
        results.extend(patches.iter().map(|patch| self.wait(self.patch_on_server(patch))));
    }

    fn post_pod_events(&self, events: &[PodEventPost], results: &mut Vec<Result<PodEventRef, ApiError>>) {
        let posts = events.iter().map(|event| self.post_event_on_server(event));
        results.extend(self.wait(futures::future::join_all(posts)));
    }

    fn repeat_pod_event(&self, pod: PodUid, number: u64, count: u64) -> Result<(), ApiError> {
        self.wait(self.repeat_event_on_server(pod, number, count))
    }

    fn wait_for_volumes(&self, writes: &VolumeWrites) -> Result<(), ApiError> {
        claims_bound::wait(&self.store, writes)
    }

    fn patch_node_status(&self, name: &str, status: NodeStatus) -> Result<(), ApiError> {
        let node = k8s_openapi::api::core::v1::Node { status: Some(status), ..Default::default() };
        let body = node.to_json().map_err(|error| ApiError::bad_request(error.to_string()))?;
        let path = format!("{}/status", path::of_object(&ObjectKey::node(name)));
        let body = json!({"status": body["status"]});
        self.ask(Method::PATCH, &path, BodyKind::StrategicMergePatch, Some(&body)).map(drop)
    }

    fn delete_pods_batch(&self, pods: &[PodUid], results: &mut Vec<Result<(), ApiError>>) {
        results.extend(pods.iter().map(|pod| self.wait(self.delete_pod_on_server(*pod))));
    }

    fn evict_pods_batch(&self, pods: &[PodUid], results: &mut Vec<Result<(), ApiError>>) {
        results.extend(pods.iter().map(|pod| self.wait(self.evict_on_server(*pod))));
    }

    fn pods_in(&self, filter: PodFilter<'_>) -> Result<PodRowList, ApiError> {
        let state = self.store.lock();
        let is_wanted = |row: &StoredPodRow| {
            let in_namespace =
                filter.namespace.is_none_or(|name| state.namespaces.find(name) == Some(row.namespace.0));
            let labels = |wanted| selector::matches(wanted, &state.specs.get(row.spec).input.labels);
            in_namespace && filter.labels.is_none_or(labels)
        };
        let mut rows: Vec<StoredPodRow> = state.pods.values().map(|pod| pod.row).filter(is_wanted).collect();
        rows.sort_by_key(|row| row.uid);
        Ok(PodRowList { resource_version: state.version, rows })
    }

    /// All that is there comes first, as added: there is no version to begin at that holds for all kinds.
    fn watch(&self, _: u64) -> Result<Box<dyn Watch>, ApiError> {
        Ok(Box::new(LiveWatch::open(Arc::clone(&self.store))))
    }

    fn watch_running(&self, _: u64) -> Result<Box<dyn RunningWatch>, ApiError> {
        Err(not_remote("the watch of pods that run"))
    }

    fn nudge(&self) {
        self.store.lock().nudges += 1;
        self.store.changed.notify_all();
    }

    /// The API server counts.
    fn call_counts(&self) -> ApiCallCounts {
        ApiCallCounts::default()
    }

    fn pod_spec(&self, spec: SpecId) -> Arc<PodSpecEntry> {
        self.store.lock().specs.get(spec)
    }

    fn node_name(&self, node: NodeNameId) -> Arc<str> {
        self.store.lock().node_names.text(node.index())
    }

    fn node_name_id(&self, name: &str) -> NodeNameId {
        self.store.lock().node_name_id(name)
    }

    fn namespace_name(&self, namespace: NamespaceId) -> Arc<str> {
        self.store.lock().namespaces.text(namespace.0 as usize)
    }

    fn pod_uid(&self, pod: PodUid) -> String {
        self.store.lock().pod(pod).map(|known| known.uid.to_string()).unwrap_or_default()
    }

    fn pod_name(&self, name: PodName) -> String {
        self.store.lock().pod_named(name).map(|known| known.name.to_string()).unwrap_or_default()
    }

    fn pod_conditions(&self, _: ConditionSetId) -> Arc<[PodConditionEntry]> {
        Arc::from([])
    }

    fn pod_row(&self, pod: PodUid) -> Option<StoredPodRow> {
        self.store.lock().pods.get(&pod).map(|known| known.row)
    }

    fn patch_pod_group_status(
        &self,
        wanted: &schedlab_core::api_call::PodGroupStatusPatch,
    ) -> Result<(), ApiError> {
        let kind = self.kinds.iter().find(|kind| kind.row.name == "PodGroup");
        let api_version = kind.map_or("scheduling.k8s.io/v1beta1", |kind| kind.api_version.as_str());
        let key = ObjectKey::namespaced(api_version, "PodGroup", &wanted.namespace, &wanted.name);
        let Object::Other(mut group) = self.get(&key)? else { return Ok(()) };
        schedlab_cluster::api::set_pod_group_condition(
            &mut group,
            &wanted.condition,
            Some(&crate::cluster::seconds_now()),
        );
        match self.update_status(Object::Other(group)) {
            Err(error) if error.reason == StatusReason::NotFound => Ok(()),
            other => other.map(drop),
        }
    }
}
