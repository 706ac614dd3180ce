//! Readers of what concerns pods that run: nodes, and those pods on them that ask something of their
//! node. Each has a queue of its own, so that all other pods cost it nothing, neither a copy nor a
//! wake-up.
//!
//! ```text
//!   publish ──every event──▶ log ──▶ cursors
//!      └─nodes, asking pods──▶ queue of each follower
//! ```

use super::rows::PodRows;
use crate::api::{ApiError, EventKind, PodFlags, StoredPodRow, WatchEvent, WatchedObject};

/// The most events kept for a follower that does not read, as many as the log keeps.
const QUEUE_EVENTS_MAX: usize = super::log::LOG_EVENTS_MAX;

/// A place in the table of followers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FollowerId(usize);

/// Which pods on nodes a follower gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Followed {
    /// Those with [`PodFlags::EXECUTION_TERMS`].
    Asking,
    All,
}

#[derive(Debug)]
struct Follower {
    follows: Followed,
    queue: Vec<WatchEvent>,
    /// The last version whose event was dropped because the queue was full.
    lost_version: Option<u64>,
}

/// All followers.
#[derive(Debug, Default)]
pub(super) struct Followers {
    slots: Vec<Option<Follower>>,
    open_count: usize,
    /// Events taken in so far: whoever waits is woken when it grows.
    taken_in: u64,
    /// Followers that sleep.
    pub(super) waiter_count: usize,
}

impl Followers {
    pub(super) fn is_empty(&self) -> bool {
        self.open_count == 0
    }

    pub(super) fn taken_in(&self) -> u64 {
        self.taken_in
    }

    /// A follower that has missed these events.
    pub(super) fn open<'a>(&mut self, missed: impl Iterator<Item = &'a WatchEvent>) -> FollowerId {
        let is_news = |event: &&WatchEvent| concerns(Followed::Asking, &event.object);
        let queue = missed.filter(is_news).cloned().collect();
        let follower = Follower { follows: Followed::Asking, queue, lost_version: None };
        let free = self.slots.iter().position(Option::is_none);
        let slot = free.unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(follower);
        self.open_count += 1;
        FollowerId(slot)
    }

    pub(super) fn close(&mut self, id: FollowerId) {
        self.slots[id.0] = None;
        self.open_count -= 1;
    }

    /// The events that followers have not got yet.
    pub(super) fn kept(&self) -> impl Iterator<Item = &WatchEvent> {
        self.slots.iter().flatten().flat_map(|follower| &follower.queue)
    }

    /// Something is written.
    pub(super) fn take_in(&mut self, event: &WatchEvent) {
        for follower in self.slots.iter_mut().flatten() {
            if !concerns(follower.follows, &event.object) {
                continue;
            }
            self.taken_in += 1;
            if follower.queue.len() == QUEUE_EVENTS_MAX {
                follower.lost_version = Some(event.resource_version());
            } else {
                follower.queue.push(event.clone());
            }
        }
    }

    pub(super) fn has_news(&self, id: FollowerId) -> bool {
        let follower = self.get(id);
        !follower.queue.is_empty() || follower.lost_version.is_some()
    }

    /// Appends what the follower has not got yet.
    pub(super) fn drain_into(
        &mut self,
        id: FollowerId,
        events: &mut Vec<WatchEvent>,
    ) -> Result<usize, ApiError> {
        let follower = self.get_mut(id);
        if let Some(version) = follower.lost_version {
            return Err(ApiError::gone(version, version));
        }
        let count = follower.queue.len();
        events.append(&mut follower.queue);
        Ok(count)
    }

    /// Appends what the follower has not got yet, and the pods that it was not told of so far.
    pub(super) fn follow_all(
        &mut self,
        id: FollowerId,
        rows: &PodRows,
        events: &mut Vec<WatchEvent>,
    ) -> Result<(), ApiError> {
        self.drain_into(id, events)?;
        if std::mem::replace(&mut self.get_mut(id).follows, Followed::All) == Followed::All {
            return Ok(());
        }
        let left_out = rows.iter().filter(|row| runs(Followed::All, row) && !runs(Followed::Asking, row));
        events.extend(
            left_out.map(|&row| WatchEvent { kind: EventKind::Added, object: WatchedObject::Pod(row) }),
        );
        Ok(())
    }

    fn get(&self, id: FollowerId) -> &Follower {
        self.slots[id.0].as_ref().expect("a follower has a queue until it is closed")
    }

    fn get_mut(&mut self, id: FollowerId) -> &mut Follower {
        self.slots[id.0].as_mut().expect("a follower has a queue until it is closed")
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let events: usize = self.slots.iter().flatten().map(|follower| follower.queue.capacity()).sum();
        events * size_of::<WatchEvent>()
    }
}

fn concerns(follows: Followed, object: &WatchedObject) -> bool {
    match object {
        WatchedObject::Pod(row) => runs(follows, row),
        WatchedObject::Node(_) => true,
        WatchedObject::PodEvent(_) | WatchedObject::Other(_) => false,
    }
}

/// The pod is on a node, and one of those that are followed.
fn runs(follows: Followed, row: &StoredPodRow) -> bool {
    row.node.is_some() && (follows == Followed::All || row.flags.contains(PodFlags::EXECUTION_TERMS))
}
