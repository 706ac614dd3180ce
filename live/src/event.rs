//! Events about pods as the API takes them, `events.k8s.io/v1`.
//!
//! Upstream: client-go tools/events/event_recorder.go `makeEvent`.

use schedlab_cluster::api::PodEventRef;
use schedlab_core::scheduler::PodEventReason;
use serde_json::{Value, json};

use crate::store::KnownPod;

/// Upstream: pkg/apis/core/validation `NoteLengthLimit`.
const NOTE_BYTES_MAX: usize = 1024;

/// Where events of a namespace are.
pub(crate) fn path(namespace: &str) -> String {
    format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events")
}

/// An event. `number` makes its name; `now` has microseconds.
pub(crate) fn body(
    pod: &KnownPod,
    (reason, note): (PodEventReason, &str),
    (number, now, instance): (u64, &str, &str),
) -> Value {
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": PodEventRef::name(&pod.name, number), "namespace": &*pod.namespace},
        "eventTime": now,
        "type": reason.kind(),
        "reason": reason.as_str(),
        "action": reason.action(),
        "note": shortened(note),
        "reportingController": &*pod.scheduler_name,
        "reportingInstance": format!("{}-{instance}", pod.scheduler_name),
        "regarding": {
            "apiVersion": "v1", "kind": "Pod", "namespace": &*pod.namespace, "name": &*pod.name,
            "uid": &*pod.uid, "resourceVersion": pod.row.resource_version.to_string(),
        },
    })
}

/// What makes an event a series of so many.
pub(crate) fn series(count: u64, now: &str) -> Value {
    json!({"series": {"count": count, "lastObservedTime": now}})
}

fn shortened(note: &str) -> &str {
    let mut end = note.len().min(NOTE_BYTES_MAX);
    while !note.is_char_boundary(end) {
        end -= 1;
    }
    &note[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note_is_cut_between_letters() {
        let long = format!("{}é", "x".repeat(NOTE_BYTES_MAX - 1));
        assert_eq!(shortened(&long).len(), NOTE_BYTES_MAX - 1);
        assert_eq!(shortened("short"), "short");
    }
}
