//! Pod-level requests that follow from the containers and from pod-level limits.
//!
//! Upstream: pkg/api/pod/util.go `DefaultPodLevelResources` (KEP-2837). Pod-level limits other
//! than huge pages are not defaulted: scheduling does not read them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use schedlab_core::quantity::Quantity;

type ApiList = BTreeMap<String, ApiQuantity>;
type Sums = BTreeMap<String, Quantity>;

/// Completes the pod-level requests of a pod that has pod-level resources.
pub(super) fn default_pod_level(spec: &mut PodSpec) {
    let is_set = |list: &Option<ApiList>| list.as_ref().is_some_and(|list| !list.is_empty());
    let Some(resources) = &spec.resources else { return };
    if !is_set(&resources.requests) && !is_set(&resources.limits) {
        return;
    }
    let limit_sums = aggregate(spec, limits);
    let request_sums = aggregate(spec, requests);
    let Some(resources) = &mut spec.resources else { return };
    let mut pod_requests = resources.requests.take().unwrap_or_default();
    let mut pod_limits = resources.limits.take().unwrap_or_default();

    for (name, &sum) in limit_sums.iter().filter(|(name, _)| is_huge_page(name)) {
        if !pod_requests.contains_key(name) {
            pod_limits.entry(name.clone()).or_insert_with(|| to_api(sum));
        }
    }
    // Huge pages cannot be overcommitted: their request is their limit.
    for (name, &sum) in request_sums.iter().filter(|(name, _)| is_cpu_or_memory(name)) {
        pod_requests.entry(name.clone()).or_insert_with(|| to_api(sum));
    }
    for (name, limit) in pod_limits.iter().filter(|(name, _)| is_supported(name)) {
        pod_requests.entry(name.clone()).or_insert_with(|| limit.clone());
    }
    resources.requests = Some(pod_requests).filter(|list| !list.is_empty());
    resources.limits = Some(pod_limits).filter(|list| !list.is_empty());
}

fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

fn is_cpu_or_memory(name: &str) -> bool {
    matches!(name, "cpu" | "memory")
}

fn is_supported(name: &str) -> bool {
    is_cpu_or_memory(name) || is_huge_page(name)
}

fn to_api(quantity: Quantity) -> ApiQuantity {
    ApiQuantity(quantity.to_string())
}

/// What the containers need together, of what a list of each says.
pub(crate) fn container_totals(
    spec: &PodSpec,
    list_of: fn(&Container) -> Option<&ApiList>,
) -> BTreeMap<String, Quantity> {
    aggregate(spec, list_of)
}

fn requests(container: &Container) -> Option<&ApiList> {
    container.resources.as_ref()?.requests.as_ref()
}

fn limits(container: &Container) -> Option<&ApiList> {
    container.resources.as_ref()?.limits.as_ref()
}

/// What the containers need together: the sum of those that run side by side, or the most that
/// one init container and the sidecars started before it need, whichever is more.
///
/// Upstream: component-helpers/resource/helpers.go `aggregateContainerResourcesByFn`.
fn aggregate(spec: &PodSpec, list_of: fn(&Container) -> Option<&ApiList>) -> Sums {
    let mut together = Sums::new();
    for container in &spec.containers {
        add(&mut together, &parsed(list_of(container)));
    }
    let mut sidecars = Sums::new();
    let mut at_start = Sums::new();
    for container in spec.init_containers.iter().flatten() {
        let own = parsed(list_of(container));
        if container.restart_policy.as_deref() == Some("Always") {
            add(&mut together, &own);
            add(&mut sidecars, &own);
            raise(&mut at_start, &sidecars);
        } else {
            let mut with_sidecars = sidecars.clone();
            add(&mut with_sidecars, &own);
            raise(&mut at_start, &with_sidecars);
        }
    }
    raise(&mut together, &at_start);
    together
}

/// A text that is not a quantity is left out here: conversion reports it, with its field.
fn parsed(list: Option<&ApiList>) -> Sums {
    list.into_iter()
        .flatten()
        .filter_map(|(name, quantity)| Some((name.clone(), Quantity::parse(&quantity.0).ok()?)))
        .collect()
}

fn add(sums: &mut Sums, more: &Sums) {
    for (name, &quantity) in more {
        *sums.entry(name.clone()).or_default() += quantity;
    }
}

fn raise(sums: &mut Sums, least: &Sums) {
    for (name, &quantity) in least {
        let sum = sums.entry(name.clone()).or_insert(quantity);
        *sum = (*sum).max(quantity);
    }
}
