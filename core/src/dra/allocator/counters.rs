//! Counters that the devices of a pool share.
//!
//! A device is charged once, however many shares of it are given out; and by all devices of the pool, those
//! for other nodes included.
//!
//! Upstream: allocator_incubating.go `checkAvailableCounters`, `deallocateCountersForDevice`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dra::allocated::InUse;
use crate::dra::pools::Pool;
use crate::input::dra::{CounterConsumptionInput, DeviceInput, DeviceKey};
use crate::quantity::Quantity;

type Counter = (Arc<str>, Arc<str>);

/// The counters of a pool: what is left, and what this search takes.
#[derive(Clone, Debug, Default)]
pub(super) struct PoolCounters {
    available: BTreeMap<Counter, Quantity>,
    consumed: BTreeMap<Counter, Quantity>,
}

fn amounts(device: &DeviceInput) -> impl Iterator<Item = (Counter, Quantity)> {
    let of_set = |it: &CounterConsumptionInput| {
        let set = Arc::clone(&it.counter_set);
        let counters: Vec<(Counter, Quantity)> = it
            .counters
            .iter()
            .map(|(name, &amount)| ((Arc::clone(&set), Arc::clone(name)), amount))
            .collect();
        counters
    };
    device.consumes_counters.iter().flat_map(of_set)
}

impl PoolCounters {
    /// What claims that are allocated leave. It may be less than nothing.
    pub(super) fn of(pool: &Pool, allocated: InUse<'_>) -> PoolCounters {
        let mut counters = PoolCounters::default();
        for set in pool.counter_sets.values() {
            for (name, &value) in &set.counters {
                counters.available.insert((Arc::clone(&set.name), Arc::clone(name)), value);
            }
        }
        for slice in pool.slices.iter().chain(&pool.elsewhere) {
            for device in slice.devices.iter().filter(|device| !device.consumes_counters.is_empty()) {
                let key = DeviceKey {
                    driver: Arc::clone(&slice.driver),
                    pool: Arc::clone(&slice.pool),
                    device: Arc::clone(&device.name),
                };
                if allocated.is_allocated(&key) {
                    for (counter, amount) in amounts(device) {
                        if let Some(left) = counters.available.get_mut(&counter) {
                            *left -= amount;
                        }
                    }
                }
            }
        }
        counters
    }

    /// Takes what a device consumes, if no counter of the pool is overdrawn then.
    pub(super) fn take(&mut self, device: &DeviceInput) -> bool {
        for (counter, amount) in amounts(device) {
            *self.consumed.entry(counter).or_default() += amount;
        }
        let consumed = |counter| self.consumed.get(counter).copied().unwrap_or_default();
        let is_enough = self.available.iter().all(|(counter, &left)| left >= consumed(counter));
        if !is_enough {
            self.give_back(device);
        }
        is_enough
    }

    /// Gives back what a device has taken.
    pub(super) fn give_back(&mut self, device: &DeviceInput) {
        for (counter, amount) in amounts(device) {
            *self.consumed.entry(counter).or_default() -= amount;
        }
    }

    /// This search takes nothing.
    pub(super) fn is_unused(&self) -> bool {
        self.consumed.values().all(|amount| amount.is_zero())
    }
}
