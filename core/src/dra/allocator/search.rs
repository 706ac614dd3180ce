//! The search: one device after the other, each undone when what follows finds no way.
//!
//! Upstream: allocator_incubating.go `allocateOne`, `allocateDevice`, `rollbackDevice`.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::constraint::{Constraint, RequestName};
use super::counters::PoolCounters;
use super::device::{DeviceAt, Looked, is_selectable, taint_prevents};
use super::requests::{Request, claim_name, requests_of};
use super::{RESULTS_MAX, capacity};
use crate::dra::DraStore;
use crate::dra::allocated::{add_quantities, subtract_quantities};
use crate::dra::node::DraNode;
use crate::dra::pools::Pool;
use crate::input::dra::{Quantities, ResourceClaimInput};

/// Why a search ends before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// A claim would get more devices than it may have: other devices for its earlier requests are no
    /// way out, another alternative may be.
    TooManyDevices,
    /// The cycle ends.
    Error(String),
}

/// The next device to be found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Position {
    claim: usize,
    request: usize,
    alternative: usize,
    device: usize,
}

/// A device that was found.
#[derive(Clone, Debug)]
pub(super) struct FoundDevice<'a> {
    pub(super) request: RequestName<'a>,
    pub(super) looked: Looked<'a>,
    pub(super) admin_access: bool,
    pub(super) alternative: (usize, usize),
    /// What it takes of a device that can be shared.
    pub(super) share: Option<Quantities>,
}

/// A search on one node.
pub(super) struct Search<'a> {
    pub(super) store: &'a DraStore,
    pub(super) node: &'a dyn DraNode,
    pub(super) pools: &'a [Pool],
    pub(super) claims: &'a [Arc<ResourceClaimInput>],
    /// By claim.
    pub(super) requests: Vec<Vec<Request<'a>>>,
    /// By claim.
    pub(super) found: Vec<Vec<FoundDevice<'a>>>,
    /// By claim.
    constraints: Vec<Vec<Constraint<'a>>>,
    /// By pool, made when a device needs them.
    counters: Vec<Option<PoolCounters>>,
    /// The claims of this search that have a device which cannot be shared.
    taken: FxHashMap<DeviceAt, BTreeSet<usize>>,
    /// What this search takes of devices that can be shared. An entry says that the device has a share,
    /// even if that takes nothing.
    taken_capacity: FxHashMap<DeviceAt, Quantities>,
}

