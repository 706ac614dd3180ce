//! Readers of the event log.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::Shared;
use super::log::CursorId;
use crate::api::{ApiError, Watch, WatchEvent};

/// A cursor in the log. The log keeps what it has not read; dropping it lets go.
pub(super) struct EmbeddedWatch {
    pub(super) shared: Arc<Shared>,
    pub(super) cursor: CursorId,
    /// Nudges before the last drain.
    pub(super) nudges: u64,
}

impl Watch for EmbeddedWatch {
    fn drain_into(&mut self, events: &mut Vec<WatchEvent>) -> Result<usize, ApiError> {
        let mut state = self.shared.lock();
        self.nudges = state.nudges;
        state.log.drain_into(self.cursor, events)
    }

    fn wait(&mut self, timeout: Duration) -> bool {
        let mut state = self.shared.lock();
        if state.log.has_news(self.cursor) {
            return true;
        }
        if state.nudges != self.nudges {
            return false;
        }
        state.waiter_count += 1;
        let woken = self.shared.changed.wait_timeout(state, timeout);
        let (mut state, _) = woken.unwrap_or_else(PoisonError::into_inner);
        state.waiter_count -= 1;
        state.log.has_news(self.cursor)
    }
}

impl Drop for EmbeddedWatch {
    fn drop(&mut self) {
        self.shared.lock().log.close(self.cursor);
    }
}
