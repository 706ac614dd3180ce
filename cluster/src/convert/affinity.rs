//! Selectors, affinity terms and spread constraints.

use k8s_openapi::api::core::v1::{
    NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm, PodAffinity, PodAffinityTerm, PodAntiAffinity,
    TopologySpreadConstraint, WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use schedlab_core::input::{
    LabelSelectorInput, NodeAffinityInput, NodeSelectorTermInput, PodAffinityInput, PodAffinityTermInput,
    RequirementInput, SpreadConstraintInput,
};

/// A label selector.
#[must_use]
pub fn label_selector_input(selector: &LabelSelector) -> LabelSelectorInput {
    let expressions = selector.match_expressions.as_deref().unwrap_or_default();
    LabelSelectorInput {
        match_labels: selector.match_labels.clone().unwrap_or_default(),
        match_expressions: expressions
            .iter()
            .map(|expression| RequirementInput {
                key: expression.key.clone(),
                operator: expression.operator.clone(),
                values: expression.values.clone().unwrap_or_default(),
            })
            .collect(),
    }
}

pub(super) fn node_affinity(affinity: &NodeAffinity) -> NodeAffinityInput {
    let required = affinity.required_during_scheduling_ignored_during_execution.as_ref();
    let preferred = affinity.preferred_during_scheduling_ignored_during_execution.as_ref();
    NodeAffinityInput {
        required: required.map(|selector| selector.node_selector_terms.iter().map(node_term).collect()),
        preferred: preferred
            .map(|terms| terms.iter().map(|term| (term.weight, node_term(&term.preference))).collect()),
        required_during_execution: None,
    }
}

pub(super) fn node_term(term: &NodeSelectorTerm) -> NodeSelectorTermInput {
    NodeSelectorTermInput {
        match_expressions: node_requirements(term.match_expressions.as_deref()),
        match_fields: node_requirements(term.match_fields.as_deref()),
    }
}

fn node_requirements(requirements: Option<&[NodeSelectorRequirement]>) -> Vec<RequirementInput> {
    requirements
        .unwrap_or_default()
        .iter()
        .map(|requirement| RequirementInput {
            key: requirement.key.clone(),
            operator: requirement.operator.clone(),
            values: requirement.values.clone().unwrap_or_default(),
        })
        .collect()
}

pub(super) fn pod_affinity(affinity: &PodAffinity) -> PodAffinityInput {
    pod_terms(
        affinity.required_during_scheduling_ignored_during_execution.as_deref(),
        affinity.preferred_during_scheduling_ignored_during_execution.as_deref(),
    )
}

pub(super) fn pod_anti_affinity(affinity: &PodAntiAffinity) -> PodAffinityInput {
    pod_terms(
        affinity.required_during_scheduling_ignored_during_execution.as_deref(),
        affinity.preferred_during_scheduling_ignored_during_execution.as_deref(),
    )
}

fn pod_terms(
    required: Option<&[PodAffinityTerm]>,
    preferred: Option<&[WeightedPodAffinityTerm]>,
) -> PodAffinityInput {
    PodAffinityInput {
        required: required.unwrap_or_default().iter().map(pod_term).collect(),
        preferred: preferred
            .unwrap_or_default()
            .iter()
            .map(|term| (term.weight, pod_term(&term.pod_affinity_term)))
            .collect(),
    }
}

fn pod_term(term: &PodAffinityTerm) -> PodAffinityTermInput {
    PodAffinityTermInput {
        label_selector: term.label_selector.as_ref().map(label_selector_input),
        namespaces: term.namespaces.clone().unwrap_or_default(),
        namespace_selector: term.namespace_selector.as_ref().map(label_selector_input),
        topology_key: term.topology_key.clone(),
    }
}

pub(super) fn spread_constraint(constraint: &TopologySpreadConstraint) -> SpreadConstraintInput {
    SpreadConstraintInput {
        max_skew: constraint.max_skew,
        topology_key: constraint.topology_key.clone(),
        schedule_anyway: constraint.when_unsatisfiable == "ScheduleAnyway",
        label_selector: constraint.label_selector.as_ref().map(label_selector_input),
        min_domains: constraint.min_domains,
        ignore_node_affinity: constraint.node_affinity_policy.as_deref() == Some("Ignore"),
        honor_node_taints: constraint.node_taints_policy.as_deref() == Some("Honor"),
        match_label_keys: constraint.match_label_keys.clone().unwrap_or_default(),
    }
}
