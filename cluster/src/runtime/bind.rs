//! Bindings that an extender makes in the scheduler's place.

use std::sync::Arc;

use schedlab_core::framework::extend::{Extender, extenders_binding};

use crate::api::{Api, ApiError, Binding, StatusReason};

/// Asks the extender that binds such pods; `None` when none does, or when the one that does failed
/// and may be ignored. Upstream: schedule_one.go `extendersBinding`.
///
/// One that says that it has bound a pod, and has not, is taken at its word: it may have no way to the API of this
/// cluster.
pub fn bind_by_extender(
    api: &dyn Api,
    extenders: &[Arc<dyn Extender>],
    binding: Binding,
) -> Option<Result<(), ApiError>> {
    let row = api.pod_row(binding.pod)?;
    let spec = api.pod_spec(row.spec);
    let node = api.node_name(binding.node);
    for extender in extenders_binding(extenders, &spec.input) {
        match extender.bind(binding.pod, &node) {
            Err(_) if extender.is_ignorable() => {}
            Ok(()) => return Some(bind_on_its_word(api, binding)),
            Err(error) => {
                return Some(Err(ApiError::conflict(
                    "pods/binding",
                    &api.pod_name(row.name),
                    error.to_string(),
                )));
            }
        }
    }
    None
}

/// Binds the pod, unless that was done.
fn bind_on_its_word(api: &dyn Api, binding: Binding) -> Result<(), ApiError> {
    match api.pod_row(binding.pod) {
        Some(row) if row.node.is_none() => match api.bind_pod(binding) {
            // It was done just now.
            Err(error) if error.reason == StatusReason::Conflict => Ok(()),
            result => result,
        },
        _ => Ok(()),
    }
}
