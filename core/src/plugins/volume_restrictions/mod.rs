//! VolumeRestrictions: a claim for one pod is used by one pod, and some disks cannot be shared by
//! the pods of a node. Upstream: plugins/volumerestrictions/volume_restrictions.go.

#[cfg(test)]
mod cases;
#[cfg(test)]
mod hint_cases;
mod hints;
#[cfg(any(test, feature = "naive"))]
pub mod naive;

use std::sync::Arc;

use crate::class::PodClass;
use crate::framework::descriptor::{PluginDescriptor, no_args};
use crate::framework::plugin::{FilterPlugin, Plugin, PreFilter, Reads, SignPod};
use crate::framework::points::EnqueueExtensions;
use crate::framework::status::{Code, Reason};
use crate::plugins::helper::volume_texts::claim_not_found;
use crate::snapshot::mask::WORD_BITS;
use crate::world::World;

/// Upstream's name.
pub const NAME: &str = "VolumeRestrictions";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(0),
    default_args: no_args,
    factory: |_, _| Ok(Arc::new(VolumeRestrictions)),
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: cases::CASES,
};

const REASON_DISK: Reason = Reason::Text("node(s) had no available disk");
const REASON_ONE_POD: Reason = Reason::Text(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
);

/// Rejects nodes where a disk is taken, and all nodes while a claim for one pod is.
#[derive(Clone, Copy, Debug)]
pub struct VolumeRestrictions;

impl VolumeRestrictions {
    /// Whether a claim that only one pod may use is in use. All nodes are out then, but evicting
    /// its user helps. Each claim counts once, however many pods there are that use it; pods that
    /// are supposed, or supposed gone, count one by one.
    fn is_claim_taken(world: &World, class: &PodClass) -> bool {
        let storage = world.storage();
        let uses = class.volumes.named_claims().enumerate().map(|(at, name)| {
            let is_known = class.volumes.named_claims().take(at).any(|other| other == name);
            match storage.find_claim(class.namespace, name) {
                Some((id, claim)) if claim.is_for_one_pod && !is_known => {
                    i32::from(storage.is_claim_in_use(id)) + storage.supposed_uses(name)
                }
                _ => 0,
            }
        });
        uses.sum::<i32>() > 0
    }

    fn is_disk_taken(world: &World, class: &PodClass, row: usize) -> bool {
        let node = world.nodes().columns().id[row];
        class
            .volumes
            .disks
            .iter()
            .any(|disk| world.storage().conflicting_nodes(disk).any(|other| other == node))
    }
}

impl Plugin for VolumeRestrictions {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sign_pod(&self, _: &PodClass) -> SignPod {
        SignPod::Spec
    }

    fn plan_version(&self, world: &World, class: &PodClass) -> Option<u64> {
        if class.volumes.claims.is_empty() {
            return None;
        }
        let storage = world.storage();
        let uses = class.volumes.named_claims().filter_map(|name| {
            let (id, claim) = storage.find_claim(class.namespace, name)?;
            claim.is_for_one_pod.then(|| storage.claim_use_version(id))
        });
        // Neither number goes back, so the sum moves whenever one does.
        Some(storage.version() + uses.sum::<u64>())
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl FilterPlugin for VolumeRestrictions {
    /// Disks are the node's own; the use of claims moves the plan's version.
    fn reads(&self) -> Reads {
        Reads::NodeLocal
    }

    fn pre_filter<'a>(&self, world: &'a World, class: &'a PodClass) -> PreFilter<'a> {
        for name in class.volumes.named_claims() {
            if world.storage().find_claim(class.namespace, name).is_none() {
                let reason = claim_not_found(world.vocabulary.symbols.text(name));
                return PreFilter::Reject(Code::UnschedulableAndUnresolvable, reason);
            }
        }
        if class.volumes.disks.is_empty() && !Self::is_claim_taken(world, class) {
            PreFilter::Skip
        } else {
            PreFilter::Run
        }
    }

    fn filter(&self, world: &World, class: &PodClass, first_word: usize, words: &mut [u64]) {
        if Self::is_claim_taken(world, class) {
            return words.fill(0);
        }
        let nodes = world.nodes();
        for disk in &class.volumes.disks {
            for row in world.storage().conflicting_nodes(disk).filter_map(|node| nodes.row_of(node)) {
                let word = (row / WORD_BITS).checked_sub(first_word).and_then(|at| words.get_mut(at));
                if let Some(word) = word {
                    *word &= !(1 << (row % WORD_BITS));
                }
            }
        }
    }

    fn verdict(&self, world: &World, class: &PodClass, row: usize, reasons: &mut Vec<Reason>) -> Code {
        if Self::is_disk_taken(world, class, row) {
            reasons.push(REASON_DISK);
        } else if Self::is_claim_taken(world, class) {
            reasons.push(REASON_ONE_POD);
        } else {
            return Code::Success;
        }
        Code::Unschedulable
    }
}
