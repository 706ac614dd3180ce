//! What two pods must have in common to be batched: as far as the plugins sign, Filter and Score come to the
//! same for both.
//!
//! Upstream: kube-scheduler/framework/signers.go and each plugin's `SignPod`. The namespace is not part of it.
//! Differs: every part is there, whichever plugins are on
//! (`pods_that_differ_in_what_no_plugin_reads_are_not_batched`), and of volumes only what scheduling reads.

use crate::class::PodClass;
use crate::class::features::FeatureSet;
use crate::ids::Symbol;
use crate::input::{
    Labels, NodeAffinityInput, NodeSelectorTermInput, RequirementInput, TolerationInput, VolumeInput,
};
use crate::resources::Amounts;
use crate::snapshot::ports::HostPort;

/// The signature of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodSignature {
    scheduler_name: String,
    requests: Amounts,
    volumes: Vec<VolumeInput>,
    required_features: FeatureSet,
    tolerations: Vec<TolerationInput>,
    /// Absent when no plugin reads them.
    labels: Option<Labels>,
    host_ports: Vec<i32>,
    node_selector: Option<Labels>,
    node_affinity: Option<NodeAffinityInput>,
    node_name: Option<String>,
    images: Vec<Symbol>,
}

impl PodSignature {
    /// Of the pods of a class.
    pub(crate) fn new(class: &PodClass, has_labels: bool) -> PodSignature {
        let input = &class.input;
        let mut tolerations = input.tolerations.clone();
        tolerations.sort_by(|a, b| (&a.key, &a.value).cmp(&(&b.key, &b.value)));
        let mut host_ports: Vec<i32> = class.host_ports.iter().map(HostPort::port).collect();
        host_ports.sort_unstable();
        host_ports.dedup();
        let mut images = class.images.to_vec();
        images.sort_unstable();
        images.dedup();
        PodSignature {
            scheduler_name: input.scheduler_name.clone(),
            requests: class.pending.clone(),
            volumes: input.volumes.clone(),
            required_features: class.required_features,
            tolerations,
            labels: has_labels.then(|| input.labels.clone()),
            host_ports,
            node_selector: input.node_selector.clone(),
            node_affinity: input.node_affinity.clone().map(sorted_affinity),
            node_name: input.node_name.clone(),
            images,
        }
    }
}

/// Terms, requirements and values in one order.
fn sorted_affinity(mut affinity: NodeAffinityInput) -> NodeAffinityInput {
    for terms in [&mut affinity.required, &mut affinity.required_during_execution].into_iter().flatten() {
        terms.iter_mut().for_each(sort_term);
        terms.sort_by_cached_key(|term| format!("{term:?}"));
    }
    for terms in affinity.preferred.iter_mut() {
        terms.iter_mut().for_each(|(_, term)| sort_term(term));
        terms.sort_by_cached_key(|term| format!("{term:?}"));
    }
    affinity
}

fn sort_term(term: &mut NodeSelectorTermInput) {
    for requirements in [&mut term.match_expressions, &mut term.match_fields] {
        for RequirementInput { values, .. } in requirements.iter_mut() {
            values.sort_unstable();
        }
        requirements.sort_by_cached_key(|requirement| format!("{requirement:?}"));
    }
}
