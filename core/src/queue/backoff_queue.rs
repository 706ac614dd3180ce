//! Pods that failed and wait a while before they are tried again.
//!
//! The wait doubles with every failure. Two queues: pods that some plugin rejected, and pods that
//! failed for another reason (the API did not answer, say). When nothing else is ready, a rejected
//! pod may be tried before its time (`SchedulerPopFromBackoffQ`); a pod that failed otherwise never
//! is, so that a struggling API is left alone.
//!
//! With that gate on, the end of the wait is rounded down to a whole second, and pods that end in
//! the same second stand in the order of the active queue.
//!
//! Upstream: backend/queue/backoff_queue.go.

use super::order::{Heap, QueueOrder, SortKey, Ticket};

/// Pods leave backoff at whole seconds. Upstream: `backoffQOrderingWindowDuration`.
pub const BACKOFF_Q_ORDERING_WINDOW_NS: u64 = 1_000_000_000;

/// How long pods wait after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackoffSettings {
    /// After the first failure. `podInitialBackoffSeconds`.
    pub initial_ns: u64,
    /// At most. 0 switches waiting off. `podMaxBackoffSeconds`.
    pub max_ns: u64,
    /// `SchedulerPopFromBackoffQ`.
    pub pops_early: bool,
}

impl Default for BackoffSettings {
    fn default() -> Self {
        BackoffSettings {
            initial_ns: BACKOFF_Q_ORDERING_WINDOW_NS,
            max_ns: 10 * BACKOFF_Q_ORDERING_WINDOW_NS,
            pops_early: true,
        }
    }
}

impl BackoffSettings {
    /// The wait after so many failures.
    #[must_use]
    pub fn calculate_backoff_duration_ns(&self, failures: u32) -> u64 {
        let Some(shift) = failures.checked_sub(1) else { return 0 };
        if self.initial_ns > self.max_ns.checked_shr(shift).unwrap_or(0) {
            return self.max_ns;
        }
        debug_assert!(self.initial_ns << shift <= self.max_ns, "no wait is longer than the longest");
        self.initial_ns << shift
    }

    /// The end of the wait of a pod that failed at `failed_ns`; `None` when it need not wait.
    #[must_use]
    pub fn end_ns(&self, failures: u32, failed_ns: u64) -> Option<u64> {
        let waits = self.max_ns != 0 && failures != 0;
        waits.then(|| self.align_to_window(failed_ns + self.calculate_backoff_duration_ns(failures)))
    }

    /// Whether a wait that ends at `end_ns` still goes on. It does in its last second.
    #[must_use]
    pub fn is_pod_backing_off(&self, end_ns: Option<u64>, now_ns: u64) -> bool {
        end_ns.is_some_and(|end_ns| end_ns >= self.align_to_window(now_ns))
    }

    fn align_to_window(&self, time_ns: u64) -> u64 {
        if self.pops_early {
            time_ns / BACKOFF_Q_ORDERING_WINDOW_NS * BACKOFF_Q_ORDERING_WINDOW_NS
        } else {
            time_ns
        }
    }
}

/// Why a pod waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackoffKind {
    /// Some plugin rejected it.
    Rejected,
    /// Anything else failed.
    Error,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    end_ns: u64,
    key: SortKey,
    ticket: Ticket,
}

/// Pods that wait.
#[derive(Clone, Debug, Default)]
pub struct BackoffQueue {
    settings: BackoffSettings,
    order: QueueOrder,
    rejected: Heap<Place>,
    errors: Heap<Place>,
}

impl BackoffQueue {
    /// An empty queue. `order` is the active queue's.
    #[must_use]
    pub fn new(settings: BackoffSettings, order: QueueOrder) -> BackoffQueue {
        BackoffQueue { settings, order, ..BackoffQueue::default() }
    }

    /// How long pods wait.
    #[must_use]
    pub fn settings(&self) -> &BackoffSettings {
        &self.settings
    }

    /// Adds a pod whose wait ends at `end_ns`.
    pub fn push(&mut self, kind: BackoffKind, end_ns: u64, key: SortKey, ticket: Ticket) {
        debug_assert_eq!(end_ns, self.settings.align_to_window(end_ns), "a wait ends with its window");
        let place = Place { end_ns, key, ticket };
        let BackoffQueue { settings, order, rejected, errors } = self;
        match kind {
            BackoffKind::Rejected => {
                rejected.push(place, less_backoff_completed_with_priority(settings, order))
            }
            BackoffKind::Error => errors.push(place, less_backoff_completed),
        }
    }

    /// Takes the pod of a queue whose wait ends first.
    pub fn pop(&mut self, kind: BackoffKind) -> Option<Ticket> {
        let BackoffQueue { settings, order, rejected, errors } = self;
        let place = match kind {
            BackoffKind::Rejected => rejected.pop(less_backoff_completed_with_priority(settings, order)),
            BackoffKind::Error => errors.pop(less_backoff_completed),
        };
        place.map(|place| place.ticket)
    }

    /// When the first wait of a queue ends, leftovers included.
    #[must_use]
    pub fn first_end_ns(&self, kind: BackoffKind) -> Option<u64> {
        let heap = match kind {
            BackoffKind::Rejected => &self.rejected,
            BackoffKind::Error => &self.errors,
        };
        heap.peek().map(|place| place.end_ns)
    }

