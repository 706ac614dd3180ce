//! The pools of devices that a node can reach.
//!
//! A pool is made of the slices that apply to the node, at the highest generation among them. Where that
//! is not the whole pool, the other slices of the generation are looked for, because counters may be there
//! and `All` must not miss a device.
//!
//! Upstream: structured/internal/incubating/pools_incubating.go `GatherPools`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::DraStore;
use super::node::DraNode;
use crate::input::dra::{CounterSetInput, ResourceSliceInput};

/// Driver and name of a pool, the order in which pools are tried.
pub(super) type PoolId = (Arc<str>, Arc<str>);

/// A pool as a node sees it.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) id: PoolId,
    /// Some slices are not there yet: nothing is taken from it.
    pub(super) is_incomplete: bool,
    /// Its slices contradict each other: nothing is taken from it.
    pub(super) is_invalid: bool,
    /// Slices with devices for the node, by name.
    pub(super) slices: Vec<Arc<ResourceSliceInput>>,
    /// Slices with devices for other nodes, which use the same counters.
    pub(super) elsewhere: Vec<Arc<ResourceSliceInput>>,
    /// By name.
    pub(super) counter_sets: BTreeMap<Arc<str>, CounterSetInput>,
}

impl Pool {
    fn without_devices(id: PoolId) -> Pool {
        Pool {
            id,
            is_incomplete: false,
            is_invalid: false,
            slices: Vec::new(),
            elsewhere: Vec::new(),
            counter_sets: BTreeMap::new(),
        }
    }

    /// `driver/pool`.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.id.0, self.id.1)
    }

    /// Its devices wait for something before a pod is bound: it is tried after all others.
    fn has_binding_conditions(&self) -> bool {
        self.slices.iter().flat_map(|slice| &slice.devices).any(|device| device.binding_conditions.is_some())
    }
}

/// The pools of a node, in the order in which they are tried.
pub(super) fn gather_pools(store: &DraStore, node: &dyn DraNode) -> Vec<Pool> {
    let mut by_pool: BTreeMap<PoolId, Vec<Arc<ResourceSliceInput>>> = BTreeMap::new();
    let near = store.patched.for_node(node.name());
    for slice in near.filter(|slice| is_known(slice) && is_for(slice, node)) {
        let slices = by_pool.entry((Arc::clone(&slice.driver), Arc::clone(&slice.pool))).or_default();
        match slices.first().map(|first| first.generation.cmp(&slice.generation)) {
            Some(std::cmp::Ordering::Greater) => continue,
            Some(std::cmp::Ordering::Less) => slices.clear(),
            Some(std::cmp::Ordering::Equal) | None => {}
        }
        slices.push(Arc::clone(slice));
    }
    let mut pools: Vec<Pool> =
        by_pool.into_iter().filter_map(|(id, slices)| pool_of(store, id, slices)).collect();
    // Stable, so that both parts stay in the order of their names.
    pools.sort_by_key(Pool::has_binding_conditions);
    pools
}

/// Slices with compatibility groups, whose gate is off, are as good as absent.
fn is_known(slice: &ResourceSliceInput) -> bool {
    let mut consumptions = slice.devices.iter().flat_map(|device| &device.consumes_counters);
    !consumptions.any(|consumption| consumption.has_compatibility_groups)
}

/// Some device of a slice is for the node.
fn is_for(slice: &ResourceSliceInput, node: &dyn DraNode) -> bool {
    if !slice.reach.is_silent() {
        return slice.reach.includes(node);
    }
    slice.per_device_node_selection && slice.devices.iter().any(|device| device.reach.includes(node))
}

fn pool_of(store: &DraStore, id: PoolId, mut slices: Vec<Arc<ResourceSliceInput>>) -> Option<Pool> {
    let (generation, wanted) = (slices[0].generation, slices[0].slice_count);
    let count = |slices: &[Arc<ResourceSliceInput>]| i64::try_from(slices.len()).expect("few slices");
    let mut others = Vec::new();
    if count(&slices) != wanted {
        let mut all = Vec::new();
        for slice in store.patched.of_pool(&id) {
            if slice.generation > generation {
                // The driver is replacing what this node sees.
                return None;
            }
            if slice.generation == generation && is_known(slice) {
                all.push(Arc::clone(slice));
            }
        }
        if count(&all) != wanted {
            return Some(Pool { is_incomplete: true, ..Pool::without_devices(id) });
        }
        let names: BTreeSet<String> = slices.iter().map(|slice| slice.name.clone()).collect();
        others = all;
        others.retain(|slice| !names.contains(&slice.name));
    }
    slices.sort_by(|one, other| one.name.cmp(&other.name));
    Some(build_pool(id, slices, others))
}

/// Upstream: `buildPool`, `validateDeviceNames`, `getAndValidateCounterSets`,
/// `validateDeviceCounterConsumption`.
fn build_pool(
    id: PoolId,
    slices: Vec<Arc<ResourceSliceInput>>,
    others: Vec<Arc<ResourceSliceInput>>,
) -> Pool {
    debug_assert!(
        slices.is_sorted_by(|one, other| one.name < other.name),
        "slices stand in order, each once"
    );
    debug_assert!(
        slices.iter().chain(&others).all(|slice| slice.generation == slices[0].generation),
        "a pool has one generation"
    );
    let mut pool = Pool::without_devices(id);
    let mut with_counters = Vec::new();
    for slice in slices {
        if slice.shared_counters.is_empty() { pool.slices.push(slice) } else { with_counters.push(slice) }
    }
    for slice in others {
        if slice.shared_counters.is_empty() { pool.elsewhere.push(slice) } else { with_counters.push(slice) }
    }
    let mut names = BTreeSet::new();
    for device in pool.slices.iter().flat_map(|slice| &slice.devices) {
        pool.is_invalid |= !names.insert(Arc::clone(&device.name));
    }
    for counters in with_counters.iter().flat_map(|slice| &slice.shared_counters) {
        let known = pool.counter_sets.insert(Arc::clone(&counters.name), counters.clone());
        pool.is_invalid |= known.is_some();
    }
    let devices = pool.slices.iter().chain(&pool.elsewhere).flat_map(|slice| &slice.devices);
    for consumption in devices.flat_map(|device| &device.consumes_counters) {
        let known = pool.counter_sets.get(&consumption.counter_set);
        let is_known = known
            .is_some_and(|known| consumption.counters.keys().all(|name| known.counters.contains_key(name)));
        pool.is_invalid |= !is_known;
    }
    if pool.is_invalid {
        return Pool { is_invalid: true, ..Pool::without_devices(pool.id) };
    }
    pool
}
