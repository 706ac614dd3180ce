//! PrioritySort: higher priority first, then who waits longer.
//! Upstream: plugins/queuesort/priority_sort.go.

mod hints;

use crate::framework::plugin::{Plugin, QueueKey, QueueSortPlugin};
use crate::framework::points::EnqueueExtensions;

/// Upstream's name.
pub const NAME: &str = "PrioritySort";

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
    fn priority_comes_before_age() {
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
