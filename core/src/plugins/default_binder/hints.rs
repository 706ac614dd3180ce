//! DefaultBinder registers for no event. It may fail to bind, but it never says that a pod does not fit.

use super::DefaultBinder;
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::known_gaps::KnownGaps;

impl EnqueueExtensions for DefaultBinder {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        Vec::new()
    }
}
