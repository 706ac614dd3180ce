//! GangScheduling, plainly: counts the pods that name the group.

use crate::naive::plugin_twin::{Fakes, PluginTwin, any_node};

/// The twin.
pub(super) const TWIN: PluginTwin =
    PluginTwin { filter: None, score: None, fakes: Fakes::NONE, bench_node: any_node };

/// Whether members of a gang have to wait before the queue.
#[must_use]
pub fn is_incomplete(member_count: usize, min_count: usize) -> bool {
    member_count < min_count
}
