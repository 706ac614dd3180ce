//! What a pod asks for, and what it occupies once it is placed.
//!
//! Upstream: component-helpers/resource/helpers.go `PodRequests`, pkg/scheduler/framework/types.go
//! `CalculateResource`. Limits play no part: the API copies them to missing requests.

use std::collections::BTreeMap;

use super::names::is_scalar_resource;
use crate::input::{ContainerInput, PodInput, ResourceList};
use crate::quantity::Quantity;

#[cfg(test)]
mod tests;

/// A container without a cpu request counts as so much in scores.
pub const DEFAULT_CPU_MILLI: i64 = 100;
/// A container without a memory request counts as so much in scores.
pub const DEFAULT_MEMORY_BYTES: i64 = 200 * 1024 * 1024;

/// How to add a pod up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestOptions {
    /// Which of the resources of a pod that is being resized count.
    pub source: NaiveRequestSource,
    /// Whether the pod's own resources override the sum over its containers.
    pub pod_level: PodLevel,
    /// What a container counts as that does not mention the resource.
    pub container_defaults: ResourceList,
}

/// Where resources are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NaiveRequestSource {
    /// The spec only.
    Spec,
    /// The spec and what the kubelet reports, whichever is more.
    SpecAndStatus,
}

/// What becomes of resources set on the pod rather than on a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodLevel {
    /// They override the sum over the containers.
    Counts,
    /// They are not looked at.
    Skipped,
}

/// Amounts in the units that scheduling calculates in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Thousandths of a core.
    pub cpu_milli: i64,
    /// Memory.
    pub memory_bytes: i64,
    /// Ephemeral storage.
    pub ephemeral_storage_bytes: i64,
    /// How many pods a node takes.
    pub pods: i64,
    /// Extended resources, huge pages and attachable volumes.
    pub scalars: BTreeMap<String, i64>,
}

/// What a placed pod occupies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occupied {
    /// As Filter counts it.
    pub requested: Resources,
    /// As scores count it: with defaults for containers that request no cpu.
    pub nonzero_cpu_milli: i64,
    /// As scores count it: with defaults for containers that request no memory.
    pub nonzero_memory_bytes: i64,
}

impl Resources {
    /// A resource list in scheduling's units. Names that are neither fixed nor scalar are dropped.
    ///
    /// Upstream: types.go `Resource.Add`.
    #[must_use]
    pub fn from_list(list: &ResourceList) -> Resources {
        let mut resources = Resources::default();
        for (name, quantity) in list {
            match name.as_str() {
                "cpu" => resources.cpu_milli = quantity.milli_value(),
                "memory" => resources.memory_bytes = quantity.value(),
                "ephemeral-storage" => resources.ephemeral_storage_bytes = quantity.value(),
                "pods" => resources.pods = quantity.value(),
                _ if is_scalar_resource(name) => {
                    resources.scalars.insert(name.clone(), quantity.value());
                }
                _ => {}
            }
        }
        resources
    }

    /// Adds all but the number of pods.
    pub fn add(&mut self, other: &Resources) {
        // As Go's int64 does it.
        let add = |sum: &mut i64, amount: i64| *sum = sum.wrapping_add(amount);
        add(&mut self.cpu_milli, other.cpu_milli);
        add(&mut self.memory_bytes, other.memory_bytes);
        add(&mut self.ephemeral_storage_bytes, other.ephemeral_storage_bytes);
        for (name, amount) in &other.scalars {
            add(self.scalars.entry(name.clone()).or_default(), *amount);
        }
    }

    /// The amount of a scalar resource, 0 when it is not there.
    #[must_use]
    pub fn scalar(&self, name: &str) -> i64 {
        self.scalars.get(name).copied().unwrap_or(0)
    }
}

/// What a pending pod needs to fit.
///
/// Upstream: noderesources/fit.go `computePodResourceRequest`.
#[must_use]
pub fn fit_request(pod: &PodInput) -> Resources {
    Resources::from_list(&pod_requests(
        pod,
        &RequestOptions {
            source: NaiveRequestSource::Spec,
            pod_level: PodLevel::Counts,
            container_defaults: ResourceList::new(),
        },
    ))
}

/// What a pending pod counts as in the score of NodeResourcesFit. Upstream makes that scorer
/// without any feature gate, so pod-level resources do not count.
///
/// Upstream: noderesources/resource_allocation.go `calculatePodResourceRequest`, fit.go `getScorer`.
#[must_use]
pub fn fit_score_request(pod: &PodInput, resource: &str) -> i64 {
    let requests = pod_requests(
        pod,
        &RequestOptions {
            source: NaiveRequestSource::Spec,
            pod_level: PodLevel::Skipped,
            container_defaults: container_defaults(),
        },
    );
    amount(&requests, resource)
}

/// What a pending pod counts as in the score of NodeResourcesBalancedAllocation.
///
/// Upstream: noderesources/resource_allocation.go `calculatePodResourceRequest`, with
/// `useRequested`.
#[must_use]
pub fn balanced_score_request(pod: &PodInput, resource: &str) -> i64 {
    amount(&pod_requests(pod, &placed_options()), resource)
}

/// What a placed pod occupies.
#[must_use]
pub fn occupied(pod: &PodInput) -> Occupied {
    let requests = pod_requests(pod, &placed_options());
    let mut defaults = container_defaults();
    if has_pod_level_requests(pod) {
        // Only for what neither the pod nor any container mentions.
        defaults.retain(|name, _| !requests.contains_key(name));
    }
    let nonzero = pod_requests(pod, &RequestOptions { container_defaults: defaults, ..placed_options() });
    Occupied {
        requested: Resources::from_list(&requests),
        nonzero_cpu_milli: amount(&nonzero, "cpu"),
        nonzero_memory_bytes: amount(&nonzero, "memory"),
    }
}

