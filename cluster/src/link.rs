//! Calls between a client and a slow API: each leaves when the client's rate limit lets it, and
//! takes effect when its latency is over.
//!
//! A model: it holds what was sent and says what has arrived by a time that is passed in. How many
//! calls are under way at once is the sender's to decide.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use schedlab_core::cycle::select::Draws;

use crate::latency::{Latency, RateLimit, TokenBucket};

/// What the way to the API is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSettings {
    /// From a call to its answer.
    pub latency: Latency,
    /// The client's own limit.
    pub limit: Option<RateLimit>,
    /// Seed of the latencies.
    pub seed: u64,
}

impl Default for LinkSettings {
    fn default() -> Self {
        LinkSettings::INSTANT
    }
}

impl LinkSettings {
    /// Calls take no time.
    pub const INSTANT: LinkSettings = LinkSettings { latency: Latency::NONE, limit: None, seed: 0 };

    /// Calls take no time and are not limited: there is nothing to model.
    #[must_use]
    pub fn is_instant(&self) -> bool {
        self.latency.is_none() && self.limit.is_none()
    }
}

/// Calls under way.
#[derive(Debug)]
pub struct Link<T> {
    latency: Latency,
    bucket: Option<TokenBucket>,
    draws: Draws,
    travelling: BinaryHeap<Travelling<T>>,
    sent: u64,
}

impl<T> Link<T> {
    /// A link that nothing travels on.
    #[must_use]
    pub fn new(settings: LinkSettings) -> Link<T> {
        Link {
            latency: settings.latency,
            bucket: settings.limit.map(TokenBucket::new),
            draws: Draws::new(settings.seed),
            travelling: BinaryHeap::new(),
            sent: 0,
        }
    }

    /// Sends a call that is `trips` calls after each other to the API.
    pub fn send(&mut self, call: T, trips: u32, now_ns: u64) {
        let mut due_ns = now_ns;
        for _ in 0..trips {
            // The bucket hears of a later trip now: its times must not descend.
            let wait_ns = self.bucket.as_mut().map_or(0, |bucket| bucket.take_ns(now_ns) - now_ns);
            due_ns = due_ns.max(now_ns.saturating_add(wait_ns));
            due_ns = due_ns.saturating_add(self.latency.draw_ns(&mut self.draws));
        }
        self.sent += 1;
        self.travelling.push(Travelling { due_ns, number: self.sent, call });
    }

    /// Takes a call whose time is over by now, the earliest first.
    pub fn take_due(&mut self, now_ns: u64) -> Option<T> {
        if self.next_due_ns()? <= now_ns { self.travelling.pop().map(|next| next.call) } else { None }
    }

    /// When the next call is over.
    #[must_use]
    pub fn next_due_ns(&self) -> Option<u64> {
        self.travelling.peek().map(|next| next.due_ns)
    }
}

#[derive(Debug)]
struct Travelling<T> {
    due_ns: u64,
    /// Among equals the one that was sent first arrives first.
    number: u64,
    call: T,
}

impl<T> Ord for Travelling<T> {
    /// The greatest is the earliest: what a heap gives first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due_ns, other.number).cmp(&(self.due_ns, self.number))
    }
}

impl<T> PartialOrd for Travelling<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Travelling<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Travelling<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn arrivals(link: &mut Link<&'static str>) -> Vec<(u64, &'static str)> {
        let mut arrived = Vec::new();
        while let Some(due_ns) = link.next_due_ns() {
            assert_eq!(link.take_due(due_ns - 1), None, "not before its time");
            arrived.extend(link.take_due(due_ns).map(|call| (due_ns / MS, call)));
        }
        arrived
    }

    #[test]
    fn calls_overlap_on_the_link_and_arrive_in_order() {
        let settings = LinkSettings { latency: Latency::constant_ms(5), ..LinkSettings::default() };
        let mut link = Link::new(settings);
        link.send("a", 1, 0);
        link.send("b", 1, 0);
        link.send("two calls", 2, 0);
        link.send("c", 1, MS);
        assert_eq!(arrivals(&mut link), [(5, "a"), (5, "b"), (6, "c"), (10, "two calls")]);
    }

    #[test]
    fn rate_limit_delays_calls_before_their_latency() {
        let limit = Some(RateLimit { qps: 100.0, burst: 1 });
        let mut link = Link::new(LinkSettings { latency: Latency::constant_ms(5), limit, seed: 0 });
        link.send("a", 1, 0);
        link.send("b", 1, 0);
        link.send("c", 1, 0);
        assert_eq!(arrivals(&mut link), [(5, "a"), (15, "b"), (25, "c")]);
    }

    #[test]
    fn only_a_link_without_latency_and_limit_is_instant() {
        let limit = Some(RateLimit { qps: 1.0, burst: 1 });
        assert!(LinkSettings::default().is_instant());
        assert!(!LinkSettings { limit, ..LinkSettings::default() }.is_instant());
        assert!(!LinkSettings { latency: Latency::constant_ms(1), ..LinkSettings::default() }.is_instant());
    }
}
