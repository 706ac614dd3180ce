//! The thread that writes events about pods, beside the others: no pod waits for one.
//!
//! ```text
//! scheduler thread ──problems──▶ ┌─────────┐
//! binder thread ──bound pods───▶ │ Recorder │ ──▶ POST events, PUT for the second of a kind
//!                                └─────────┘
//! ```
//!
//! Upstream: client-go tools/events/event_broadcaster.go. Equal events of a pod are one object: the
//! first is posted, the second makes it a series, later ones are only counted.
//! Differs: upstream patches the series, this API replaces the object; a series never ends, because
//! no run lasts the six minutes after which upstream's does.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender};
use rustc_hash::FxHashMap;
use schedlab_core::ids::PodUid;
use schedlab_core::scheduler::{PodEvent, PodEventNote, PodEventReason, Scheduler};
use serde_json::{Value, json};

use super::wall::Shared;
use crate::api::{Api, GenericObject, NodeNameId, Object, ObjectKey, format_pod_uid};
use crate::clock::monotonic_ns;
use crate::link::{Link, LinkSettings};

/// An event on its way to the API.
pub(super) struct Note {
    pub(super) pod: PodUid,
    pub(super) reason: PodEventReason,
    pub(super) text: NoteText,
}

pub(super) enum NoteText {
    Written {
        namespace: Arc<str>,
        name: String,
        text: Arc<str>,
    },
    /// To be written by this thread: plain pods are not to wait for it.
    BoundTo(NodeNameId),
}

/// Where the other threads leave their events.
#[derive(Clone)]
pub(super) struct Outbox {
    pub(super) sender: Sender<Vec<Note>>,
    pub(super) shared: Arc<Shared>,
}

impl Outbox {
    pub(super) fn send(&self, notes: Vec<Note>) {
        if notes.is_empty() {
            return;
        }
        let count = notes.len() as u64;
        self.shared.calls_in_flight.fetch_add(count, Ordering::AcqRel);
        if self.sender.send(notes).is_err() {
            // The thread is gone (a bug that `stop` reports): nothing is in flight.
            self.shared.calls_in_flight.fetch_sub(count, Ordering::AcqRel);
        }
    }

    /// Sends what the scheduler has to say. Names are looked up now: a victim may be gone soon.
    pub(super) fn send_problems(&self, events: &mut Vec<PodEvent>, api: &dyn Api, scheduler: &Scheduler) {
        let written = events.drain(..).filter_map(|event| {
            let row = api.pod_row(event.pod)?;
            let text = match event.note {
                PodEventNote::Text(text) => text,
                PodEventNote::PreemptedBy { preemptor, node } => {
                    let (preemptor, node) = (format_pod_uid(preemptor), scheduler.world().node_name(node));
                    format!("Preempted by pod {preemptor} on node {node}").into()
                }
            };
            let (namespace, name) = (api.namespace_name(row.namespace), api.pod_name(row.name));
            let text = NoteText::Written { namespace, name, text };
            Some(Note { pod: event.pod, reason: event.reason, text })
        });
        self.send(written.collect());
    }
}

/// The thread.
pub(super) struct Recorder {
    api: Arc<dyn Api>,
    shared: Arc<Shared>,
    inbox: Receiver<Vec<Note>>,
    /// The objects' names, by what makes events equal, and how often each came.
    known: FxHashMap<Key, (String, u64)>,
    written: u64,
}

/// Events with the same key are one object.
type Key = (PodUid, PodEventReason, Arc<str>);

impl Recorder {
    pub(super) fn new(api: Arc<dyn Api>, shared: Arc<Shared>, inbox: Receiver<Vec<Note>>) -> Recorder {
        Recorder { api, shared, inbox, known: FxHashMap::default(), written: 0 }
    }

    pub(super) fn run(mut self, settings: LinkSettings) {
        let mut link = Link::new(settings);
        loop {
            let now_ns = monotonic_ns();
            while let Some(note) = link.take_due(now_ns) {
                self.record(note);
                self.shared.calls_in_flight.fetch_sub(1, Ordering::AcqRel);
            }
            let received = match link.next_due_ns() {
                None => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due_ns) => {
                    self.inbox.recv_timeout(Duration::from_nanos(due_ns.saturating_sub(monotonic_ns())))
                }
            };
            match received {
                Ok(notes) => {
                    let now_ns = monotonic_ns();
                    notes.into_iter().for_each(|note| link.send(note, 1, now_ns));
                }
                Err(RecvTimeoutError::Timeout) => {}
                // Those who wrote have stopped: nobody reads the rest.
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn record(&mut self, note: Note) {
        let (namespace, name, text) = match note.text {
            NoteText::Written { namespace, name, text } => (namespace, name, text),
            NoteText::BoundTo(node) => {
                let Some(row) = self.api.pod_row(note.pod) else { return };
                let (namespace, name) = (self.api.namespace_name(row.namespace), self.api.pod_name(row.name));
                let node = self.api.node_name(node);
                let text = format!("Successfully assigned {namespace}/{name} to {node}").into();
                (namespace, name, text)
            }
        };
        let key = (note.pod, note.reason, text);
        match self.known.get_mut(&key) {
            Some((name, count)) => {
                *count += 1;
                if *count == 2 {
                    let key = ObjectKey::namespaced(API_VERSION, KIND, &namespace, name);
                    begin_series(self.api.as_ref(), &key);
                }
            }
            None => {
                self.written += 1;
                let event = event(&key, &namespace, &name, self.written);
                let event_name = event.metadata.name.clone().unwrap_or_default();
                // An event that is refused is lost, as upstream's are; the API counts it.
                if self.api.create(Object::Other(Box::new(event))).is_ok() {
                    self.known.insert(key, (event_name, 1));
                }
            }
        }
    }
}

fn begin_series(api: &dyn Api, key: &ObjectKey) {
    if let Ok(Object::Other(mut event)) = api.get(key) {
        event.body.insert("series".to_owned(), json!({ "count": 2 }));
        // Refused because somebody removed it meanwhile: then there is no series.
        let _ = api.update(Object::Other(event));
    }
}

const API_VERSION: &str = "events.k8s.io/v1";
const KIND: &str = "Event";

fn event((pod, reason, text): &Key, namespace: &str, name: &str, number: u64) -> GenericObject {
    let body = json!({
        "type": reason.kind(),
        "reason": reason.as_str(),
        "action": reason.action(),
        "note": &**text,
        "reportingController": "default-scheduler",
        "regarding": {
            "apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": name, "uid": format_pod_uid(*pod),
        },
    });
    let Value::Object(body) = body else { unreachable!("a literal map") };
    let mut event = GenericObject {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        body,
        ..GenericObject::default()
    };
    event.metadata.namespace = Some(namespace.to_owned());
    event.metadata.name = Some(format!("{name}.{number:x}"));
    event
}
