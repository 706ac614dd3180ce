//! The trait over the store: takes the lock, calls the verb, counts the call.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{NodeStatus, Pod};
use rustc_hash::FxHashMap;
use schedlab_core::api_call::PodGroupStatusPatch;
use schedlab_core::ids::PodUid;

use super::EmbeddedCluster;
use super::calls::{Tally, Target, Verb};
use super::others::Place;
use super::state::State;
use super::watch::{EmbeddedRunningWatch, EmbeddedWatch};
use crate::api::{
    Api, ApiCallCounts, ApiError, Binding, ConditionSetId, CreatedPods, ListQuery, NamedBinding, NamespaceId,
    NodeNameId, Object, ObjectKey, ObjectList, PodConditionEntry, PodEventPost, PodEventRef, PodFilter,
    PodName, PodRowList, PodSpecEntry, PodStatusPatch, PodTemplateRef, RunningWatch, SpecId, StoredPodRow,
    Watch, resource_or_guess,
};
use crate::selector;

/// What a kind is stored as.
enum Kind {
    Pod,
    Node,
    Other,
}

impl Kind {
    fn of(api_version: &str, kind: &str) -> Self {
        match (api_version, kind) {
            ("v1", "Pod") => Kind::Pod,
            ("v1", "Node") => Kind::Node,
            _ => Kind::Other,
        }
    }
}

fn namespace_of(namespace: Option<&str>) -> &str {
    namespace.filter(|namespace| !namespace.is_empty()).unwrap_or("default")
}

impl EmbeddedCluster {
    /// Counts a call on an object or, with a subresource, on a part of it.
    fn count(&self, verb: Verb, key: &ObjectKey, subresource: Option<&str>, tally: Tally) {
        let target = match (Kind::of(&key.api_version, &key.kind), subresource) {
            (Kind::Pod, None) => Target::Pods,
            (Kind::Pod, Some(_)) => Target::PodStatus,
            (Kind::Node, None) => Target::Nodes,
            (Kind::Node, Some(_)) => Target::NodeStatus,
            (Kind::Other, _) => {
                let resource = resource_or_guess(&key.api_version, &key.kind, key.namespace.as_deref());
                let path = match subresource {
                    None => resource.plural,
                    Some(part) => format!("{}/{part}", resource.plural),
                };
                return self.shared.calls.add(verb, Target::Other(&path), tally);
            }
        };
        self.shared.calls.add(verb, target, tally);
    }

    /// One verb for each item, under one lock.
    fn write_each<T, R>(
        &self,
        (verb, target): (Verb, Target<'_>),
        items: &[T],
        results: &mut Vec<Result<R, ApiError>>,
        write: impl Fn(&mut State, &T, u64) -> Result<R, ApiError>,
    ) {
        let first = results.len();
        results.reserve(items.len());
        self.shared.write(|state, now_ns| {
            for item in items {
                results.push(write(state, item, now_ns));
            }
        });
        self.shared.calls.add(verb, target, Tally::of_all(&results[first..]));
    }
}

impl Api for EmbeddedCluster {
    fn create(&self, object: Object) -> Result<Object, ApiError> {
        let key = object.key();
        let result = self.shared.write(|state, now_ns| match object {
            Object::Pod(pod) => {
                let namespace = namespace_of(pod.metadata.namespace.as_deref()).to_owned();
                let template = state.pod_template(*pod, &namespace)?;
                let created = state.create_pods(&template, 1, now_ns)?;
                let row = state.rows.get(created.first).expect("the pod was just created");
                Ok(Object::Pod(Box::new(state.assemble_pod(row))))
            }
            Object::Node(node) => state.create_node(*node, now_ns).map(|node| Object::Node(Box::new(node))),
            Object::Other(object) => {
                state.prepare_kind(&object.kind);
                state.create_other(*object, now_ns).map(|object| Object::Other(Box::new(object)))
            }
        });
        self.count(Verb::Post, &key, None, Tally::of(&result));
        result
    }

