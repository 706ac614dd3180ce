//! From API objects to the engine's inputs, once per object.
//!
//! Conversion changes nothing: defaulting and admission are in [`crate::defaults`]. What an object
//! leaves out stays out, with the value that the input's field documents for it.
//!
//! `requiredDuringSchedulingRequiredDuringExecution` (KEP-2358) has no field in the typed API:
//! `execution` says how it gets through.

mod affinity;
mod dra;
mod error;
mod execution;
mod json;
mod node;
mod object;
mod pod;
mod pod_group;
mod quantity;
mod storage;
mod volume;
mod workload;

pub use affinity::label_selector_input;
pub use dra::{EXTENDED_RESOURCE_CLAIM, allocation_input, dra_input};
pub use error::ConvertError;
pub(crate) use execution::has_execution_terms;
pub use execution::{
    EXECUTION_AFFINITY, drop_execution_affinity, lift_execution_affinity, lower_execution_affinity,
};
pub use json::JsonPart;
pub use node::node_input;
pub use object::with_object_event;
pub use pod::pod_input;
pub use pod_group::pod_group_input;
pub use storage::{
    attachment_input, claim_input, csi_driver_input, csi_node_input, persistent_volume_input,
    storage_capacity_input, storage_class_input, storage_input, storage_kind,
};
pub use workload::{
    disruption_budget_input, replica_set_input, replication_controller_input, service_input,
    stateful_set_input,
};

/// The text, or the empty one the API means by its absence.
fn text_or_empty(text: Option<&String>) -> String {
    text.cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests;
