//! On which nodes a pod of some body may be, as far as labels and taints decide that.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use schedlab_core::class::selector::{NodeSelector as CompiledSelector, PreferredTerms};
use schedlab_core::class::tolerations::Toleration as CompiledToleration;
use schedlab_core::input::{NodeInput, PodInput, TaintInput};
use schedlab_core::interner::{TaintEffect, Vocabulary};

use crate::convert::pod_input;

/// What becomes of a pod on a node. Upstream: `NodeShouldRunDaemonPod`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It may come, and run.
    Runs,
    /// It may not come; one that runs stays.
    Stays,
    /// It must not be there.
    Goes,
}

/// What a pod asks of nodes.
#[derive(Debug)]
pub(super) struct NodeRules {
    vocabulary: Vocabulary,
    node_name: Option<String>,
    labels: BTreeMap<String, String>,
    required: Option<CompiledSelector>,
    preferred: PreferredTerms,
    tolerations: Vec<CompiledToleration>,
}

impl NodeRules {
    /// Of pods of this body.
    pub(super) fn of(pod: &Pod) -> NodeRules {
        let mut vocabulary = Vocabulary::default();
        let spec = pod.spec.clone().unwrap_or_default();
        let input: PodInput = pod_input(pod).map(|(input, _)| input).unwrap_or_default();
        let affinity = input.node_affinity.as_ref();
        let required = affinity.and_then(|affinity| affinity.required.as_deref());
        let preferred = affinity.and_then(|affinity| affinity.preferred.as_deref()).unwrap_or_default();
        NodeRules {
            preferred: PreferredTerms::compile(preferred, &mut vocabulary),
            required: required.map(|terms| CompiledSelector::compile(terms, &mut vocabulary)),
            tolerations: input
                .tolerations
                .iter()
                .map(|toleration| CompiledToleration::compile(toleration, &mut vocabulary))
                .collect(),
            node_name: spec.node_name.filter(|name| !name.is_empty()),
            labels: spec.node_selector.unwrap_or_default(),
            vocabulary,
        }
    }

    /// Whether name, labels and required affinity let the pod be here.
    pub(super) fn is_selected(&mut self, node: &NodeInput) -> bool {
        let is_named = self.node_name.as_ref().is_none_or(|name| *name == node.name);
        let has_labels = self.labels.iter().all(|(key, value)| node.labels.get(key) == Some(value));
        let name = self.vocabulary.symbols.intern(&node.name);
        let labels = self.vocabulary.label_set(&node.labels);
        let is_selected = self.required.as_ref().is_none_or(|it| it.matches(name, labels, &self.vocabulary));
        is_named && has_labels && is_selected
    }

    /// The weights of the preferred terms that the node matches, added up.
    pub(super) fn preference(&mut self, node: &NodeInput) -> i64 {
        let name = self.vocabulary.symbols.intern(&node.name);
        let labels = self.vocabulary.label_set(&node.labels);
        self.preferred.score(name, labels, &self.vocabulary)
    }

    /// Whether the pod tolerates each of these taints.
    pub(super) fn tolerates(&mut self, taints: &[TaintInput]) -> bool {
        let taints = self.vocabulary.taint_set(taints);
        let mut taints = self.vocabulary.taints(taints).iter();
        taints.all(|taint| self.tolerations.iter().any(|it| it.tolerates(taint)))
    }

    pub(super) fn verdict(&mut self, node: &NodeInput) -> Verdict {
        if !self.is_selected(node) {
            return Verdict::Goes;
        }
        let taints = self.vocabulary.taint_set(&node.taints);
        let untolerated = |effect: TaintEffect| {
            let taints = self.vocabulary.taints(taints).iter().filter(|taint| taint.effect == effect);
            let mut taints = taints.filter(|taint| !self.tolerations.iter().any(|it| it.tolerates(taint)));
            taints.next().is_some()
        };
        match (untolerated(TaintEffect::NoExecute), untolerated(TaintEffect::NoSchedule)) {
            (true, _) => Verdict::Goes,
            (false, true) => Verdict::Stays,
            (false, false) => Verdict::Runs,
        }
    }
}