    fn get(&self, key: &ObjectKey) -> Result<Object, ApiError> {
        let mut state = self.shared.lock();
        state.prepare_kind(&key.kind);
        let result = match Kind::of(&key.api_version, &key.kind) {
            Kind::Pod => state
                .get_pod(namespace_of(key.namespace.as_deref()), &key.name)
                .map(|row| Object::Pod(Box::new(state.assemble_pod(row)))),
            Kind::Node => {
                state.get_node(&key.name).map(|node| Object::Node(Box::new((*node.object).clone())))
            }
            Kind::Other => {
                state.get_other(&Place::of_key(key)).map(|object| Object::Other(Box::new((**object).clone())))
            }
        };
        drop(state);
        self.count(Verb::Get, key, None, Tally::of(&result));
        result
    }

    fn list(&self, query: &ListQuery) -> Result<ObjectList, ApiError> {
        let mut state = self.shared.lock();
        state.prepare_kind(&query.kind);
        let labels = query.labels.as_ref();
        let items = match Kind::of(&query.api_version, &query.kind) {
            Kind::Pod => {
                let filter = PodFilter { namespace: query.namespace.as_deref(), labels };
                let rows = rows_in(&state, filter);
                rows.iter().map(|row| Object::Pod(Box::new(state.assemble_pod(row)))).collect()
            }
            Kind::Node => state
                .nodes
                .values()
                .filter(|node| labels.is_none_or(|labels| selector::matches(labels, &node.input.labels)))
                .map(|node| Object::Node(Box::new((*node.object).clone())))
                .collect(),
            Kind::Other => state
                .list_others(query)
                .into_iter()
                .map(|object| Object::Other(Box::new(Arc::unwrap_or_clone(object))))
                .collect(),
        };
        let list = ObjectList { resource_version: state.log.last_version(), items };
        drop(state);
        let key = ObjectKey {
            api_version: query.api_version.clone(),
            kind: query.kind.clone(),
            ..ObjectKey::default()
        };
        self.count(Verb::List, &key, None, Tally { calls: 1, failed: 0 });
        Ok(list)
    }

    fn update(&self, object: Object) -> Result<Object, ApiError> {
        let key = object.key();
        let result = self.shared.write(|state, _| match object {
            Object::Pod(pod) => state.update_pod(*pod).map(|pod| Object::Pod(Box::new(pod))),
            Object::Node(node) => state.update_node(*node).map(|node| Object::Node(Box::new(node))),
            Object::Other(object) => {
                state.prepare_kind(&object.kind);
                state.update_other(*object).map(|object| Object::Other(Box::new(object)))
            }
        });
        self.count(Verb::Put, &key, None, Tally::of(&result));
        result
    }

    fn update_status(&self, object: Object) -> Result<Object, ApiError> {
        let key = object.key();
        let result = self.shared.write(|state, now_ns| match object {
            Object::Pod(pod) => state.update_pod_status(*pod, now_ns).map(|pod| Object::Pod(Box::new(pod))),
            Object::Node(node) => state.update_node_status(*node).map(|node| Object::Node(Box::new(node))),
            Object::Other(object) => {
                state.prepare_kind(&object.kind);
                state.update_other_status(&object).map(|object| Object::Other(Box::new(object)))
            }
        });
        self.count(Verb::Put, &key, Some("status"), Tally::of(&result));
        result
    }

    fn delete(&self, key: &ObjectKey, uid: Option<&str>) -> Result<(), ApiError> {
        let result = self.shared.write(|state, now_ns| match Kind::of(&key.api_version, &key.kind) {
            Kind::Pod => {
                let namespace = namespace_of(key.namespace.as_deref());
                let pod = state.get_pod(namespace, &key.name)?.uid;
                state.check_pod_uid(pod, uid)?;
                state.delete_pod(pod, now_ns)
            }
            Kind::Node => state.delete_node(&key.name, uid, now_ns),
            Kind::Other => {
                state.prepare_kind(&key.kind);
                state.delete_other(&Place::of_key(key), uid, now_ns)
            }
        });
        self.count(Verb::Delete, key, None, Tally::of(&result));
        result
    }

