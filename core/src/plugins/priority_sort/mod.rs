//! PrioritySort: higher priority first, then who waits longer.
//! Upstream: plugins/queuesort/priority_sort.go.

mod hints;
#[cfg(any(test, feature = "naive"))]
pub mod naive;

use std::sync::Arc;

use crate::framework::descriptor::{PluginDescriptor, no_args};
use crate::framework::plugin::{Plugin, QueueKey, QueueSortPlugin};
use crate::framework::points::EnqueueExtensions;
#[cfg(test)]
use crate::naive::cases::Cases;

/// Upstream's name.
pub const NAME: &str = "PrioritySort";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(0),
    default_args: no_args,
    factory: |_, _| Ok(Arc::new(PrioritySort)),
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: Cases::NONE,
};

/// The default queue order.
#[derive(Clone, Copy, Debug)]
pub struct PrioritySort;

impl Plugin for PrioritySort {
    fn name(&self) -> &'static str {
        NAME
    }

    fn as_queue_sort(&self) -> Option<&dyn QueueSortPlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl QueueSortPlugin for PrioritySort {
    fn less(&self, one: QueueKey, other: QueueKey) -> bool {
        one.priority > other.priority || (one.priority == other.priority && one.queued_ns < other.queued_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn higher_priority_is_less_then_older() {
        let key = |priority, queued_ns| QueueKey { priority, queued_ns };
        let cases = [
            (key(2, 9), key(1, 1), true, "higher priority although younger"),
            (key(1, 1), key(2, 9), false, "lower priority although older"),
            (key(1, 1), key(1, 2), true, "same priority, older"),
            (key(1, 2), key(1, 1), false, "same priority, younger"),
            (key(1, 1), key(1, 1), false, "equal"),
        ];
        for (one, other, less, name) in cases {
            assert_eq!(PrioritySort.less(one, other), less, "case: {name}");
        }
    }
}
