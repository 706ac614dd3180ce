//! On which nodes a daemon runs, and what its pods carry.

use k8s_openapi::api::core::v1::{
    NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec, Toleration,
};
use schedlab_core::class::selector::NodeSelector as CompiledSelector;
use schedlab_core::class::tolerations::Toleration as CompiledToleration;
use schedlab_core::input::PodInput;
use schedlab_core::interner::{TaintEffect, Vocabulary};

use crate::api::NodeEntry;
use crate::convert::pod_input;

/// What becomes of a daemon's pod on a node. Upstream: `NodeShouldRunDaemonPod`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// There is to be one.
    Runs,
    /// None is made, and one that runs stays.
    Stays,
    /// None is to be there.
    Goes,
}

/// What a daemon asks of nodes.
#[derive(Debug)]
pub(super) struct DaemonRules {
    vocabulary: Vocabulary,
    node_name: Option<String>,
    labels: std::collections::BTreeMap<String, String>,
    required: Option<CompiledSelector>,
    tolerations: Vec<CompiledToleration>,
}

impl DaemonRules {
    /// Of pods of this template.
    pub(super) fn of(template: &Pod) -> DaemonRules {
        let mut vocabulary = Vocabulary::default();
        let mut daemon = template.clone();
        add_tolerations(daemon.spec.get_or_insert_default());
        let spec = daemon.spec.clone().unwrap_or_default();
        let input: PodInput = pod_input(&daemon).map(|(input, _)| input).unwrap_or_default();
        let required = input.node_affinity.as_ref().and_then(|affinity| affinity.required.as_deref());
        DaemonRules {
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

    pub(super) fn verdict(&mut self, node: &NodeEntry) -> Verdict {
        let input = &node.input;
        let is_named = self.node_name.as_ref().is_none_or(|name| *name == input.name);
        let has_labels = self.labels.iter().all(|(key, value)| input.labels.get(key) == Some(value));
        let name = self.vocabulary.symbols.intern(&input.name);
        let labels = self.vocabulary.label_set(&input.labels);
        let taints = self.vocabulary.taint_set(&input.taints);
        let is_selected = self.required.as_ref().is_none_or(|it| it.matches(name, labels, &self.vocabulary));
        if !is_named || !has_labels || !is_selected {
            return Verdict::Goes;
        }
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

/// Upstream: `AddOrUpdateDaemonPodTolerations`.
fn add_tolerations(spec: &mut PodSpec) {
    let mut tolerated = vec![
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    ];
    if spec.host_network == Some(true) {
        tolerated.push(("network-unavailable", "NoSchedule"));
    }
    let tolerations = spec.tolerations.get_or_insert_default();
    for (key, effect) in tolerated {
        let added = Toleration {
            key: Some(format!("node.kubernetes.io/{key}")),
            operator: Some("Exists".to_owned()),
            effect: Some(effect.to_owned()),
            ..Toleration::default()
        };
        // Upstream: `AddOrUpdateTolerationInPodSpec`: one of this key, effect and operator is replaced.
        let is_alike = |it: &Toleration| {
            (&it.key, &it.effect, &it.operator) == (&added.key, &added.effect, &added.operator)
        };
        match tolerations.iter_mut().find(|it| is_alike(it)) {
            Some(known) => *known = added,
            None => tolerations.push(added),
        }
    }
}

/// The pod for one node. Upstream: `ReplaceDaemonSetPodNodeNameNodeAffinity`.
pub(super) fn for_node(mut pod: Pod, node: &str) -> Pod {
    let spec = pod.spec.get_or_insert_default();
    add_tolerations(spec);
    let term = NodeSelectorTerm {
        match_fields: Some(vec![NodeSelectorRequirement {
            key: "metadata.name".to_owned(),
            operator: "In".to_owned(),
            values: Some(vec![node.to_owned()]),
        }]),
        match_expressions: None,
    };
    let affinity: &mut NodeAffinity =
        spec.affinity.get_or_insert_default().node_affinity.get_or_insert_default();
    affinity.required_during_scheduling_ignored_during_execution =
        Some(NodeSelector { node_selector_terms: vec![term] });
    pod
}

/// The node that a pod's affinity names.
///
/// Upstream: util/daemonset_util.go `GetTargetNodeName`.
pub(super) fn node_of(pod: &Pod) -> Option<String> {
    let affinity = pod.spec.as_ref()?.affinity.as_ref()?.node_affinity.as_ref()?;
    let required = affinity.required_during_scheduling_ignored_during_execution.as_ref()?;
    let fields = required.node_selector_terms.iter().flat_map(|term| term.match_fields.iter().flatten());
    let named = fields.into_iter().find(|it| it.key == "metadata.name" && it.operator == "In")?;
    named.values.as_ref()?.first().cloned()
}