/// The sum over a pod.
#[must_use]
pub fn pod_requests(pod: &PodInput, options: &RequestOptions) -> ResourceList {
    let mut requests = container_requests(pod, options);
    if options.pod_level == PodLevel::Counts && has_pod_level_requests(pod) {
        let pod_level = pod_level_requests(pod, options.source);
        requests.extend(pod_level.into_iter().filter(|(name, _)| is_pod_level_resource(name)));
    }
    add(&mut requests, &pod.overhead);
    requests
}

fn placed_options() -> RequestOptions {
    RequestOptions {
        source: NaiveRequestSource::SpecAndStatus,
        pod_level: PodLevel::Counts,
        container_defaults: ResourceList::new(),
    }
}

fn container_defaults() -> ResourceList {
    ResourceList::from([
        ("cpu".to_owned(), Quantity::from_milli(DEFAULT_CPU_MILLI)),
        ("memory".to_owned(), Quantity::from_units(DEFAULT_MEMORY_BYTES)),
    ])
}

fn amount(requests: &ResourceList, resource: &str) -> i64 {
    let quantity = requests.get(resource).copied().unwrap_or_default();
    if resource == "cpu" { quantity.milli_value() } else { quantity.value() }
}

fn has_pod_level_requests(pod: &PodInput) -> bool {
    pod.pod_requests.iter().flatten().any(|(name, _)| is_pod_level_resource(name))
}

fn is_pod_level_resource(name: &str) -> bool {
    name == "cpu" || name == "memory" || name.starts_with("hugepages-")
}

/// Upstream: helpers.go `effectivePodLevelResources`.
fn pod_level_requests(pod: &PodInput, source: NaiveRequestSource) -> ResourceList {
    let spec = pod.pod_requests.clone().unwrap_or_default();
    let status = &pod.resource_status;
    if source == NaiveRequestSource::Spec || !status.has_resources {
        return spec;
    }
    let mut requests = if status.resize_infeasible { ResourceList::new() } else { spec };
    raise(&mut requests, status.requests.iter().flatten());
    raise(&mut requests, status.allocated.iter().flatten());
    requests
}

/// Upstream: helpers.go `AggregateContainerRequests`.
fn container_requests(pod: &PodInput, options: &RequestOptions) -> ResourceList {
    let spec = sum_containers(pod, options, |container| container.requests.clone());
    if options.source == NaiveRequestSource::Spec {
        return spec;
    }
    let status = &pod.resource_status;
    let (allocated, actuated) = match (&status.allocated, &status.requests) {
        (Some(allocated), Some(actuated)) => (allocated.clone(), actuated.clone()),
        _ => (
            sum_containers(pod, options, |container| allocated_requests(pod, container)),
            sum_containers(pod, options, |container| actuated_requests(pod, container)),
        ),
    };
    let mut requests = if status.resize_infeasible { ResourceList::new() } else { spec };
    raise(&mut requests, &actuated);
    raise(&mut requests, &allocated);
    requests
}

fn allocated_requests(pod: &PodInput, container: &ContainerInput) -> ResourceList {
    let status = container.status.as_ref();
    if let Some(allocated) = status.and_then(|status| status.allocated.as_ref()) {
        return allocated.clone();
    }
    if pod.resource_status.resize_infeasible {
        return ResourceList::new();
    }
    container.requests.clone()
}

fn actuated_requests(pod: &PodInput, container: &ContainerInput) -> ResourceList {
    let status = container.status.as_ref();
    match status.and_then(|status| status.actual_requests.as_ref()) {
        Some(actual) => actual.clone(),
        None => allocated_requests(pod, container),
    }
}

/// Containers run together, and so do sidecars; the other init containers run one after another,
/// each beside the sidecars started before it. The pod needs the most that ever runs at once.
///
/// Upstream: helpers.go `aggregateContainerResourcesByFn`.
fn sum_containers(
    pod: &PodInput,
    options: &RequestOptions,
    requests_of: impl Fn(&ContainerInput) -> ResourceList,
) -> ResourceList {
    let with_defaults = |container| {
        let mut requests = requests_of(container);
        for (name, quantity) in &options.container_defaults {
            requests.entry(name.clone()).or_insert(*quantity);
        }
        requests
    };
    let mut running = ResourceList::new();
    let mut sidecars = ResourceList::new();
    let mut starting_peak = ResourceList::new();
    for container in &pod.containers {
        add(&mut running, &with_defaults(container));
    }
    for container in &pod.init_containers {
        let mut starting = with_defaults(container);
        if container.is_sidecar {
            add(&mut running, &starting);
            add(&mut sidecars, &starting);
            starting = sidecars.clone();
        } else {
            add(&mut starting, &sidecars);
        }
        raise(&mut starting_peak, &starting);
    }
    raise(&mut running, &starting_peak);
    running
}

fn add(list: &mut ResourceList, more: &ResourceList) {
    for (name, quantity) in more {
        *list.entry(name.clone()).or_default() += *quantity;
    }
}

/// Raises each resource to at least what the other list has.
fn raise<'a>(list: &mut ResourceList, to: impl IntoIterator<Item = (&'a String, &'a Quantity)>) {
    for (name, quantity) in to {
        let current = list.entry(name.clone()).or_insert(*quantity);
        *current = (*current).max(*quantity);
    }
}
