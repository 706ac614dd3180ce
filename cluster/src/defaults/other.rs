//! Kinds that are stored as JSON: the few defaults that scheduling reads.

use serde_json::{Map, Value, json};

use crate::api::{GenericObject, group_of};

/// Defaults a new object. The status of kinds with a status subresource is reset before.
///
/// Upstream: pkg/apis/{core,storage,scheduling}/v1/defaults.go.
pub fn default_other(object: &mut GenericObject) {
    let group = group_of(&object.api_version);
    match (group, object.kind.as_str()) {
        ("", "Namespace") => default_namespace(object),
        ("", "PersistentVolume") => {
            fill(section(&mut object.body, "spec"), "volumeMode", "Filesystem");
            fill(section(&mut object.body, "spec"), "persistentVolumeReclaimPolicy", "Retain");
            fill(section(&mut object.body, "status"), "phase", "Pending");
        }
        ("", "PersistentVolumeClaim") => {
            fill(section(&mut object.body, "spec"), "volumeMode", "Filesystem");
            fill(section(&mut object.body, "status"), "phase", "Pending");
        }
        ("storage.k8s.io", "StorageClass") => {
            fill(&mut object.body, "reclaimPolicy", "Delete");
            fill(&mut object.body, "volumeBindingMode", "Immediate");
        }
        ("scheduling.k8s.io", "PriorityClass") => {
            fill(&mut object.body, "preemptionPolicy", "PreemptLowerPriority");
        }
        ("scheduling.k8s.io", "PodGroup") => {
            let spec = section(&mut object.body, "spec");
            if spec.get("disruptionMode").is_none_or(Value::is_null) {
                spec.insert("disruptionMode".to_owned(), json!({ "single": {} }));
            }
        }
        _ => {}
    }
}

/// The label with its own name lets namespace selectors pick a single namespace.
fn default_namespace(object: &mut GenericObject) {
    if let Some(name) = object.metadata.name.clone() {
        let labels = object.metadata.labels.get_or_insert_default();
        labels.insert("kubernetes.io/metadata.name".to_owned(), name);
    }
    fill(section(&mut object.body, "status"), "phase", "Active");
}

fn fill(section: &mut Map<String, Value>, key: &str, default: &str) {
    if section.get(key).and_then(Value::as_str).unwrap_or_default().is_empty() {
        section.insert(key.to_owned(), json!(default));
    }
}

/// The object under `key`, made if it is not there. A section that is no object is replaced: the
/// API server would not have decoded it.
fn section<'a>(body: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let value = body.entry(key).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("the value was just made an object")
}
