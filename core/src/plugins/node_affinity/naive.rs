//! NodeAffinity: node selectors, required and preferred node affinity.
//!
//! Upstream: plugins/nodeaffinity/node_affinity.go, component-helpers
//! scheduling/corev1/nodeaffinity, apimachinery/pkg/labels/selector.go.

use std::collections::BTreeSet;

use super::NAME;
use crate::fake::{self, Feature, Rng};
use crate::framework::args::{NodeAffinityArgs, PluginArgs};
use crate::input::{Labels, NodeAffinityInput, NodeInput, NodeSelectorTermInput, PodInput, RequirementInput};
use crate::naive::bench::{BenchPod, ZONE, plain};
use crate::naive::names::{is_label_value, is_qualified_name};
use crate::naive::plugin_twin::{self, Asked, Fakes, FilterTwin, PluginTwin, ScoreTwin, any_node, no_counts};
use crate::naive::{NaiveCode, NaiveNode, NaivePreFilter, NaiveVerdict, normalize};

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

/// The twin.
pub(super) const TWIN: PluginTwin = PluginTwin {
    filter: Some(FilterTwin {
        pre_filter: |asked| pre_filter(asked.pod, added(asked)),
        count: no_counts,
        filter: |asked, _, node| filter(asked.pod, added(asked), node),
        benches: || {
            vec![BenchPod::new(
                "node_affinity",
                PodInput { node_affinity: Some(bench_required()), ..plain() },
            )]
        },
    }),
    score: Some(ScoreTwin {
        pre_score: |asked, _| match pre_score(asked.pod, added(asked)) {
            Ok(NaiveNodeAffinityPreScore::Run) => plugin_twin::NaivePreScore::run(),
            Ok(NaiveNodeAffinityPreScore::Skip) => plugin_twin::NaivePreScore::Skip,
            Err(UnreadableTerm) => plugin_twin::NaivePreScore::Fail,
        },
        score: |asked, _, node| score(asked.pod, added(asked), node),
        normalize: |_, _, raw| normalize(raw),
        benches: || {
            vec![BenchPod::new(
                "node_affinity",
                PodInput { node_affinity: Some(bench_preferred()), ..plain() },
            )]
        },
    }),
    fakes: Fakes { node: |_, _| {}, pod: |_, _| {}, pending_pod: fake_pending_pod, args: fake_args },
    bench_node: any_node,
};

/// `addedAffinity`. Its terms are taken as readable.
fn added<'a>(asked: Asked<'a>) -> Option<&'a NodeAffinityInput> {
    match asked.args(NAME) {
        PluginArgs::NodeAffinity(args) => args.added_affinity.as_ref(),
        _ => None,
    }
}

fn fake_pending_pod(rng: &mut Rng, pod: &mut PodInput) {
    if rng.uses(Feature::NodeSelector) {
        pod.node_selector = Some(fake::node_selector(rng));
    }
    let affinity = fake::node_affinity(rng);
    if affinity != NodeAffinityInput::default() {
        pod.node_affinity = Some(affinity);
    }
}

fn fake_args(rng: &mut Rng) -> PluginArgs {
    let mut term = || fake::readable_term(rng);
    let (one, other, preferred) = (term(), term(), term());
    let added_affinity = rng.chance(30).then(|| NodeAffinityInput {
        required: rng.chance(50).then(|| vec![one, other]),
        preferred: rng.chance(50).then(|| vec![(3, preferred)]),
        required_during_execution: None,
    });
    PluginArgs::NodeAffinity(NodeAffinityArgs { added_affinity })
}

fn bench_term(key: &str, values: &[&str]) -> NodeSelectorTermInput {
    let values = values.iter().map(|&value| value.to_owned()).collect();
    let requirement = RequirementInput { key: key.to_owned(), operator: "In".to_owned(), values };
    NodeSelectorTermInput { match_expressions: vec![requirement], match_fields: Vec::new() }
}

/// Two of three zones.
fn bench_required() -> NodeAffinityInput {
    let term = bench_term(ZONE, &["zone-0", "zone-2"]);
    NodeAffinityInput { required: Some(vec![term]), ..NodeAffinityInput::default() }
}

