//! Random steps of a cluster's life.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::fake::{self, Rng};
use crate::input::NodeInput;
use crate::input::storage::StorageKey;
use crate::naive::NaiveCluster;
use crate::twin::Twin;

/// A node that has some attributes changed: labels and zone, taints, images, room.
pub(crate) fn changed_node(rng: &mut Rng, old: &NodeInput) -> NodeInput {
    let index: usize = old.name[1..].parse().expect("nodes are named n<index>");
    let fresh = fake::node(rng, index);
    let mut node = old.clone();
    match rng.range(0..=7) {
        0 => node = fresh,
        6 => node.declared_features = fresh.declared_features,
        1 => node.labels = fresh.labels,
        2 => node.taints = fresh.taints,
        3 => node.images = fresh.images,
        4 => node.allocatable = fresh.allocatable,
        5 => node.unschedulable = !node.unschedulable,
        _ => {}
    }
    node
}

/// A random step of a cluster's life that involves no decision. Node names go up to `n<last>`.
pub(crate) fn random_event(rng: &mut Rng, twin: &mut Twin, names: RangeInclusive<usize>) {
    match rng.range(0..=20) {
        13 if !twin.placed.is_empty() => {
            let at = rng.range(0..=twin.placed.len() - 1);
            twin.terminate(at);
        }
        14 => {
            let objects = random_objects(rng);
            change_namespace(rng, twin, &objects);
        }
        15 => {
            let objects = random_objects(rng);
            change_owners(rng, twin, &objects);
        }
        16 => {
            let objects = random_objects(rng);
            change_budgets(rng, twin, &objects);
        }
        17 => {
            let (pod, node) = (Arc::new(fake::pod(rng)), format!("n{}", rng.range(names)));
            twin.add_nominated_pod(&pod, &node);
        }
        18 if !twin.cluster.nominated.is_empty() => {
            let at = rng.range(0..=twin.cluster.nominated.len() - 1);
            twin.delete_nominated_pod_if_exists(at);
        }
        10 | 11 => {
            // One object of a whole new storage, so that its references have a chance to hold.
            let objects = fake::storage(rng);
            if !objects.is_empty() {
                twin.put_storage(rng.pick(&objects).clone());
            }
        }
        12 if !twin.cluster.storage.objects.is_empty() => {
            let keys: Vec<StorageKey> = twin.cluster.storage.objects.keys().cloned().collect();
            twin.remove_storage(rng.pick(&keys));
        }
        19 | 20 => change_dra(rng, twin),
        0..=2 if !twin.placed.is_empty() => {
            let at = rng.range(0..=twin.placed.len() - 1);
            twin.displace(at);
        }
        3 | 4 => bind_elsewhere(rng, twin, &names),
        5 | 6 => {
            let index = rng.range(names);
            let node = fake::node(rng, index);
            twin.upsert_node(node);
        }
        7 | 8 if !twin.cluster.nodes.is_empty() => {
            let at = rng.range(0..=twin.cluster.nodes.len() - 1);
            let node = changed_node(rng, &twin.cluster.nodes[at].input.clone());
            twin.upsert_node(node);
        }
        9 if !twin.cluster.nodes.is_empty() => {
            let at = rng.range(0..=twin.cluster.nodes.len() - 1);
            let name = twin.cluster.nodes[at].input.name.clone();
            twin.remove_node(&name);
        }
        _ => {}
    }
}

/// A slice, class, claim or rule of a whole new set, so that its references have a chance to hold; or one
/// goes.
fn change_dra(rng: &mut Rng, twin: &mut Twin) {
    let (known, objects) = (twin.cluster.dra.objects.len(), fake::dra(rng));
    if known > 0 && rng.chance(50) {
        twin.remove_dra(rng.range(0..=known - 1));
    } else if !objects.is_empty() {
        twin.put_dra(rng.pick(&objects).clone());
    }
}

/// Another scheduler binds a pod to some name, of a node or not, whether it fits or not.
fn bind_elsewhere(rng: &mut Rng, twin: &mut Twin, names: &RangeInclusive<usize>) {
    let name = format!("n{}", rng.range(names.clone()));
    let pod = Arc::new(fake::bound_pod(rng));
    twin.place(&pod, &name);
}

/// Namespaces, services, workloads and budgets to choose from.
fn random_objects(rng: &mut Rng) -> NaiveCluster {
    let mut objects = NaiveCluster::default();
    fake::add_objects(rng, &mut objects);
    objects
}

fn change_namespace(rng: &mut Rng, twin: &mut Twin, objects: &NaiveCluster) {
    let known: Vec<String> = twin.cluster.namespaces.keys().cloned().collect();
    if !known.is_empty() && rng.chance(20) {
        let name: &String = rng.pick(&known);
        return twin.remove_namespace(name);
    }
    let namespaces: Vec<_> = objects.namespaces.iter().collect();
    if !namespaces.is_empty() {
        let (name, labels) = *rng.pick(&namespaces);
        twin.put_namespace(name, labels);
    }
}

fn change_owners(rng: &mut Rng, twin: &mut Twin, objects: &NaiveCluster) {
    let (services, workloads) = (twin.cluster.services.len(), twin.cluster.workloads.len());
    match rng.range(0..=5) {
        0 if services > 0 => twin.remove_service(rng.range(0..=services - 1)),
        1 if workloads > 0 => twin.remove_workload(rng.range(0..=workloads - 1)),
        2 | 3 if !objects.services.is_empty() => twin.put_service(rng.pick(&objects.services).clone()),
        _ if !objects.workloads.is_empty() => twin.put_workload(rng.pick(&objects.workloads).clone()),
        _ => {}
    }
}

fn change_budgets(rng: &mut Rng, twin: &mut Twin, objects: &NaiveCluster) {
    let known = twin.cluster.budgets.len();
    if known > 0 && rng.chance(30) {
        twin.remove_budget(rng.range(0..=known - 1));
    } else if !objects.budgets.is_empty() {
        twin.put_budget(rng.pick(&objects.budgets).clone());
    }
}
