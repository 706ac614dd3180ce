//! Dynamic resource allocation: what is known of devices, and which a claim gets.
//!
//! ```text
//! ResourceSlice ──┐ tracker: taints of rules        ┌▶ pools of a node ─┐
//! DeviceTaintRule ┘                                 │                   ├▶ allocator ─▶ AllocationInput
//! DeviceClass ──▶ extended resource names           │ DraStore          │
//! ResourceClaim ─▶ allocated devices, reservations ─┘ claims to allocate┘
//! ```
//!
//! Everything here is plain objects behind `Arc`s, found by name: what a pod with claims costs is the
//! search for devices, not the lookups. Nothing is interned, so there is nothing to reclaim.
//!
//! Upstream: dynamic-resource-allocation/{structured,resourceslice/tracker,deviceclass}, and
//! plugins/dynamicresources/{dra_manager,allocateddevices}.go.

pub mod allocated;
pub mod allocator;
mod checks;
mod extended_resources;
pub mod node;
mod pools;
mod slices;
mod tracker;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ids::PodUid;
use crate::input::dra::{
    AllocationInput, DeviceClassInput, DeviceTaintRuleInput, DraInput, DraKind, ResourceClaimInput,
    ResourceSliceInput,
};

use allocated::{AllocatedState, InUse};
pub(crate) use extended_resources::DEVICE_CLASS_PREFIX;
use extended_resources::ExtendedResources;
use slices::SliceIndex;

/// Namespace and name.
pub type ClaimName = (String, String);

/// All that is known of devices and claims.
#[derive(Clone, Debug, Default)]
pub struct DraStore {
    slices: BTreeMap<String, Arc<ResourceSliceInput>>,
    /// `slices` with the taints of rules.
    patched: SliceIndex,
    rules: BTreeMap<String, Arc<DeviceTaintRuleInput>>,
    classes: BTreeMap<String, Arc<DeviceClassInput>>,
    extended: ExtendedResources,
    claims: BTreeMap<ClaimName, Arc<ResourceClaimInput>>,
    allocated: AllocatedState,
    /// What `reserved` holds.
    in_flight: AllocatedState,
    /// Taken for pods that are on their way to a node, and not yet at the API.
    reserved: FxHashMap<PodUid, Arc<DeviceReservation>>,
    version: u64,
    classes_version: u64,
    shares_given: u64,
}

/// What a claim gets that is not allocated yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingAllocation {
    /// The claim as it was when the node was chosen.
    pub claim: Arc<ResourceClaimInput>,
    /// What it gets.
    pub allocation: Arc<AllocationInput>,
}

/// What is done for a pod's claims before it is bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceReservation {
    /// Claims that are allocated, in the order of the pod's claims.
    pub allocations: Vec<PendingAllocation>,
    /// Claims that were allocated before and get the pod as another consumer.
    pub shared: Vec<ClaimName>,
    /// The claim for extended resources, which is made for this pod: the last of `allocations`.
    pub extended: Option<ExtendedResourceClaim>,
}

/// The claim that is made for a pod's extended resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtendedResourceClaim {
    /// Its requests are those of this claim, which has no name yet.
    pub claim: Arc<ResourceClaimInput>,
    /// Which container uses which request.
    pub mappings: Vec<RequestMapping>,
}

/// `status.extendedResourceClaimStatus.requestMappings[]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestMapping {
    /// `containerName`.
    pub container_name: String,
    /// `resourceName`.
    pub resource_name: String,
    /// `requestName`.
    pub request_name: String,
}

/// What is new about an object, as far as queueing hints ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DraNews {
    /// Nobody looked.
    Anything,
    /// A claim.
    Claim {
        /// It was not known before.
        is_new: bool,
        /// It had devices, and has none any more.
        is_released: bool,
        /// Its status differs.
        has_other_status: bool,
    },
    /// A rule, by which devices of slices that are there are tainted.
    DeviceTaintRule {
        /// Some device has other taints.
        has_other_taints: bool,
    },
    /// A class.
    DeviceClass {
        /// It was not known before.
        is_new: bool,
        /// It stands for another extended resource.
        has_other_resource: bool,
    },
}

