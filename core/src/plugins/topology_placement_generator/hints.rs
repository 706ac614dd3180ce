//! TopologyPlacementGenerator registers for no event: it rejects no pod.

use super::TopologyPlacementGenerator;
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::known_gaps::KnownGaps;

impl EnqueueExtensions for TopologyPlacementGenerator {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        Vec::new()
    }
}