/// Fast disks, so that scores are scaled over the feasible nodes.
fn bench_preferred() -> NodeAffinityInput {
    let preferred = vec![(10, bench_term("disk", &["ssd"])), (3, bench_term("disk", &["nvme"]))];
    NodeAffinityInput { preferred: Some(preferred), ..NodeAffinityInput::default() }
}

/// A preferred term cannot be read: upstream ends the whole cycle with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreadableTerm;

/// What PreScore says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NaiveNodeAffinityPreScore {
    /// Score the nodes.
    Run,
    /// Nothing to score by.
    Skip,
}

/// Skips pods without requirements, and narrows the nodes to those named by `matchFields` when
/// every required term names some.
#[must_use]
pub fn pre_filter(pod: &PodInput, added: Option<&NodeAffinityInput>) -> NaivePreFilter {
    let required = required_terms(pod);
    let has_added = added.is_some_and(|added| added.required.is_some());
    if required.is_none() && execution_terms(pod).is_none() && !has_added && pod.node_selector.is_none() {
        return NaivePreFilter::Skip;
    }
    let terms = required.unwrap_or_default();
    let names_per_term: Option<Vec<BTreeSet<String>>> = terms.iter().map(named_nodes).collect();
    let names: BTreeSet<String> = match names_per_term {
        Some(names) if !names.is_empty() => names.into_iter().flatten().collect(),
        _ => return NaivePreFilter::AllNodes,
    };
    if names.is_empty() {
        return NaivePreFilter::Reject(NaiveVerdict::new(
            NAME,
            NaiveCode::UnschedulableAndUnresolvable,
            "pod affinity terms conflict",
        ));
    }
    NaivePreFilter::Nodes(names)
}

/// Rejects a node that the scheduler's own affinity or the pod's requirements exclude.
#[must_use]
pub fn filter(pod: &PodInput, added: Option<&NodeAffinityInput>, node: &NaiveNode) -> Option<NaiveVerdict> {
    let reject = |reason| NaiveVerdict::new(NAME, NaiveCode::UnschedulableAndUnresolvable, reason);
    if let Some(terms) = added.and_then(|added| added.required.as_ref())
        && !any_term_matches(terms, &node.input)
    {
        return Some(reject("node(s) didn't match scheduler-enforced node affinity"));
    }
    if !is_selected(pod, &node.input) {
        return Some(reject("node(s) didn't match Pod's node affinity/selector"));
    }
    None
}

/// Whether there is anything to score by.
///
/// # Errors
///
/// When a preferred term that has a weight cannot be read.
pub fn pre_score(
    pod: &PodInput,
    added: Option<&NodeAffinityInput>,
) -> Result<NaiveNodeAffinityPreScore, UnreadableTerm> {
    let own = preferred_terms(pod);
    let is_unreadable = own
        .unwrap_or_default()
        .iter()
        .any(|(weight, term)| *weight != 0 && !is_empty(term) && !is_readable(term));
    if is_unreadable {
        return Err(UnreadableTerm);
    }
    let added = added.and_then(|added| added.preferred.as_ref());
    let has_added = added.is_some_and(|terms| !terms.is_empty());
    if own.is_none() && !has_added {
        return Ok(NaiveNodeAffinityPreScore::Skip);
    }
    Ok(NaiveNodeAffinityPreScore::Run)
}

/// The weights of the preferred terms that match, the scheduler's own and the pod's.
#[must_use]
pub fn score(pod: &PodInput, added: Option<&NodeAffinityInput>, node: &NaiveNode) -> i64 {
    let added = added.and_then(|added| added.preferred.as_deref());
    added
        .unwrap_or_default()
        .iter()
        .chain(preferred_terms(pod).unwrap_or_default())
        .filter(|(_, term)| term_matches(term, &node.input))
        .map(|(weight, _)| i64::from(*weight))
        .sum()
}

/// Whether the node satisfies the pod's `nodeSelector` and required node affinity.
///
/// Upstream: nodeaffinity.go `RequiredNodeAffinity.Match`.
#[must_use]
pub fn is_selected(pod: &PodInput, node: &NodeInput) -> bool {
    let selector_fits =
        pod.node_selector.iter().flatten().all(|(key, value)| node.labels.get(key) == Some(value));
    let affinity_fits = required_terms(pod).is_none_or(|terms| any_term_matches(terms, node));
    let execution_fits = execution_terms(pod).is_none_or(|terms| any_term_matches(terms, node));
    selector_fits && affinity_fits && execution_fits
}

