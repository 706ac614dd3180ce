//! InterPodAffinity: pods that want to be near other pods, or away from them.
//!
//! Upstream: plugins/interpodaffinity/{plugin,filtering,scoring}.go, and kube-scheduler's
//! framework/types.go `AffinityTerm`.

use std::collections::{BTreeMap, BTreeSet};

use super::NAME;
use crate::input::{Labels, NodeInput, PodAffinityTermInput, PodInput};
use crate::naive::selector::{Selector, UnreadableSelector};
use crate::naive::{NODE_SCORE_MAX, NaiveCluster, NaiveCode, NaivePreFilter, NaiveVerdict};

pub(super) const AFFINITY: &str = "node(s) didn't match pod affinity rules";
pub(super) const ANTI_AFFINITY: &str = "node(s) didn't match pod anti-affinity rules";
pub(super) const EXISTING_ANTI_AFFINITY: &str = "node(s) didn't satisfy existing pods anti-affinity rules";
/// Differs: upstream goes on with the API machinery's error. The API server refuses such pods
/// (`naive_twins_filter_every_case`).
const UNREADABLE: &str = "parsing pod: a label selector of its affinity terms cannot be read";

/// Arguments of the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterPodArgs {
    /// `hardPodAffinityWeight`: what a required affinity term of a pod that is there counts in the
    /// score.
    pub hard_pod_affinity_weight: i32,
    /// `ignorePreferredTermsOfExistingPods`: no scores for pods without preferred terms.
    pub ignore_preferred_terms_of_existing_pods: bool,
}

impl Default for InterPodArgs {
    fn default() -> InterPodArgs {
        InterPodArgs { hard_pod_affinity_weight: 1, ignore_preferred_terms_of_existing_pods: false }
    }
}

/// A topology key and a value of it.
pub type NaiveDomain = (String, String);

/// What PreScore finds: how much each domain weighs.
pub type Weights = BTreeMap<NaiveDomain, i64>;

/// What PreFilter finds. Domains whose count is 0 are not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NaiveAffinityCounts {
    affinity_terms: Vec<Term>,
    anti_affinity_terms: Vec<Term>,
    namespace_labels: Labels,
    /// Pods that match all of the pod's affinity terms.
    affinity: BTreeMap<NaiveDomain, i64>,
    /// Pods that match one of the pod's anti-affinity terms.
    anti_affinity: BTreeMap<NaiveDomain, i64>,
    /// Anti-affinity terms of pods that are there and that match the pod.
    existing_anti_affinity: BTreeMap<NaiveDomain, i64>,
}

/// Counts the pods that the required terms match, and what required anti-affinity of other pods
/// matches the pod.
pub fn pre_filter(cluster: &NaiveCluster, pod: &PodInput) -> (NaivePreFilter, NaiveAffinityCounts) {
    let Ok(terms) = Terms::read(pod) else {
        let verdict = NaiveVerdict::new(NAME, NaiveCode::UnschedulableAndUnresolvable, UNREADABLE);
        return (NaivePreFilter::Reject(verdict), NaiveAffinityCounts::default());
    };
    let mut counts = NaiveAffinityCounts {
        affinity_terms: terms.affinity.iter().map(|term| term.unrolled(cluster)).collect(),
        anti_affinity_terms: terms.anti_affinity.iter().map(|term| term.unrolled(cluster)).collect(),
        namespace_labels: namespace_labels(cluster, pod),
        ..Default::default()
    };
    for node in &cluster.nodes {
        for other in &node.pods {
            counts.add_pod(pod, other, &node.input);
        }
    }
    let has_terms = !counts.affinity_terms.is_empty() || !counts.anti_affinity_terms.is_empty();
    let answer = if has_terms || !counts.existing_anti_affinity.is_empty() {
        NaivePreFilter::AllNodes
    } else {
        NaivePreFilter::Skip
    };
    (answer, counts)
}

impl NaiveAffinityCounts {
    /// Counts another pod on the node.
    pub fn add_pod(&mut self, pod: &PodInput, added: &PodInput, node: &NodeInput) {
        self.change(pod, added, node, 1);
    }

    /// Discounts a pod on the node.
    pub fn remove_pod(&mut self, pod: &PodInput, removed: &PodInput, node: &NodeInput) {
        self.change(pod, removed, node, -1);
    }

    fn change(&mut self, pod: &PodInput, other: &PodInput, node: &NodeInput, by: i64) {
        for term in Terms::of_existing(other).anti_affinity {
            if term.matches(pod, &self.namespace_labels) {
                change_count(&mut self.existing_anti_affinity, node, &term.topology_key, by);
            }
        }
        if matches_all(&self.affinity_terms, other) {
            for term in &self.affinity_terms {
                change_count(&mut self.affinity, node, &term.topology_key, by);
            }
        }
        for term in &self.anti_affinity_terms {
            if term.matches(other, &Labels::new()) {
                change_count(&mut self.anti_affinity, node, &term.topology_key, by);
            }
        }
    }
}

