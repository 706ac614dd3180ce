//! What the requests of a claim want, checked before the search.
//!
//! Upstream: allocator_incubating.go `Allocate`, `validateDeviceRequest`.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::constraint::RequestName;
use super::device::{DeviceAt, Looked, is_selectable};
use super::{RESULTS_MAX, capacity};
use crate::dra::DraStore;
use crate::dra::node::DraNode;
use crate::dra::pools::Pool;
use crate::input::dra::{
    DeviceAllocationMode, DeviceClassInput, DeviceRequestInput, ExactDeviceRequestInput, ResourceClaimInput,
};

/// A request, as one or several alternatives of which one is to be allocated.
#[derive(Debug)]
pub(super) struct Request<'a> {
    /// One, of a request without alternatives.
    pub(super) alternatives: Vec<Alternative<'a>>,
    /// It is a request with `firstAvailable`.
    pub(super) has_alternatives: bool,
    /// The alternative that was allocated.
    pub(super) selected: usize,
}

/// A request without alternatives, or one of them.
#[derive(Debug)]
pub(super) struct Alternative<'a> {
    pub(super) name: RequestName<'a>,
    pub(super) request: &'a ExactDeviceRequestInput,
    pub(super) class: &'a Arc<DeviceClassInput>,
    /// How many devices it wants.
    pub(super) device_count: usize,
    /// Those of `All`.
    pub(super) all_devices: Vec<DeviceAt>,
    /// Devices that selectors were asked about.
    pub(super) selectable: FxHashMap<DeviceAt, bool>,
}

impl<'a> Alternative<'a> {
    /// The name that messages say: the alternative's own.
    pub(super) fn short_name(&self) -> &'a str {
        self.name.alternative.unwrap_or(self.name.base)
    }

    pub(super) fn wants_all(&self) -> bool {
        self.request.mode == DeviceAllocationMode::All
    }
}

/// `namespace/name`.
pub(super) fn claim_name(claim: &ResourceClaimInput) -> String {
    format!("{}/{}", claim.namespace, claim.name)
}

/// The requests of a claim, in order. An error ends the cycle.
pub(super) fn requests_of<'a>(
    store: &'a DraStore,
    node: &dyn DraNode,
    pools: &'a [Pool],
    claim: &'a ResourceClaimInput,
) -> Result<Vec<Request<'a>>, String> {
    let mut requests = Vec::with_capacity(claim.requests.len());
    let mut devices_min = 0;
    for input in &claim.requests {
        let alternatives: Vec<Alternative<'a>> = named_alternatives(input)
            .map(|(name, request)| alternative(store, node, pools, claim, (name, request)))
            .collect::<Result<_, _>>()?;
        let smallest = alternatives.iter().map(|it| it.device_count).min();
        devices_min += smallest.ok_or_else(|| {
            format!("claim {}, request {}: unknown request type", claim_name(claim), input.name)
        })?;
        let has_alternatives = !input.first_available.is_empty();
        requests.push(Request { alternatives, has_alternatives, selected: 0 });
    }
    if devices_min > RESULTS_MAX {
        let claim = claim_name(claim);
        return Err(format!(
            "claim {claim}: number of requested devices {devices_min} exceeds the claim limit of {RESULTS_MAX}"
        ));
    }
    Ok(requests)
}

fn named_alternatives(
    input: &DeviceRequestInput,
) -> impl Iterator<Item = (RequestName<'_>, &ExactDeviceRequestInput)> {
    let base = &*input.name;
    let alternatives = input
        .first_available
        .iter()
        .map(move |(name, request)| (RequestName { base, alternative: Some(&**name) }, request));
    let exactly = input.exactly.as_ref().filter(|_| input.first_available.is_empty());
    alternatives.chain(exactly.map(move |request| (RequestName { base, alternative: None }, request)))
}

fn alternative<'a>(
    store: &'a DraStore,
    node: &dyn DraNode,
    pools: &'a [Pool],
    claim: &'a ResourceClaimInput,
    (name, request): (RequestName<'a>, &'a ExactDeviceRequestInput),
) -> Result<Alternative<'a>, String> {
    let short = name.alternative.unwrap_or(name.base);
    let about = |what: String| format!("claim {}, request {short}: {what}", claim_name(claim));
    let class_name = &request.device_class_name;
    let class = store
        .class(class_name)
        .ok_or_else(|| about(format!("could not retrieve device class {class_name}")))?;
    let (device_count, all_devices, selectable) = (0, Vec::new(), FxHashMap::default());
    let mut found = Alternative { name, request, class, device_count, all_devices, selectable };
    match request.mode {
        DeviceAllocationMode::ExactCount(count) => {
            found.device_count = usize::try_from(count).map_err(|_| about(format!("exact count {count}")))?;
        }
        DeviceAllocationMode::All => {
            for (at, pool) in pools.iter().enumerate() {
                if pool.is_incomplete || pool.is_invalid {
                    let state = if pool.is_incomplete { "being updated" } else { "invalid" };
                    let name = pool.name();
                    return Err(about(format!(
                        "asks for all devices, but resource pool {name} is currently {state}"
                    )));
                }
                all_of_pool(node, claim, &mut found, (at, pool))?;
            }
            found.device_count = found.all_devices.len();
        }
        DeviceAllocationMode::Unknown => return Err(about("unsupported count mode".to_owned())),
    }
    Ok(found)
}

/// Adds the devices of a pool that `All` means: selectable ones that could hold the request if nobody else
/// used them.
fn all_of_pool(
    node: &dyn DraNode,
    claim: &ResourceClaimInput,
    found: &mut Alternative<'_>,
    (pool_at, pool): (usize, &Pool),
) -> Result<(), String> {
    for (slice_at, slice) in pool.slices.iter().enumerate() {
        for (device_at, device) in slice.devices.iter().enumerate() {
            let at = DeviceAt { pool: pool_at, slice: slice_at, device: device_at };
            let looked = Looked { at, slice, device };
            if !is_selectable(node, claim, found, looked)? {
                continue;
            }
            let fits = capacity::fits(&found.request.capacity, &device.capacity, &[]);
            let (claim, request) = (claim_name(claim), found.short_name());
            let fits = fits.map_err(|why| {
                format!(
                    "claim {claim}, request {request}: checking capacity for device {}: {why}",
                    device.name
                )
            })?;
            if fits {
                found.all_devices.push(at);
            }
        }
    }
    Ok(())
}