/// What must hold at scheduling and afterwards (KEP-2358). Where the gate is off, no pod has it.
fn execution_terms(pod: &PodInput) -> Option<&[NodeSelectorTermInput]> {
    pod.node_affinity.as_ref()?.required_during_execution.as_deref()
}

fn required_terms(pod: &PodInput) -> Option<&[NodeSelectorTermInput]> {
    pod.node_affinity.as_ref()?.required.as_deref()
}

fn preferred_terms(pod: &PodInput) -> Option<&[(i32, NodeSelectorTermInput)]> {
    pod.node_affinity.as_ref()?.preferred.as_deref()
}

/// The nodes that the term's `metadata.name In` fields leave over; none when it has no such field.
fn named_nodes(term: &NodeSelectorTermInput) -> Option<BTreeSet<String>> {
    term.match_fields
        .iter()
        .filter(|field| field.key == "metadata.name" && field.operator == "In")
        .map(|field| field.values.iter().cloned().collect::<BTreeSet<String>>())
        .reduce(|left, right| left.intersection(&right).cloned().collect())
}

fn any_term_matches(terms: &[NodeSelectorTermInput], node: &NodeInput) -> bool {
    terms.iter().any(|term| term_matches(term, node))
}

/// Whether all of a term holds. An empty term, or one that cannot be read, matches nothing.
pub(crate) fn term_matches(term: &NodeSelectorTermInput, node: &NodeInput) -> bool {
    !is_empty(term)
        && is_readable(term)
        && term.match_expressions.iter().all(|requirement| label_matches(requirement, &node.labels))
        && term.match_fields.iter().all(|requirement| field_matches(requirement, node))
}

fn is_empty(term: &NodeSelectorTermInput) -> bool {
    term.match_expressions.is_empty() && term.match_fields.is_empty()
}

fn is_readable(term: &NodeSelectorTermInput) -> bool {
    term.match_expressions.iter().all(is_readable_expression)
        && term.match_fields.iter().all(is_readable_field)
}

/// Upstream: labels/selector.go `NewRequirement`.
pub(crate) fn is_readable_expression(requirement: &RequirementInput) -> bool {
    let values = &requirement.values;
    let values_fit = match requirement.operator.as_str() {
        "In" | "NotIn" => !values.is_empty(),
        "Exists" | "DoesNotExist" => values.is_empty(),
        "Gt" | "Lt" => values.len() == 1 && values[0].parse::<i64>().is_ok(),
        _ => false,
    };
    values_fit && is_qualified_name(&requirement.key) && values.iter().all(|value| is_label_value(value))
}

/// Upstream: nodeaffinity.go `nodeSelectorRequirementsAsFieldSelector`. Any key will do.
fn is_readable_field(requirement: &RequirementInput) -> bool {
    matches!(requirement.operator.as_str(), "In" | "NotIn") && requirement.values.len() == 1
}

/// Upstream: labels/selector.go `Requirement.Matches`.
pub(crate) fn label_matches(requirement: &RequirementInput, labels: &Labels) -> bool {
    let label = labels.get(&requirement.key);
    let is_listed = label.is_some_and(|label| requirement.values.contains(label));
    match requirement.operator.as_str() {
        "In" => is_listed,
        "NotIn" => !is_listed,
        "Exists" => label.is_some(),
        "DoesNotExist" => label.is_none(),
        "Gt" => numbers(requirement, label).is_some_and(|(label, bound)| label > bound),
        "Lt" => numbers(requirement, label).is_some_and(|(label, bound)| label < bound),
        _ => false,
    }
}

/// The label and the bound, when both are integers.
fn numbers(requirement: &RequirementInput, label: Option<&String>) -> Option<(i64, i64)> {
    let label = label?.parse().ok()?;
    let bound = requirement.values.first()?.parse().ok()?;
    Some((label, bound))
}

/// The only field a node has is its name; any other is empty. A node without a name has no fields
/// at all, and then they are not looked at.
fn field_matches(requirement: &RequirementInput, node: &NodeInput) -> bool {
    if node.name.is_empty() {
        return true;
    }
    let field = match requirement.key.as_str() {
        "metadata.name" => node.name.as_str(),
        _ => "",
    };
    let is_equal = requirement.values.first().is_some_and(|v| v == field);
    is_equal == (requirement.operator == "In")
}