/// What taking a device has changed.
#[derive(Debug, Default)]
struct Undo {
    has_counters: bool,
    constraints: usize,
    is_taken: bool,
    share: Option<Quantities>,
    had_share: bool,
    is_found: bool,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        store: &'a DraStore,
        node: &'a dyn DraNode,
        pools: &'a [Pool],
        claims: &'a [Arc<ResourceClaimInput>],
    ) -> Result<Search<'a>, String> {
        let (mut requests, mut constraints) = (Vec::new(), Vec::new());
        for claim in claims {
            requests.push(requests_of(store, node, pools, claim)?);
            let of_claim = claim.constraints.iter().enumerate().map(|(at, input)| {
                let name = claim_name(claim);
                let unknown = || {
                    format!("claim {name}, constraint #{at}: empty constraint (unsupported constraint type?)")
                };
                Constraint::of(input).ok_or_else(unknown)
            });
            constraints.push(of_claim.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(Search {
            store,
            node,
            pools,
            claims,
            requests,
            found: claims.iter().map(|_| Vec::new()).collect(),
            constraints,
            counters: pools.iter().map(|_| None).collect(),
            taken: FxHashMap::default(),
            taken_capacity: FxHashMap::default(),
        })
    }

    /// Whether there is a solution; it is in [`Self::found`] then.
    pub(super) fn run(&mut self) -> Result<bool, Stop> {
        let found = self.allocate_one(Position::default(), false, DeviceAt::default());
        if cfg!(debug_assertions) {
            if found == Ok(true) { self.check_found() } else { self.check_undone() }
        }
        found
    }

    /// Panics where a solution is not what was asked for.
    fn check_found(&self) {
        for (requests, found) in self.requests.iter().zip(&self.found) {
            assert!(found.len() <= RESULTS_MAX, "a claim gets no more devices than it may have");
            let wanted: usize = requests.iter().map(|it| it.alternatives[it.selected].device_count).sum();
            assert_eq!(found.len(), wanted, "every request gets its devices");
            let is_selected = |it: &FoundDevice<'_>| requests[it.alternative.0].selected == it.alternative.1;
            assert!(found.iter().all(is_selected), "a device is for the alternative that was picked");
        }
    }

    /// Panics where something is left of what was tried in vain.
    fn check_undone(&self) {
        assert!(self.found.iter().all(Vec::is_empty), "no device is found in a search without success");
        assert!(self.taken.values().all(BTreeSet::is_empty), "devices that were taken are given back");
        assert!(self.taken_capacity.is_empty(), "shares that were taken are given back");
        let constraints = self.constraints.iter().flatten();
        assert!(constraints.into_iter().all(Constraint::is_empty), "constraints know no device any more");
        let counters = self.counters.iter().flatten();
        assert!(counters.into_iter().all(PoolCounters::is_unused), "counters are given back");
    }

    fn looked(&self, at: DeviceAt) -> Looked<'a> {
        let slice = &self.pools[at.pool].slices[at.slice];
        Looked { at, slice, device: &slice.devices[at.device] }
    }

    /// Finds a device for a position and all that follow. `in_alternative` when an alternative was picked;
    /// devices before `start` are left out.
    fn allocate_one(&mut self, at: Position, in_alternative: bool, start: DeviceAt) -> Result<bool, Stop> {
        if at.claim >= self.claims.len() {
            return Ok(true);
        }
        if at.request >= self.requests[at.claim].len() {
            let next = Position { claim: at.claim + 1, ..Position::default() };
            return match self.allocate_one(next, false, DeviceAt::default()) {
                // An earlier claim may take another alternative, which may help this one.
                Err(Stop::TooManyDevices) => Ok(false),
                other => other,
            };
        }
        if !in_alternative && self.requests[at.claim][at.request].has_alternatives {
            return self.allocate_alternative(at);
        }
        let alternative = &self.requests[at.claim][at.request].alternatives[at.alternative];
        let wants_all = alternative.wants_all();
        if wants_all && alternative.all_devices.is_empty() {
            return Ok(false);
        }
        if at.device >= alternative.device_count {
            let next = Position { claim: at.claim, request: at.request + 1, ..Position::default() };
            return self.allocate_one(next, false, DeviceAt::default());
        }
        if self.found[at.claim].len() + alternative.device_count - at.device > RESULTS_MAX {
            return Err(Stop::TooManyDevices);
        }
        if wants_all {
            let device = self.looked(alternative.all_devices[at.device]);
            return match self.allocate_device(at, device, true)? {
                Some(undo) => self.go_on(at, device, undo, (in_alternative, DeviceAt::default())),
                None => Ok(false),
            };
        }
        self.try_devices(at, in_alternative, start)
    }

    /// The first alternative that leads to a solution.
    fn allocate_alternative(&mut self, at: Position) -> Result<bool, Stop> {
        let mut are_all_too_many = true;
        for alternative in 0..self.requests[at.claim][at.request].alternatives.len() {
            match self.allocate_one(Position { alternative, ..at }, true, DeviceAt::default()) {
                Err(Stop::TooManyDevices) => continue,
                Err(error) => return Err(error),
                Ok(true) => {
                    self.requests[at.claim][at.request].selected = alternative;
                    return Ok(true);
                }
                Ok(false) => are_all_too_many = false,
            }
        }
        if are_all_too_many { Err(Stop::TooManyDevices) } else { Ok(false) }
    }

    /// One device after the other, from `start` on.
    fn try_devices(&mut self, at: Position, in_alternative: bool, start: DeviceAt) -> Result<bool, Stop> {
        let pools = self.pools;
        for (pool_at, pool) in pools.iter().enumerate().skip(start.pool) {
            if pool.is_incomplete || pool.is_invalid {
                continue;
            }
            let first_slice = if pool_at == start.pool { start.slice } else { 0 };
            for (slice_at, slice) in pool.slices.iter().enumerate().skip(first_slice) {
                let is_first = (pool_at, slice_at) == (start.pool, start.slice);
                let first_device = if is_first { start.device } else { 0 };
                for device_at in first_device..slice.devices.len() {
                    let here = DeviceAt { pool: pool_at, slice: slice_at, device: device_at };
                    let device = self.looked(here);
                    if !self.is_candidate(at, device)? {
                        continue;
                    }
                    if let Some(undo) = self.allocate_device(at, device, false)? {
                        let next = DeviceAt { device: device_at + 1, ..here };
                        if self.go_on(at, device, undo, (in_alternative, next))? {
                            return Ok(true);
                        }
                    }
                }
            }
        }
        Ok(false)
    }

    /// With a device taken, finds the rest; without success the device is given back.
    fn go_on(
        &mut self,
        at: Position,
        device: Looked<'a>,
        undo: Undo,
        (in_alternative, start): (bool, DeviceAt),
    ) -> Result<bool, Stop> {
        let next = Position { device: at.device + 1, ..at };
        let done = self.allocate_one(next, in_alternative, start);
        if done != Ok(true) {
            self.undo(at, device, undo);
        }
        done
    }

    /// Cheap checks come first: a selector that fails is not noticed on a device in use.
    fn is_candidate(&mut self, at: Position, device: Looked<'a>) -> Result<bool, Stop> {
        let alternative = &self.requests[at.claim][at.request].alternatives[at.alternative];
        let request = alternative.request;
        let is_in_use = if request.admin_access {
            self.is_taken_for(device.at, at.claim)
        } else {
            self.is_in_use(device)
        };
        if is_in_use {
            return Ok(false);
        }
        let claim = &self.claims[at.claim];
        let alternative = &mut self.requests[at.claim][at.request].alternatives[at.alternative];
        if !is_selectable(self.node, claim, alternative, device).map_err(Stop::Error)? {
            return Ok(false);
        }
        self.has_capacity(at, device, "checking")
    }

    fn has_capacity(&self, at: Position, device: Looked<'a>, what: &str) -> Result<bool, Stop> {
        let alternative = &self.requests[at.claim][at.request].alternatives[at.alternative];
        let key = device.key();
        let [claims, in_flight] = self.store.allocated().capacity(&key);
        let in_use = [claims, in_flight, self.taken_capacity.get(&device.at)];
        capacity::fits(&alternative.request.capacity, &device.device.capacity, &in_use).map_err(|why| {
            let (claim, request) = (claim_name(&self.claims[at.claim]), alternative.short_name());
            Stop::Error(format!("claim {claim}, request {request}: {what} capacity for device {key}: {why}"))
        })
    }

    fn is_taken_for(&self, device: DeviceAt, claim: usize) -> bool {
        self.taken.get(&device).is_some_and(|claims| claims.contains(&claim))
    }

    fn is_in_use(&self, device: Looked<'a>) -> bool {
        self.taken.get(&device.at).is_some_and(|claims| !claims.is_empty())
            || self.store.allocated().is_exclusive(&device.key())
    }

    /// Takes a device that is selectable, if it is free and nothing speaks against it. `must` when the
    /// claim needs just this one: a constraint against it is an error then.
    fn allocate_device(
        &mut self,
        at: Position,
        device: Looked<'a>,
        must: bool,
    ) -> Result<Option<Undo>, Stop> {
        let alternative = &self.requests[at.claim][at.request].alternatives[at.alternative];
        let (name, short, request) = (alternative.name, alternative.short_name(), alternative.request);
        let can_be_shared = device.device.allow_multiple_allocations;
        let is_in_use = if request.admin_access {
            !can_be_shared && self.is_taken_for(device.at, at.claim)
        } else {
            self.is_in_use(device)
        };
        if is_in_use {
            return Ok(None);
        }
        let mut undo = Undo::default();
        let is_charged = can_be_shared && self.has_share(device);
        if !is_charged && !device.device.consumes_counters.is_empty() {
            if !self.pool_counters(device.at.pool).take(device.device) {
                return Ok(None);
            }
            undo.has_counters = true;
        }
        if taint_prevents(device.device, request) {
            self.undo(at, device, undo);
            return Ok(None);
        }
        for constraint in &mut self.constraints[at.claim] {
            if !constraint.add(name, &device.slice.driver, device.device) {
                self.undo(at, device, undo);
                let claim = claim_name(&self.claims[at.claim]);
                let why = "because a claim constraint would not be satisfied";
                let text =
                    || format!("claim {claim}, request {short}: cannot add device {} {why}", device.key());
                return if must { Err(Stop::Error(text())) } else { Ok(None) };
            }
            undo.constraints += 1;
        }
        if !can_be_shared {
            self.taken.entry(device.at).or_default().insert(at.claim);
            undo.is_taken = true;
        }
        match self.has_capacity(at, device, "rechecking") {
            Ok(true) => {}
            other => {
                self.undo(at, device, undo);
                return other.map(|_| None);
            }
        }
        if can_be_shared && let Err(error) = self.take_share(at, device, &mut undo) {
            self.undo(at, device, undo);
            return Err(Stop::Error(error));
        }
        let (admin_access, share) = (request.admin_access, undo.share.clone());
        let alternative = (at.request, at.alternative);
        self.found[at.claim].push(FoundDevice {
            request: name,
            looked: device,
            admin_access,
            alternative,
            share,
        });
        undo.is_found = true;
        Ok(Some(undo))
    }

    /// Takes what a request consumes of a device that can be shared.
    fn take_share(&mut self, at: Position, device: Looked<'a>, undo: &mut Undo) -> Result<(), String> {
        let request = self.requests[at.claim][at.request].alternatives[at.alternative].request;
        let consumed = capacity::consumed_capacity(&request.capacity, &device.device.capacity)?;
        undo.had_share = self.taken_capacity.contains_key(&device.at);
        add_quantities(self.taken_capacity.entry(device.at).or_default(), &consumed);
        undo.share = Some(consumed);
        Ok(())
    }

    /// Some share of a device is given out: its counters are charged.
    fn has_share(&self, device: Looked<'a>) -> bool {
        self.taken_capacity.contains_key(&device.at) || self.store.allocated().is_shared(&device.key())
    }

    fn pool_counters(&mut self, pool: usize) -> &mut PoolCounters {
        let (pools, store) = (self.pools, self.store);
        self.counters[pool].get_or_insert_with(|| PoolCounters::of(&pools[pool], store.allocated()))
    }

    fn undo(&mut self, at: Position, device: Looked<'a>, undo: Undo) {
        if undo.is_found {
            let last = self.found[at.claim].pop();
            debug_assert!(last.is_some_and(|it| it.looked.at == device.at), "the last one is undone first");
        }
        if let Some(share) = undo.share
            && let Some(capacity) = self.taken_capacity.get_mut(&device.at)
        {
            subtract_quantities(capacity, &share);
            if !undo.had_share && capacity.values().all(|amount| amount.is_zero()) {
                self.taken_capacity.remove(&device.at);
            }
        }
        if undo.is_taken
            && let Some(claims) = self.taken.get_mut(&device.at)
        {
            claims.remove(&at.claim);
        }
        let name = self.requests[at.claim][at.request].alternatives[at.alternative].name;
        self.constraints[at.claim][..undo.constraints].iter_mut().for_each(|it| it.remove(name));
        if undo.has_counters {
            self.pool_counters(device.at.pool).give_back(device.device);
        }
    }
}