    /// Drops the leftovers.
    pub fn compact(&mut self, mut is_live: impl FnMut(Ticket) -> bool) {
        let BackoffQueue { settings, order, rejected, errors } = self;
        rejected.retain(|place| is_live(place.ticket), less_backoff_completed_with_priority(settings, order));
        errors.retain(|place| is_live(place.ticket), less_backoff_completed);
    }

    /// All tickets, leftovers included, in no order: of rejected pods, and of others.
    pub(super) fn tickets(&self) -> (impl Iterator<Item = Ticket> + '_, impl Iterator<Item = Ticket> + '_) {
        let BackoffQueue { rejected, errors, .. } = self;
        (rejected.iter().map(|place| place.ticket), errors.iter().map(|place| place.ticket))
    }

    /// Panics where places do not stand in order.
    pub(super) fn check(&self) {
        self.rejected.check(less_backoff_completed_with_priority(&self.settings, &self.order));
        self.errors.check(less_backoff_completed);
    }

    /// Tickets, leftovers included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rejected.len() + self.errors.len()
    }

    /// No ticket is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.rejected.memory_bytes() + self.errors.memory_bytes()
    }
}

fn less_backoff_completed(one: &Place, other: &Place) -> bool {
    (one.end_ns, one.key.order) < (other.end_ns, other.key.order)
}

fn less_backoff_completed_with_priority(
    settings: &BackoffSettings,
    order: &QueueOrder,
) -> impl Fn(&Place, &Place) -> bool {
    move |one, other| {
        if !settings.pops_early {
            return less_backoff_completed(one, other);
        }
        one.end_ns < other.end_ns || (one.end_ns == other.end_ns && order.less(&one.key, &other.key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::plugin::QueueKey;
    use crate::ids::PodId;

    const SECOND: u64 = BACKOFF_Q_ORDERING_WINDOW_NS;

    #[test]
    fn backoff_duration_doubles_up_to_max() {
        let usual = BackoffSettings::default();
        let odd = BackoffSettings { initial_ns: 2 * SECOND, max_ns: 5 * SECOND, pops_early: true };
        let off = BackoffSettings { max_ns: 0, ..usual };
        let same = BackoffSettings { initial_ns: 3 * SECOND, max_ns: 3 * SECOND, ..usual };
        let cases = [
            ("no failure", usual, 0, 0),
            ("first", usual, 1, 1),
            ("second", usual, 2, 2),
            ("fourth", usual, 4, 8),
            ("fifth: sixteen would be more than ten", usual, 5, 10),
            ("so often that a shift would overflow", usual, 4_000_000, 10),
            ("limit between two powers", odd, 2, 4),
            ("limit between two powers, reached", odd, 3, 5),
            ("initial is the limit", same, 1, 3),
            ("off", off, 3, 0),
        ];
        for (name, settings, failures, seconds) in cases {
            assert_eq!(settings.calculate_backoff_duration_ns(failures), seconds * SECOND, "case: {name}");
        }
        assert_eq!(off.end_ns(3, 5), None);
        assert_eq!(usual.end_ns(0, 5), None);
    }

    #[test]
    fn pod_is_backing_off_through_its_last_ordering_window() {
        let early = BackoffSettings::default();
        let exact = BackoffSettings { pops_early: false, ..early };
        let failed_ns = SECOND * 3 / 2;
        let cases = [
            ("aligned: end 2.5 s rounds to 2", early, 2 * SECOND + 1, true),
            ("aligned: the second is not over", early, 3 * SECOND - 1, true),
            ("aligned: the next second", early, 3 * SECOND, false),
            ("exact: before", exact, SECOND * 5 / 2 - 1, true),
            ("exact: at the very end", exact, SECOND * 5 / 2, true),
            ("exact: after", exact, SECOND * 5 / 2 + 1, false),
        ];
        for (name, settings, now_ns, expected) in cases {
            let end_ns = settings.end_ns(1, failed_ns);
            assert_eq!(settings.is_pod_backing_off(end_ns, now_ns), expected, "case: {name}");
        }
        assert!(!early.is_pod_backing_off(None, 0));
    }

    #[test]
    fn pods_of_one_ordering_window_leave_backoff_in_active_queue_order() {
        let key = |priority, order| SortKey { plugin: QueueKey { priority, queued_ns: 0 }, order };
        let pods = [(1, 2 * SECOND), (9, 2 * SECOND), (5, SECOND), (7, 3 * SECOND)];
        let pops = |pops_early| {
            let settings = BackoffSettings { pops_early, ..BackoffSettings::default() };
            let mut queue = BackoffQueue::new(settings, QueueOrder::PrioritySort);
            for (at, (priority, end_ns)) in (0u32..).zip(pods) {
                let ticket = Ticket { pod: PodId(at), number: at };
                queue.push(BackoffKind::Rejected, end_ns, key(priority, u64::from(at)), ticket);
                queue.push(BackoffKind::Error, end_ns, key(priority, u64::from(at)), ticket);
            }
            let mut drain = |kind| {
                let pods: Vec<u32> =
                    std::iter::from_fn(|| queue.pop(kind)).map(|place| place.pod.0).collect();
                pods
            };
            (drain(BackoffKind::Rejected), drain(BackoffKind::Error))
        };
        assert_eq!(pops(true), (vec![2, 1, 0, 3], vec![2, 0, 1, 3]), "errors by time alone");
        assert_eq!(pops(false), (vec![2, 0, 1, 3], vec![2, 0, 1, 3]));
    }
}
