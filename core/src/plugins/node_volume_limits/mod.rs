//! NodeVolumeLimits: a node attaches so many volumes of a CSI driver and no more.
//! Upstream: plugins/nodevolumelimits/csi.go.
//!
//! Differs: where upstream ends the cycle with an error (a claim without a name or with another
//! owner, an inline volume that cannot be translated), the node is rejected with the error's text.
//! Volumes of placed pods with such an error do not count
//! (`pvcs_must_exist_and_be_owned_by_the_pod_if_ephemeral`, `limit_cases`).

#[cfg(test)]
mod cases;
#[cfg(test)]
mod hint_cases;
mod hints;
#[cfg(any(test, feature = "naive"))]
pub mod naive;

use std::sync::Arc;

use crate::class::PodClass;
use crate::class::volumes::InlineVolume;
use crate::framework::descriptor::{PluginDescriptor, no_args};
use crate::framework::plugin::{FilterPlugin, Plugin, PreFilter, Reads, SignPod, retain_rows};
use crate::framework::points::EnqueueExtensions;
use crate::framework::status::{Code, Reason};
use crate::ids::NodeId;
use crate::interner::EMPTY;
use crate::plugins::helper::volume_texts::{driver_missing, lookup_failed, not_owned};
use crate::storage::objects::Attachable;
use crate::storage::{CsiVolume, Storage};
use crate::world::World;

/// Upstream's name.
pub const NAME: &str = "NodeVolumeLimits";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(0),
    default_args: no_args,
    factory: |_, _| Ok(Arc::new(NodeVolumeLimits)),
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: cases::CASES,
};

const REASON: Reason = Reason::Text("node(s) exceed max volume count");

/// Counts CSI volumes against the limits of CSINodes.
#[derive(Clone, Copy, Debug)]
pub struct NodeVolumeLimits;

/// A volume of the pod that is to be attached.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NewVolume {
    Volume(Attachable),
    /// On a node with a CSINode, this is wrong with it.
    Broken(Reason),
}

/// The CSI volumes of a pod, each once, in the order of `spec.volumes` (claims before inline
/// volumes), or why no node will do.
fn new_volumes(world: &World, class: &PodClass) -> Result<Vec<NewVolume>, Reason> {
    let storage = world.storage();
    let text = |symbol| world.vocabulary.symbols.text(symbol);
    let mut volumes: Vec<NewVolume> = Vec::new();
    let mut add = |volume: NewVolume| {
        if !volumes.contains(&volume) {
            volumes.push(volume);
        }
    };
    for claim in &class.volumes.claims {
        if claim.name == EMPTY {
            return Err(Reason::Text("PersistentVolumeClaim had no name"));
        }
        let (id, object) = storage
            .find_claim(class.namespace, claim.name)
            .ok_or_else(|| lookup_failed(text(class.namespace), text(claim.name)))?;
        if let Some(owner) = &claim.owner
            && object.controller_uid != Some(owner.pod_uid)
        {
            return Err(not_owned(text(class.namespace), text(claim.name), text(owner.pod_name)));
        }
        if let Some(attachable) = storage.claim_attachable(id) {
            add(NewVolume::Volume(attachable));
        }
    }
    for volume in &class.volumes.inline {
        add(match volume {
            &InlineVolume::Translated(driver, handle) => {
                NewVolume::Volume(Attachable { volume: CsiVolume { driver, handle }, is_migrated: true })
            }
            InlineVolume::Untranslatable(why) => NewVolume::Broken(Reason::Owned(why.as_ref().into())),
        });
    }
    Ok(volumes)
}

/// Volumes of a pod beyond those on the node, for the limits of one node.
struct OnNode<'a> {
    storage: &'a Storage,
    node: NodeId,
    volumes: &'a [NewVolume],
}

