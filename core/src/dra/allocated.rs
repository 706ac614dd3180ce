//! Which devices are in use, and how much of those that can be shared.
//!
//! Upstream: plugins/dynamicresources/allocateddevices.go, structured/schedulerapi `AllocatedState`.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::input::dra::{AllocationInput, DeviceKey, DeviceResultInput, Quantities};

/// What is in use: what claims hold as the API says, and what was taken for pods on their way to a node.
///
/// Kept apart, so that a device which others hold as well stays in use when one of them gives it back.
/// Upstream: dra_manager.go `GatherAllocatedState`, which puts the two together once an attempt.
#[derive(Clone, Copy, Debug)]
pub struct InUse<'a> {
    /// What claims hold.
    pub(super) claims: &'a AllocatedState,
    /// What was taken for pods.
    pub(super) in_flight: &'a AllocatedState,
}

impl<'a> InUse<'a> {
    /// A device belongs to one claim.
    #[must_use]
    pub fn is_exclusive(self, device: &DeviceKey) -> bool {
        self.claims.exclusive.contains(device) || self.in_flight.exclusive.contains(device)
    }

    /// What the shares of a device take: two amounts that add up.
    #[must_use]
    pub fn capacity(self, device: &DeviceKey) -> [Option<&'a Quantities>; 2] {
        [self.claims.capacity.get(device), self.in_flight.capacity.get(device)]
    }

    /// Some claim has a share of a device.
    #[must_use]
    pub fn is_shared(self, device: &DeviceKey) -> bool {
        self.claims.is_shared(device) || self.in_flight.is_shared(device)
    }

    /// A device counts against the counters of its pool.
    /// Upstream: structured/internal/allocatedstate.go `IsDeviceAllocated`.
    #[must_use]
    pub fn is_allocated(self, device: &DeviceKey) -> bool {
        self.is_exclusive(device) || self.is_shared(device)
    }
}

/// What claims hold.
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
    fn is_shared(&self, device: &DeviceKey) -> bool {
        self.shares.contains_key(device) || self.capacity.contains_key(device)
    }

    /// A result is noted. See `DraStore::check`.
    pub(super) fn has(&self, result: &DeviceResultInput) -> bool {
        match &result.share_id {
            Some(share) => self.shares.get(&result.device).is_some_and(|shares| shares.contains(share)),
            None => self.exclusive.contains(&result.device),
        }
    }

    /// All devices of which something is in use, in no particular order.
    pub(super) fn devices(&self) -> impl Iterator<Item = &DeviceKey> {
        self.exclusive.iter().chain(self.shares.keys())
    }

    /// Panics where a device without shares is listed.
    pub(super) fn check(&self) {
        assert!(
            self.shares.values().all(|shares| !shares.is_empty()),
            "a device has the shares it is listed for"
        );
        let is_shared = |device: &DeviceKey| self.shares.contains_key(device);
        assert!(self.capacity.keys().all(is_shared), "capacity is taken by shares");
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

    fn in_use<'a>(claims: &'a AllocatedState, in_flight: &'a AllocatedState) -> InUse<'a> {
        InUse { claims, in_flight }
    }

    #[test]
    fn shares_add_up_and_are_forgotten_with_the_last() {
        let (mut state, none) = (AllocatedState::default(), AllocatedState::default());
        let (one, other) =
            (allocation(vec![result("a", Some("1"), 3)]), allocation(vec![result("a", Some("2"), 4)]));
        state.add(&one);
        state.add(&other);
        let amount = |state: &AllocatedState| {
            in_use(state, &none).capacity(&key("a")).map(|it| it.map(|it| it["memory"].value()))
        };
        assert_eq!(amount(&state), [Some(7), None]);
        let both = in_use(&state, &none);
        assert!(!both.is_exclusive(&key("a")) && both.is_allocated(&key("a")));
        state.remove(&one);
        assert_eq!(amount(&state), [Some(4), None]);
        state.remove(&other);
        assert_eq!(amount(&state), [None, None]);
        assert!(!in_use(&state, &none).is_allocated(&key("a")));
    }

    #[test]
    fn admin_access_takes_nothing() {
        let (mut state, none) = (AllocatedState::default(), AllocatedState::default());
        let admin = DeviceResultInput { admin_access: true, ..result("a", None, 0) };
        state.add(&allocation(vec![admin.clone(), result("b", None, 0)]));
        let both = in_use(&state, &none);
        assert!(!both.is_allocated(&key("a")) && both.is_exclusive(&key("b")));
        state.remove(&allocation(vec![admin, result("b", None, 0)]));
        assert!(!in_use(&state, &none).is_exclusive(&key("b")));
    }

    #[test]
    fn device_taken_for_a_pod_stays_in_use_when_a_claim_that_held_it_too_is_deallocated() {
        let (mut claims, mut in_flight) = (AllocatedState::default(), AllocatedState::default());
        let both = allocation(vec![result("a", None, 0), result("b", Some("1"), 3)]);
        claims.add(&both);
        in_flight.add(&both);
        claims.remove(&both);
        let still = in_use(&claims, &in_flight);
        assert!(still.is_exclusive(&key("a")) && still.is_shared(&key("b")));
        assert_eq!(still.capacity(&key("b")).map(|it| it.is_some()), [false, true]);
    }
}
