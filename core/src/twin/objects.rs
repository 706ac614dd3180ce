//! Objects around pods, told to both sides.

use std::collections::BTreeMap;

use super::{Twin, uid_of};
use crate::fake::{self, Feature, Rng};
use crate::ids::PodUid;
use crate::input::dra::DraInput;
use crate::input::storage::{StorageInput, StorageKey};
use crate::input::{DisruptionBudgetInput, Labels, ServiceInput, WorkloadInput};
use crate::naive::NaiveCluster;

impl Twin {
    /// Adds an object of storage, or replaces it.
    pub(crate) fn put_storage(&mut self, object: StorageInput) {
        self.world.upsert_storage(&object);
        self.cluster.storage.put(object);
    }

    /// Takes an object of storage out.
    pub(crate) fn remove_storage(&mut self, key: &StorageKey) {
        self.world.remove_storage(key);
        self.cluster.storage.objects.remove(key);
    }

    /// Adds an object of dynamic resource allocation, or replaces it.
    pub(crate) fn put_dra(&mut self, object: DraInput) {
        self.world.upsert_dra(&object);
        self.cluster.dra.put(object);
    }

    /// Takes an object of dynamic resource allocation out.
    pub(crate) fn remove_dra(&mut self, at: usize) {
        let object = self.cluster.dra.objects[at].clone();
        let (kind, namespace, name) = object.key();
        self.world.remove_dra(kind, namespace, name);
        self.cluster.dra.remove(kind, namespace, name);
    }

    /// Namespaces, services, workloads, budgets and nominations, or none of them.
    pub(super) fn put_random_objects(&mut self, rng: &mut Rng) {
        let mut objects = NaiveCluster::default();
        fake::add_objects(rng, &mut objects);
        self.put_objects(&objects);
        if rng.uses(Feature::NominatedPods) {
            for _ in 0..rng.range(1..=4) {
                let node = format!("n{}", rng.range(0..=self.cluster.nodes.len()));
                self.add_nominated_pod(&fake::pod(rng).into(), &node);
            }
        }
    }

    /// Takes over namespaces, services, workloads, budgets and storage.
    pub(super) fn put_objects(&mut self, objects: &NaiveCluster) {
        for (name, labels) in &objects.namespaces {
            self.put_namespace(name, labels);
        }
        objects.services.iter().for_each(|service| self.put_service(service.clone()));
        objects.workloads.iter().for_each(|workload| self.put_workload(workload.clone()));
        objects.budgets.iter().for_each(|budget| self.put_budget(budget.clone()));
        objects.storage.objects.values().for_each(|object| self.put_storage(object.clone()));
        objects.dra.objects.iter().for_each(|object| self.put_dra(object.clone()));
    }

    pub(super) fn put_namespace(&mut self, name: &str, labels: &Labels) {
        self.world.upsert_namespace(name, labels);
        self.cluster.namespaces.insert(name.to_owned(), labels.clone());
    }

    pub(super) fn remove_namespace(&mut self, name: &str) {
        self.world.remove_namespace(name);
        self.cluster.namespaces.remove(name);
    }

    pub(super) fn put_service(&mut self, service: ServiceInput) {
        self.world.owners_mut().upsert_service(service.clone());
        let name = |it: &ServiceInput| (it.namespace.clone(), it.name.clone());
        self.cluster.services.retain(|known| name(known) != name(&service));
        self.cluster.services.push(service);
    }

    pub(super) fn remove_service(&mut self, at: usize) {
        let service = self.cluster.services.remove(at);
        self.world.owners_mut().remove_service(&service.namespace, &service.name);
    }

    pub(super) fn put_workload(&mut self, workload: WorkloadInput) {
        self.world.owners_mut().upsert_workload(workload.clone());
        let name = |it: &WorkloadInput| (it.kind, it.namespace.clone(), it.name.clone());
        self.cluster.workloads.retain(|known| name(known) != name(&workload));
        self.cluster.workloads.push(workload);
    }

    pub(super) fn remove_workload(&mut self, at: usize) {
        let workload = self.cluster.workloads.remove(at);
        self.world.owners_mut().remove_workload(workload.kind, &workload.namespace, &workload.name);
    }

    pub(super) fn put_budget(&mut self, budget: DisruptionBudgetInput) {
        let placed = self.placed.iter();
        let uids: BTreeMap<String, PodUid> =
            placed.map(|it| (it.pod.meta.name.clone(), self.world.pods().get(it.id).uid)).collect();
        let uid = |name: &String| uids.get(name).copied().or_else(|| uid_of(name));
        let disrupted: Vec<PodUid> = budget.disrupted_pods.iter().filter_map(uid).collect();
        self.world.upsert_budget(&budget, &disrupted);
        let name = |it: &DisruptionBudgetInput| (it.namespace.clone(), it.name.clone());
        match self.cluster.budgets.iter().position(|known| name(known) == name(&budget)) {
            Some(at) => self.cluster.budgets[at] = budget,
            None => self.cluster.budgets.push(budget),
        }
    }

    pub(super) fn remove_budget(&mut self, at: usize) {
        let budget = self.cluster.budgets.remove(at);
        self.world.remove_budget(&budget.namespace, &budget.name);
    }
}
