//! NodeVolumeLimits: volumes of a CSI driver on a node are counted against its limit.
//!
//! Upstream: plugins/nodevolumelimits/csi.go. Differs as the fast plugin does: what is an error
//! upstream rejects the node; volumes of placed pods with an error do not count.

use std::collections::{BTreeMap, BTreeSet};

use super::NAME;
use crate::input::storage::{ClaimInput, PersistentVolumeSourceInput};
use crate::input::{PodInput, VolumeSourceInput};
use crate::naive::bench::{BenchPod, claiming};
use crate::naive::plugin_twin::{Fakes, FilterTwin, PluginTwin, any_node, no_counts};
use crate::naive::storage::{UsedClaim, ownership_error, used_claims};
use crate::naive::{NaiveCluster, NaiveCode, NaiveNode, NaivePreFilter, NaiveVerdict};
use crate::storage::csi::{
    InTreeVolumePlugin, Provisioner, ebs_handle, gce_inline_handle, in_tree_handle, provisioner,
};

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

/// The twin.
pub(super) const TWIN: PluginTwin = PluginTwin {
    filter: Some(FilterTwin {
        pre_filter: |asked| pre_filter(asked.pod),
        count: no_counts,
        filter: |asked, _, node| filter(asked.cluster, asked.pod, node),
        benches: || vec![BenchPod::new("node_volume_limits", claiming("attached")).rarely()],
    }),
    score: None,
    fakes: Fakes::NONE,
    bench_node: any_node,
};

/// Driver and handle.
type CsiVolume = (String, String);

/// Pods whose volumes cannot be CSI volumes are not looked at.
#[must_use]
pub fn pre_filter(pod: &PodInput) -> NaivePreFilter {
    use VolumeSourceInput as Source;
    let may_count = pod.volumes.iter().any(|volume| {
        !matches!(
            volume.source,
            Source::Image { .. } | Source::Csi { .. } | Source::Iscsi { .. } | Source::Rbd { .. }
        )
    });
    if may_count { NaivePreFilter::AllNodes } else { NaivePreFilter::Skip }
}

/// Rejects a node that lacks a driver it must have, or that would have too many volumes.
#[must_use]
pub fn filter(cluster: &NaiveCluster, pod: &PodInput, node: &NaiveNode) -> Option<NaiveVerdict> {
    let storage = &cluster.storage;
    let csi_node = storage.csi_node(&node.input.name);
    let added = match new_volumes(cluster, pod, csi_node.is_some()) {
        Ok(volumes) => volumes,
        Err(reason) => return Some(NaiveVerdict::new(NAME, NaiveCode::UnschedulableAndUnresolvable, reason)),
    };
    for (driver, _) in &added {
        let must_be_there = storage.drivers().any(|it| it.name == *driver && it.is_required_on_node);
        let is_there = csi_node.is_some_and(|it| it.drivers.iter().any(|(name, _)| name == driver));
        if must_be_there && !is_there {
            let reason = format!("{driver} CSI driver is not installed on the node");
            return Some(NaiveVerdict::new(NAME, NaiveCode::Unschedulable, reason));
        }
    }
    let limits: BTreeMap<&String, i32> = csi_node
        .iter()
        .flat_map(|it| &it.drivers)
        .filter_map(|(driver, limit)| Some((driver, (*limit)?)))
        .collect();
    if limits.is_empty() {
        return None;
    }
    let (by_pods, attached) = volumes_on(cluster, node);
    let added: Vec<&CsiVolume> = added.iter().filter(|volume| !by_pods.contains(*volume)).collect();
    let exceeds = added.iter().any(|(driver, _)| {
        let of_driver = |volume: &&CsiVolume| volume.0 == *driver;
        let count =
            attached.iter().filter(of_driver).count() + added.iter().copied().filter(of_driver).count();
        limits.get(driver).is_some_and(|&limit| count as i64 > i64::from(limit))
    });
    exceeds.then(|| NaiveVerdict::new(NAME, NaiveCode::Unschedulable, "node(s) exceed max volume count"))
}

/// CSI volumes of limited drivers on a node: attached, those the pod adds, and the sum of limits.
#[must_use]
pub fn volume_load(cluster: &NaiveCluster, pod: &PodInput, node: &NaiveNode) -> Option<(i64, i64, i64)> {
    let csi_node = cluster.storage.csi_node(&node.input.name)?;
    let limits: BTreeMap<&String, i32> =
        csi_node.drivers.iter().filter_map(|(driver, limit)| Some((driver, (*limit)?))).collect();
    if limits.is_empty() {
        return None;
    }
    let (by_pods, attached) = volumes_on(cluster, node);
    let mut added = new_volumes(cluster, pod, true).unwrap_or_default();
    added.retain(|volume| !by_pods.contains(volume));
    let is_limited = |volume: &&CsiVolume| limits.contains_key(&volume.0);
    let count = |volumes: usize| volumes as i64;
    Some((
        count(attached.iter().filter(is_limited).count()),
        count(added.iter().filter(is_limited).count()),
        limits.values().map(|&limit| i64::from(limit)).sum(),
    ))
}

