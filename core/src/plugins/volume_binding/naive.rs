//! VolumeBinding: bound volumes are usable from the node, open claims get a volume there.
//!
//! Upstream: plugins/volumebinding, component-helpers/storage/volume. Differs as the fast plugin
//! does: what is an error upstream rejects the pod or the node. Of equal volumes the first by name
//! is taken, where upstream leaves it to luck.

use std::collections::BTreeMap;

use super::NAME;
use crate::framework::args::{PluginArgs, VolumeBindingArgs};
use crate::input::storage::{
    BindingMode, ClaimInput, PersistentVolumeInput, StorageCapacityInput, StorageClassInput,
};
use crate::input::{LabelSelectorInput, Labels, NodeInput, NodeSelectorTermInput, PodInput};
use crate::naive::bench::{BenchPod, claiming};
use crate::naive::plugin_twin::{
    Fakes, FilterTwin, PluginTwin, ScoreTwin, always_score, any_node, as_it_is, no_counts,
};
use crate::naive::storage::{ownership_error, used_claims};
use crate::naive::{NODE_SCORE_MAX, NaiveCluster, NaiveCode, NaiveNode, NaivePreFilter, NaiveVerdict};
use crate::plugins::node_affinity::naive::term_matches;
use crate::quantity::Quantity;
use crate::storage::csi::{InTreeVolumePlugin, in_tree_handle, translated_affinity};

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

/// The twin.
pub(super) const TWIN: PluginTwin = PluginTwin {
    filter: Some(FilterTwin {
        pre_filter: |asked| pre_filter(asked.cluster, asked.pod),
        count: no_counts,
        filter: |asked, _, node| filter(asked.cluster, asked.pod, node),
        benches: || {
            vec![
                BenchPod::new("volume_binding/wait_for_consumer", claiming("open")).rarely(),
                BenchPod::new("volume_binding/bound", claiming("bound")).rarely(),
            ]
        },
    }),
    score: Some(ScoreTwin {
        pre_score: always_score,
        score: |asked, _, node| score(asked.cluster, asked.pod, node),
        normalize: as_it_is,
        benches: || vec![BenchPod::new("volume_binding/wait_for_consumer", claiming("open"))],
    }),
    fakes: Fakes {
        node: |_, _| {},
        pod: |_, _| {},
        pending_pod: |_, _| {},
        args: |_| PluginArgs::VolumeBinding(VolumeBindingArgs::default()),
    },
    bench_node: any_node,
};

/// What a pod's claims get on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NaivePodVolumes<'a> {
    /// Open claims and the volumes they get.
    pub bindings: Vec<(&'a ClaimInput, &'a PersistentVolumeInput)>,
    /// Claims to be provisioned, each with the capacity it was checked against.
    pub provisions: Vec<(&'a ClaimInput, Option<&'a StorageCapacityInput>)>,
}

/// A pod's claims.
#[derive(Default)]
struct Claims<'a> {
    bound: Vec<&'a ClaimInput>,
    open: Vec<&'a ClaimInput>,
}

/// Pods without claims are not looked at. Claims must exist, be the pod's own, and be bound unless
/// they wait for a pod.
#[must_use]
pub fn pre_filter(cluster: &NaiveCluster, pod: &PodInput) -> NaivePreFilter {
    match claims(cluster, pod) {
        Err(reason) => {
            NaivePreFilter::Reject(NaiveVerdict::new(NAME, NaiveCode::UnschedulableAndUnresolvable, reason))
        }
        Ok(claims) if claims.bound.is_empty() && claims.open.is_empty() => NaivePreFilter::Skip,
        Ok(_) => NaivePreFilter::AllNodes,
    }
}

/// Rejects a node where a volume cannot be used or a claim cannot be satisfied.
#[must_use]
pub fn filter(cluster: &NaiveCluster, pod: &PodInput, node: &NaiveNode) -> Option<NaiveVerdict> {
    let reasons = match find(cluster, pod, node) {
        Ok(_) => return None,
        Err(reasons) => reasons,
    };
    Some(NaiveVerdict { plugin: NAME, code: NaiveCode::UnschedulableAndUnresolvable, reasons })
}

/// The emptier the storage is left, the better: 100 for nothing used, 0 for all. The pod's storage
/// classes weigh the same. Without claims, or without anything to compare, 0.
#[must_use]
pub fn score(cluster: &NaiveCluster, pod: &PodInput, node: &NaiveNode) -> i64 {
    let Ok(volumes) = find(cluster, pod, node) else { return 0 };
    let mut by_class: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for (claim, volume) in &volumes.bindings {
        let (requested, capacity) = by_class.entry(&volume.storage_class).or_default();
        *requested += size(claim).value();
        *capacity += volume.capacity.value();
    }
    if volumes.bindings.is_empty() {
        for (claim, capacity_object) in &volumes.provisions {
            let Some(object) = capacity_object else { continue };
            let (requested, capacity) = by_class.entry(claim.class()).or_default();
            *requested += size(claim).value();
            *capacity = object.capacity.map_or(0, Quantity::value);
        }
    }
    if by_class.is_empty() {
        return 0;
    }
    let scores = by_class.values().map(|&(requested, capacity)| {
        let full = capacity == 0 || requested > capacity;
        NODE_SCORE_MAX - if full { 100 } else { requested * 100 / capacity }
    });
    let average = scores.sum::<i64>() as f64 / by_class.len() as f64;
    average.round() as i64
}

