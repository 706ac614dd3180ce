//! NodeResourcesBalancedAllocation registers for no event. It only scores: no pod waits on its account.

use super::NodeResourcesBalancedAllocation;
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::known_gaps::KnownGaps;

impl EnqueueExtensions for NodeResourcesBalancedAllocation {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        Vec::new()
    }
}
