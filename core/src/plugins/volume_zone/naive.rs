//! VolumeZone: bound volumes with zone labels are used in their zones.
//!
//! Upstream: plugins/volumezone/volume_zone.go.

use super::NAME;
use crate::input::PodInput;
use crate::input::storage::BindingMode;
use crate::naive::bench::{BenchPod, claiming};
use crate::naive::plugin_twin::{Fakes, FilterTwin, PluginTwin, any_node, no_counts};
use crate::naive::storage::used_claims;
use crate::naive::{NaiveCluster, NaiveCode, NaiveNode, NaivePreFilter, NaiveVerdict};

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

/// The twin.
pub(super) const TWIN: PluginTwin = PluginTwin {
    filter: Some(FilterTwin {
        pre_filter: |asked| pre_filter(asked.cluster, asked.pod),
        count: no_counts,
        filter: |asked, _, node| filter(asked.cluster, asked.pod, node),
        benches: || vec![BenchPod::new("volume_zone", claiming("zonal")).rarely()],
    }),
    score: None,
    fakes: Fakes::NONE,
    bench_node: any_node,
};

const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";
const KEYS: [&str; 4] = [BETA_ZONE, BETA_REGION, ZONE, REGION];

/// Label keys of the pod's volumes, each with the values a node may have.
type Topologies = Vec<(&'static str, Vec<String>)>;

/// Pods without bound volumes in zones are not looked at. Claims must be bound, or wait for a pod.
#[must_use]
pub fn pre_filter(cluster: &NaiveCluster, pod: &PodInput) -> NaivePreFilter {
    match topologies(cluster, pod) {
        Err(reason) => {
            NaivePreFilter::Reject(NaiveVerdict::new(NAME, NaiveCode::UnschedulableAndUnresolvable, reason))
        }
        Ok(topologies) if topologies.is_empty() => NaivePreFilter::Skip,
        Ok(_) => NaivePreFilter::AllNodes,
    }
}

/// Rejects a node in another zone. A node without zone labels is in every zone.
#[must_use]
pub fn filter(cluster: &NaiveCluster, pod: &PodInput, node: &NaiveNode) -> Option<NaiveVerdict> {
    let labels = &node.input.labels;
    let topologies = match topologies(cluster, pod) {
        Err(reason) => return Some(NaiveVerdict::new(NAME, NaiveCode::UnschedulableAndUnresolvable, reason)),
        Ok(topologies) => topologies,
    };
    if KEYS.iter().all(|key| !labels.contains_key(*key)) {
        return None;
    }
    let fits = topologies.iter().all(|(key, values)| {
        let current = match *key {
            BETA_ZONE => ZONE,
            BETA_REGION => REGION,
            other => other,
        };
        let value = labels.get(*key).or_else(|| labels.get(current));
        value.is_some_and(|value| values.contains(value))
    });
    let reason = "node(s) had no available volume zone";
    (!fits).then(|| NaiveVerdict::new(NAME, NaiveCode::UnschedulableAndUnresolvable, reason))
}

fn topologies(cluster: &NaiveCluster, pod: &PodInput) -> Result<Topologies, String> {
    let storage = &cluster.storage;
    let mut topologies = Topologies::new();
    for used in used_claims(pod).iter().filter(|used| used.owner.is_none()) {
        if used.name.is_empty() {
            return Err("PersistentVolumeClaim had no name".to_owned());
        }
        let claim = storage
            .claim(&pod.namespace, &used.name)
            .ok_or_else(|| format!("persistentvolumeclaim {:?} not found", used.name))?;
        if claim.volume_name.is_empty() {
            let name = claim.class();
            if name.is_empty() {
                return Err("PersistentVolumeClaim had no pv name and storageClass name".to_owned());
            }
            let class = storage
                .class(name)
                .ok_or_else(|| format!("storageclass.storage.k8s.io {name:?} not found"))?;
            match class.binding_mode {
                None => return Err(format!("VolumeBindingMode not set for StorageClass {name:?}")),
                Some(BindingMode::WaitForFirstConsumer) => continue,
                Some(BindingMode::Immediate) => return Err("PersistentVolume had no name".to_owned()),
            }
        }
        let volume = storage
            .volume(&claim.volume_name)
            .ok_or_else(|| format!("persistentvolume {:?} not found", claim.volume_name))?;
        for key in KEYS {
            let Some(label) = volume.labels.get(key) else { continue };
            let values: Vec<String> = label.split("__").map(|zone| zone.trim().to_owned()).collect();
            // A label with an empty zone in it says nothing.
            if values.iter().all(|zone| !zone.is_empty()) {
                topologies.push((key, values));
            }
        }
    }
    Ok(topologies)
}
