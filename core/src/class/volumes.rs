//! The volumes of a pod, as the volume plugins look at them.

use crate::ids::Symbol;
use crate::input::{PodInput, VolumeSourceInput};
use crate::interner::Vocabulary;
use crate::storage::csi::{InTreeVolumePlugin, ebs_handle, gce_inline_handle};

/// A claim that a pod uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodClaim {
    /// The claim's name, in the pod's namespace.
    pub name: Symbol,
    /// For a claim made from a template in the pod: the pod that must own it.
    pub owner: Option<ClaimOwner>,
}

/// The pod that an ephemeral volume's claim belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimOwner {
    /// The pod's name.
    pub pod_name: Symbol,
    /// The pod's UID.
    pub pod_uid: Symbol,
}

/// An in-tree volume in the pod itself that a CSI driver handles on nodes that have one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InlineVolume {
    /// Driver and handle.
    Translated(Symbol, Symbol),
    /// It cannot be translated; the text says why.
    Untranslatable(Box<str>),
}

/// A disk that not every pair of pods may share on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// What must be equal for two disks to be the same.
    pub key: DiskKey,
    /// Monitors of a Ceph cluster, of which two disks must share one; empty for other kinds.
    pub monitors: Box<[Symbol]>,
    /// Two readers do not disturb each other. Never set for EBS volumes.
    pub is_shareable: bool,
}

/// What tells disks apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum DiskKey {
    Gce { pd_name: Symbol },
    Ebs { volume_id: Symbol },
    Iscsi { iqn: Symbol },
    Rbd { pool: Symbol, image: Symbol },
}

impl Disk {
    /// Whether pods with these disks cannot share a node.
    /// Upstream: volumerestrictions/volume_restrictions.go `isVolumeConflict`.
    #[must_use]
    pub fn conflicts_with(&self, other: &Disk) -> bool {
        let share_a_monitor = || self.monitors.iter().any(|monitor| other.monitors.contains(monitor));
        self.key == other.key
            && !(self.is_shareable && other.is_shareable)
            && (!matches!(self.key, DiskKey::Rbd { .. }) || share_a_monitor())
    }
}

/// All volumes of a pod that scheduling reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodVolumes {
    /// Claims in the order of `spec.volumes`.
    pub claims: Box<[PodClaim]>,
    /// In-tree volumes that count as CSI volumes.
    pub inline: Box<[InlineVolume]>,
    /// Disks that pods may not share.
    pub disks: Box<[Disk]>,
    /// Some volume may count against a CSI driver's limit.
    pub may_count: bool,
}

impl PodVolumes {
    /// Compiles the volumes of a spec.
    pub(super) fn compile(pod: &PodInput, vocabulary: &mut Vocabulary) -> PodVolumes {
        let mut volumes = Compiler { vocabulary, claims: Vec::new(), inline: Vec::new(), disks: Vec::new() };
        let mut may_count = false;
        for volume in &pod.volumes {
            may_count |= volumes.add(&volume.name, &volume.source);
        }
        let Compiler { claims, inline, disks, .. } = volumes;
        PodVolumes { claims: claims.into(), inline: inline.into(), disks: disks.into(), may_count }
    }

    /// Placing the pod changes nothing that storage keeps.
    #[inline]
    #[must_use]
    pub fn are_none(&self) -> bool {
        !self.may_count && self.disks.is_empty()
    }

    /// Names of claims that are not made from a template in the pod.
    pub fn named_claims(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.claims.iter().filter(|claim| claim.owner.is_none()).map(|claim| claim.name)
    }
}

struct Compiler<'a> {
    vocabulary: &'a mut Vocabulary,
    claims: Vec<PodClaim>,
    inline: Vec<InlineVolume>,
    disks: Vec<Disk>,
}

impl Compiler<'_> {
    fn symbol(&mut self, text: &str) -> Symbol {
        self.vocabulary.symbols.intern(text)
    }

    /// Returns whether the volume may count against a limit.
    fn add(&mut self, name: &str, source: &VolumeSourceInput) -> bool {
        match source {
            VolumeSourceInput::Claim { claim_name, .. } => {
                let name = self.symbol(claim_name);
                self.claims.push(PodClaim { name, owner: None });
            }
            VolumeSourceInput::Ephemeral { pod_name, pod_uid } => {
                let owner =
                    Some(ClaimOwner { pod_name: self.symbol(pod_name), pod_uid: self.symbol(pod_uid) });
                let name = self.symbol(&format!("{pod_name}-{name}"));
                self.claims.push(PodClaim { name, owner });
            }
            VolumeSourceInput::GcePersistentDisk { pd_name, read_only } => {
                self.translate(InTreeVolumePlugin::GcePersistentDisk, name, Ok(gce_inline_handle(pd_name)));
                let key = DiskKey::Gce { pd_name: self.symbol(pd_name) };
                self.disk(key, &[], *read_only);
            }
            VolumeSourceInput::AwsElasticBlockStore { volume_id, .. } => {
                self.translate(InTreeVolumePlugin::AwsElasticBlockStore, name, ebs_handle(volume_id));
                let key = DiskKey::Ebs { volume_id: self.symbol(volume_id) };
                self.disk(key, &[], false);
            }
            VolumeSourceInput::Iscsi { iqn, read_only, .. } => {
                let key = DiskKey::Iscsi { iqn: self.symbol(iqn) };
                self.disk(key, &[], *read_only);
                return false;
            }
            VolumeSourceInput::Rbd { monitors, pool, image, read_only } => {
                let key = DiskKey::Rbd { pool: self.symbol(pool), image: self.symbol(image) };
                self.disk(key, monitors, *read_only);
                return false;
            }
            VolumeSourceInput::InTree { kind, id } => self.in_tree(kind, name, id),
            VolumeSourceInput::Image { .. } | VolumeSourceInput::Csi { .. } => return false,
        }
        true
    }

    fn in_tree(&mut self, kind: &str, name: &str, id: &str) {
        let plugin = match kind {
            "azureDisk" => InTreeVolumePlugin::AzureDisk,
            "cinder" => InTreeVolumePlugin::Cinder,
            "portworxVolume" => InTreeVolumePlugin::Portworx,
            _ => {
                if let Some(kind) = kind.strip_prefix("azureDisk/") {
                    let why = format!("kind({kind}) is not supported in csi migration");
                    self.translate(InTreeVolumePlugin::AzureDisk, name, Err(why));
                }
                return;
            }
        };
        self.translate(plugin, name, Ok(id.to_owned()));
    }

    fn translate(&mut self, plugin: InTreeVolumePlugin, volume_name: &str, handle: Result<String, String>) {
        let volume = match handle {
            Ok(handle) => InlineVolume::Translated(self.symbol(plugin.driver()), self.symbol(&handle)),
            Err(why) => InlineVolume::Untranslatable(
                format!("converting volume({volume_name}) from inline to csi: {why}").into(),
            ),
        };
        self.inline.push(volume);
    }

    fn disk(&mut self, key: DiskKey, monitors: &[String], is_shareable: bool) {
        let monitors = monitors.iter().map(|monitor| self.vocabulary.symbols.intern(monitor)).collect();
        self.disks.push(Disk { key, monitors, is_shareable });
    }
}
