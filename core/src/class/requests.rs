//! How much a pod asks for: the three sums upstream makes of the same fields.
//!
//! | sum | read by | status | pod-level | missing requests |
//! |---|---|---|---|---|
//! | [`pending`] | NodeResourcesFit Filter | no | yes | 0 |
//! | [`scored`] | NodeResourcesFit Score | no | no | defaults |
//! | [`balanced`] | NodeResourcesBalancedAllocation | yes | yes | 0 |
//! | [`placed`], [`placed_nonzero`] | what a node's pods occupy | yes | yes | 0, defaults |
//!
//! Upstream: component-helpers/resource/helpers.go `PodRequests`, noderesources/fit.go
//! `computePodResourceRequest`, noderesources/resource_allocation.go
//! `calculatePodResourceRequest`, framework/types.go `CalculateResource`.
//! Sums are exact; rounding to columns happens once, after the last addition.

use crate::input::{ContainerInput, PodInput, ResourceList};
use crate::quantity::Quantity;
use crate::resources::{DEFAULT_CPU_REQUEST_MILLI, DEFAULT_MEMORY_REQUEST_BYTES};

/// What Filter compares with a node's free amounts.
#[must_use]
pub fn pending(pod: &PodInput) -> ResourceList {
    pod_requests(
        pod,
        Rule { status: Status::Ignore, pod_level: PodLevel::Apply, defaults: &ResourceList::new() },
    )
}

/// What NodeResourcesFit's score adds to a node's use. It skips pod-level resources: upstream
/// builds this scorer without the gate, and the recorded decisions show it.
#[must_use]
pub fn scored(pod: &PodInput) -> ResourceList {
    pod_requests(pod, Rule { status: Status::Ignore, pod_level: PodLevel::Skip, defaults: &defaults() })
}

/// What NodeResourcesBalancedAllocation adds to a node's use.
#[must_use]
pub fn balanced(pod: &PodInput) -> ResourceList {
    placed(pod)
}

/// What the pod occupies on its node.
#[must_use]
pub fn placed(pod: &PodInput) -> ResourceList {
    pod_requests(
        pod,
        Rule { status: Status::Use, pod_level: PodLevel::Apply, defaults: &ResourceList::new() },
    )
}

/// What the pod occupies when every container counts as asking for something.
#[must_use]
pub fn placed_nonzero(pod: &PodInput) -> ResourceList {
    let requests = placed(pod);
    let mut missing = defaults();
    if has_pod_level_requests(pod) {
        missing.retain(|name, _| !requests.contains_key(name));
    }
    pod_requests(pod, Rule { status: Status::Use, pod_level: PodLevel::Apply, defaults: &missing })
}

#[derive(Clone, Copy)]
enum Status {
    Use,
    Ignore,
}

#[derive(Clone, Copy)]
enum PodLevel {
    Apply,
    Skip,
}

#[derive(Clone, Copy)]
struct Rule<'a> {
    status: Status,
    pod_level: PodLevel,
    /// Stand in for requests that a container does not name at all.
    defaults: &'a ResourceList,
}

fn defaults() -> ResourceList {
    ResourceList::from([
        ("cpu".to_owned(), Quantity::from_milli(DEFAULT_CPU_REQUEST_MILLI)),
        ("memory".to_owned(), Quantity::from_units(DEFAULT_MEMORY_REQUEST_BYTES)),
    ])
}

fn is_pod_level_resource(name: &str) -> bool {
    name == "cpu" || name == "memory" || name.starts_with("hugepages-")
}

fn has_pod_level_requests(pod: &PodInput) -> bool {
    pod.pod_requests.as_ref().is_some_and(|list| list.keys().any(|name| is_pod_level_resource(name)))
}