/// CSI volumes that pods of the node use, and those together with attached ones.
fn volumes_on(cluster: &NaiveCluster, node: &NaiveNode) -> (BTreeSet<CsiVolume>, BTreeSet<CsiVolume>) {
    let storage = &cluster.storage;
    let by_pods: BTreeSet<CsiVolume> =
        node.pods.iter().flat_map(|other| placed_volumes(cluster, other)).collect();
    let mut attached = by_pods.clone();
    for attachment in storage.attachments().filter(|it| it.node_name == node.input.name) {
        let volume = attachment.volume_name.as_ref().and_then(|name| storage.volume(name));
        if let Some(PersistentVolumeSourceInput::Csi { handle, driver }) = volume.map(|it| &it.source)
            && !attachment.attacher.is_empty()
            && !handle.is_empty()
            && !driver.is_empty()
        {
            attached.insert((attachment.attacher.clone(), handle.clone()));
        }
    }
    (by_pods, attached)
}

/// The pod's CSI volumes on a node with or without a CSINode: claims first, each once.
fn new_volumes(cluster: &NaiveCluster, pod: &PodInput, has_csi_node: bool) -> Result<Vec<CsiVolume>, String> {
    let mut volumes: Vec<CsiVolume> = Vec::new();
    for used in used_claims(pod) {
        let (namespace, name) = (&pod.namespace, &used.name);
        if name.is_empty() {
            return Err("PersistentVolumeClaim had no name".to_owned());
        }
        let claim = cluster.storage.claim(namespace, name).ok_or_else(|| {
            format!("looking up PVC {namespace}/{name}: persistentvolumeclaim {name:?} not found")
        })?;
        if let Some(error) = ownership_error(pod, &used, claim) {
            return Err(error);
        }
        volumes.extend(volume_of_claim(cluster, claim, has_csi_node));
    }
    if has_csi_node {
        for volume in &pod.volumes {
            let translated = inline_volume(&volume.source).transpose();
            volumes
                .extend(translated.map_err(|why| {
                    format!("converting volume({}) from inline to csi: {why}", volume.name)
                })?);
        }
    }
    let mut seen = BTreeSet::new();
    volumes.retain(|volume| seen.insert(volume.clone()));
    Ok(volumes)
}

/// CSI volumes of a pod on a node with a CSINode.
fn placed_volumes(cluster: &NaiveCluster, pod: &PodInput) -> Vec<CsiVolume> {
    let claim = |used: &UsedClaim| cluster.storage.claim(&pod.namespace, &used.name);
    let used = used_claims(pod);
    let of_claims = used.iter().filter_map(|used| volume_of_claim(cluster, claim(used)?, true));
    let inline = pod.volumes.iter().filter_map(|volume| inline_volume(&volume.source)?.ok());
    of_claims.chain(inline).collect()
}

/// What a claim counts as: its volume, or a stand-in of its class' driver.
fn volume_of_claim(cluster: &NaiveCluster, claim: &ClaimInput, has_csi_node: bool) -> Option<CsiVolume> {
    let storage = &cluster.storage;
    let volume = match claim.volume_name.as_str() {
        "" => None,
        name => storage.volume(name),
    };
    let (driver, handle) = match volume {
        Some(volume) => match &volume.source {
            PersistentVolumeSourceInput::Csi { driver, handle } => (driver.clone(), handle.clone()),
            _ => {
                let plugin = InTreeVolumePlugin::of_volume(volume).filter(|_| has_csi_node)?;
                (plugin.driver().to_owned(), in_tree_handle(volume)?.ok()?)
            }
        },
        None => {
            let class = storage.class(claim.class()).filter(|class| !class.name.is_empty())?;
            let driver = match provisioner(&class.provisioner) {
                Provisioner::Driver(driver) => driver,
                Provisioner::InTree(plugin) if has_csi_node => plugin.driver(),
                Provisioner::InTree(_) | Provisioner::NotMigrated => return None,
            };
            (driver.to_owned(), format!("claim {}/{}", claim.namespace, claim.name))
        }
    };
    (!driver.is_empty() && !handle.is_empty()).then_some((driver, handle))
}

/// A volume in the pod itself that a CSI driver takes over.
fn inline_volume(source: &VolumeSourceInput) -> Option<Result<CsiVolume, String>> {
    let (plugin, handle) = match source {
        VolumeSourceInput::GcePersistentDisk { pd_name, .. } => {
            (InTreeVolumePlugin::GcePersistentDisk, Ok(gce_inline_handle(pd_name)))
        }
        VolumeSourceInput::AwsElasticBlockStore { volume_id, .. } => {
            (InTreeVolumePlugin::AwsElasticBlockStore, ebs_handle(volume_id))
        }
        VolumeSourceInput::InTree { kind, id } => match kind.as_str() {
            "azureDisk" => (InTreeVolumePlugin::AzureDisk, Ok(id.clone())),
            "cinder" => (InTreeVolumePlugin::Cinder, Ok(id.clone())),
            "portworxVolume" => (InTreeVolumePlugin::Portworx, Ok(id.clone())),
            other => {
                let kind = other.strip_prefix("azureDisk/")?;
                let why = format!("kind({kind}) is not supported in csi migration");
                (InTreeVolumePlugin::AzureDisk, Err(why))
            }
        },
        _ => return None,
    };
    Some(handle.map(|handle| (plugin.driver().to_owned(), handle)))
}
