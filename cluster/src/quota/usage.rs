//! What a pod uses of a quota.
//!
//! Upstream: pkg/quota/v1/evaluator/core/pods.go `PodUsageFunc`, `podComputeUsageHelper`, `Constraints`.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;

use super::{Amount, Amounts};
use crate::defaults::container_totals;

type ApiList = BTreeMap<String, ApiQuantity>;

/// Counts pods whatever has become of them.
const POD_OBJECTS: &str = "count/pods";
/// Where a quota limits one of these, containers must say it.
const MUST_BE_SAID: [&str; 6] =
    ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];

/// Whether a limit of this name is about pods.
pub(super) fn is_of_pods(name: &str) -> bool {
    let is_plain = matches!(
        name,
        POD_OBJECTS
            | "pods"
            | "ephemeral-storage"
            | "requests.ephemeral-storage"
            | "limits.ephemeral-storage"
    );
    let is_huge_page = name.starts_with("hugepages-") || name.starts_with("requests.hugepages-");
    is_plain || MUST_BE_SAID.contains(&name) || is_huge_page || is_extended_request(name)
}

/// `requests.example.com/gpu`. Upstream: `isExtendedResourceNameForQuota`.
fn is_extended_request(name: &str) -> bool {
    name.strip_prefix("requests.").is_some_and(|it| it.contains('/') && !it.contains("kubernetes.io/"))
}

/// What a pod uses while it has not ended, and what it still uses when it has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodUsage {
    /// Until its phase is a final one.
    pub live: Amounts,
    /// Afterwards.
    pub finished: Amounts,
}

impl PodUsage {
    /// Of a pod of this body, defaults filled in.
    #[must_use]
    pub fn of(pod: &Pod) -> PodUsage {
        let finished: Amounts = [(POD_OBJECTS.to_owned(), Amount::units(1))].into();
        let mut live = finished.clone();
        live.insert("pods".to_owned(), Amount::units(1));
        if let Some(spec) = &pod.spec {
            let requests = pod_requests(spec);
            let limits = totals(spec, |container| container.resources.as_ref()?.limits.as_ref());
            let limits = with_pod_level(limits, spec, |it| it.limits.as_ref());
            live.extend(named(&requests, &with_overhead(limits, spec, false)));
        }
        PodUsage { live, finished }
    }
}

/// What a pod asks of its node, by resource: containers, pod-level requests, overhead.
#[must_use]
pub fn pod_requests(spec: &PodSpec) -> Amounts {
    let requests = totals(spec, |container| container.resources.as_ref()?.requests.as_ref());
    with_overhead(with_pod_level(requests, spec, |it| it.requests.as_ref()), spec, true)
}

/// Of all containers together, with the suffixes of the first that asks.
fn totals(spec: &PodSpec, list_of: fn(&Container) -> Option<&ApiList>) -> Amounts {
    let mut written: Amounts = Amounts::new();
    let containers = spec.containers.iter().chain(spec.init_containers.iter().flatten());
    for (name, amount) in containers.filter_map(list_of).flatten() {
        if let Some(amount) = Amount::of(amount) {
            written.entry(name.clone()).or_insert(amount);
        }
    }
    let sums = container_totals(spec, list_of);
    sums.into_iter()
        .map(|(name, sum)| {
            let written = written.get(&name).copied().unwrap_or_default();
            (name, written.with(sum))
        })
        .collect()
}

fn with_pod_level(
    mut amounts: Amounts,
    spec: &PodSpec,
    list_of: fn(&k8s_openapi::api::core::v1::ResourceRequirements) -> Option<&ApiList>,
) -> Amounts {
    let of_pod = spec.resources.as_ref().and_then(list_of);
    amounts.extend(
        of_pod.into_iter().flatten().filter_map(|(name, amount)| Some((name.clone(), Amount::of(amount)?))),
    );
    amounts
}

/// A limit has an overhead only where there is a limit.
fn with_overhead(mut amounts: Amounts, spec: &PodSpec, is_request: bool) -> Amounts {
    for (name, amount) in spec.overhead.iter().flatten() {
        let Some(amount) = Amount::of(amount) else { continue };
        if is_request || amounts.contains_key(name) {
            let sum = amounts.entry(name.clone()).or_default();
            *sum = sum.plus(amount);
        }
    }
    amounts
}

/// Under the names that quotas have for them.
fn named(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut named = Amounts::new();
    for (name, &amount) in requests {
        let is_plain =
            matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
        if is_plain {
            named.insert(name.clone(), amount);
        }
        if is_plain || is_extended_request(&format!("requests.{name}")) {
            named.insert(format!("requests.{name}"), amount);
        }
    }
    for (name, &amount) in limits {
        if matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage") {
            named.insert(format!("limits.{name}"), amount);
        }
    }
    named
}

/// Every container says what the quota limits; a pod with resources of its own need not.
pub(super) fn check_constraints<'a>(pod: &Pod, limited: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let Some(spec) = &pod.spec else { return Ok(()) };
    let is_filled = |list: &Option<ApiList>| list.as_ref().is_some_and(|list| !list.is_empty());
    if spec.resources.as_ref().is_some_and(|it| is_filled(&it.requests) || is_filled(&it.limits)) {
        return Ok(());
    }
    let required: Vec<&str> = limited.filter(|name| MUST_BE_SAID.contains(name)).collect();
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for container in spec.containers.iter().chain(spec.init_containers.iter().flatten()) {
        let resources = container.resources.as_ref();
        let list = |list: fn(&k8s_openapi::api::core::v1::ResourceRequirements) -> Option<&ApiList>| {
            resources.and_then(list)
        };
        for name in &required {
            let (list, resource) = match name.split_once('.') {
                Some(("limits", resource)) => (list(|it| it.limits.as_ref()), resource),
                Some((_, resource)) => (list(|it| it.requests.as_ref()), resource),
                None => (list(|it| it.requests.as_ref()), *name),
            };
            if list.is_none_or(|list| !list.contains_key(resource)) {
                missing.entry(name).or_default().insert(&container.name);
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let one = |(name, containers): (&str, BTreeSet<&str>)| {
        let containers: Vec<&str> = containers.into_iter().collect();
        format!("{name} for: {}", containers.join(","))
    };
    Err(format!("must specify {}", missing.into_iter().map(one).collect::<Vec<_>>().join("; ")))
}
