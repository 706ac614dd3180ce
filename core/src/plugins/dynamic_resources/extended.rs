//! Extended resources that devices stand for: a claim of the scheduler's own.
//!
//! Upstream: extendeddynamicresources.go.

use std::sync::Arc;

use crate::class::PodClass;
use crate::dra::{DEVICE_CLASS_PREFIX, DraStore, ExtendedResourceClaim, RequestMapping};
use crate::input::dra::{
    DeviceAllocationMode, DeviceRequestInput, ExactDeviceRequestInput, Quantities, ResourceClaimInput,
};
use crate::input::{ContainerInput, PodInput};
use crate::resources::{ResourceKind, ScalarId, is_extended_resource};
use crate::world::World;

/// The name of the claim before it is written.
pub const EXTENDED_CLAIM_NAME: &str = "<extended-resources>";

/// Upstream: util/utils.go `IsDRAExtendedResourceName`.
fn can_be_device(name: &str) -> bool {
    is_extended_resource(name) || name.starts_with(DEVICE_CLASS_PREFIX)
}

/// The extended resources that a pod asks for, with their amounts.
fn asked<'a>(world: &'a World, class: &'a PodClass) -> impl Iterator<Item = (ScalarId, &'a str, i64)> {
    let named = |&(id, amount): &(ScalarId, i64)| (id, world.vocabulary.scalar_name(id), amount);
    let scalars = class.pending.scalars.iter().map(named);
    scalars.filter(|&(_, name, amount)| amount != 0 && can_be_device(name))
}

/// The claim for a pod's extended resources, if a device class stands for any: the one of an earlier
/// attempt, or one that asks for nothing yet.
pub(super) fn claim_of(world: &World, class: &PodClass) -> Option<Arc<ResourceClaimInput>> {
    let store = world.dra();
    if !store.has_classes() {
        return None;
    }
    asked(world, class).find(|(_, name, _)| store.class_of_extended_resource(name).is_some())?;
    let identity = class.input.identity.as_ref();
    let earlier = identity.and_then(|it| store.extended_resource_claim_of(&it.name, &it.uid));
    Some(earlier.cloned().unwrap_or_else(|| {
        Arc::new(ResourceClaimInput {
            namespace: class.input.namespace.clone(),
            name: EXTENDED_CLAIM_NAME.to_owned(),
            ..ResourceClaimInput::default()
        })
    }))
}

/// Which of a pod's extended resources a node has as devices. An error is why it cannot have the pod.
pub(super) fn on_row<'a>(
    world: &'a World,
    class: &'a PodClass,
    row: usize,
) -> Result<Vec<&'a str>, &'static str> {
    let columns = world.nodes().columns();
    let mut names = Vec::new();
    for (id, name, _) in asked(world, class) {
        let allocatable = columns.allocatable(ResourceKind::Scalar(id), row);
        let is_device = world.dra().class_of_extended_resource(name).is_some();
        match (is_device, allocatable) {
            (true, 0) => names.push(name),
            // Differs: a node that has the resource with amount 0 counts as one without it; it has no
            // room for the pod either way (`node_with_none_of_an_extended_resource_is_rejected_here`).
            (false, 0) => return Err("cannot fit resource"),
            _ => {}
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// The claim for extended resources of these names.
/// Upstream: `createRequestsAndMappings`.
pub(super) fn claim_for(
    store: &DraStore,
    of: &ResourceClaimInput,
    pod: &PodInput,
    names: &[&str],
) -> ExtendedResourceClaim {
    let mut found = ExtendedResourceClaim::default();
    let mut requests: Vec<DeviceRequestInput> = Vec::new();
    for name in names {
        let Some(class) = store.class_of_extended_resource(name) else { continue };
        let of_resource = Requests { pod, resource: name, class: &class.name };
        of_resource.add(&mut requests, &mut found.mappings);
    }
    requests.sort_by(|one, other| one.name.cmp(&other.name));
    found.claim = Arc::new(ResourceClaimInput { requests, ..of.clone() });
    found
}

/// The requests for one extended resource.
struct Requests<'a> {
    pod: &'a PodInput,
    resource: &'a str,
    class: &'a Arc<str>,
}

/// A request, or that there is none.
type MayRequest = Option<(String, i64)>;

impl Requests<'_> {
    fn containers(&self) -> impl Iterator<Item = (usize, &ContainerInput)> {
        self.pod.init_containers.iter().chain(&self.pod.containers).enumerate()
    }

    /// Init containers that end before the others start use the devices of those, and one request of
    /// their own for what is missing.
    fn add(&self, requests: &mut Vec<DeviceRequestInput>, mappings: &mut Vec<RequestMapping>) {
        let is_short_lived = |at: usize, container: &ContainerInput| {
            at < self.pod.init_containers.len() && !container.is_sidecar
        };
        let mut long_lived: Vec<MayRequest> = self.containers().map(|_| None).collect();
        for (at, container) in self.containers().filter(|(at, it)| !is_short_lived(*at, it)) {
            long_lived[at] = self.request((at, container), &[], mappings);
        }
        let mut largest: MayRequest = None;
        let mut names: Vec<String> = Vec::new();
        let mut short_mappings = Vec::new();
        for (at, container) in self.containers().filter(|(at, it)| is_short_lived(*at, it)) {
            if let Some((name, count)) = self.request((at, container), &long_lived[at..], &mut short_mappings)
            {
                names.push(name.clone());
                if largest.as_ref().is_none_or(|(_, known)| *known < count) {
                    largest = Some((name, count));
                }
            }
        }
        if let Some((largest, _)) = &largest {
            short_mappings
                .iter_mut()
                .filter(|it| names.contains(&it.request_name))
                .for_each(|it| it.request_name.clone_from(largest));
        }
        mappings.extend(short_mappings);
        for (name, count) in largest.into_iter().chain(long_lived.into_iter().flatten()) {
            requests.push(DeviceRequestInput {
                name: name.into(),
                exactly: Some(ExactDeviceRequestInput {
                    device_class_name: Arc::clone(self.class),
                    selectors: Vec::new(),
                    mode: DeviceAllocationMode::ExactCount(count),
                    admin_access: false,
                    tolerations: Vec::new(),
                    capacity: Quantities::new(),
                }),
                first_available: Vec::new(),
            });
        }
    }

    /// What a container asks for beyond what it can use of others, and which requests it uses.
    /// Upstream: `createResourceRequestAndMappings`.
    fn request(
        &self,
        (at, container): (usize, &ContainerInput),
        usable: &[MayRequest],
        mappings: &mut Vec<RequestMapping>,
    ) -> MayRequest {
        let count = container.requests.get(self.resource)?.value();
        if count == 0 {
            return None;
        }
        let mapping = |request_name: &str| RequestMapping {
            container_name: container.name.clone(),
            resource_name: self.resource.to_owned(),
            request_name: request_name.to_owned(),
        };
        let mut sum = 0;
        for (name, usable) in usable.iter().flatten() {
            sum += usable;
            mappings.push(mapping(name));
            if sum >= count {
                return None;
            }
        }
        let resource_at =
            container.requests.keys().position(|name| name == self.resource).unwrap_or_default();
        let name = format!("container-{at}-request-{resource_at}");
        mappings.push(mapping(&name));
        Some((name, count - sum))
    }
}
