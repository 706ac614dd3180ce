//! Opportunistic batching, one pod and one list of nodes at a time.
//!
//! Upstream: framework/runtime/batch.go.

use std::collections::BTreeMap;

use super::schedule::{
    NaiveDecision, NaiveNodeScore, NaiveProfile, Pick, Search, run_pre_filter, schedule_pod,
    score_nodes_keeping,
};
use super::{NaiveCluster, NaiveNode, NaivePod, nominated_pods};
use crate::framework::args::PluginArgs;
use crate::input::PodInput;

/// What one cycle leaves to the next.
#[derive(Clone, Debug, Default)]
pub struct NaiveBatch {
    kept: Option<Kept>,
    last: Option<(u64, String)>,
    cycle: u64,
}

#[derive(Clone, Debug)]
struct Kept {
    signature: PodInput,
    /// Feasible nodes that nobody took, with their place among equals: the lowest goes first.
    nodes: Vec<(usize, NaiveNodeScore)>,
    created_ns: u64,
}

/// Decides where a pod goes, with what the pod before left behind. Of equal nodes the first in list order is
/// taken, and the node of the pod before the last.
pub fn schedule_pod_batched(
    batch: &mut NaiveBatch,
    profile: &NaiveProfile,
    cluster: &NaiveCluster,
    pod: &NaivePod,
    (start, now_ns): (usize, u64),
) -> (NaiveDecision, Option<String>) {
    batch.cycle += 1;
    let signature = sign_pod(profile, &pod.input);
    let hint = match run_pre_filter(profile, cluster, pod).rejected {
        Some(_) => None,
        None => node_hint(batch, profile, cluster, pod, (signature.as_ref(), now_ns)),
    };
    let mut asked = pod.clone();
    if asked.meta.nominated_node_name.is_none() {
        asked.meta.nominated_node_name.clone_from(&hint);
    }
    let decision = schedule_pod(profile, cluster, &asked, start, Pick::First);
    let place =
        |name: &str| cluster.nodes.iter().position(|node| node.input.name == name).expect("it is there");
    let chosen = decision.ties.iter().min_by_key(|name| place(name)).cloned();
    if let Some(chosen) = &chosen {
        batch.last = Some((batch.cycle, chosen.clone()));
        if hint.as_ref() != Some(chosen) {
            let scored = decision.scores.iter().flatten().filter(|_| decision.feasible.len() > 1);
            let others = scored.filter(|score| score.node != *chosen);
            let nodes: Vec<_> = others.map(|score| (place(&score.node), score.clone())).collect();
            let signature = signature.filter(|_| !nodes.is_empty());
            batch.kept = signature.map(|signature| Kept { signature, nodes, created_ns: now_ns });
        }
    }
    (decision, chosen)
}

fn node_hint(
    batch: &mut NaiveBatch,
    profile: &NaiveProfile,
    cluster: &NaiveCluster,
    pod: &NaivePod,
    (signature, now_ns): (Option<&PodInput>, u64),
) -> Option<String> {
    let kept = batch.kept.as_mut().filter(|kept| !kept.nodes.is_empty())?;
    let (cycle, last) = batch.last.as_ref()?;
    let is_compatible = cycle + 1 == batch.cycle
        && pod.meta.nominated_node_name.is_none()
        && signature == Some(&kept.signature)
        && now_ns <= kept.created_ns + 500_000_000;
    let node_named = |name: &str| cluster.nodes.iter().find(|node| node.input.name == name);
    let last = is_compatible.then(|| node_named(last)).flatten()?;
    if fits_alone(profile, cluster, pod, last) {
        let others: Option<Vec<&NaiveNode>> = kept.nodes.iter().map(|(_, it)| node_named(&it.node)).collect();
        let nodes: Vec<&NaiveNode> = others?.into_iter().chain([last]).collect();
        let raw: BTreeMap<String, BTreeMap<&str, i64>> =
            kept.nodes.iter().map(|(_, it)| (it.node.clone(), it.raw.clone())).collect();
        let scores = score_nodes_keeping(profile, cluster, pod, &nodes, &raw).ok()?;
        let places = kept.nodes.iter().map(|(place, _)| *place).chain([usize::MAX]);
        kept.nodes = places.zip(scores).collect();
    }
    let best = |(place, score): &(usize, NaiveNodeScore)| (score.total, std::cmp::Reverse(*place));
    let (at, _) = kept.nodes.iter().enumerate().max_by_key(|(_, entry)| best(entry))?;
    Some(kept.nodes.remove(at).1.node)
}

/// Whether a node passes Filter, whoever is nominated to it.
fn fits_alone(profile: &NaiveProfile, cluster: &NaiveCluster, pod: &NaivePod, node: &NaiveNode) -> bool {
    let mut cluster = cluster.clone();
    cluster.nominated.clear();
    let skip = run_pre_filter(profile, &cluster, pod).skip;
    let search = Search::new(profile, &cluster, pod, &skip);
    nominated_pods::rejection(&search, &search.state, node).is_none()
}

/// The spec without what no plugin signs; `None` for a pod that is not batched.
fn sign_pod(profile: &NaiveProfile, pod: &PodInput) -> Option<PodInput> {
    let runs = |plugin: &str| {
        profile.filter_plugins.contains(&plugin)
            || profile.score_plugins.iter().any(|(name, _)| *name == plugin)
    };
    let has_terms = [&pod.pod_affinity, &pod.pod_anti_affinity]
        .iter()
        .any(|terms| !terms.required.is_empty() || !terms.preferred.is_empty());
    if runs("InterPodAffinity") && has_terms {
        return None;
    }
    if runs("DynamicResources") && !pod.resource_claims.is_empty() {
        return None;
    }
    if runs("PodTopologySpread") {
        let PluginArgs::PodTopologySpread(args) = profile.args("PodTopologySpread") else { return None };
        let is_empty_list = args.defaulting == crate::framework::args::Defaulting::List
            && args.default_constraints.is_empty();
        if !is_empty_list || !pod.spread_constraints.is_empty() {
            return None;
        }
    }
    let reads_labels = runs("InterPodAffinity")
        && !matches!(profile.args("InterPodAffinity"),
            PluginArgs::InterPodAffinity(args) if args.ignore_preferred_terms_of_existing_pods);
    let mut signed = PodInput { namespace: String::new(), priority: 0, controller: None, ..pod.clone() };
    if !reads_labels {
        signed.labels.clear();
    }
    Some(signed)
}
