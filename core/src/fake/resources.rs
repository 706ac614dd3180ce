//! Room on nodes, and what containers ask for.

use super::{EXTENDED_RESOURCES, Feature, IMAGES, Rng, pick_quantity, quantity, word};
use crate::input::{ContainerInput, ContainerStatusInput, HostPortInput, PodInput, ResourceList};

pub(super) const HUGE_PAGES: [&str; 2] = ["hugepages-2Mi", "hugepages-1Gi"];
const CPU: [&str; 9] = ["0", "1m", "10m", "100m", "250m", "500m", "1", "1500m", "3"];
const CPU_ODD: [&str; 6] = ["1n", "100u", "0.3333", "1e-1", "33.3m", "2.0000001"];
const MEMORY: [&str; 8] = ["0", "1", "64Mi", "128Mi", "200Mi", "512Mi", "1Gi", "3Gi"];
const MEMORY_ODD: [&str; 7] = ["0.3Gi", "1500m", "123456789", "1e8", "1.1Ki", "100M", "7n"];
const COUNTS: [&str; 5] = ["0", "1", "2", "4", "8"];
const COUNTS_ODD: [&str; 3] = ["500m", "1e1", "2.5"];

pub(super) fn allocatable(rng: &mut Rng) -> ResourceList {
    let mut list = ResourceList::new();
    let mut set = |rng: &mut Rng, name: &str, pool: &[&str]| {
        let text = if rng.uses(Feature::EmptyNodes) { "0" } else { rng.pick(pool) };
        if text != "0" || rng.chance(50) {
            list.insert(name.to_owned(), quantity(text));
        }
    };
    set(rng, "cpu", &["1", "2", "4", "7900m", "16", "64"]);
    set(rng, "memory", &["1Gi", "4Gi", "7.5Gi", "16Gi", "64Gi"]);
    let pods: &[&str] = if rng.uses(Feature::CrowdedNodes) { &["0", "1", "2", "3"] } else { &["30", "110"] };
    set(rng, "pods", pods);
    if rng.uses(Feature::EphemeralStorage) {
        set(rng, "ephemeral-storage", &["1Gi", "4Gi", "100G"]);
    }
    for name in EXTENDED_RESOURCES {
        if rng.uses(Feature::ExtendedResources) {
            set(rng, name, &COUNTS);
        }
    }
    for name in HUGE_PAGES {
        if rng.uses(Feature::HugePages) {
            set(rng, name, &["0", "1Gi", "2Gi", "6Gi"]);
        }
    }
    list
}

pub(super) fn requests(rng: &mut Rng) -> ResourceList {
    let mut list = ResourceList::new();
    if rng.uses(Feature::NoRequests) {
        return list;
    }
    if rng.chance(80) {
        list.insert("cpu".to_owned(), pick_quantity(rng, &CPU, &CPU_ODD));
    }
    if rng.chance(80) {
        list.insert("memory".to_owned(), pick_quantity(rng, &MEMORY, &MEMORY_ODD));
    }
    if rng.uses(Feature::EphemeralStorage) {
        let amount = pick_quantity(rng, &MEMORY, &MEMORY_ODD);
        list.insert("ephemeral-storage".to_owned(), amount);
    }
    if rng.uses(Feature::ExtendedResources) {
        let name = word(rng, &EXTENDED_RESOURCES);
        list.insert(name, pick_quantity(rng, &COUNTS, &COUNTS_ODD));
    }
    if rng.uses(Feature::HugePages) {
        let name = word(rng, &HUGE_PAGES);
        list.insert(name, pick_quantity(rng, &["0", "2Mi", "1Gi"], &["1e9", "0.5Gi"]));
    }
    list
}

pub(super) fn container(rng: &mut Rng, name: &str) -> ContainerInput {
    let mut container = ContainerInput {
        name: name.to_owned(),
        image: word(rng, &IMAGES),
        requests: requests(rng),
        ..Default::default()
    };
    if rng.uses(Feature::HostPorts) {
        container.host_ports = (0..rng.range(1..=2))
            .map(|_| HostPortInput {
                host_ip: word(rng, &["", "0.0.0.0", "10.0.0.1", "10.0.0.2", "::"]),
                protocol: word(rng, &["", "TCP", "UDP", "SCTP"]),
                host_port: *rng.pick(&[80, 443, 8080]),
            })
            .collect();
    }
    container
}

/// Makes the kubelet's report differ from the spec.
pub(super) fn resize(rng: &mut Rng, pod: &mut PodInput) {
    for container in pod.containers.iter_mut().chain(&mut pod.init_containers) {
        container.status = rng.chance(80).then(|| ContainerStatusInput {
            allocated: rng.chance(70).then(|| requests(rng)),
            actual_requests: rng.chance(70).then(|| requests(rng)),
        });
    }
    let status = &mut pod.resource_status;
    status.has_resources = rng.chance(40);
    if status.has_resources && rng.chance(70) {
        status.requests = Some(requests(rng));
    }
    status.allocated = rng.chance(40).then(|| requests(rng));
    match rng.range(0..=3) {
        0 => status.resize_infeasible = true,
        1 => status.resize_deferred = true,
        _ => {}
    }
}