fn change_count(counts: &mut BTreeMap<NaiveDomain, i64>, node: &NodeInput, key: &str, by: i64) {
    if let Some(value) = node.labels.get(key) {
        *counts.entry((key.to_owned(), value.clone())).or_default() += by;
        counts.retain(|_, count| *count != 0);
    }
}

/// Rejects a node in a domain without the pods that the pod wants to be near, or with pods that it
/// or they want to be away from.
#[must_use]
pub fn filter(counts: &NaiveAffinityCounts, pod: &PodInput, node: &NodeInput) -> Option<NaiveVerdict> {
    if !has_affinity(counts, pod, node) {
        return Some(NaiveVerdict::new(NAME, NaiveCode::UnschedulableAndUnresolvable, AFFINITY));
    }
    let is_in = |domains: &BTreeMap<NaiveDomain, i64>, key: &str| {
        let value = node.labels.get(key);
        value.is_some_and(|value| domains.get(&(key.to_owned(), value.clone())).is_some_and(|&it| it > 0))
    };
    if counts.anti_affinity_terms.iter().any(|term| is_in(&counts.anti_affinity, &term.topology_key)) {
        return Some(NaiveVerdict::new(NAME, NaiveCode::Unschedulable, ANTI_AFFINITY));
    }
    if node.labels.keys().any(|key| is_in(&counts.existing_anti_affinity, key)) {
        return Some(NaiveVerdict::new(NAME, NaiveCode::Unschedulable, EXISTING_ANTI_AFFINITY));
    }
    None
}

/// Whether every affinity term finds pods in the node's domain. The first pod of a group that wants
/// to be together finds none anywhere: it may go where the topology is.
fn has_affinity(counts: &NaiveAffinityCounts, pod: &PodInput, node: &NodeInput) -> bool {
    let terms = &counts.affinity_terms;
    let domains: Option<Vec<NaiveDomain>> = terms
        .iter()
        .map(|term| Some((term.topology_key.clone(), node.labels.get(&term.topology_key)?.clone())))
        .collect();
    let Some(domains) = domains else { return false };
    let has_pods = domains.iter().all(|domain| counts.affinity.get(domain).is_some_and(|&it| it > 0));
    has_pods || (counts.affinity.is_empty() && matches_all(terms, pod))
}

/// What PreScore finds: the weight of each domain. None means Skip.
#[must_use]
pub fn pre_score(args: &InterPodArgs, cluster: &NaiveCluster, pod: &PodInput) -> Option<Weights> {
    let own = Terms::of_existing(pod);
    let has_preferred = !pod.pod_affinity.preferred.is_empty() || !pod.pod_anti_affinity.preferred.is_empty();
    if args.ignore_preferred_terms_of_existing_pods && !has_preferred {
        return None;
    }
    let namespace_labels = namespace_labels(cluster, pod);
    let mut weights = Weights::new();
    for node in &cluster.nodes {
        let mut weigh = |term: &Term, weight: i64| {
            if let Some(value) = node.input.labels.get(&term.topology_key) {
                *weights.entry((term.topology_key.clone(), value.clone())).or_default() += weight;
            }
        };
        for other in &node.pods {
            for (weight, term) in own.preferred() {
                if term.unrolled(cluster).matches(other, &Labels::new()) {
                    weigh(term, weight);
                }
            }
            let theirs = Terms::of_existing(other);
            let hard_weight = i64::from(args.hard_pod_affinity_weight);
            let required = theirs.affinity.iter().map(|term| (hard_weight, term));
            let required = required.filter(|_| hard_weight > 0);
            for (weight, term) in theirs.preferred().chain(required) {
                if term.matches(pod, &namespace_labels) {
                    weigh(term, weight);
                }
            }
        }
    }
    // A weight of 0 is a finding too: Score runs.
    (!weights.is_empty()).then_some(weights)
}

/// The sum of the weights of the node's domains.
#[must_use]
pub fn score(weights: &Weights, node: &NodeInput) -> i64 {
    node.labels.iter().filter_map(|(key, value)| weights.get(&(key.clone(), value.clone()))).sum()
}

