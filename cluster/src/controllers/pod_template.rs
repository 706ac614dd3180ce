//! What owners of pods have in common: fields read from JSON, and pods made of `spec.template`.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use schedlab_core::input::LabelSelectorInput;
use schedlab_objects::ApiJson as _;
use serde_json::{Value, json};

use super::owned::reference_to;
use crate::api::{ApiError, GenericObject};
use crate::convert::{label_selector_input, lift_execution_affinity};

/// A part of an object, by a path such as `/spec/replicas`.
pub(super) fn pointer<'a>(object: &'a GenericObject, path: &str) -> Option<&'a Value> {
    let path = path.trim_start_matches('/');
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let value = object.body.get(first)?;
    if rest.is_empty() { Some(value) } else { value.pointer(&format!("/{rest}")) }
}

/// A whole number of an object.
pub(super) fn whole(object: &GenericObject, path: &str) -> Option<i64> {
    pointer(object, path)?.as_i64()
}

/// A text of an object; empty if it is not there.
pub(super) fn text<'a>(object: &'a GenericObject, path: &str) -> &'a str {
    pointer(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// A label selector of an object; none if it is not there or cannot be read.
pub(super) fn selector(object: &GenericObject, path: &str) -> Option<LabelSelectorInput> {
    let selector = LabelSelector::from_json(pointer(object, path)?.clone()).ok()?;
    Some(label_selector_input(&selector))
}

/// `metadata.name`.
pub(super) fn name(object: &GenericObject) -> &str {
    object.metadata.name.as_deref().unwrap_or_default()
}

/// `metadata.namespace`.
pub(super) fn namespace(object: &GenericObject) -> &str {
    object.metadata.namespace.as_deref().unwrap_or_default()
}

/// `metadata.uid`.
pub(super) fn uid(object: &GenericObject) -> &str {
    object.metadata.uid.as_deref().unwrap_or_default()
}

/// A pod as an owner's `spec.template` says, called `<owner>-` and a number.
///
/// Upstream: pkg/controller/controller_utils.go `GetPodFromTemplate`.
pub(super) fn pod_of(owner: &GenericObject) -> Result<Pod, ApiError> {
    let mut template = pointer(owner, "/spec/template").cloned().unwrap_or_else(|| json!({}));
    lift_execution_affinity(&mut template)
        .map_err(|error| ApiError::invalid(&owner.kind, name(owner), format!("spec.template: {error}")))?;
    let mut pod = Pod::from_json(template)
        .map_err(|error| ApiError::invalid(&owner.kind, name(owner), format!("spec.template: {error}")))?;
    let metadata = &mut pod.metadata;
    metadata.name = None;
    metadata.generate_name = Some(format!("{}-", name(owner)));
    metadata.namespace.clone_from(&owner.metadata.namespace);
    metadata.owner_references = Some(vec![reference_to(owner)]);
    pod.status = None;
    Ok(pod)
}

/// The object with this status, as it was seen: its version is the precondition of the write.
pub(super) fn with_status(object: &GenericObject, status: Value) -> GenericObject {
    let mut changed = object.clone();
    changed.body.insert("status".to_owned(), status);
    changed
}
