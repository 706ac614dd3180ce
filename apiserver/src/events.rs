//! Events in two groups: the core one that kubectl reads, and `events.k8s.io` that schedulers write. They are
//! the same objects; they are kept as the second.
//!
//! Upstream: pkg/apis/events/v1/conversion.go.

use schedlab_cluster::api::GenericObject;
use serde_json::{Map, Value, json};

/// Names of fields, in `events.k8s.io` and in the core group.
const FIELDS: [(&str, &str); 7] = [
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("reportingController", "reportingComponent"),
];

/// An event as the core group has it.
pub(crate) fn core_event_text(event: &GenericObject) -> Result<Vec<u8>, serde_json::Error> {
    let mut core = GenericObject { api_version: "v1".to_owned(), body: Map::new(), ..event.clone() };
    for (name, value) in &event.body {
        let renamed =
            FIELDS.iter().find(|(stored, _)| stored == name).map_or(name.as_str(), |(_, core)| core);
        core.body.insert(renamed.to_owned(), value.clone());
    }
    // kubectl prints these two, which writers of `events.k8s.io` leave empty.
    core.body.entry("source").or_insert_with(|| json!({}));
    core.body.entry("firstTimestamp").or_insert(Value::Null);
    core.body.entry("lastTimestamp").or_insert(Value::Null);
    schedlab_objects::object_text(&core)
}

/// The JSON of a core event, as it is kept.
pub(crate) fn stored_event(core: Value) -> Value {
    let Value::Object(fields) = core else { return core };
    let mut stored: Map<String, Value> = fields
        .into_iter()
        .map(|(name, value)| {
            let kept = FIELDS.iter().find(|(_, core)| *core == name).map(|(stored, _)| (*stored).to_owned());
            (kept.unwrap_or(name), value)
        })
        .collect();
    stored.insert("apiVersion".to_owned(), json!("events.k8s.io/v1"));
    Value::Object(stored)
}

/// The name that a field of a selector on core events has in the stored event.
pub(crate) fn stored_field(core: &str) -> String {
    match core {
        "reportingComponent" => "reportingController".to_owned(),
        "source" => "deprecatedSource.component".to_owned(),
        _ => match core.strip_prefix("involvedObject.") {
            Some(rest) => format!("regarding.{rest}"),
            None => core.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_event_survives_being_stored() {
        let core = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "a.1", "namespace": "default"},
            "involvedObject": {"kind": "Pod", "name": "a"}, "message": "no room", "reason": "FailedScheduling",
            "source": {"component": "kubelet"}, "count": 3, "firstTimestamp": "2026-01-01T00:00:00Z",
            "lastTimestamp": null, "reportingComponent": "kubelet",
        });
        let stored = stored_event(core.clone());
        assert_eq!(stored["regarding"]["name"], "a");
        assert_eq!(stored["note"], "no room");
        let event: GenericObject = serde_json::from_value(stored).unwrap();
        let back: Value = serde_json::from_slice(&core_event_text(&event).unwrap()).unwrap();
        assert_eq!(back, core);
    }

    #[test]
    fn field_of_a_core_event_has_its_stored_name() {
        assert_eq!(stored_field("involvedObject.uid"), "regarding.uid");
        assert_eq!(stored_field("reason"), "reason");
        assert_eq!(stored_field("reportingComponent"), "reportingController");
    }
}
