//! Events about pods. Ten thousand pods that are held back are ten thousand events which hardly
//! anybody reads, so an event is a row and takes its version. All rows become objects, like those of
//! any other kind, when somebody looks at events.

use std::collections::VecDeque;

use schedlab_core::ids::PodUid;
use schedlab_core::scheduler::PodEventReason;
use serde_json::{Map, Value, json};

use super::body::time_of;
use super::state::State;
use crate::api::{
    ApiError, EventKind, GenericObject, NamespaceId, PodEventMessage, PodEventPost, PodEventRef, PodName,
    WatchedObject, format_pod_uid,
};

const API_VERSION: &str = "events.k8s.io/v1";
const KIND: &str = "Event";

/// After how long an event that nobody has looked at is gone. Upstream: kube-apiserver `--event-ttl`.
const TTL_NS: u64 = 3600 * 1_000_000_000;

/// An event that nobody has looked at.
#[derive(Clone)]
struct Row {
    event: PodEventRef,
    pod: PodUid,
    reason: PodEventReason,
    note: PodEventMessage,
    /// Number of `metadata.uid`.
    uid: u64,
    created_ns: u64,
}

/// The events, as far as they are no objects yet.
#[derive(Clone, Default)]
pub(super) struct PodEvents {
    unread: VecDeque<Row>,
    posted: u64,
}

impl PodEvents {
    /// Namespaces and names of the pods that unread events are about.
    pub(super) fn named(&self) -> impl Iterator<Item = (NamespaceId, PodName)> + '_ {
        self.unread.iter().map(|row| (row.event.namespace, row.event.pod_name))
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.unread.capacity() * size_of::<Row>()
    }
}

impl State {
    /// Takes an event in. The name of a pod that went a short while ago is still known.
    pub(super) fn post_pod_event(
        &mut self,
        post: &PodEventPost,
        now_ns: u64,
    ) -> Result<PodEventRef, ApiError> {
        let known = || self.rows.last_known(post.pod).map(|row| (row.namespace, row.name));
        let Some((namespace, pod_name)) = post.named.or_else(known) else {
            return Err(ApiError::not_found("pods", &format_pod_uid(post.pod)));
        };
        self.check_namespace("events.events.k8s.io", namespace)?;
        self.pod_events.posted += 1;
        let number = self.pod_events.posted;
        let event = PodEventRef { resource_version: self.log.next_version(), number, namespace, pod_name };
        let uid = self.take_uid_number();
        let (pod, reason, note) = (post.pod, post.reason, post.note.clone());
        let unread = &mut self.pod_events.unread;
        while unread.front().is_some_and(|row| row.created_ns + TTL_NS < now_ns) {
            unread.pop_front();
        }
        unread.push_back(Row { event, pod, reason, note, uid, created_ns: now_ns });
        self.publish(EventKind::Added, WatchedObject::PodEvent(event));
        Ok(event)
    }

    /// To be called before objects of a kind are looked at: events become objects if it is theirs, or
    /// one that goes with all that belongs to it.
    pub(super) fn prepare_kind(&mut self, kind: &str) {
        if matches!(kind, KIND | "Namespace") && !self.pod_events.unread.is_empty() {
            self.write_out_pod_events();
        }
    }

    fn write_out_pod_events(&mut self) {
        let rows = std::mem::take(&mut self.pod_events.unread);
        for row in &rows {
            let object = self.pod_event_object(row);
            self.insert_written(object);
        }
    }

    /// The object of an event, whether somebody has looked at it or not.
    pub(super) fn pod_event(&self, event: &PodEventRef) -> Option<GenericObject> {
        let unread = &self.pod_events.unread;
        let at = unread.partition_point(|row| row.event.number < event.number);
        if let Some(row) = unread.get(at).filter(|row| row.event.number == event.number) {
            return Some(self.pod_event_object(row));
        }
        let namespace = self.namespaces.text(event.namespace.0).to_string();
        let name = PodEventRef::name(&self.names.text(event.pod_name), event.number);
        let events = self.others.get(&("events.k8s.io".to_owned(), "events".to_owned()))?;
        events.get(&(namespace, name)).map(|object| (**object).clone())
    }

    fn pod_event_object(&self, row: &Row) -> GenericObject {
        let Row { event, note, uid, created_ns, .. } = row;
        let namespace = self.namespaces.text(event.namespace.0).as_ref();
        let pod_name = self.names.text(event.pod_name);
        let note = match note {
            PodEventMessage::Text(text) => text.to_string(),
            PodEventMessage::AssignedTo(node) => {
                format!("Successfully assigned {namespace}/{pod_name} to {}", self.node_name(*node))
            }
        };
        let mut object = GenericObject {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            resource_version: event.resource_version,
            body: body(row, namespace, &pod_name, &note),
            ..GenericObject::default()
        };
        object.metadata.namespace = Some(namespace.to_owned());
        object.metadata.name = Some(PodEventRef::name(&pod_name, event.number));
        object.metadata.uid = Some(State::uid_text(*uid));
        object.metadata.creation_timestamp = Some(time_of(*created_ns));
        object.metadata.resource_version = Some(event.resource_version.to_string());
        object
    }
}

fn body(row: &Row, namespace: &str, pod_name: &str, note: &str) -> Map<String, Value> {
    let regarding = json!({
        "apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": pod_name,
        "uid": format_pod_uid(row.pod),
    });
    let fields = [
        ("type", json!(row.reason.kind())),
        ("reason", json!(row.reason.as_str())),
        ("action", json!(row.reason.action())),
        ("note", json!(note)),
        ("reportingController", json!("default-scheduler")),
        ("regarding", regarding),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
