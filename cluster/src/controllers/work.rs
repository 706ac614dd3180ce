//! The work queue of a level-triggered controller: which keys are to be looked at, whose calls are under
//! way, and what is to be tried again.
//!
//! ```text
//!   mark ──▶ dirty ──take──▶ (looked at) ──call──▶ under way ──answered──▶ (marked by who needs it)
//!              ▲                                       │ refused
//!              └───────── due, backed off ◀────────────┘
//! ```
//!
//! A key whose calls are under way is not handed out: what it is compared with would be out of date.
//!
//! Upstream: client-go util/workqueue; an item that is processed is not handed out twice.

use std::collections::{BTreeMap, BTreeSet};

use super::{CallToken, Remaining};

/// Upstream: client-go util/workqueue `DefaultTypedControllerRateLimiter`: 5 ms, doubled, 1000 s at most.
const RETRY_MIN_NS: u64 = 5_000_000;
const RETRY_MAX_NS: u64 = 1_000_000_000_000;

/// Keys and their calls; what a call was about is `C`.
#[derive(Debug)]
pub(super) struct Work<K, C> {
    dirty: BTreeSet<K>,
    calls: BTreeMap<CallToken, (K, C)>,
    under_way: BTreeMap<K, usize>,
    due: BTreeSet<(u64, K)>,
    waits: BTreeMap<K, u64>,
    failures: BTreeMap<K, u32>,
    last_token: u64,
    pub(super) retried: u64,
}

impl<K, C> Default for Work<K, C> {
    fn default() -> Self {
        Work {
            dirty: BTreeSet::new(),
            calls: BTreeMap::new(),
            under_way: BTreeMap::new(),
            due: BTreeSet::new(),
            waits: BTreeMap::new(),
            failures: BTreeMap::new(),
            last_token: 0,
            retried: 0,
        }
    }
}

impl<K: Ord + Clone, C> Work<K, C> {
    /// The key is to be looked at.
    pub(super) fn mark(&mut self, key: &K) {
        if !self.dirty.contains(key) {
            self.dirty.insert(key.clone());
        }
    }

    /// The keys to be looked at now, in order.
    pub(super) fn take(&mut self) -> Vec<K> {
        if self.dirty.is_empty() {
            return Vec::new();
        }
        let is_ready = |key: &K| !self.under_way.contains_key(key) && !self.waits.contains_key(key);
        let ready: Vec<K> = self.dirty.iter().filter(|key| is_ready(key)).cloned().collect();
        for key in &ready {
            self.dirty.remove(key);
        }
        ready
    }

    /// A call about a key is handed out.
    pub(super) fn call(&mut self, key: &K, about: C) -> CallToken {
        self.last_token += 1;
        let token = CallToken(self.last_token);
        self.calls.insert(token, (key.clone(), about));
        *self.under_way.entry(key.clone()).or_insert(0) += 1;
        token
    }

    /// A call has come back.
    pub(super) fn answered(&mut self, token: CallToken) -> Option<(K, C)> {
        let (key, about) = self.calls.remove(&token)?;
        if let Some(count) = self.under_way.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.under_way.remove(&key);
            }
        }
        Some((key, about))
    }

    /// All went well: the next failure is the first again.
    pub(super) fn succeeded(&mut self, key: &K) {
        self.failures.remove(key);
    }

    /// The key is looked at again after a while, which doubles with every failure.
    pub(super) fn retry(&mut self, key: &K, now_ns: u64) {
        let failures = self.failures.entry(key.clone()).or_insert(0);
        let after_ns = RETRY_MIN_NS.saturating_mul(1 << (*failures).min(40)).min(RETRY_MAX_NS);
        *failures += 1;
        self.retried += 1;
        let due_ns = now_ns.saturating_add(after_ns);
        if let Some(old_ns) = self.waits.insert(key.clone(), due_ns) {
            self.due.remove(&(old_ns, key.clone()));
        }
        self.due.insert((due_ns, key.clone()));
    }

    /// The key is gone. Answers still come.
    pub(super) fn forget(&mut self, key: &K) {
        self.dirty.remove(key);
        self.failures.remove(key);
        if let Some(due_ns) = self.waits.remove(key) {
            self.due.remove(&(due_ns, key.clone()));
        }
    }

    /// Marks what is due.
    pub(super) fn advance(&mut self, now_ns: u64) {
        while self.due.first().is_some_and(|(due_ns, _)| *due_ns <= now_ns) {
            let Some((_, key)) = self.due.pop_first() else { return };
            self.waits.remove(&key);
            self.dirty.insert(key);
        }
    }

    pub(super) fn next_wake_ns(&self) -> Option<u64> {
        self.due.first().map(|(due_ns, _)| *due_ns)
    }

    pub(super) fn remaining(&self) -> Remaining {
        let is_idle = self.dirty.is_empty() && self.calls.is_empty() && self.due.is_empty();
        if is_idle { Remaining::Nothing } else { Remaining::Work }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_with_a_call_under_way_is_handed_out_when_it_has_come_back() {
        let mut work: Work<&str, u8> = Work::default();
        work.mark(&"a");
        assert_eq!(work.take(), ["a"]);
        let (first, second) = (work.call(&"a", 1), work.call(&"a", 2));
        work.mark(&"a");
        work.mark(&"b");
        assert_eq!(work.take(), ["b"]);
        assert_eq!(work.answered(first), Some(("a", 1)));
        assert_eq!(work.take(), [""; 0], "one of two is still under way");
        assert_eq!(work.answered(second), Some(("a", 2)));
        assert_eq!(work.take(), ["a"]);
        assert_eq!(work.answered(second), None, "a call is answered once");
        assert_eq!(work.remaining(), Remaining::Nothing);
    }

    #[test]
    fn failed_key_waits_twice_as_long_each_time() {
        let mut work: Work<u8, ()> = Work::default();
        let mut waits = Vec::new();
        for _ in 0..4 {
            work.retry(&7, 0);
            waits.push(work.next_wake_ns().expect("it waits"));
            work.mark(&7);
            assert!(work.take().is_empty(), "not before its time");
            work.advance(waits[waits.len() - 1]);
            assert_eq!(work.take(), [7]);
        }
        assert_eq!(waits, [5, 10, 20, 40].map(|ms| ms * 1_000_000));
        work.succeeded(&7);
        work.retry(&7, 0);
        assert_eq!(work.next_wake_ns(), Some(RETRY_MIN_NS));
        work.forget(&7);
        assert_eq!(work.remaining(), Remaining::Nothing);
    }
}
