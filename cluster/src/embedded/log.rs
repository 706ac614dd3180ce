//! The event log: every write, in order, until all readers have seen it.
//!
//! ```text
//!            kept for list-then-watch         not yet read by all
//!          ├──────────────────────────┼──────────────────────────────┤
//!       oldest                slowest cursor                   last_version
//! ```
//!
//! Each write has one event and takes one resource version, so an event's place follows from its
//! version. A cursor is the version its reader has seen last.

use std::collections::VecDeque;

use crate::api::{ApiError, WatchEvent};

/// Events kept after all readers have seen them, so that a watch can start from a list that is
/// a moment old. 2.3 MB.
const HISTORY_EVENTS: usize = 32_768;

/// The most events kept for a reader that does not read: 300 MB. Beyond, the oldest go and the
/// reader is told that it has lost them.
pub(super) const LOG_EVENTS_MAX: usize = 1 << 22;

/// A place in the table of cursors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CursorId(usize);

/// The log and its readers.
#[derive(Debug)]
pub(super) struct EventLog {
    events: VecDeque<WatchEvent>,
    last_version: u64,
    cursors: Vec<Option<u64>>,
    /// The lowest cursor; everything if nobody reads.
    slowest: u64,
}

impl EventLog {
    /// Without its events: whoever reads the copy reads on from here.
    pub(super) fn without_events(&self) -> Self {
        Self { last_version: self.last_version, ..Self::new() }
    }

    pub(super) fn new() -> Self {
        Self { events: VecDeque::new(), last_version: 0, cursors: Vec::new(), slowest: u64::MAX }
    }

    /// The version of the last write.
    pub(super) fn last_version(&self) -> u64 {
        self.last_version
    }

    /// The version of the next write.
    pub(super) fn next_version(&self) -> u64 {
        self.last_version + 1
    }

    /// Appends the event of the next version.
    pub(super) fn push(&mut self, event: WatchEvent) {
        debug_assert_eq!(event.resource_version(), self.next_version());
        if HISTORY_EVENTS <= self.events.len() && self.may_drop_oldest() {
            self.events.pop_front();
        }
        self.events.push_back(event);
        self.last_version += 1;
    }

    fn may_drop_oldest(&self) -> bool {
        self.oldest() <= self.slowest || LOG_EVENTS_MAX <= self.events.len()
    }

    /// The version of the first event that is kept.
    fn oldest(&self) -> u64 {
        self.last_version + 1 - self.events.len() as u64
    }

    /// The events that are kept.
    pub(super) fn kept(&self) -> impl ExactSizeIterator<Item = &WatchEvent> {
        self.events.iter()
    }

    /// A reader of all that comes after `version`.
    pub(super) fn open(&mut self, version: u64) -> Result<CursorId, ApiError> {
        if self.last_version < version {
            return Err(ApiError::too_large_version(version, self.last_version));
        }
        self.check_kept(version)?;
        let free = self.cursors.iter().position(Option::is_none);
        let slot = free.unwrap_or_else(|| {
            self.cursors.push(None);
            self.cursors.len() - 1
        });
        self.cursors[slot] = Some(version);
        self.note_slowest();
        Ok(CursorId(slot))
    }

    /// All that came after `version`, if it is kept.
    pub(super) fn since(&self, version: u64) -> Result<impl Iterator<Item = &WatchEvent>, ApiError> {
        if self.last_version < version {
            return Err(ApiError::too_large_version(version, self.last_version));
        }
        self.check_kept(version)?;
        let count = (self.last_version - version) as usize;
        Ok(self.events.range(self.events.len() - count..))
    }

    /// The reader is gone.
    pub(super) fn close(&mut self, cursor: CursorId) {
        self.cursors[cursor.0] = None;
        self.note_slowest();
        self.trim();
    }

    /// There are events the reader has not seen.
    pub(super) fn has_news(&self, cursor: CursorId) -> bool {
        self.version_of(cursor) < self.last_version
    }