impl DraNews {
    fn of_claim(old: Option<&ResourceClaimInput>, new: Option<&ResourceClaimInput>) -> DraNews {
        let status = |claim: &ResourceClaimInput| {
            (claim.allocation.clone(), claim.reserved_for.clone(), claim.devices.clone())
        };
        let was_allocated = old.is_some_and(|claim| claim.allocation.is_some());
        DraNews::Claim {
            is_new: old.is_none(),
            is_released: was_allocated && new.is_none_or(|claim| claim.allocation.is_none()),
            has_other_status: old.map(status) != new.map(status),
        }
    }
}

impl DraStore {
    /// Moves whenever an answer about devices may have changed.
    #[inline]
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Moves when a class came, changed or went.
    #[inline]
    #[must_use]
    pub fn classes_version(&self) -> u64 {
        self.classes_version
    }

    /// Nothing is known of devices.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.version == 0
    }

    /// Adds an object or takes over its new state, and says what is new about it.
    pub fn upsert(&mut self, object: &DraInput) -> DraNews {
        self.version += 1;
        match object {
            DraInput::ResourceSlice(slice) => {
                let patched = tracker::patched(slice, self.rules.values());
                self.slices.insert(slice.name.clone(), Arc::clone(slice));
                self.patched.insert(patched);
            }
            DraInput::DeviceTaintRule(rule) => {
                self.rules.insert(rule.name.clone(), Arc::clone(rule));
                return DraNews::DeviceTaintRule { has_other_taints: self.patch_all() };
            }
            DraInput::DeviceClass(class) => {
                self.classes_version += 1;
                let old = self.classes.insert(class.name.to_string(), Arc::clone(class));
                self.extended.upsert(class, old.as_deref());
                let resource = |class: &Arc<DeviceClassInput>| class.extended_resource_name.clone();
                return DraNews::DeviceClass {
                    is_new: old.is_none(),
                    has_other_resource: old.as_ref().and_then(resource) != resource(class),
                };
            }
            DraInput::ResourceClaim(claim) => {
                let name = (claim.namespace.clone(), claim.name.clone());
                let old = self.claims.insert(name, Arc::clone(claim));
                self.settle(claim);
                self.follow_allocation(old.as_deref(), Some(claim));
                return DraNews::of_claim(old.as_deref(), Some(claim));
            }
        }
        DraNews::Anything
    }

    /// Forgets an object, and says what it was.
    pub fn remove(&mut self, kind: DraKind, namespace: &str, name: &str) -> DraNews {
        self.version += 1;
        match kind {
            DraKind::ResourceSlice => {
                self.slices.remove(name);
                self.patched.remove(name);
            }
            DraKind::DeviceTaintRule => {
                self.rules.remove(name);
                return DraNews::DeviceTaintRule { has_other_taints: self.patch_all() };
            }
            DraKind::DeviceClass => {
                self.classes_version += 1;
                if let Some(class) = self.classes.remove(name) {
                    self.extended.remove(&class);
                }
            }
            DraKind::ResourceClaim => {
                let old = self.claims.remove(&(namespace.to_owned(), name.to_owned()));
                self.follow_allocation(old.as_deref(), None);
                return DraNews::of_claim(old.as_deref(), None);
            }
            DraKind::ResourceClaimTemplate => {}
        }
        DraNews::Anything
    }

    /// Whether some device has other taints now.
    fn patch_all(&mut self) -> bool {
        let DraStore { slices, patched, rules, .. } = self;
        let mut is_other = false;
        for slice in slices.values() {
            let new = tracker::patched(slice, rules.values());
            let old = patched.get(&slice.name);
            is_other |= old.is_none_or(|old| !tracker::have_same_taints(old, &new));
            patched.insert(new);
        }
        is_other
    }

    /// What was taken for a pod is what the API says now: it is not to be counted twice. Devices and ids
    /// of shares say which it is, because a claim for extended resources gets its name with the writing.
    fn settle(&mut self, claim: &ResourceClaimInput) {
        let Some(allocation) = &claim.allocation else { return };
        let is_it = |pending: &PendingAllocation| {
            pending.claim.namespace == claim.namespace && pending.allocation.results == allocation.results
        };
        for reservation in self.reserved.values_mut() {
            if let Some(at) = reservation.allocations.iter().position(is_it) {
                let pending = Arc::make_mut(reservation).allocations.remove(at);
                self.in_flight.remove(&pending.allocation);
                return;
            }
        }
    }

    /// An allocation does not change as long as there is one.
    fn follow_allocation(&mut self, old: Option<&ResourceClaimInput>, new: Option<&ResourceClaimInput>) {
        let allocation =
            |claim: Option<&ResourceClaimInput>| claim.and_then(|claim| claim.allocation.clone());
        match (allocation(old), allocation(new)) {
            (None, Some(new)) => self.allocated.add(&new),
            (Some(old), None) => self.allocated.remove(&old),
            (None, None) | (Some(_), Some(_)) => {}
        }
    }

    /// A class by name.
    #[must_use]
    pub fn class(&self, name: &str) -> Option<&Arc<DeviceClassInput>> {
        self.classes.get(name)
    }

    /// The class that stands for an extended resource.
    /// Upstream: deviceclass/extendedresourcecache `GetDeviceClass`.
    #[must_use]
    pub fn class_of_extended_resource(&self, resource: &str) -> Option<&Arc<DeviceClassInput>> {
        self.extended.class_of(resource)
    }

    /// Some extended resource stands for a class.
    #[inline]
    #[must_use]
    pub fn has_classes(&self) -> bool {
        !self.classes.is_empty()
    }

    /// A claim by namespace and name.
    #[must_use]
    pub fn claim(&self, namespace: &str, name: &str) -> Option<&Arc<ResourceClaimInput>> {
        // A borrowed pair of strings is no key of a map of pairs.
        self.claims.get(&(namespace.to_owned(), name.to_owned()))
    }

    /// All claims.
    pub fn claims(&self) -> impl Iterator<Item = &Arc<ResourceClaimInput>> {
        self.claims.values()
    }

    /// What is in use.
    #[inline]
    #[must_use]
    pub fn allocated(&self) -> InUse<'_> {
        InUse { claims: &self.allocated, in_flight: &self.in_flight }
    }

    /// Whether a claim is being allocated for a pod on its way to a node.
    #[must_use]
    pub fn is_pending(&self, uid: &str) -> bool {
        !uid.is_empty() && self.pending().any(|pending| pending.claim.uid == uid)
    }

    fn pending(&self) -> impl Iterator<Item = &PendingAllocation> {
        self.reserved.values().flat_map(|reservation| &reservation.allocations)
    }

    /// Takes devices for a pod that is on its way to a node. Every share of a device gets an id.
    pub fn reserve(&mut self, pod: PodUid, mut reservation: DeviceReservation) {
        debug_assert!(!self.reserved.contains_key(&pod), "devices are taken for a pod once");
        self.version += 1;
        for pending in &mut reservation.allocations {
            let allocation = Arc::make_mut(&mut pending.allocation);
            for result in allocation.results.iter_mut().filter(|result| result.share_id.is_some()) {
                self.shares_given += 1;
                result.share_id = Some(share_id(self.shares_given));
            }
            self.in_flight.add(allocation);
        }
        self.reserved.insert(pod, Arc::new(reservation));
    }

    /// The pods for which something was taken, in no particular order.
    pub(crate) fn reserved_for(&self) -> impl Iterator<Item = PodUid> + '_ {
        self.reserved.keys().copied()
    }

    /// What was taken for a pod.
    #[must_use]
    pub fn reservation(&self, pod: PodUid) -> Option<&Arc<DeviceReservation>> {
        if self.reserved.is_empty() { None } else { self.reserved.get(&pod) }
    }

    /// Gives back what was taken for a pod, as far as the API does not say meanwhile that its claims have it.
    pub fn unreserve(&mut self, pod: PodUid) {
        let Some(reservation) = self.reserved.remove(&pod) else { return };
        self.version += 1;
        reservation.allocations.iter().for_each(|pending| self.in_flight.remove(&pending.allocation));
    }

    /// Finds a claim that the scheduler made for the extended resources of a pod.
    /// Upstream: extendeddynamicresources.go `findExtendedResourceClaim`.
    #[must_use]
    pub fn extended_resource_claim_of(&self, name: &str, uid: &str) -> Option<&Arc<ResourceClaimInput>> {
        let is_its = |claim: &&Arc<ResourceClaimInput>| {
            let owner = claim.controller.as_ref();
            claim.is_for_extended_resources && owner.is_some_and(|(n, u)| n == name && u == uid)
        };
        self.claims.values().find(is_its)
    }
}

/// Unique as long as this scheduler lives; what is in it means nothing to anybody.
fn share_id(number: u64) -> Arc<str> {
    format!("5cedab00-0000-4000-8000-{number:012x}").into()
}
