//! Services and workloads that own pods: what default spreading goes by.
//!
//! Upstream: framework/plugins/helper/spread.go `DefaultSelector`.

use std::collections::BTreeMap;

use crate::class::PodClass;
use crate::class::labels::LabelSelector;
use crate::input::{LabelSelectorInput, Labels, ServiceInput, WorkloadInput, WorkloadKind};
use crate::interner::Vocabulary;

/// Namespace and name.
type Name = (String, String);

/// All services and workloads.
#[derive(Clone, Debug, Default)]
pub struct Owners {
    services: BTreeMap<Name, ServiceInput>,
    workloads: BTreeMap<(WorkloadKind, Name), WorkloadInput>,
    version: u64,
}

impl Owners {
    /// Adds a service or takes over its new state.
    pub fn upsert_service(&mut self, service: ServiceInput) {
        self.version += 1;
        self.services.insert((service.namespace.clone(), service.name.clone()), service);
    }

    /// Takes a service out.
    pub fn remove_service(&mut self, namespace: &str, name: &str) {
        self.version += 1;
        self.services.remove(&(namespace.to_owned(), name.to_owned()));
    }

    /// Adds a workload or takes over its new state.
    pub fn upsert_workload(&mut self, workload: WorkloadInput) {
        self.version += 1;
        let name = (workload.namespace.clone(), workload.name.clone());
        self.workloads.insert((workload.kind, name), workload);
    }

    /// Takes a workload out.
    pub fn remove_workload(&mut self, kind: WorkloadKind, namespace: &str, name: &str) {
        self.version += 1;
        self.workloads.remove(&(kind, (namespace.to_owned(), name.to_owned())));
    }

    /// Panics where an object is not found under its own name. See `World::check`.
    pub(crate) fn check(&self) {
        for ((namespace, name), service) in &self.services {
            let own = (&service.namespace, &service.name);
            assert_eq!(own, (namespace, name), "a service is found under its own name");
        }
        for ((kind, (namespace, name)), workload) in &self.workloads {
            let own = (workload.kind, &workload.namespace, &workload.name);
            assert_eq!(own, (*kind, namespace, name), "a workload is found under its own kind and name");
        }
    }

    /// Moves with every change.
    #[inline]
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The pods that spread together with pods of a class: those that its services and its
    /// controller select. Everything when there are neither.
    pub fn selector_for(&self, class: &PodClass, vocabulary: &mut Vocabulary) -> LabelSelector {
        let pod = class.input.as_ref();
        let mut labels: Labels = self
            .services
            .values()
            .filter(|service| service.namespace == pod.namespace)
            .filter_map(|service| service.selector.as_ref())
            .filter(|selector| selector.iter().all(|(key, value)| pod.labels.get(key) == Some(value)))
            .flat_map(|selector| selector.clone())
            .collect();
        let mut added = None;
        if let Some(owner) = self.controller_of(class)
            && let Some(selector) = &owner.selector
        {
            if owner.kind == WorkloadKind::ReplicationController {
                labels.extend(selector.match_labels.clone());
            } else {
                // One that does not parse adds nothing.
                added = LabelSelector::read(Some(selector), vocabulary);
            }
        }
        let of_labels = LabelSelectorInput { match_labels: labels, match_expressions: Vec::new() };
        let selector = LabelSelector::compile(Some(&of_labels), vocabulary);
        match added {
            Some(added) => selector.and(added),
            None => selector,
        }
    }

    fn controller_of(&self, class: &PodClass) -> Option<&WorkloadInput> {
        let pod = class.input.as_ref();
        let owner = pod.controller.as_ref()?;
        let kinds =
            [WorkloadKind::ReplicationController, WorkloadKind::ReplicaSet, WorkloadKind::StatefulSet];
        let kind = kinds
            .into_iter()
            .find(|kind| kind.type_names() == (owner.api_version.as_str(), owner.kind.as_str()))?;
        self.workloads.get(&(kind, (pod.namespace.clone(), owner.name.clone())))
    }
}