impl OnNode<'_> {
    /// Volumes that are CSI volumes on this node.
    fn attachables(&self) -> impl Iterator<Item = CsiVolume> + '_ {
        let has_csi_node = self.storage.csi_node(self.node).is_some();
        self.volumes.iter().filter_map(move |volume| match volume {
            NewVolume::Volume(it) => (has_csi_node || !it.is_migrated).then_some(it.volume),
            NewVolume::Broken(_) => None,
        })
    }

    fn broken(&self) -> Option<&Reason> {
        self.storage.csi_node(self.node)?;
        self.volumes.iter().find_map(|volume| match volume {
            NewVolume::Broken(reason) => Some(reason),
            NewVolume::Volume(_) => None,
        })
    }

    /// A driver of the pod's volumes that must be on the node and is not.
    fn missing_driver(&self) -> Option<crate::ids::Symbol> {
        let is_installed = |driver| {
            let csi_node = self.storage.csi_node(self.node);
            csi_node.is_some_and(|it| it.drivers.iter().any(|(name, _)| *name == driver))
        };
        self.attachables().map(|volume| volume.driver).find(|&driver| {
            self.storage.driver(driver).is_some_and(|it| it.is_required_on_node) && !is_installed(driver)
        })
    }

    fn exceeds_a_limit(&self) -> bool {
        let Some(csi_node) = self.storage.csi_node(self.node).filter(|it| it.has_limits()) else {
            return false;
        };
        let is_new = |volume: &CsiVolume| !self.storage.is_used_by_pods(*volume, self.node);
        self.attachables().filter(is_new).any(|volume| {
            let Some(limit) = csi_node.limit(volume.driver) else { return false };
            let added = self.attachables().filter(is_new).filter(|it| it.driver == volume.driver).count();
            let attached = self.storage.volume_count(self.node, volume.driver);
            i64::from(attached) + i64::try_from(added).expect("few volumes") > limit
        })
    }

    fn fits(&self) -> bool {
        self.broken().is_none() && self.missing_driver().is_none() && !self.exceeds_a_limit()
    }
}

/// CSI volumes of drivers that have a limit on a row: attached, those the pod adds, and the sum of
/// the limits. `None` when no driver has one.
pub(super) fn volume_load(world: &World, class: &PodClass, row: usize) -> Option<(i64, i64, i64)> {
    let (storage, node) = (world.storage(), world.nodes().columns().id[row]);
    let csi_node = storage.csi_node(node).filter(|it| it.has_limits())?;
    let volumes = new_volumes(world, class).unwrap_or_default();
    let on_node = OnNode { storage, node, volumes: &volumes };
    let is_added =
        |it: &CsiVolume| csi_node.limit(it.driver).is_some() && !storage.is_used_by_pods(*it, node);
    let added = on_node.attachables().filter(is_added).count();
    let mut seen: Vec<crate::ids::Symbol> = Vec::new();
    let (mut attached, mut limits) = (0, 0);
    for &(driver, _) in &csi_node.drivers {
        let Some(limit) = csi_node.limit(driver).filter(|_| !seen.contains(&driver)) else { continue };
        seen.push(driver);
        attached += i64::from(storage.volume_count(node, driver));
        limits += limit;
    }
    Some((attached, i64::try_from(added).expect("few volumes"), limits))
}

impl Plugin for NodeVolumeLimits {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sign_pod(&self, _: &PodClass) -> SignPod {
        SignPod::Spec
    }

    fn plan_version(&self, world: &World, class: &PodClass) -> Option<u64> {
        class.volumes.may_count.then(|| world.storage().version())
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl FilterPlugin for NodeVolumeLimits {
    /// What else it depends on moves the plan's version.
    fn reads(&self) -> Reads {
        Reads::NodeLocal
    }

    fn pre_filter<'a>(&self, _: &'a World, class: &'a PodClass) -> PreFilter<'a> {
        if class.volumes.may_count { PreFilter::Run } else { PreFilter::Skip }
    }

    fn filter(&self, world: &World, class: &PodClass, first_word: usize, words: &mut [u64]) {
        let Ok(volumes) = new_volumes(world, class) else { return words.fill(0) };
        if volumes.is_empty() {
            return;
        }
        let (storage, ids) = (world.storage(), &world.nodes().columns().id);
        retain_rows(first_word, words, |row| OnNode { storage, node: ids[row], volumes: &volumes }.fits());
    }

    fn verdict(&self, world: &World, class: &PodClass, row: usize, reasons: &mut Vec<Reason>) -> Code {
        let volumes = match new_volumes(world, class) {
            Ok(volumes) => volumes,
            Err(reason) => {
                reasons.push(reason);
                return Code::UnschedulableAndUnresolvable;
            }
        };
        let node = world.nodes().columns().id[row];
        let on_node = OnNode { storage: world.storage(), node, volumes: &volumes };
        if let Some(reason) = on_node.broken() {
            reasons.push(reason.clone());
            return Code::UnschedulableAndUnresolvable;
        }
        if let Some(driver) = on_node.missing_driver() {
            reasons.push(driver_missing(world.vocabulary.symbols.text(driver)));
        } else if on_node.exceeds_a_limit() {
            reasons.push(REASON);
        } else {
            return Code::Success;
        }
        Code::Unschedulable
    }
}
