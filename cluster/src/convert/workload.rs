//! Objects around pods: services and workloads that own them, budgets that protect them.

use k8s_openapi::api::apps::v1::{ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{ReplicationController, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schedlab_core::input::{
    DisruptionBudgetInput, LabelSelectorInput, ServiceInput, WorkloadInput, WorkloadKind,
};

use super::{label_selector_input, text_or_empty};

/// What scheduling reads from a service.
#[must_use]
pub fn service_input(service: &Service) -> ServiceInput {
    let (namespace, name) = namespace_and_name(&service.metadata);
    let selector = service.spec.as_ref().and_then(|spec| spec.selector.clone());
    ServiceInput { namespace, name, selector }
}

/// What scheduling reads from a replication controller.
#[must_use]
pub fn replication_controller_input(controller: &ReplicationController) -> WorkloadInput {
    let labels = controller.spec.as_ref().and_then(|spec| spec.selector.clone());
    let selector =
        labels.map(|match_labels| LabelSelectorInput { match_labels, match_expressions: Vec::new() });
    workload(WorkloadKind::ReplicationController, &controller.metadata, selector)
}

/// What scheduling reads from a replica set.
#[must_use]
pub fn replica_set_input(set: &ReplicaSet) -> WorkloadInput {
    let selector = Some(label_selector_input(&set.spec.selector));
    workload(WorkloadKind::ReplicaSet, &set.metadata, selector)
}

/// What scheduling reads from a stateful set.
#[must_use]
pub fn stateful_set_input(set: &StatefulSet) -> WorkloadInput {
    let selector = Some(label_selector_input(&set.spec.selector));
    workload(WorkloadKind::StatefulSet, &set.metadata, selector)
}

/// What scheduling reads from a pod disruption budget.
#[must_use]
pub fn disruption_budget_input(budget: &PodDisruptionBudget) -> DisruptionBudgetInput {
    let (namespace, name) = namespace_and_name(&budget.metadata);
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    let status = budget.status.as_ref();
    let disrupted = status.and_then(|status| status.disrupted_pods.as_ref());
    DisruptionBudgetInput {
        namespace,
        name,
        selector: selector.map(label_selector_input),
        disruptions_allowed: status.and_then(|status| status.disruptions_allowed).unwrap_or(0),
        disrupted_pods: disrupted.into_iter().flat_map(|pods| pods.keys().cloned()).collect(),
    }
}

fn workload(
    kind: WorkloadKind,
    metadata: &ObjectMeta,
    selector: Option<LabelSelectorInput>,
) -> WorkloadInput {
    let (namespace, name) = namespace_and_name(metadata);
    WorkloadInput { kind, namespace, name, selector }
}

fn namespace_and_name(metadata: &ObjectMeta) -> (String, String) {
    (text_or_empty(metadata.namespace.as_ref()), text_or_empty(metadata.name.as_ref()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).expect("the test's object is well formed")
    }

    fn selector(key: &str, value: &str) -> LabelSelectorInput {
        LabelSelectorInput {
            match_labels: [(key.to_owned(), value.to_owned())].into(),
            match_expressions: Vec::new(),
        }
    }

    #[test]
    fn a_service_without_a_selector_is_not_one_with_an_empty_selector() {
        let metadata = json!({ "namespace": "shop", "name": "web" });
        let cases = [
            (json!({ "metadata": metadata, "spec": {} }), None),
            (json!({ "metadata": metadata, "spec": { "selector": {} } }), Some(Default::default())),
            (
                json!({ "metadata": metadata, "spec": { "selector": { "app": "web" } } }),
                Some(selector("app", "web").match_labels),
            ),
        ];
        for (object, selector) in cases {
            let expected = ServiceInput { namespace: "shop".to_owned(), name: "web".to_owned(), selector };
            assert_eq!(service_input(&read(object)), expected);
        }
    }

    #[test]
    fn workloads_keep_kind_and_selector() {
        let metadata = json!({ "namespace": "shop", "name": "web" });
        let plain = json!({ "metadata": metadata, "spec": { "selector": { "app": "web" } } });
        let set = json!({ "metadata": metadata, "spec": {
            "selector": { "matchLabels": { "app": "web" } }, "serviceName": "web", "template": {}
        }});
        let cases = [
            (replication_controller_input(&read(plain)), WorkloadKind::ReplicationController),
            (replica_set_input(&read(set.clone())), WorkloadKind::ReplicaSet),
            (stateful_set_input(&read(set)), WorkloadKind::StatefulSet),
        ];
        for (input, kind) in cases {
            let expected = WorkloadInput {
                kind,
                namespace: "shop".to_owned(),
                name: "web".to_owned(),
                selector: Some(selector("app", "web")),
            };
            assert_eq!(input, expected);
        }
    }

    #[test]
    fn pdb_keeps_disruptions_allowed_and_disrupted_pods() {
        let budget = read(json!({
            "metadata": { "namespace": "shop", "name": "web" },
            "spec": { "selector": { "matchLabels": { "app": "web" } } },
            "status": {
                "currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 3, "disruptionsAllowed": 1,
                "disruptedPods": { "web-1": "2026-01-01T00:00:00Z" }
            }
        }));
        let expected = DisruptionBudgetInput {
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            selector: Some(selector("app", "web")),
            disruptions_allowed: 1,
            disrupted_pods: ["web-1".to_owned()].into(),
        };
        assert_eq!(disruption_budget_input(&budget), expected);
    }
}
