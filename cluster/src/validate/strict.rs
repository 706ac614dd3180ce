//! Fields that the API does not have. A misspelt field is silently no constraint at all.
//!
//! Upstream: apimachinery pkg/runtime/serializer `strictDecodingError`, which `fieldValidation: Strict`
//! asks for, as kubectl does.

use schedlab_objects::ApiJson as _;
use serde_json::Value;

use crate::api::Object;

/// The path of a field of `written` that did not survive into `known`, its typed form.
#[must_use]
pub fn unknown_field(written: &Value, known: &Value) -> Option<String> {
    match (written, known) {
        (Value::Object(written), Value::Object(known)) => written
            .iter()
            .filter(|(name, value)| !value.is_null() && !matches!(name.as_str(), "apiVersion" | "kind"))
            .find_map(|(name, value)| match known.get(name) {
                None => Some(name.clone()),
                Some(inner) => unknown_field(value, inner).map(|path| match path.starts_with('[') {
                    true => format!("{name}{path}"),
                    false => format!("{name}.{path}"),
                }),
            }),
        (Value::Array(written), Value::Array(known)) => {
            written.iter().zip(known).enumerate().find_map(|(at, (value, inner))| {
                unknown_field(value, inner).map(|path| format!("[{at}].{path}"))
            })
        }
        _ => None,
    }
}

/// The first field of an object's text that its kind does not have, where the kind is known well
/// enough to say so. `known_beyond` are fields of newer APIs.
pub fn unknown_field_of(written: &Value, object: &Object, known_beyond: &[&str]) -> Option<String> {
    let mut written = written.clone();
    for field in known_beyond {
        remove(&mut written, field);
    }
    match object {
        Object::Pod(pod) => unknown_field(&written, &pod.to_json().ok()?),
        Object::Node(node) => unknown_field(&written, &node.to_json().ok()?),
        Object::Other(other) => {
            let known: &[&str] = match other.kind.as_str() {
                "PriorityClass" => &["value", "globalDefault", "description", "preemptionPolicy"],
                "StorageClass" => &[
                    "provisioner",
                    "parameters",
                    "reclaimPolicy",
                    "mountOptions",
                    "allowVolumeExpansion",
                    "volumeBindingMode",
                    "allowedTopologies",
                ],
                _ => return None,
            };
            other.body.keys().find(|name| !known.contains(&name.as_str())).cloned()
        }
    }
}

/// Takes out a field that is named by its path, `spec.workloadRef`.
fn remove(object: &mut Value, path: &str) {
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    let parent =
        parent.split('.').filter(|name| !name.is_empty()).try_fold(object, |at, name| at.get_mut(name));
    if let Some(Value::Object(fields)) = parent {
        fields.remove(name);
    }
}
