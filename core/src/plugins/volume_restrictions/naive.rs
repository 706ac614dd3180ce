//! VolumeRestrictions: claims for one pod, and disks that cannot be shared.
//!
//! Upstream: plugins/volumerestrictions/volume_restrictions.go.

use std::collections::BTreeSet;

use super::NAME;
use crate::input::{NodeInput, PodInput, VolumeInput, VolumeSourceInput};
use crate::naive::bench::{BenchPod, requesting};
use crate::naive::plugin_twin::{Fakes, FilterTwin, NaiveCounted, NaivePodCounts, PluginTwin, any_node};
use crate::naive::storage::used_claims;
use crate::naive::{NaiveCluster, NaiveCode, NaiveNode, NaivePod, NaivePreFilter, NaiveVerdict};

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

/// The twin.
pub(super) const TWIN: PluginTwin = PluginTwin {
    filter: Some(FilterTwin {
        pre_filter: |asked| pre_filter(asked.cluster, asked.pod),
        count: |asked| NaiveCounted::of(Some(claim_uses(asked.cluster, asked.pod))),
        filter: |asked, counted, node| filter(counted.get()?, asked.pod, node),
        benches: || {
            let pd_name = "disk-1".to_owned();
            let source = VolumeSourceInput::GcePersistentDisk { pd_name, read_only: false };
            let volumes = vec![VolumeInput { name: "disk".to_owned(), source }];
            vec![BenchPod::new("volume_restrictions", PodInput { volumes, ..requesting("100m", "200Mi") })]
        },
    }),
    score: None,
    fakes: Fakes::NONE,
    bench_node: any_node,
};

impl NaivePodCounts for ClaimUses {
    fn add_pod(&mut self, _: &PodInput, added: &NaivePod, _: &NodeInput) {
        ClaimUses::add_pod(self, added);
    }

    fn remove_pod(&mut self, _: &PodInput, removed: &NaivePod, _: &NodeInput) {
        ClaimUses::remove_pod(self, removed);
    }

    fn boxed(&self) -> Box<dyn NaivePodCounts> {
        Box::new(self.clone())
    }
}

/// How often the pod's claims for one pod are in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimUses {
    names: BTreeSet<String>,
    count: i64,
}

impl ClaimUses {
    /// Counts a pod that is thought to be placed. Upstream looks at the claims' names only, so a
    /// pod of another namespace counts too.
    pub fn add_pod(&mut self, pod: &PodInput) {
        self.count += self.uses_by(pod);
    }

    /// Counts a pod that is thought to be gone.
    pub fn remove_pod(&mut self, pod: &PodInput) {
        self.count -= self.uses_by(pod);
    }

    fn uses_by(&self, pod: &PodInput) -> i64 {
        named_claims(pod).iter().filter(|name| self.names.contains(*name)).count() as i64
    }
}

/// Counts each claim once that a placed pod uses, however many do.
#[must_use]
pub fn claim_uses(cluster: &NaiveCluster, pod: &PodInput) -> ClaimUses {
    let is_for_one_pod = |name: &String| {
        cluster.storage.claim(&pod.namespace, name).is_some_and(|claim| claim.is_for_one_pod())
    };
    let names: BTreeSet<String> = named_claims(pod).into_iter().filter(is_for_one_pod).collect();
    let placed = cluster.nodes.iter().flat_map(|node| &node.pods);
    let taken: Vec<String> = placed
        .filter(|other| other.namespace == pod.namespace)
        .flat_map(|other| named_claims(other))
        .collect();
    let count = names.iter().filter(|name| taken.contains(name)).count() as i64;
    ClaimUses { names, count }
}

/// Pods without disks, whose claims are free, are not looked at. A claim must exist.
#[must_use]
pub fn pre_filter(cluster: &NaiveCluster, pod: &PodInput) -> NaivePreFilter {
    for name in named_claims(pod) {
        if cluster.storage.claim(&pod.namespace, &name).is_none() {
            let reason = format!("persistentvolumeclaim {name:?} not found");
            return NaivePreFilter::Reject(NaiveVerdict::new(
                NAME,
                NaiveCode::UnschedulableAndUnresolvable,
                reason,
            ));
        }
    }
    let has_disks = pod.volumes.iter().any(|volume| is_disk(&volume.source));
    if has_disks || claim_uses(cluster, pod).count > 0 {
        NaivePreFilter::AllNodes
    } else {
        NaivePreFilter::Skip
    }
}

/// Rejects a node with a disk in use, and every node while a claim is.
#[must_use]
pub fn filter(claims: &ClaimUses, pod: &PodInput, node: &NaiveNode) -> Option<NaiveVerdict> {
    let on_node: Vec<&VolumeSourceInput> =
        node.pods.iter().flat_map(|other| &other.volumes).map(|volume| &volume.source).collect();
    let is_disk_taken =
        pod.volumes.iter().any(|volume| on_node.iter().any(|other| conflicts(&volume.source, other)));
    if is_disk_taken {
        return Some(NaiveVerdict::new(NAME, NaiveCode::Unschedulable, "node(s) had no available disk"));
    }
    let reason = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode \
                  already in-use by another pod";
    (claims.count > 0).then(|| NaiveVerdict::new(NAME, NaiveCode::Unschedulable, reason))
}

/// Claims that the pod's volumes name, as often as they do.
fn named_claims(pod: &PodInput) -> Vec<String> {
    let claims = used_claims(pod).into_iter().filter(|used| used.owner.is_none());
    claims.map(|used| used.name).collect()
}

fn is_disk(source: &VolumeSourceInput) -> bool {
    use VolumeSourceInput as Source;
    matches!(
        source,
        Source::GcePersistentDisk { .. }
            | Source::AwsElasticBlockStore { .. }
            | Source::Iscsi { .. }
            | Source::Rbd { .. }
    )
}

fn conflicts(one: &VolumeSourceInput, other: &VolumeSourceInput) -> bool {
    use VolumeSourceInput as Source;
    match (one, other) {
        (
            Source::GcePersistentDisk { pd_name: a, read_only: reads },
            Source::GcePersistentDisk { pd_name: b, read_only: other_reads },
        ) => a == b && !(*reads && *other_reads),
        (
            Source::AwsElasticBlockStore { volume_id: a, .. },
            Source::AwsElasticBlockStore { volume_id: b, .. },
        ) => a == b,
        (
            Source::Iscsi { iqn: a, read_only: reads, .. },
            Source::Iscsi { iqn: b, read_only: other_reads, .. },
        ) => a == b && !(*reads && *other_reads),
        (
            Source::Rbd { monitors, pool, image, read_only: reads },
            Source::Rbd {
                monitors: other_monitors,
                pool: other_pool,
                image: other_image,
                read_only: other_reads,
            },
        ) => {
            monitors.iter().any(|monitor| other_monitors.contains(monitor))
                && pool == other_pool
                && image == other_image
                && !(*reads && *other_reads)
        }
        _ => false,
    }
}
