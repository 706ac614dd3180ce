//! Pod affinity terms and topology spread constraints, compiled.

use crate::class::labels::LabelSelector;
use crate::ids::{LabelSetId, Symbol};
use crate::input::{Labels, PodAffinityInput, PodAffinityTermInput, PodInput, SpreadConstraintInput};
use crate::interner::Vocabulary;

/// A pod affinity or anti-affinity term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AffinityTerm {
    /// Pods in these namespaces, sorted by id, are looked at.
    namespaces: Box<[Symbol]>,
    /// Pods in namespaces with such labels are looked at, too.
    namespace_selector: LabelSelector,
    selector: LabelSelector,
    /// `topologyKey`.
    pub key: Symbol,
}

impl AffinityTerm {
    /// `None` when a selector does not parse.
    fn compile(
        input: &PodAffinityTermInput,
        own_namespace: &str,
        vocabulary: &mut Vocabulary,
    ) -> Option<AffinityTerm> {
        let mut namespaces: Vec<Symbol> =
            input.namespaces.iter().map(|name| vocabulary.symbols.intern(name)).collect();
        if namespaces.is_empty() && input.namespace_selector.is_none() {
            namespaces.push(vocabulary.symbols.intern(own_namespace));
        }
        namespaces.sort_unstable();
        namespaces.dedup();
        debug_assert!(!namespaces.is_empty() || input.namespace_selector.is_some(), "a term looks somewhere");
        Some(AffinityTerm {
            namespaces: namespaces.into(),
            namespace_selector: LabelSelector::read(input.namespace_selector.as_ref(), vocabulary)?,
            selector: LabelSelector::read(input.label_selector.as_ref(), vocabulary)?,
            key: vocabulary.symbols.intern(&input.topology_key),
        })
    }

    /// Whether a placed pod is one that a pending pod's term asks for. The term's namespace
    /// selector finds only namespaces that exist.
    #[must_use]
    pub fn asks_for(
        &self,
        namespace: Symbol,
        namespace_labels: Option<LabelSetId>,
        labels: LabelSetId,
        vocabulary: &Vocabulary,
    ) -> bool {
        let in_reach = self.namespaces.contains(&namespace)
            || self.namespace_selector.is_everything()
            || namespace_labels.is_some_and(|set| self.namespace_selector.matches(set, vocabulary));
        in_reach && self.selector.matches(labels, vocabulary)
    }

    /// Whether a pending pod is one that a placed pod's term speaks of. A namespace that does not
    /// exist counts as one without labels.
    #[must_use]
    pub fn speaks_of(
        &self,
        namespace: Symbol,
        namespace_labels: Option<LabelSetId>,
        labels: LabelSetId,
        vocabulary: &Vocabulary,
    ) -> bool {
        let set = namespace_labels.unwrap_or_default();
        let in_reach =
            self.namespaces.contains(&namespace) || self.namespace_selector.matches(set, vocabulary);
        in_reach && self.selector.matches(labels, vocabulary)
    }
}

/// The terms of pod affinity or of pod anti-affinity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AffinityTerms {
    /// Required during scheduling.
    pub required: Box<[AffinityTerm]>,
    /// Preferred, with weights.
    pub preferred: Box<[(i32, AffinityTerm)]>,
    /// A selector does not parse: a pending pod is rejected. Of a placed pod, the list that the term
    /// is in counts as empty, and is.
    pub are_unreadable: bool,
}

impl AffinityTerms {
    /// Compiles the terms of a pod in `namespace`.
    pub fn compile(input: &PodAffinityInput, namespace: &str, vocabulary: &mut Vocabulary) -> AffinityTerms {
        let mut compile = |term| AffinityTerm::compile(term, namespace, vocabulary);
        let required: Option<Box<[_]>> = input.required.iter().map(&mut compile).collect();
        let preferred: Option<Box<[_]>> =
            input.preferred.iter().map(|(weight, term)| Some((*weight, compile(term)?))).collect();
        AffinityTerms {
            are_unreadable: required.is_none() || preferred.is_none(),
            required: required.unwrap_or_default(),
            preferred: preferred.unwrap_or_default(),
        }
    }

    /// There is no term at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.required.is_empty() && self.preferred.is_empty()
    }
}

/// A topology spread constraint.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpreadConstraint {
    /// `topologyKey`.
    pub key: Symbol,
    /// `maxSkew`.
    pub max_skew: i32,
    /// `minDomains`, 1 when absent.
    pub min_domains: i32,
    /// `whenUnsatisfiable` is `ScheduleAnyway`.
    pub schedule_anyway: bool,
    /// `nodeAffinityPolicy` is `Honor`.
    pub honor_affinity: bool,
    /// `nodeTaintsPolicy` is `Honor`.
    pub honor_taints: bool,
    /// The pods that count.
    pub selector: LabelSelector,
}

impl SpreadConstraint {
    /// Compiles a constraint for pods with these labels (`matchLabelKeys` reads them).
    pub fn compile(input: &SpreadConstraintInput, labels: &Labels, vocabulary: &mut Vocabulary) -> Self {
        let kept: Labels = input
            .match_label_keys
            .iter()
            .filter_map(|key| labels.get_key_value(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let mut selector = LabelSelector::compile(input.label_selector.as_ref(), vocabulary);
        if !kept.is_empty() {
            selector = selector.and_labels(&kept, vocabulary);
        }
        SpreadConstraint {
            key: vocabulary.symbols.intern(&input.topology_key),
            max_skew: input.max_skew,
            min_domains: input.min_domains.unwrap_or(1),
            schedule_anyway: input.schedule_anyway,
            honor_affinity: !input.ignore_node_affinity,
            honor_taints: input.honor_node_taints,
            selector,
        }
    }

    /// Compiles a pod's own constraints.
    pub fn compile_all(pod: &PodInput, vocabulary: &mut Vocabulary) -> Box<[SpreadConstraint]> {
        pod.spread_constraints
            .iter()
            .map(|input| SpreadConstraint::compile(input, &pod.labels, vocabulary))
            .collect()
    }
}
