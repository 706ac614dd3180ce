//! What must hold of devices and claims between two events: whatever is kept twice says the same.

use super::{DraStore, PendingAllocation, tracker};

impl DraStore {
    /// Panics where objects, indexes and what is in use do not agree. See `World::check`.
    pub(crate) fn check(&self) {
        for (name, slice) in &self.slices {
            assert_eq!(slice.name, *name, "a slice is found by its own name");
            let patched = self.patched.get(name).expect("a slice has a patched one");
            let expected = tracker::patched(slice, self.rules.values());
            assert_eq!(**patched, *expected, "a patched slice has the taints of the rules, and no others");
        }
        assert_eq!(self.patched.len(), self.slices.len(), "only slices that are there are patched");
        self.patched.check();
        for (name, class) in &self.classes {
            assert_eq!(*class.name, **name, "a class is found by its own name");
        }
        for (name, rule) in &self.rules {
            assert_eq!(rule.name, *name, "a rule is found by its own name");
        }
        for ((namespace, name), claim) in &self.claims {
            let own = (claim.namespace.as_str(), claim.name.as_str());
            assert_eq!(own, (namespace.as_str(), name.as_str()), "a claim is found by its own name");
        }
        self.allocated.check();
        self.in_flight.check();
        self.check_in_flight();
    }

    /// What was taken for pods is what their reservations say.
    fn check_in_flight(&self) {
        let results = |pending: &PendingAllocation| pending.allocation.results.clone();
        let all: Vec<_> = self.pending().flat_map(results).filter(|result| !result.admin_access).collect();
        for result in &all {
            assert!(self.in_flight.has(result), "a device that was taken for a pod is in use");
        }
        for device in self.in_flight.devices() {
            assert!(all.iter().any(|result| result.device == *device), "what is in use was taken for a pod");
        }
    }
}
