//! On which nodes a daemon runs, and what its pods carry.

use k8s_openapi::api::core::v1::{
    NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec, Toleration,
};

use super::super::node_rules::NodeRules;

/// What a daemon of this template asks of nodes: what its pods ask, with the tolerations that they carry.
pub(super) fn rules_of(template: &Pod) -> NodeRules {
    let mut daemon = template.clone();
    add_tolerations(daemon.spec.get_or_insert_default());
    NodeRules::of(&daemon)
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
