//! PodGroupPodsCount registers for no event: it rejects no pod.

use super::PodGroupPodsCount;
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::known_gaps::KnownGaps;

impl EnqueueExtensions for PodGroupPodsCount {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        Vec::new()
    }
}