fn pod_requests(pod: &PodInput, rule: Rule<'_>) -> ResourceList {
    let mut requests = container_requests(pod, rule);
    if matches!(rule.pod_level, PodLevel::Apply)
        && has_pod_level_requests(pod)
        && let Some(pod_level) = &pod.pod_requests
    {
        let effective = match rule.status {
            Status::Use if pod.resource_status.has_resources => effective_pod_level(pod, pod_level),
            _ => pod_level.clone(),
        };
        for (name, quantity) in effective {
            if is_pod_level_resource(&name) {
                requests.insert(name, quantity);
            }
        }
    }
    add(&mut requests, &pod.overhead);
    requests
}

fn effective_pod_level(pod: &PodInput, spec: &ResourceList) -> ResourceList {
    let status = &pod.resource_status;
    let mut effective = if status.resize_infeasible { ResourceList::new() } else { spec.clone() };
    for list in [&status.requests, &status.allocated].into_iter().flatten() {
        raise(&mut effective, list);
    }
    effective
}

fn container_requests(pod: &PodInput, rule: Rule<'_>) -> ResourceList {
    let spec = aggregate(pod, rule.defaults, |container| Some(&container.requests));
    if matches!(rule.status, Status::Ignore) {
        return spec;
    }
    let status = &pod.resource_status;
    // A resize that can never happen counts by what runs, not by what was asked for.
    let fallback = |container| -> Option<&ResourceList> {
        if status.resize_infeasible { None } else { requests_of(container) }
    };
    let (allocated, actual) = match (&status.allocated, &status.requests) {
        (Some(allocated), Some(actual)) if status.has_resources => (allocated.clone(), actual.clone()),
        _ => (
            aggregate(pod, rule.defaults, |container| {
                allocated_of(container).or_else(|| fallback(container))
            }),
            aggregate(pod, rule.defaults, |container| {
                actual_of(container).or_else(|| allocated_of(container)).or_else(|| fallback(container))
            }),
        ),
    };
    let mut requests = if status.resize_infeasible { ResourceList::new() } else { spec };
    raise(&mut requests, &actual);
    raise(&mut requests, &allocated);
    requests
}

fn requests_of(container: &ContainerInput) -> Option<&ResourceList> {
    Some(&container.requests)
}

fn allocated_of(container: &ContainerInput) -> Option<&ResourceList> {
    container.status.as_ref().and_then(|status| status.allocated.as_ref())
}

fn actual_of(container: &ContainerInput) -> Option<&ResourceList> {
    container.status.as_ref().and_then(|status| status.actual_requests.as_ref())
}

/// Containers run together and add up. Init containers run one by one, each beside the sidecars
/// started before it, so the largest such moment is a floor.
fn aggregate<'a>(
    pod: &'a PodInput,
    defaults: &ResourceList,
    list_of: impl Fn(&'a ContainerInput) -> Option<&'a ResourceList>,
) -> ResourceList {
    let with_defaults = |container: &'a ContainerInput| -> ResourceList {
        let mut list = list_of(container).cloned().unwrap_or_default();
        for (name, quantity) in defaults {
            list.entry(name.clone()).or_insert(*quantity);
        }
        list
    };
    let mut total = ResourceList::new();
    for container in &pod.containers {
        add(&mut total, &with_defaults(container));
    }
    let mut sidecars = ResourceList::new();
    let mut init_peak = ResourceList::new();
    for container in &pod.init_containers {
        let mut moment = with_defaults(container);
        if container.is_sidecar {
            add(&mut total, &moment);
            add(&mut sidecars, &moment);
            moment.clone_from(&sidecars);
        } else {
            add(&mut moment, &sidecars);
        }
        raise(&mut init_peak, &moment);
    }
    raise(&mut total, &init_peak);
    total
}

fn add(list: &mut ResourceList, more: &ResourceList) {
    for (name, quantity) in more {
        *list.entry(name.clone()).or_default() += *quantity;
    }
}

fn raise(list: &mut ResourceList, floor: &ResourceList) {
    for (name, quantity) in floor {
        list.entry(name.clone()).and_modify(|have| *have = (*have).max(*quantity)).or_insert(*quantity);
    }
}
