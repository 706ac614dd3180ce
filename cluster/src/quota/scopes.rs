//! Which pods a quota is about.
//!
//! Upstream: pkg/quota/v1/evaluator/core/pods.go `podMatchesScopeFunc`.

use k8s_openapi::api::core::v1::{Affinity, Container, Pod, PodAffinityTerm, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use serde_json::Value;

use super::Amount;

/// A part of `spec.scopes` or `spec.scopeSelector`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    name: String,
    operator: String,
    values: Vec<String>,
}

impl Scope {
    /// Those of the `spec` of a quota.
    #[must_use]
    pub fn all_of(spec: &Value) -> Vec<Scope> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
        let plain = list(spec.get("scopes")).into_iter();
        let plain =
            plain.map(|name| Scope { name: text(&name), operator: "Exists".to_owned(), values: Vec::new() });
        let selector = spec.get("scopeSelector").and_then(|it| it.get("matchExpressions"));
        let selected = list(selector).into_iter().map(|it| Scope {
            name: it.get("scopeName").map(text).unwrap_or_default(),
            operator: it.get("operator").map(text).unwrap_or_default(),
            values: list(it.get("values")).iter().map(text).collect(),
        });
        plain.chain(selected).collect()
    }

    /// Whether a pod is within it.
    #[must_use]
    pub fn matches(&self, pod: &Pod) -> bool {
        let Some(spec) = &pod.spec else { return false };
        match self.name.as_str() {
            "Terminating" => is_terminating(spec),
            "NotTerminating" => !is_terminating(spec),
            "BestEffort" => is_best_effort(spec),
            "NotBestEffort" => !is_best_effort(spec),
            "PriorityClass" => self.selects(spec.priority_class_name.as_deref().unwrap_or_default()),
            "CrossNamespacePodAffinity" => spec.affinity.as_ref().is_some_and(looks_across_namespaces),
            _ => false,
        }
    }

    fn selects(&self, class: &str) -> bool {
        let is_listed = !class.is_empty() && self.values.iter().any(|value| value == class);
        match self.operator.as_str() {
            "Exists" => !class.is_empty(),
            "DoesNotExist" => class.is_empty(),
            "In" => is_listed,
            "NotIn" => !is_listed,
            _ => false,
        }
    }
}

/// It ends by itself after a while. Upstream: `IsTerminating`.
fn is_terminating(spec: &PodSpec) -> bool {
    spec.active_deadline_seconds.is_some_and(|seconds| 0 <= seconds)
}

/// It asks for no CPU and no memory, and has no limits. Upstream: pkg/apis/core/v1/helper/qos `GetPodQOS`.
fn is_best_effort(spec: &PodSpec) -> bool {
    let asks = |name: &String, amount: &ApiQuantity| {
        matches!(name.as_str(), "cpu" | "memory") && Amount::of(amount).is_some_and(|it| !it.is_zero())
    };
    let of_container = |container: &Container| {
        let resources = container.resources.as_ref();
        let lists = resources.into_iter().flat_map(|it| it.requests.iter().chain(&it.limits));
        lists.flatten().any(|(name, amount)| asks(name, amount))
    };
    let of_pod = spec.resources.iter().flat_map(|it| it.requests.iter().chain(&it.limits)).flatten();
    !spec.containers.iter().chain(spec.init_containers.iter().flatten()).any(of_container)
        && !of_pod.into_iter().any(|(name, amount)| asks(name, amount))
}

fn looks_across_namespaces(affinity: &Affinity) -> bool {
    let crosses = |term: &PodAffinityTerm| {
        term.namespaces.as_ref().is_some_and(|names| !names.is_empty()) || term.namespace_selector.is_some()
    };
    let (to, from) = (affinity.pod_affinity.as_ref(), affinity.pod_anti_affinity.as_ref());
    let required = [
        to.and_then(|it| it.required_during_scheduling_ignored_during_execution.as_ref()),
        from.and_then(|it| it.required_during_scheduling_ignored_during_execution.as_ref()),
    ];
    let preferred = [
        to.and_then(|it| it.preferred_during_scheduling_ignored_during_execution.as_ref()),
        from.and_then(|it| it.preferred_during_scheduling_ignored_during_execution.as_ref()),
    ];
    required.into_iter().flatten().flatten().any(crosses)
        || preferred.into_iter().flatten().flatten().any(|term| crosses(&term.pod_affinity_term))
}
