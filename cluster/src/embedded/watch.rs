//! Readers of the event log, and of the queue of a follower.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::Shared;
use super::followers::FollowerId;
use super::log::CursorId;
use super::state::State;
use crate::api::{ApiError, RunningWatch, Watch, WatchEvent};

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

/// A follower. Dropping it lets go of its queue.
pub(super) struct EmbeddedRunningWatch {
    pub(super) shared: Arc<Shared>,
    pub(super) follower: FollowerId,
    pub(super) seen_version: u64,
}

impl Watch for EmbeddedRunningWatch {
    fn drain_into(&mut self, events: &mut Vec<WatchEvent>) -> Result<usize, ApiError> {
        let mut state = self.shared.lock();
        self.seen_version = state.log.last_version();
        state.followers.drain_into(self.follower, events)
    }

    fn wait(&mut self, timeout: Duration) -> bool {
        let mut state = self.shared.lock();
        if state.followers.has_news(self.follower) {
            return true;
        }
        state.followers.waiter_count += 1;
        let woken = self.shared.followed.wait_timeout(state, timeout);
        let (mut state, _) = woken.unwrap_or_else(PoisonError::into_inner);
        state.followers.waiter_count -= 1;
        state.followers.has_news(self.follower)
    }
}

impl RunningWatch for EmbeddedRunningWatch {
    fn follow_all(&mut self, events: &mut Vec<WatchEvent>) -> Result<(), ApiError> {
        let mut state = self.shared.lock();
        self.seen_version = state.log.last_version();
        let State { followers, rows, .. } = &mut *state;
        followers.follow_all(self.follower, rows, events)
    }

    fn seen_version(&self) -> u64 {
        self.seen_version
    }
}

impl Drop for EmbeddedRunningWatch {
    fn drop(&mut self) {
        self.shared.lock().followers.close(self.follower);
    }
}
