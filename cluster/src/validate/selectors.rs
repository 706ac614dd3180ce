//! Selectors and affinity terms.

use k8s_openapi::api::core::v1::{
    Affinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodAffinityTerm,
    WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::formats::{dns_label_errors, dns_subdomain_errors};
use super::{Errors, Path};

const NEEDS_VALUES: &str = "must be specified when `operator` is 'In' or 'NotIn'";
const TAKES_NO_VALUES: &str = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
const NOT_AN_OPERATOR: &str = "not a valid selector operator";

/// Whether values must be label values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    Checked,
    /// Of preferences: the API server takes any.
    Any,
}

impl Errors {
    /// Upstream: `ValidateLabelSelector`.
    pub(super) fn label_selector(&mut self, path: &Path<'_>, selector: Option<&LabelSelector>) {
        let Some(selector) = selector else { return };
        self.labels(&path.field("matchLabels"), selector.match_labels.iter().flatten());
        let path = path.field("matchExpressions");
        for (at, expression) in selector.match_expressions.iter().flatten().enumerate() {
            let path = path.index(at);
            let values = expression.values.as_deref().unwrap_or_default();
            match expression.operator.as_str() {
                "In" | "NotIn" if values.is_empty() => self.required(&path.field("values"), NEEDS_VALUES),
                "Exists" | "DoesNotExist" if !values.is_empty() => {
                    self.forbidden(&path.field("values"), TAKES_NO_VALUES);
                }
                "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
                other => self.invalid(&path.field("operator"), other, NOT_AN_OPERATOR),
            }
            self.label_key(&path.field("key"), &expression.key);
            self.label_values(&path.field("values"), values);
        }
    }

    fn label_values(&mut self, path: &Path<'_>, values: &[String]) {
        for (at, value) in values.iter().enumerate() {
            self.label_value(&path.index(at), value);
        }
    }

    /// Upstream: `ValidateNodeSelector`.
    pub(super) fn node_selector(&mut self, path: &Path<'_>, selector: &NodeSelector) {
        let path = path.field("nodeSelectorTerms");
        if selector.node_selector_terms.is_empty() {
            self.required(&path, "must have at least one node selector term");
        }
        for (at, term) in selector.node_selector_terms.iter().enumerate() {
            self.node_term(&path.index(at), term, Values::Checked);
        }
    }

    fn node_term(&mut self, path: &Path<'_>, term: &NodeSelectorTerm, values: Values) {
        let expressions = path.field("matchExpressions");
        for (at, requirement) in term.match_expressions.iter().flatten().enumerate() {
            self.node_requirement(&expressions.index(at), requirement, values);
        }
        let fields = path.field("matchFields");
        for (at, requirement) in term.match_fields.iter().flatten().enumerate() {
            self.node_field_requirement(&fields.index(at), requirement);
        }
    }

