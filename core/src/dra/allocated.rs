//! Which devices are in use, and how much of those that can be shared.
//!
//! Upstream: plugins/dynamicresources/allocateddevices.go, structured/schedulerapi `AllocatedState`.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::input::dra::{AllocationInput, DeviceKey, Quantities};

/// What claims that are allocated hold.
#[derive(Clone, Debug, Default)]
pub struct AllocatedState {
    /// Devices of one claim.
    exclusive: FxHashSet<DeviceKey>,
    /// Shares of devices that several claims may use.
    shares: FxHashMap<DeviceKey, BTreeSet<Arc<str>>>,
    /// What the shares take together. An entry whose amounts are all 0 is dropped.
    capacity: FxHashMap<DeviceKey, Quantities>,
}

impl AllocatedState {
    /// A device belongs to one claim.
    #[must_use]
    pub fn is_exclusive(&self, device: &DeviceKey) -> bool {
        self.exclusive.contains(device)
    }

    /// What the shares of a device take.
    #[must_use]
    pub fn capacity(&self, device: &DeviceKey) -> Option<&Quantities> {
        self.capacity.get(device)
    }

    /// Some claim has a share of a device.
    #[must_use]
    pub fn is_shared(&self, device: &DeviceKey) -> bool {
        self.shares.contains_key(device) || self.capacity.contains_key(device)
    }

    /// A device counts against the counters of its pool.
    /// Upstream: structured/internal/allocatedstate.go `IsDeviceAllocated`.
    #[must_use]
    pub fn is_allocated(&self, device: &DeviceKey) -> bool {
        self.is_exclusive(device) || self.is_shared(device)
    }

    /// A claim was allocated. What it has with admin access counts for nobody.
    pub fn add(&mut self, allocation: &AllocationInput) {
        for result in allocation.results.iter().filter(|result| !result.admin_access) {
            let Some(share) = &result.share_id else {
                self.exclusive.insert(result.device.clone());
                continue;
            };
            self.shares.entry(result.device.clone()).or_default().insert(Arc::clone(share));
            if let Some(consumed) = &result.consumed_capacity {
                let capacity = self.capacity.entry(result.device.clone()).or_default();
                add_quantities(capacity, consumed);
            }
        }
    }

    /// A claim is not allocated any more.
    pub fn remove(&mut self, allocation: &AllocationInput) {
        for result in allocation.results.iter().filter(|result| !result.admin_access) {
            let Some(share) = &result.share_id else {
                self.exclusive.remove(&result.device);
                continue;
            };
            if let Some(shares) = self.shares.get_mut(&result.device) {
                shares.remove(share);
                if shares.is_empty() {
                    self.shares.remove(&result.device);
                }
            }
            if let (Some(consumed), Some(capacity)) =
                (&result.consumed_capacity, self.capacity.get_mut(&result.device))
            {
                subtract_quantities(capacity, consumed);
                if capacity.values().all(|amount| amount.is_zero()) {
                    self.capacity.remove(&result.device);
                }
            }
        }
    }
}

/// Adds amounts by name. Upstream: `ConsumedCapacity.Add`.
pub(super) fn add_quantities(to: &mut Quantities, amounts: &Quantities) {
    for (name, amount) in amounts {
        *to.entry(Arc::clone(name)).or_default() += *amount;
    }
}

/// Subtracts amounts of names that are there. Upstream: `ConsumedCapacity.Sub`.
pub(super) fn subtract_quantities(from: &mut Quantities, amounts: &Quantities) {
    for (name, amount) in amounts {
        if let Some(left) = from.get_mut(name) {
            *left -= *amount;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::dra::DeviceResultInput;
    use crate::quantity::Quantity;

    fn key(device: &str) -> DeviceKey {
        DeviceKey { driver: "d".into(), pool: "p".into(), device: device.into() }
    }

    fn result(device: &str, share: Option<&str>, amount: i64) -> DeviceResultInput {
        let consumed = share.map(|_| Quantities::from([("memory".into(), Quantity::from_units(amount))]));
        DeviceResultInput {
            request: "r".into(),
            device: key(device),
            admin_access: false,
            tolerations: Vec::new(),
            share_id: share.map(Into::into),
            consumed_capacity: consumed,
            binding_conditions: None,
            binding_failure_conditions: None,
        }
    }

    fn allocation(results: Vec<DeviceResultInput>) -> AllocationInput {
        AllocationInput { results, ..AllocationInput::default() }
    }

    #[test]
    fn shares_add_up_and_are_forgotten_with_the_last() {
        let mut state = AllocatedState::default();
        let (one, other) =
            (allocation(vec![result("a", Some("1"), 3)]), allocation(vec![result("a", Some("2"), 4)]));
        state.add(&one);
        state.add(&other);
        let amount = |state: &AllocatedState| state.capacity(&key("a")).map(|it| it["memory"].value());
        assert_eq!(amount(&state), Some(7));
        assert!(!state.is_exclusive(&key("a")) && state.is_allocated(&key("a")));
        state.remove(&one);
        assert_eq!(amount(&state), Some(4));
        state.remove(&other);
        assert_eq!(amount(&state), None);
        assert!(!state.is_allocated(&key("a")));
    }

    #[test]
    fn admin_access_takes_nothing() {
        let mut state = AllocatedState::default();
        let admin = DeviceResultInput { admin_access: true, ..result("a", None, 0) };
        state.add(&allocation(vec![admin.clone(), result("b", None, 0)]));
        assert!(!state.is_allocated(&key("a")) && state.is_exclusive(&key("b")));
        state.remove(&allocation(vec![admin, result("b", None, 0)]));
        assert!(!state.is_exclusive(&key("b")));
    }
}