/// What the pod's claims get on the node, or why they get nothing.
pub fn find<'a>(
    cluster: &'a NaiveCluster,
    pod: &PodInput,
    node: &NaiveNode,
) -> Result<NaivePodVolumes<'a>, Vec<String>> {
    let claims = claims(cluster, pod).map_err(|reason| vec![reason])?;
    let mut reasons = Vec::new();
    let bound_problem = claims.bound.iter().find_map(|claim| {
        let Some(volume) = cluster.storage.volume(&claim.volume_name) else {
            return Some("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");
        };
        let fits = is_usable(cluster, volume, node);
        (!fits).then_some("node(s) didn't match PersistentVolume's node affinity")
    });
    reasons.extend(bound_problem.map(str::to_owned));
    match find_open(cluster, &claims.open, node) {
        Ok(volumes) if reasons.is_empty() => Ok(volumes),
        Ok(_) => Err(reasons),
        Err(reason) => {
            reasons.push(reason.to_owned());
            Err(reasons)
        }
    }
}

fn find_open<'a>(
    cluster: &'a NaiveCluster,
    open: &[&'a ClaimInput],
    node: &NaiveNode,
) -> Result<NaivePodVolumes<'a>, &'static str> {
    const NOTHING: &str = "node(s) didn't find available persistent volumes to bind";
    let mut volumes = NaivePodVolumes::default();
    let (selected, mut to_match): (Vec<&ClaimInput>, Vec<&ClaimInput>) =
        open.iter().partition(|claim| claim.selected_node.is_some());
    if selected.iter().any(|claim| claim.selected_node.as_ref() != Some(&node.input.name)) {
        return Err(NOTHING);
    }
    let mut to_provision = selected;
    to_match.sort_by_key(|claim| size(claim));
    for claim in to_match {
        let taken: Vec<&str> = volumes.bindings.iter().map(|(_, volume)| volume.name.as_str()).collect();
        match find_match(cluster, claim, &taken, &node.input.labels) {
            Some(volume) => volumes.bindings.push((claim, volume)),
            None => to_provision.push(claim),
        }
    }
    for claim in to_provision {
        let class = cluster.storage.class(claim.class()).ok_or(NOTHING)?;
        let no_provisioner = ["", "kubernetes.io/no-provisioner"].contains(&class.provisioner.as_str());
        if no_provisioner || !is_allowed(class, &node.input.labels) {
            return Err(NOTHING);
        }
        let capacity = find_capacity(cluster, class, claim, &node.input.labels)?;
        volumes.provisions.push((claim, capacity));
    }
    Ok(volumes)
}

fn claims<'a>(cluster: &'a NaiveCluster, pod: &PodInput) -> Result<Claims<'a>, String> {
    let storage = &cluster.storage;
    let mut found = Vec::new();
    for used in used_claims(pod) {
        let name = &used.name;
        let claim = storage.claim(&pod.namespace, name).ok_or_else(|| match used.owner {
            Some(_) => {
                format!(
                    "waiting for ephemeral volume controller to create the persistentvolumeclaim {name:?}"
                )
            }
            None => format!("persistentvolumeclaim {name:?} not found"),
        })?;
        if claim.is_lost {
            let volume = &claim.volume_name;
            return Err(format!(
                "persistentvolumeclaim {name:?} bound to non-existent persistentvolume {volume:?}"
            ));
        }
        if claim.is_terminating {
            return Err(format!("persistentvolumeclaim {name:?} is being deleted"));
        }
        if let Some(error) = ownership_error(pod, &used, claim) {
            return Err(error);
        }
        found.push(claim);
    }
    let mut claims = Claims::default();
    let mut has_immediate = false;
    for claim in found {
        if claim.is_fully_bound() {
            claims.bound.push(claim);
            continue;
        }
        let mode = match storage.class(claim.class()) {
            None => BindingMode::Immediate,
            Some(class) => class
                .binding_mode
                .ok_or_else(|| format!("VolumeBindingMode not set for StorageClass {:?}", claim.class()))?,
        };
        if mode == BindingMode::WaitForFirstConsumer && claim.volume_name.is_empty() {
            claims.open.push(claim);
        } else {
            has_immediate = true;
        }
    }
    if has_immediate {
        return Err("pod has unbound immediate PersistentVolumeClaims".to_owned());
    }
    Ok(claims)
}

