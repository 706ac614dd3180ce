//! Parts of several recorded clusters put together: what [`super::recombined`] is made from.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Node, Pod};
use schedlab_core::fake::Rng;
use serde_json::Value;

use super::super::document::Cluster;
use super::super::state::pod_key;

const HOSTNAME: &str = "kubernetes.io/hostname";

/// Adds twins of all nodes, and of the pods on some of them, until the rows need a second mask word.
pub(super) fn widen(rng: &mut Rng, cluster: &mut Cluster) {
    let (nodes, pods) = (cluster.nodes.clone(), cluster.pods.clone());
    for copy in 1.. {
        if nodes.is_empty() || cluster.nodes.len() > 64 {
            return;
        }
        let renamed = |name: &str| format!("{name}-{copy}");
        for node in &nodes {
            let mut node = node.clone();
            let name = renamed(node.metadata.name.as_deref().unwrap_or_default());
            if let Some(label) = node.metadata.labels.as_mut().and_then(|labels| labels.get_mut(HOSTNAME)) {
                label.clone_from(&name);
            }
            node.metadata.name = Some(name);
            cluster.nodes.push(node);
        }
        for pod in pods.iter().filter(|_| rng.chance(50)) {
            let mut pod = pod.clone();
            pod.metadata.name = pod.metadata.name.as_deref().map(renamed);
            let spec = pod.spec.get_or_insert_default();
            spec.node_name = spec.node_name.as_deref().map(renamed);
            cluster.pods.push(pod);
        }
    }
}

/// Takes over a part of another pod: rules of one family on pods of another.
pub(super) fn graft(rng: &mut Rng, pod: &mut Pod, other: &Pod) {
    let (Some(spec), Some(from)) = (&mut pod.spec, &other.spec) else { return };
    match rng.range(0..=9) {
        0 => spec.affinity.clone_from(&from.affinity),
        1 => spec.tolerations.clone_from(&from.tolerations),
        2 => spec.topology_spread_constraints.clone_from(&from.topology_spread_constraints),
        3 => spec.volumes.clone_from(&from.volumes),
        4 => {
            // Pod-level resources, overhead and statuses belong to the containers.
            spec.containers.clone_from(&from.containers);
            spec.init_containers.clone_from(&from.init_containers);
            spec.resources.clone_from(&from.resources);
            spec.overhead.clone_from(&from.overhead);
            let status = pod.status.get_or_insert_default();
            let other = other.status.clone().unwrap_or_default();
            status.container_statuses = other.container_statuses;
            status.init_container_statuses = other.init_container_statuses;
        }
        5 => spec.priority = from.priority,
        6 => pod.metadata.labels.clone_from(&other.metadata.labels),
        7 => spec.node_selector.clone_from(&from.node_selector),
        8 => pod.metadata.owner_references.clone_from(&other.metadata.owner_references),
        _ => spec.preemption_policy.clone_from(&from.preemption_policy),
    }
}

/// Takes over a part of another node.
pub(super) fn graft_node(rng: &mut Rng, node: &mut Node, other: &Node) {
    match rng.range(0..=3) {
        0 => node.spec.clone_from(&other.spec),
        1 => {
            let name = node.metadata.labels.as_ref().and_then(|labels| labels.get(HOSTNAME)).cloned();
            node.metadata.labels.clone_from(&other.metadata.labels);
            if let Some(name) = name {
                node.metadata.labels.get_or_insert_default().insert(HOSTNAME.to_owned(), name);
            }
        }
        2 => {
            let images = other.status.as_ref().and_then(|status| status.images.clone());
            node.status.get_or_insert_default().images = images;
        }
        _ => {
            let allocatable = other.status.as_ref().and_then(|status| status.allocatable.clone());
            node.status.get_or_insert_default().allocatable = allocatable;
        }
    }
}

/// Adds objects, some nodes and some pods of another cluster.
pub(super) fn merge(rng: &mut Rng, cluster: &mut Cluster, other: &Cluster) {
    add_new(&mut cluster.namespaces, &other.namespaces);
    add_new(&mut cluster.services, &other.services);
    add_new(&mut cluster.replication_controllers, &other.replication_controllers);
    add_new(&mut cluster.replica_sets, &other.replica_sets);
    add_new(&mut cluster.stateful_sets, &other.stateful_sets);
    if cluster.pod_disruption_budgets.is_empty() {
        cluster.pod_disruption_budgets.clone_from(&other.pod_disruption_budgets);
    }
    if cluster.persistent_volumes.is_empty() {
        // All of storage or nothing: claims and volumes refer to each other.
        cluster.storage_classes.clone_from(&other.storage_classes);
        cluster.csi_drivers.clone_from(&other.csi_drivers);
        cluster.csi_nodes.clone_from(&other.csi_nodes);
        cluster.csi_storage_capacities.clone_from(&other.csi_storage_capacities);
        cluster.persistent_volumes.clone_from(&other.persistent_volumes);
        cluster.persistent_volume_claims.clone_from(&other.persistent_volume_claims);
        cluster.volume_attachments.clone_from(&other.volume_attachments);
    }
    for node in &other.nodes {
        match cluster.nodes.iter_mut().find(|known| known.metadata.name == node.metadata.name) {
            Some(known) if rng.chance(30) => known.clone_from(node),
            Some(_) => {}
            None => cluster.nodes.push(node.clone()),
        }
    }
    let names: BTreeSet<String> = cluster.pods.iter().chain(&cluster.nominated).map(pod_key).collect();
    for pod in &other.pods {
        if rng.chance(40) && !names.contains(&pod_key(pod)) {
            cluster.pods.push(pod.clone());
        }
    }
    for pod in &other.nominated {
        if !names.contains(&pod_key(pod)) {
            cluster.nominated.push(pod.clone());
        }
    }
}

/// Adds objects of names that are not there yet.
fn add_new(objects: &mut Vec<Value>, others: &[Value]) {
    for other in others {
        let name = |it: &Value| (it["metadata"]["namespace"].clone(), it["metadata"]["name"].clone());
        if !objects.iter().any(|known| name(known) == name(other)) {
            objects.push(other.clone());
        }
    }
}
