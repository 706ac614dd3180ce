//! Bindings that an extender makes in the scheduler's place.

use std::sync::Arc;

use schedlab_core::framework::extend::{Extender, extenders_binding};

use crate::api::{Api, ApiError, Binding};

/// Asks the extender that binds such pods; `None` when none does, or when the one that does failed
/// and may be ignored. Upstream: schedule_one.go `extendersBinding`.
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
            result => {
                let refused = |error| ApiError::conflict("pods/binding", &api.pod_name(row.name), error);
                return Some(result.map_err(|error| refused(error.to_string())));
            }
        }
    }
    None
}