/// Stretches scores over 0 to 100; equal scores are all 0.
#[must_use]
pub fn normalize(raw: &[i64]) -> Vec<i64> {
    let lowest = raw.iter().copied().min().unwrap_or(0);
    let highest = raw.iter().copied().max().unwrap_or(0);
    let normal = |raw: &i64| match highest - lowest {
        0 => 0,
        range => (NODE_SCORE_MAX as f64 * ((raw - lowest) as f64 / range as f64)) as i64,
    };
    raw.iter().map(normal).collect()
}

/// A term with its selectors read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    namespaces: BTreeSet<String>,
    namespace_selector: Selector,
    selector: Selector,
    topology_key: String,
}

impl Term {
    /// A term that names no namespaces means the namespace of the pod that has it.
    fn read(owner: &PodInput, input: &PodAffinityTermInput) -> Result<Term, UnreadableSelector> {
        let mut namespaces: BTreeSet<String> = input.namespaces.iter().cloned().collect();
        if namespaces.is_empty() && input.namespace_selector.is_none() {
            namespaces.insert(owner.namespace.clone());
        }
        Ok(Term {
            namespaces,
            namespace_selector: Selector::read(input.namespace_selector.as_ref())?,
            selector: Selector::read(input.label_selector.as_ref())?,
            topology_key: input.topology_key.clone(),
        })
    }

    /// The term of a pod to schedule: with the names of the namespaces that are selected now. An
    /// empty selector stays: it also selects namespaces that nobody knows.
    fn unrolled(&self, cluster: &NaiveCluster) -> Term {
        let mut term = self.clone();
        if !self.namespace_selector.is_empty() {
            let selected = cluster.namespaces.iter().filter(|(_, it)| self.namespace_selector.matches(it));
            term.namespaces.extend(selected.map(|(name, _)| name.clone()));
            term.namespace_selector = Selector::Nothing;
        }
        term
    }

    fn matches(&self, pod: &PodInput, namespace_labels: &Labels) -> bool {
        let in_namespace =
            self.namespaces.contains(&pod.namespace) || self.namespace_selector.matches(namespace_labels);
        in_namespace && self.selector.matches(&pod.labels)
    }
}

fn matches_all(terms: &[Term], pod: &PodInput) -> bool {
    !terms.is_empty() && terms.iter().all(|term| term.matches(pod, &Labels::new()))
}

/// All terms of a pod.
#[derive(Clone, Debug, Default)]
struct Terms {
    affinity: Vec<Term>,
    anti_affinity: Vec<Term>,
    preferred_affinity: Vec<(i32, Term)>,
    preferred_anti_affinity: Vec<(i32, Term)>,
}

impl Terms {
    fn read(pod: &PodInput) -> Result<Terms, UnreadableSelector> {
        Ok(Terms {
            affinity: read_required(pod, &pod.pod_affinity.required)?,
            anti_affinity: read_required(pod, &pod.pod_anti_affinity.required)?,
            preferred_affinity: read_preferred(pod, &pod.pod_affinity.preferred)?,
            preferred_anti_affinity: read_preferred(pod, &pod.pod_anti_affinity.preferred)?,
        })
    }

    /// Of a pod that is there, a list with a term that cannot be read counts as empty.
    fn of_existing(pod: &PodInput) -> Terms {
        Terms {
            affinity: read_required(pod, &pod.pod_affinity.required).unwrap_or_default(),
            anti_affinity: read_required(pod, &pod.pod_anti_affinity.required).unwrap_or_default(),
            preferred_affinity: read_preferred(pod, &pod.pod_affinity.preferred).unwrap_or_default(),
            preferred_anti_affinity: read_preferred(pod, &pod.pod_anti_affinity.preferred)
                .unwrap_or_default(),
        }
    }

    /// Preferred terms; those of anti-affinity weigh less than nothing.
    fn preferred(&self) -> impl Iterator<Item = (i64, &Term)> {
        let towards = self.preferred_affinity.iter().map(|(weight, term)| (i64::from(*weight), term));
        let away = self.preferred_anti_affinity.iter().map(|(weight, term)| (-i64::from(*weight), term));
        towards.chain(away)
    }
}

fn read_required(pod: &PodInput, terms: &[PodAffinityTermInput]) -> Result<Vec<Term>, UnreadableSelector> {
    terms.iter().map(|term| Term::read(pod, term)).collect()
}

fn read_preferred(
    pod: &PodInput,
    terms: &[(i32, PodAffinityTermInput)],
) -> Result<Vec<(i32, Term)>, UnreadableSelector> {
    terms.iter().map(|(weight, term)| Ok((*weight, Term::read(pod, term)?))).collect()
}

/// A namespace that nobody knows has no labels.
fn namespace_labels(cluster: &NaiveCluster, pod: &PodInput) -> Labels {
    cluster.namespaces.get(&pod.namespace).cloned().unwrap_or_default()
}
