//! What the API server changes on the way in, as far as scheduling can see it.
//!
//! A created pod passes [`default_pod`] (versioned defaults), [`admit_pod`] (admission) and
//! [`prepare_new_pod`] (the create strategy), in this order. An update passes the first and
//! [`admit_pod_update`].
//!
//! Upstream: pkg/apis/core/v1/defaults.go, pkg/registry/core/pod/strategy.go, plugin/pkg/admission.
//! The admission that runs is the one of scheduler_perf's API server
//! (test/integration/scheduler_perf/util.go), which starts with
//! `--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,Priority`:
//! DefaultTolerationSeconds is on there, nodes get no taints.
//!
//! Differs: priority classes are resolved although upstream's benchmark turns that plugin off,
//! because an absent priority means 0 to both, and an explicit one is taken as it is. See
//! `priorities_come_from_the_spec_then_the_class_then_the_default`.
//! Not built: StorageObjectInUseProtection, RuntimeClass and PodTopologyLabels do not run: there is
//! no controller that would take the protection finalizers away, and a label that appears with
//! the binding would give each pod a second body.

mod label_keys;
mod other;
mod pod;
mod pod_level;
mod priority;

use k8s_openapi::api::core::v1::Node;

pub use other::default_other;
pub use pod::{admit_pod, admit_pod_update, default_pod, prepare_new_pod};
pub(crate) use pod_level::container_totals;
pub use priority::{PriorityClass, SYSTEM_PRIORITY_CLASSES, resolve_pod_group_priority, resolve_priority};

/// Defaults a node: what it can allocate is what it has, unless it says so.
///
/// Upstream: `SetDefaults_NodeStatus`.
pub fn default_node(node: &mut Node) {
    if let Some(status) = &mut node.status
        && status.allocatable.is_none()
    {
        status.allocatable = status.capacity.clone();
    }
}

#[cfg(test)]
mod tests;
