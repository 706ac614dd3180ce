//! PrioritySort registers for no event. It orders the queue: no pod waits on its account.

use super::PrioritySort;
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::known_gaps::KnownGaps;

impl EnqueueExtensions for PrioritySort {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        Vec::new()
    }
}
