//! SchedulingGates, plainly: a pod with gates waits.

use crate::input::PodInput;
use crate::naive::plugin_twin::{Fakes, PluginTwin, any_node};

/// The twin.
pub(super) const TWIN: PluginTwin =
    PluginTwin { filter: None, score: None, fakes: Fakes::NONE, bench_node: any_node };

/// Whether the pod is held back.
#[must_use]
pub fn is_gated(pod: &PodInput) -> bool {
    !pod.scheduling_gates.is_empty()
}
