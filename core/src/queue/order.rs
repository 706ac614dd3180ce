//! The order in which ready pods are tried: what the QueueSort plugin says, and among its equals
//! who was added to the queue first. With that the order is total, whatever way pods took to get
//! where they are.

use std::sync::Arc;

use crate::framework::plugin::{Plugin, QueueKey};
use crate::ids::PodId;

/// A place in a queue. The pod's entry has the number of its last ticket; a place with another
/// number is a leftover. Not the time: a row that is given to another pod within one tick of the
/// clock would take over the leftover, and with it a place it is not entitled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// The pod.
    pub pod: PodId,
    /// Differs from ticket to ticket.
    pub number: u32,
}

/// What pods are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// What the plugin sees.
    pub plugin: QueueKey,
    /// Ascends with every pod that is added to the queue.
    pub order: u64,
}

/// Which plugin orders the queue.
#[derive(Clone, Debug, Default)]
pub enum QueueOrder {
    /// Higher priority first, then who waits longer.
    #[default]
    PrioritySort,
    /// Any other QueueSort plugin.
    Plugin(Arc<dyn Plugin>),
}

impl QueueOrder {
    /// The order of a QueueSort plugin.
    ///
    /// # Panics
    ///
    /// When the plugin has no opinion on the order.
    #[must_use]
    pub fn of(plugin: &Arc<dyn Plugin>) -> QueueOrder {
        assert!(plugin.as_queue_sort().is_some(), "{} is no QueueSort plugin", plugin.name());
        match plugin.name() {
            "PrioritySort" => QueueOrder::PrioritySort,
            _ => QueueOrder::Plugin(Arc::clone(plugin)),
        }
    }

    /// Whether `one` is tried before `other`.
    #[must_use]
    pub fn less(&self, one: &SortKey, other: &SortKey) -> bool {
        match self {
            QueueOrder::PrioritySort => {
                let rank = |key: &SortKey| (key.plugin.queued_ns, key.order);
                match one.plugin.priority.cmp(&other.plugin.priority) {
                    std::cmp::Ordering::Greater => true,
                    std::cmp::Ordering::Less => false,
                    std::cmp::Ordering::Equal => rank(one) < rank(other),
                }
            }
            QueueOrder::Plugin(plugin) => {
                let sort = plugin.as_queue_sort().expect("checked when the order was made");
                sort.less(one.plugin, other.plugin)
                    || (!sort.less(other.plugin, one.plugin) && one.order < other.order)
            }
        }
    }
}

/// A binary heap whose order is given with each operation.
#[derive(Clone, Debug)]
pub struct Heap<T> {
    items: Vec<T>,
}

impl<T> Default for Heap<T> {
    fn default() -> Self {
        Heap { items: Vec::new() }
    }
}

impl<T> Heap<T> {
    /// The first.
    #[must_use]
    pub fn peek(&self) -> Option<&T> {
        self.items.first()
    }

    /// Items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// No item.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Adds an item.
    pub fn push(&mut self, item: T, less: impl Fn(&T, &T) -> bool) {
        self.items.push(item);
        let mut at = self.items.len() - 1;
        while at > 0 {
            let parent = (at - 1) / 2;
            if !less(&self.items[at], &self.items[parent]) {
                break;
            }
            self.items.swap(at, parent);
            at = parent;
        }
    }

    /// Takes the first.
    pub fn pop(&mut self, less: impl Fn(&T, &T) -> bool) -> Option<T> {
        if self.items.is_empty() {
            return None;
        }
        let first = self.items.swap_remove(0);
        self.sift_down(0, &less);
        Some(first)
    }

    /// The items, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }

    /// Panics if an item stands before its parent.
    pub(super) fn check(&self, less: impl Fn(&T, &T) -> bool) {
        for at in 1..self.items.len() {
            assert!(
                !less(&self.items[at], &self.items[(at - 1) / 2]),
                "no item of a heap is before its parent"
            );
        }
    }

    /// Keeps the items that pass.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool, less: impl Fn(&T, &T) -> bool) {
        self.items.retain(keep);
        for at in (0..self.items.len() / 2).rev() {
            self.sift_down(at, &less);
        }
    }

    fn sift_down(&mut self, mut at: usize, less: &impl Fn(&T, &T) -> bool) {
        loop {
            let left = 2 * at + 1;
            if left >= self.items.len() {
                return;
            }
            let right = left + 1;
            let child = match self.items.get(right) {
                Some(item) if less(item, &self.items[left]) => right,
                _ => left,
            };
            if !less(&self.items[child], &self.items[at]) {
                return;
            }
            self.items.swap(at, child);
            at = child;
        }
    }

    /// Bytes held.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.items.capacity() * size_of::<T>()
    }
}