    fn pod_template(&self, pod: Pod, namespace: &str) -> Result<PodTemplateRef, ApiError> {
        self.shared.lock().pod_template(pod, namespace).map(Arc::new)
    }

    fn create_pods(&self, template: &PodTemplateRef, count: u32) -> Result<CreatedPods, ApiError> {
        let (result, created) = self.shared.write(|state, now_ns| {
            let before = state.rows.next_uid().0;
            let result = state.create_pods(template, count, now_ns);
            (result, state.rows.next_uid().0 - before)
        });
        let failed = u64::from(result.is_err());
        self.shared.calls.add(Verb::Post, Target::Pods, Tally { calls: created + failed, failed });
        result
    }

    fn bind(&self, binding: &NamedBinding<'_>) -> Result<(), ApiError> {
        let result = self.shared.write(|state, now_ns| state.bind_named(binding, now_ns));
        self.shared.calls.add(Verb::Post, Target::PodBinding, Tally::of(&result));
        result
    }

    fn bind_batch(&self, bindings: &[Binding], results: &mut Vec<Result<(), ApiError>>) {
        self.write_each((Verb::Post, Target::PodBinding), bindings, results, |state, &binding, now_ns| {
            state.bind_pod(binding, now_ns)
        });
    }

    fn patch_pod_status_batch(
        &self,
        patches: &[PodStatusPatch<'_>],
        results: &mut Vec<Result<u64, ApiError>>,
    ) {
        self.write_each((Verb::Patch, Target::PodStatus), patches, results, State::patch_pod);
    }

    fn post_pod_events(&self, events: &[PodEventPost], results: &mut Vec<Result<PodEventRef, ApiError>>) {
        self.write_each((Verb::Post, Target::Other("events")), events, results, State::post_pod_event);
    }

    fn patch_node_status(&self, name: &str, status: NodeStatus) -> Result<(), ApiError> {
        let result = self.shared.write(|state, _| state.patch_node_status(name, status));
        self.shared.calls.add(Verb::Patch, Target::NodeStatus, Tally::of(&result));
        result
    }

    fn patch_pod_group_status(&self, patch: &PodGroupStatusPatch) -> Result<(), ApiError> {
        let result = self.shared.write(|state, now_ns| state.patch_pod_group(patch, now_ns));
        self.shared.calls.add(Verb::Patch, Target::Other("podgroups/status"), Tally::of(&result));
        result
    }

    fn delete_pods_batch(&self, pods: &[PodUid], results: &mut Vec<Result<(), ApiError>>) {
        self.write_each((Verb::Delete, Target::Pods), pods, results, |state, &pod, now_ns| {
            state.delete_pod(pod, now_ns)
        });
    }

    fn evict_pods_batch(&self, pods: &[PodUid], results: &mut Vec<Result<(), ApiError>>) {
        let target = Target::Other("pods/eviction");
        self.write_each((Verb::Post, target), pods, results, |state, &pod, now_ns| {
            state.evict_pod(pod, now_ns)
        });
    }

    fn pods_in(&self, filter: PodFilter<'_>) -> Result<PodRowList, ApiError> {
        let state = self.shared.lock();
        let list = PodRowList { resource_version: state.log.last_version(), rows: rows_in(&state, filter) };
        drop(state);
        self.shared.calls.add(Verb::List, Target::Pods, Tally { calls: 1, failed: 0 });
        Ok(list)
    }

    /// Not a call: it stands for the informer that a client would have.
    fn scheduled_count(&self, namespace: &str) -> Result<u64, ApiError> {
        let mut state = self.shared.lock();
        let id = state.namespace_id(namespace);
        Ok(*state.scheduled_count_mut(id))
    }

    fn watch(&self, resource_version: u64) -> Result<Box<dyn Watch>, ApiError> {
        let opened = self.shared.lock().log.open(resource_version);
        self.shared.calls.add(Verb::Watch, Target::Other("*"), Tally::of(&opened));
        let watch = EmbeddedWatch { shared: Arc::clone(&self.shared), cursor: opened?, nudges: 0 };
        Ok(Box::new(watch))
    }

    fn watch_running(&self, resource_version: u64) -> Result<Box<dyn RunningWatch>, ApiError> {
        let opened = {
            let mut state = self.shared.lock();
            let State { log, followers, .. } = &mut *state;
            log.since(resource_version).map(|missed| followers.open(missed))
        };
        self.shared.calls.add(Verb::Watch, Target::Other("*"), Tally::of(&opened));
        let watch = EmbeddedRunningWatch {
            shared: Arc::clone(&self.shared),
            follower: opened?,
            seen_version: resource_version,
        };
        Ok(Box::new(watch))
    }

    fn nudge(&self) {
        let mut state = self.shared.lock();
        state.nudges += 1;
        let must_wake = 0 < state.waiter_count;
        drop(state);
        if must_wake {
            self.shared.changed.notify_all();
        }
    }

    fn call_counts(&self) -> ApiCallCounts {
        self.shared.calls.read()
    }

    fn pod_spec(&self, spec: SpecId) -> Arc<PodSpecEntry> {
        Arc::clone(self.shared.lock().specs.get(spec))
    }

    fn node_name(&self, node: NodeNameId) -> Arc<str> {
        Arc::clone(self.shared.lock().node_name(node))
    }

    fn node_name_id(&self, name: &str) -> NodeNameId {
        self.shared.lock().node_name_id(name)
    }

    fn namespace_name(&self, namespace: NamespaceId) -> Arc<str> {
        Arc::clone(self.shared.lock().namespaces.text(namespace.0))
    }

    fn pod_name(&self, name: PodName) -> String {
        self.shared.lock().names.text(name)
    }

    fn pod_conditions(&self, conditions: ConditionSetId) -> Arc<[PodConditionEntry]> {
        Arc::clone(self.shared.lock().conditions.get(conditions))
    }

    fn pod_row(&self, pod: PodUid) -> Option<StoredPodRow> {
        self.shared.lock().rows.get(pod).copied()
    }
}

impl EmbeddedCluster {
    /// POSTs of pods that were to come at a time: what is measured of them begins then.
    pub fn create_pods_intended_at(
        &self,
        template: &PodTemplateRef,
        count: u32,
        intended_ns: u64,
    ) -> Result<CreatedPods, ApiError> {
        let result =
            self.shared.write(|state, now_ns| state.create_pods(template, count, intended_ns.min(now_ns)));
        let calls = u64::from(count);
        let failed = u64::from(result.is_err());
        self.shared.calls.add(Verb::Post, Target::Pods, Tally { calls: calls.max(failed), failed });
        result
    }

    /// The pods of a list, without a call: it stands for the informer that a client would have.
    #[must_use]
    pub fn pods_now(&self, filter: PodFilter<'_>) -> Vec<StoredPodRow> {
        rows_in(&self.shared.lock(), filter)
    }
}

/// The pods that a filter lets through. Labels are matched once per body.
fn rows_in(state: &State, filter: PodFilter<'_>) -> Vec<StoredPodRow> {
    let namespace = match filter.namespace {
        None => None,
        Some(name) => match state.namespaces.find(name) {
            Some(id) => Some(NamespaceId(id)),
            None => return Vec::new(),
        },
    };
    let mut verdicts: FxHashMap<SpecId, bool> = FxHashMap::default();
    let mut has_labels = |spec: SpecId| match filter.labels {
        None => true,
        Some(labels) => *verdicts
            .entry(spec)
            .or_insert_with(|| selector::matches(labels, &state.specs.get(spec).input.labels)),
    };
    state
        .rows
        .iter()
        .filter(|row| namespace.is_none_or(|namespace| namespace == row.namespace))
        .filter(|row| has_labels(row.spec))
        .copied()
        .collect()
}
