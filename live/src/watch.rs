//! A reader of the store, as the scheduler's runtime has one.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use schedlab_cluster::ApiError;
use schedlab_cluster::api::{Watch, WatchEvent};

use crate::store::Store;

/// Hears of all that is there and of all that happens. Dropping it lets go of what it has not read.
pub(crate) struct LiveWatch {
    store: Arc<Store>,
    reader: u64,
    /// Nudges before the last drain.
    nudges: u64,
}

impl LiveWatch {
    pub(crate) fn open(store: Arc<Store>) -> LiveWatch {
        let reader = store.lock().open();
        LiveWatch { store, reader, nudges: 0 }
    }
}

impl Watch for LiveWatch {
    fn drain_into(&mut self, events: &mut Vec<WatchEvent>) -> Result<usize, ApiError> {
        let mut state = self.store.lock();
        self.nudges = state.nudges;
        Ok(state.drain(self.reader, events))
    }

    fn wait(&mut self, timeout: Duration) -> bool {
        let state = self.store.lock();
        if state.has_news(self.reader) {
            return true;
        }
        if state.nudges != self.nudges {
            return false;
        }
        let woken = self.store.changed.wait_timeout(state, timeout);
        let (state, _) = woken.unwrap_or_else(PoisonError::into_inner);
        state.has_news(self.reader)
    }
}

impl Drop for LiveWatch {
    fn drop(&mut self) {
        self.store.lock().close(self.reader);
    }
}