    /// Appends all events the reader has not seen.
    pub(super) fn drain_into(
        &mut self,
        cursor: CursorId,
        events: &mut Vec<WatchEvent>,
    ) -> Result<usize, ApiError> {
        let version = self.version_of(cursor);
        self.check_kept(version)?;
        let count = (self.last_version - version) as usize;
        let first = self.events.len() - count;
        events.reserve(count);
        let (front, back) = self.events.as_slices();
        let split = first.min(front.len());
        events.extend_from_slice(&front[split..]);
        events.extend_from_slice(&back[first - split..]);
        self.cursors[cursor.0] = Some(self.last_version);
        self.note_slowest();
        self.trim();
        Ok(count)
    }

    fn version_of(&self, cursor: CursorId) -> u64 {
        self.cursors[cursor.0].expect("a reader has a cursor until it is closed")
    }

    fn check_kept(&self, version: u64) -> Result<(), ApiError> {
        if version + 1 < self.oldest() {
            return Err(ApiError::gone(version, self.oldest() - 1));
        }
        Ok(())
    }

    fn note_slowest(&mut self) {
        self.slowest = self.cursors.iter().flatten().copied().min().unwrap_or(u64::MAX);
    }

    /// Drops what all have seen, but for the history.
    fn trim(&mut self) {
        let seen = (self.slowest.min(self.last_version) + 1).saturating_sub(self.oldest());
        let surplus = self.events.len().saturating_sub(HISTORY_EVENTS);
        self.events.drain(..surplus.min(seen as usize));
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.events.capacity() * size_of::<WatchEvent>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{EventKind, GenericObject, StatusReason, WatchedObject};
    use std::sync::Arc;

    fn push(log: &mut EventLog, count: usize) {
        for _ in 0..count {
            let resource_version = log.next_version();
            let object = GenericObject { resource_version, ..GenericObject::default() };
            log.push(WatchEvent { kind: EventKind::Added, object: WatchedObject::Other(Arc::new(object)) });
        }
    }

    fn versions(log: &mut EventLog, cursor: CursorId) -> Vec<u64> {
        let mut events = Vec::new();
        log.drain_into(cursor, &mut events).expect("events are kept");
        events.iter().map(WatchEvent::resource_version).collect()
    }

    #[test]
    fn each_reader_sees_each_event_once() {
        let mut log = EventLog::new();
        push(&mut log, 3);
        let all = log.open(0).expect("kept");
        let late = log.open(2).expect("kept");
        assert_eq!(versions(&mut log, all), [1, 2, 3]);
        assert_eq!(versions(&mut log, late), [3]);
        assert!(!log.has_news(all));
        push(&mut log, 1);
        assert!(log.has_news(all));
        assert_eq!(versions(&mut log, all), [4]);
        assert_eq!(versions(&mut log, all), [] as [u64; 0]);
    }

    #[test]
    fn watch_history_is_bounded_without_readers() {
        let mut log = EventLog::new();
        push(&mut log, HISTORY_EVENTS + 10);
        assert_eq!(log.events.len(), HISTORY_EVENTS);
        assert_eq!(log.open(9).map_err(|error| error.reason), Err(StatusReason::Gone));
        assert!(log.open(10).is_ok());
    }

    #[test]
    fn a_slow_reader_holds_events_and_frees_them_by_reading() {
        let mut log = EventLog::new();
        let slow = log.open(0).expect("kept");
        push(&mut log, 2 * HISTORY_EVENTS);
        assert_eq!(log.events.len(), 2 * HISTORY_EVENTS);
        assert_eq!(versions(&mut log, slow).len(), 2 * HISTORY_EVENTS);
        assert_eq!(log.events.len(), HISTORY_EVENTS);
    }

    #[test]
    fn a_closed_reader_holds_nothing() {
        let mut log = EventLog::new();
        let slow = log.open(0).expect("kept");
        push(&mut log, 2 * HISTORY_EVENTS);
        log.close(slow);
        assert_eq!(log.events.len(), HISTORY_EVENTS);
        assert_eq!(log.open(log.last_version()), Ok(slow), "its slot is free again");
    }

    #[test]
    fn watch_from_future_resource_version_is_refused() {
        let mut log = EventLog::new();
        push(&mut log, 3);
        let refused = log.open(4).expect_err("version 4 does not exist");
        assert_eq!(refused.message, "Timeout: Too large resource version: 4, current: 3");
    }
}
