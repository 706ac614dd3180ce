//! What a search found, as `status.allocation` says it.
//!
//! Upstream: allocator_incubating.go `Allocate`, `createNodeSelector`.

use std::sync::Arc;

use super::search::{FoundDevice, Search};
use crate::input::dra::{
    AllocationConfigInput, AllocationInput, DeviceClassInput, DeviceResultInput, ResourceClaimInput,
};
use crate::input::{NodeSelectorTermInput, RequirementInput};

/// One allocation a claim, in the order of the claims.
pub(super) fn of(search: &Search<'_>) -> Vec<AllocationInput> {
    debug_assert_eq!(search.found.len(), search.claims.len(), "each claim has its devices");
    let mut allocations = Vec::with_capacity(search.claims.len());
    for (at, claim) in search.claims.iter().enumerate() {
        let found = &search.found[at];
        allocations.push(AllocationInput {
            results: found.iter().map(|device| result(search, at, device)).collect(),
            config: config(search, at, claim),
            node_selector: node_selector(found, search.node.name()),
            has_timestamp: false,
        });
    }
    allocations
}

fn result(search: &Search<'_>, claim: usize, found: &FoundDevice<'_>) -> DeviceResultInput {
    let (request, alternative) = found.alternative;
    let asked = search.requests[claim][request].alternatives[alternative].request;
    let device = found.looked.device;
    DeviceResultInput {
        request: found.request.full(),
        device: found.looked.key(),
        admin_access: found.admin_access,
        tolerations: asked.tolerations.clone(),
        // Whoever takes the devices gives the id.
        share_id: found.share.as_ref().map(|_| "".into()),
        consumed_capacity: found.share.clone().filter(|share| !share.is_empty()),
        binding_conditions: device.binding_conditions.clone(),
        binding_failure_conditions: device.binding_failure_conditions.clone(),
    }
}

/// Configuration of a class once, with all its requests; then that of the claim, as far as it is about a
/// request or alternative that was allocated. One for all requests names none.
fn config(search: &Search<'_>, at: usize, claim: &ResourceClaimInput) -> Vec<AllocationConfigInput> {
    let mut config: Vec<AllocationConfigInput> = Vec::new();
    let mut of_class: Vec<(&Arc<DeviceClassInput>, std::ops::Range<usize>)> = Vec::new();
    // Each request with its names: its own, and that of the alternative.
    let mut names: Vec<[String; 2]> = Vec::new();
    for request in &search.requests[at] {
        let picked = &request.alternatives[request.selected];
        let full = picked.name.full();
        names.push([picked.name.base.to_owned(), full.clone()]);
        match of_class.iter().find(|(class, _)| class.name == picked.class.name) {
            Some((_, range)) => {
                config[range.clone()].iter_mut().for_each(|it| it.requests.push(full.clone()))
            }
            None => {
                let start = config.len();
                config.extend(picked.class.config.iter().map(|body| AllocationConfigInput {
                    is_from_class: true,
                    requests: vec![full.clone()],
                    body: Arc::clone(body),
                }));
                of_class.push((picked.class, start..config.len()));
            }
        }
    }
    for input in &claim.config {
        let is_about = |names: &[String; 2]| names.iter().any(|name| input.requests.contains(name));
        if input.requests.is_empty() || names.iter().any(is_about) {
            config.push(AllocationConfigInput {
                is_from_class: false,
                requests: input.requests.clone(),
                body: Arc::clone(&input.body),
            });
        }
    }
    debug_assert_eq!(names.len(), claim.requests.len(), "each request has its names");
    for it in &mut config {
        if names.iter().all(|names| names.iter().any(|name| it.requests.contains(name))) {
            it.requests.clear();
        }
    }
    config
}

/// The node itself if a device is local to it or binds to it, otherwise what all slices ask of nodes.
fn node_selector(found: &[FoundDevice<'_>], node: &str) -> Option<Vec<NodeSelectorTermInput>> {
    let mut all = NodeSelectorTermInput::default();
    for device in found {
        let looked = device.looked;
        let reach =
            if looked.slice.per_device_node_selection { &looked.device.reach } else { &looked.slice.reach };
        if reach.node_name.is_some() || looked.device.binds_to_node {
            let name = RequirementInput {
                key: "metadata.name".to_owned(),
                operator: "In".to_owned(),
                values: vec![node.to_owned()],
            };
            return Some(vec![NodeSelectorTermInput {
                match_fields: vec![name],
                ..NodeSelectorTermInput::default()
            }]);
        }
        // Validation allows one term.
        if let Some([term]) = reach.node_selector.as_deref() {
            add_new(&mut all.match_fields, &term.match_fields);
            add_new(&mut all.match_expressions, &term.match_expressions);
        }
    }
    (all != NodeSelectorTermInput::default()).then(|| vec![all])
}

fn add_new(to: &mut Vec<RequirementInput>, requirements: &[RequirementInput]) {
    let sorted = |it: &RequirementInput| {
        let mut values = it.values.clone();
        values.sort_unstable();
        values.dedup();
        (it.key.clone(), it.operator.clone(), values)
    };
    for requirement in requirements {
        if !to.iter().any(|known| sorted(known) == sorted(requirement)) {
            to.push(requirement.clone());
        }
    }
}