    /// Upstream: `ValidateNodeSelectorRequirement`.
    fn node_requirement(&mut self, path: &Path<'_>, requirement: &NodeSelectorRequirement, checked: Values) {
        let values = requirement.values.as_deref().unwrap_or_default();
        let values_path = path.field("values");
        match requirement.operator.as_str() {
            "In" | "NotIn" if values.is_empty() => self.required(&values_path, NEEDS_VALUES),
            "Exists" | "DoesNotExist" if !values.is_empty() => self.forbidden(&values_path, TAKES_NO_VALUES),
            "Gt" | "Lt" if values.len() != 1 => {
                self.required(&values_path, "must be specified single value when `operator` is 'Lt' or 'Gt'");
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            other => self.invalid(&path.field("operator"), other, NOT_AN_OPERATOR),
        }
        self.label_key(&path.field("key"), &requirement.key);
        if checked == Values::Checked {
            self.label_values(&values_path, values);
        }
    }

    /// Upstream: `ValidateNodeFieldSelectorRequirement`.
    fn node_field_requirement(&mut self, path: &Path<'_>, requirement: &NodeSelectorRequirement) {
        let values = requirement.values.as_deref().unwrap_or_default();
        match requirement.operator.as_str() {
            "In" | "NotIn" if values.len() != 1 => self.required(
                &path.field("values"),
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
            ),
            "In" | "NotIn" => {}
            other => self.invalid(&path.field("operator"), other, NOT_AN_OPERATOR),
        }
        if requirement.key != "metadata.name" {
            self.invalid(&path.field("key"), requirement.key.as_str(), "not a valid field selector key");
            return;
        }
        for (at, value) in values.iter().enumerate() {
            for why in dns_subdomain_errors(value) {
                self.invalid(&path.field("values").index(at), value.as_str(), why);
            }
        }
    }

    /// Upstream: `validateAffinity`.
    pub(super) fn affinity(&mut self, path: &Path<'_>, affinity: &Affinity) {
        if let Some(rules) = &affinity.node_affinity {
            let path = path.field("nodeAffinity");
            if let Some(required) = &rules.required_during_scheduling_ignored_during_execution {
                self.node_selector(&path.field("requiredDuringSchedulingIgnoredDuringExecution"), required);
            }
            let path = path.field("preferredDuringSchedulingIgnoredDuringExecution");
            let preferred = &rules.preferred_during_scheduling_ignored_during_execution;
            for (at, term) in preferred.iter().flatten().enumerate() {
                self.weight(&path.index(at), term.weight);
                self.node_term(&path.index(at).field("preference"), &term.preference, Values::Any);
            }
        }
        if let Some(rules) = &affinity.pod_affinity {
            let required = rules.required_during_scheduling_ignored_during_execution.as_deref();
            let preferred = rules.preferred_during_scheduling_ignored_during_execution.as_deref();
            self.pod_terms(&path.field("podAffinity"), required, preferred);
        }
        if let Some(rules) = &affinity.pod_anti_affinity {
            let required = rules.required_during_scheduling_ignored_during_execution.as_deref();
            let preferred = rules.preferred_during_scheduling_ignored_during_execution.as_deref();
            self.pod_terms(&path.field("podAntiAffinity"), required, preferred);
        }
    }

    fn weight(&mut self, path: &Path<'_>, weight: i32) {
        if !(1..=100).contains(&weight) {
            self.invalid(&path.field("weight"), weight, "must be in the range 1-100");
        }
    }

    fn pod_terms(
        &mut self,
        path: &Path<'_>,
        required: Option<&[PodAffinityTerm]>,
        preferred: Option<&[WeightedPodAffinityTerm]>,
    ) {
        let required_path = path.field("requiredDuringSchedulingIgnoredDuringExecution");
        for (at, term) in required.into_iter().flatten().enumerate() {
            self.pod_term(&required_path.index(at), term);
        }
        let preferred_path = path.field("preferredDuringSchedulingIgnoredDuringExecution");
        for (at, term) in preferred.into_iter().flatten().enumerate() {
            self.weight(&preferred_path.index(at), term.weight);
            self.pod_term(&preferred_path.index(at).field("podAffinityTerm"), &term.pod_affinity_term);
        }
    }

    /// Upstream: `validatePodAffinityTerm`.
    fn pod_term(&mut self, path: &Path<'_>, term: &PodAffinityTerm) {
        self.label_selector(&path.field("labelSelector"), term.label_selector.as_ref());
        self.label_selector(&path.field("namespaceSelector"), term.namespace_selector.as_ref());
        for namespace in term.namespaces.iter().flatten() {
            for why in dns_label_errors(namespace) {
                self.invalid(&path.field("namespace"), namespace.as_str(), why);
            }
        }
        let (same, other) = (term.match_label_keys.as_deref(), term.mismatch_label_keys.as_deref());
        for (name, keys) in [("matchLabelKeys", same), ("mismatchLabelKeys", other)] {
            self.label_keys(&path.field(name), keys, term.label_selector.is_some());
        }
        for (at, key) in same.into_iter().flatten().enumerate() {
            if other.is_some_and(|other| other.contains(key)) {
                let why = "exists in both matchLabelKeys and mismatchLabelKeys";
                self.invalid(&path.field("matchLabelKeys").index(at), key.as_str(), why);
            }
        }
        let key_path = path.field("topologyKey");
        if term.topology_key.is_empty() {
            self.required(&key_path, "can not be empty");
        }
        self.label_key(&key_path, &term.topology_key);
    }

    /// Upstream: `validateLabelKeys`.
    pub(super) fn label_keys(&mut self, path: &Path<'_>, keys: Option<&[String]>, has_selector: bool) {
        let keys = keys.unwrap_or_default();
        if !keys.is_empty() && !has_selector {
            return self.forbidden(path, "must not be specified when labelSelector is not set");
        }
        for (at, key) in keys.iter().enumerate() {
            self.label_key(&path.index(at), key);
        }
    }
}
