//! PrioritySort, plainly: by priority, then by time.

use std::cmp::Reverse;

use crate::framework::plugin::QueueKey;
use crate::naive::plugin_twin::{Fakes, PluginTwin, any_node};

/// The twin.
pub(super) const TWIN: PluginTwin =
    PluginTwin { filter: None, score: None, fakes: Fakes::NONE, bench_node: any_node };

/// Pods come in the order of these.
#[must_use]
pub fn sort_key(key: QueueKey) -> (Reverse<i32>, u64) {
    (Reverse(key.priority), key.queued_ns)
}
