//! The structured allocator: devices of one node for the claims of one pod.
//!
//! First fit with backtracking: claims, requests and devices in their order, pools by driver and name, and
//! the devices of one request in combinations, not in permutations. The first complete solution is taken.
//!
//! ```text
//! Request::prepare   what each request wants; `All` is counted here        (requests.rs)
//! Search::run        one device after the other, with undo                 (search.rs)
//!   ├─ selectors, capacity, counters, taints, constraints                  (device.rs, counters.rs, ...)
//! results            what was found, as `status.allocation`                (results.rs)
//! ```
//!
//! Upstream: structured/internal/incubating/allocator_incubating.go, the one that is taken with the gates
//! at their defaults.

mod capacity;
mod constraint;
mod counters;
mod device;
mod requests;
mod results;
mod search;

use std::sync::Arc;

use super::DraStore;
use super::node::DraNode;
use super::pools::gather_pools;
use crate::input::dra::{AllocationInput, ResourceClaimInput};
use search::{Search, Stop};

/// No more devices than this are allocated for a claim.
/// Upstream: api/resource/v1 `AllocationResultsMaxSize`.
const RESULTS_MAX: usize = 32;

/// What became of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeAllocation {
    /// What each claim gets, in the order of the claims.
    Found(Vec<AllocationInput>),
    /// The claims cannot be allocated there.
    NotFound,
    /// The same, and some pool contradicts itself.
    InvalidPools,
    /// There is no answer, here or elsewhere: the cycle ends.
    Error(String),
}

/// Looks for devices of a node for claims that are not allocated.
#[must_use]
pub fn allocate(store: &DraStore, node: &dyn DraNode, claims: &[Arc<ResourceClaimInput>]) -> NodeAllocation {
    let pools = gather_pools(store, node);
    let mut search = match Search::new(store, node, &pools, claims) {
        Ok(search) => search,
        Err(error) => return NodeAllocation::Error(error),
    };
    match search.run() {
        Ok(true) => NodeAllocation::Found(results::of(&search)),
        Ok(false) if pools.iter().any(|pool| pool.is_invalid) => NodeAllocation::InvalidPools,
        Ok(false) => NodeAllocation::NotFound,
        // Upstream: `errAllocationResultMaxSizeExceeded` that nobody has caught is an error as well.
        Err(Stop::TooManyDevices) => NodeAllocation::Error("allocation max size exceeded".to_owned()),
        Err(Stop::Error(error)) => NodeAllocation::Error(error),
    }
}