fn size(claim: &ClaimInput) -> Quantity {
    claim.request.unwrap_or(Quantity::ZERO)
}

/// A bound volume's node affinity, in the CSI driver's form where the plugin is migrated.
fn is_usable(cluster: &NaiveCluster, volume: &PersistentVolumeInput, node: &NaiveNode) -> bool {
    let csi_node = cluster.storage.csi_node(&node.input.name);
    let is_migrated = |plugin: &InTreeVolumePlugin| {
        csi_node.is_some_and(|it| it.migrated_plugins.iter().any(|name| name == plugin.name()))
    };
    match InTreeVolumePlugin::of_volume(volume).filter(is_migrated) {
        None => has_affinity(volume.node_affinity.as_deref(), &node.input.labels),
        Some(plugin) => {
            in_tree_handle(volume).is_some_and(|handle| handle.is_ok())
                && has_affinity(translated_affinity(volume, plugin).as_deref(), &node.input.labels)
        }
    }
}

/// Whether labels match a volume's terms. Field requirements do not count without a node's name.
fn has_affinity(terms: Option<&[NodeSelectorTermInput]>, labels: &Labels) -> bool {
    terms.is_none_or(|terms| terms.iter().any(|term| matches_labels(term, labels)))
}

fn matches_labels(term: &NodeSelectorTermInput, labels: &Labels) -> bool {
    term_matches(term, &NodeInput { labels: labels.clone(), ..NodeInput::default() })
}

fn is_allowed(class: &StorageClassInput, labels: &Labels) -> bool {
    let terms = &class.allowed_topologies;
    terms.is_empty() || terms.iter().any(|term| matches_labels(term, labels))
}

/// The volume that is kept for the claim, or else the smallest that will do.
fn find_match<'a>(
    cluster: &'a NaiveCluster,
    claim: &ClaimInput,
    taken: &[&str],
    labels: &Labels,
) -> Option<&'a PersistentVolumeInput> {
    let is_for_claim = |volume: &PersistentVolumeInput| {
        volume.claim_ref.as_ref().is_some_and(|it| {
            it.name == claim.name
                && it.namespace == claim.namespace
                && (it.uid.is_empty() || it.uid == claim.uid)
        })
    };
    let mut usable: Vec<&PersistentVolumeInput> = cluster
        .storage
        .volumes()
        .filter(|it| it.class() == claim.class() && !taken.contains(&it.name.as_str()))
        .filter(|it| it.claim_ref.is_none() || is_for_claim(it))
        .filter(|it| it.capacity >= size(claim) && it.is_block == claim.is_block)
        .filter(|it| it.attributes_class == claim.attributes_class && !it.is_terminating)
        .collect();
    usable.sort_by_key(|it| it.capacity);
    if let Some(kept) = usable.iter().find(|it| is_for_claim(it)) {
        return has_affinity(kept.node_affinity.as_deref(), labels).then_some(kept);
    }
    usable.into_iter().find(|it| {
        it.is_available
            && claim.selector.as_ref().is_none_or(|selector| selects(selector, &it.labels))
            && has_affinity(it.node_affinity.as_deref(), labels)
            && claim.access_modes.iter().all(|mode| it.access_modes.contains(mode))
    })
}

/// A label selector. One that does not parse selects nothing; an empty one selects all.
fn selects(selector: &LabelSelectorInput, labels: &Labels) -> bool {
    let known = ["In", "NotIn", "Exists", "DoesNotExist"];
    let term = NodeSelectorTermInput {
        match_expressions: selector.match_expressions.clone(),
        match_fields: Vec::new(),
    };
    selector.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
        && selector.match_expressions.iter().all(|it| known.contains(&it.operator.as_str()))
        && (term.match_expressions.is_empty() || matches_labels(&term, labels))
}

/// The first capacity in reach that is large enough; none is needed if the driver publishes none.
fn find_capacity<'a>(
    cluster: &'a NaiveCluster,
    class: &StorageClassInput,
    claim: &ClaimInput,
    labels: &Labels,
) -> Result<Option<&'a StorageCapacityInput>, &'static str> {
    let storage = &cluster.storage;
    let publishes = storage.drivers().any(|it| it.name == class.provisioner && it.has_storage_capacity);
    let Some(wanted) = claim.request.filter(|_| publishes) else { return Ok(None) };
    let found = storage.capacities().find(|it| {
        let largest = it.maximum_volume_size.or(it.capacity);
        it.storage_class == class.name
            && largest.is_some_and(|largest| largest.value() >= wanted.value())
            && it.node_topology.as_ref().is_some_and(|topology| selects(topology, labels))
    });
    found.map(Some).ok_or("node(s) did not have enough free storage")
}
