//! `matchLabelKeys` and `mismatchLabelKeys`: merged into the selectors when the pod is created, so
//! that the scheduler reads selectors only.
//!
//! Upstream: pkg/registry/core/pod/strategy.go `mutatePodAffinity`, `mutateTopologySpreadConstraints`.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Affinity, PodAffinityTerm, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

type Labels = BTreeMap<String, String>;

/// Merges the keys of every affinity term and spread constraint. A term without a selector
/// matches nothing and stays as it is.
pub(super) fn merge_label_keys(spec: &mut PodSpec, labels: &Labels) {
    if let Some(affinity) = &mut spec.affinity {
        for term in terms_mut(affinity) {
            if let Some(selector) = &mut term.label_selector {
                require(selector, term.match_label_keys.as_deref(), "In", labels);
                require(selector, term.mismatch_label_keys.as_deref(), "NotIn", labels);
            }
        }
    }
    for constraint in spec.topology_spread_constraints.iter_mut().flatten() {
        if let Some(selector) = &mut constraint.label_selector {
            require(selector, constraint.match_label_keys.as_deref(), "In", labels);
        }
    }
}

fn terms_mut(affinity: &mut Affinity) -> impl Iterator<Item = &mut PodAffinityTerm> {
    let to = affinity.pod_affinity.as_mut();
    let (to_preferred, to_required) = to.map_or((None, None), |it| {
        (
            it.preferred_during_scheduling_ignored_during_execution.as_mut(),
            it.required_during_scheduling_ignored_during_execution.as_mut(),
        )
    });
    let from = affinity.pod_anti_affinity.as_mut();
    let (from_preferred, from_required) = from.map_or((None, None), |it| {
        (
            it.preferred_during_scheduling_ignored_during_execution.as_mut(),
            it.required_during_scheduling_ignored_during_execution.as_mut(),
        )
    });
    let preferred = to_preferred.into_iter().chain(from_preferred).flatten();
    let required = to_required.into_iter().chain(from_required).flatten();
    preferred.map(|weighted| &mut weighted.pod_affinity_term).chain(required)
}

/// Adds `key operator (value)` for each key the pod has a label for.
fn require(selector: &mut LabelSelector, keys: Option<&[String]>, operator: &str, labels: &Labels) {
    for key in keys.unwrap_or_default() {
        if let Some(value) = labels.get(key) {
            selector.match_expressions.get_or_insert_default().push(LabelSelectorRequirement {
                key: key.clone(),
                operator: operator.to_owned(),
                values: Some(vec![value.clone()]),
            });
        }
    }
}
