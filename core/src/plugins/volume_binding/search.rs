//! Which volumes a pod's claims would get on a node.
//!
//! What does not depend on the node is worked out once for all nodes: which claims are bound, which
//! volumes are kept for a claim, which capacities suffice. A node then costs one look at the affinity
//! of each bound volume, and for each open claim a walk along the volumes that storage lists for the
//! node's own labels ([`OpenVolumes`]), smallest first, up to the first that will do.
//!
//! Upstream: plugins/volumebinding/binder.go `FindPodVolumes`, component-helpers/storage/volume
//! `FindMatchingVolume`.

use crate::class::PodClass;
use crate::class::selector::NodeSelector;
use crate::framework::status::Reason;
use crate::ids::{ClaimId, LabelSetId, NodeId, Symbol, VolumeId};
use crate::input::storage::BindingMode;
use crate::interner::EMPTY;
use crate::plugins::helper::volume_texts::{
    claim_deleted, claim_lost, claim_not_found, no_binding_mode, not_owned, waiting_for_claim,
};
use crate::quantity::Quantity;
use crate::storage::VolumeDecision;
use crate::storage::objects::{Claim, ClaimSelector, StorageCapacity, StorageClass, Volume};
use crate::storage::open_volumes::OpenVolumes;
use crate::world::World;

pub(super) const REASON_UNBOUND_IMMEDIATE: Reason =
    Reason::Text("pod has unbound immediate PersistentVolumeClaims");

/// A pod's claims: bound, and open until a node is chosen.
#[derive(Debug, Default)]
pub(super) struct Claims<'a> {
    bound: Vec<&'a Claim>,
    open: Vec<(ClaimId, &'a Claim)>,
}

impl Claims<'_> {
    /// Some are to be bound, or provisioned.
    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }
}

/// Sorts a pod's claims, or says why no node will do. `Ok(None)` when it has none.
/// Upstream: volume_binding.go `podHasPVCs`, binder.go `GetPodVolumeClaims`.
pub(super) fn claims<'a>(world: &'a World, class: &PodClass) -> Result<Option<Claims<'a>>, Reason> {
    let storage = world.storage();
    let text = |symbol| world.vocabulary.symbols.text(symbol);
    let mut found = Vec::with_capacity(class.volumes.claims.len());
    for claim in &class.volumes.claims {
        let name = text(claim.name);
        let (id, object) =
            storage.find_claim(class.namespace, claim.name).ok_or_else(|| match claim.owner {
                Some(_) => waiting_for_claim(name),
                None => claim_not_found(name),
            })?;
        if object.is_lost {
            return Err(claim_lost(name, text(object.volume_name)));
        }
        if object.is_terminating {
            return Err(claim_deleted(name));
        }
        if let Some(owner) = &claim.owner
            && object.controller_uid != Some(owner.pod_uid)
        {
            return Err(not_owned(text(class.namespace), name, text(owner.pod_name)));
        }
        found.push((id, object));
    }
    if found.is_empty() {
        return Ok(None);
    }
    let mut claims = Claims::default();
    let mut has_immediate = false;
    for (id, claim) in found {
        if claim.is_fully_bound {
            claims.bound.push(claim);
            continue;
        }
        let mode = match storage.class(claim.class) {
            None => BindingMode::Immediate,
            Some(storage_class) => {
                storage_class.binding_mode.ok_or_else(|| no_binding_mode(text(claim.class)))?
            }
        };
        // A claim that names its volume waits for the controller, whatever its class says.
        if mode == BindingMode::WaitForFirstConsumer && claim.volume_name == EMPTY {
            claims.open.push((id, claim));
        } else {
            has_immediate = true;
        }
    }
    if has_immediate { Err(REASON_UNBOUND_IMMEDIATE) } else { Ok(Some(claims)) }
}

/// What was found for a node.
#[derive(Debug)]
pub(super) struct OnNode<'a> {
    /// Bound volumes can be used from the node.
    pub(super) is_bound_usable: bool,
    /// Bound volumes exist.
    pub(super) is_bound_present: bool,
    /// Open claims find a volume or can be provisioned.
    pub(super) is_open_satisfied: bool,
    /// There is room for what would be provisioned.
    pub(super) is_space_sufficient: bool,
    /// Open claims and the volumes they get.
    pub(super) bindings: Vec<(ClaimId, VolumeId)>,
    /// Open claims that would be provisioned, with the capacity found.
    pub(super) provisions: Vec<(ClaimId, Option<&'a StorageCapacity>)>,
    /// Places of claims that found no volume.
    to_provision: Vec<usize>,
}

impl Default for OnNode<'_> {
    /// Nothing was found wrong yet.
    fn default() -> Self {
        OnNode {
            is_bound_usable: true,
            is_bound_present: true,
            is_open_satisfied: true,
            is_space_sufficient: true,
            bindings: Vec::new(),
            provisions: Vec::new(),
            to_provision: Vec::new(),
        }
    }
}

impl OnNode<'_> {
    pub(super) fn fits(&self) -> bool {
        self.is_bound_usable && self.is_bound_present && self.is_open_satisfied && self.is_space_sufficient
    }

    pub(super) fn decision(&self) -> VolumeDecision {
        // Replay asks about the recorded node also where we say that it does not fit.
        debug_assert!(
            !self.fits() || self.provisions.len() == self.to_provision.len(),
            "each claim without a volume is provisioned"
        );
        VolumeDecision {
            bindings: self.bindings.clone(),
            provisions: self.provisions.iter().map(|&(claim, _)| claim).collect(),
        }
    }
}

/// An open claim.
#[derive(Debug)]
struct Open<'a> {
    id: ClaimId,
    claim: &'a Claim,
    /// The node it is already being provisioned on.
    selected_node: Option<Symbol>,
    candidates: Candidates<'a>,
    provisioning: Provisioning<'a>,
}

/// What can be said of provisioning a claim before a node is known.
#[derive(Debug)]
struct Provisioning<'a> {
    class: Option<&'a StorageClass>,
    /// Capacities that are large enough; `None` when capacity does not matter.
    capacities: Option<Vec<&'a StorageCapacity>>,
}

/// Volumes that a claim could get.
#[derive(Debug)]
struct Candidates<'a> {
    claim: &'a Claim,
    /// Volumes kept for the claim, smallest first: the first that is free decides.
    kept: Vec<(VolumeId, &'a Volume)>,
    open: Option<&'a OpenVolumes>,
}

/// The search for one pod on any node.
#[derive(Debug)]
pub(super) struct Search<'a> {
    world: &'a World,
    /// Volumes of bound claims, in order; `None` when the volume does not exist.
    bound: Vec<Option<&'a Volume>>,
    /// Claims that are being provisioned in `spec.volumes` order, then the others by size.
    open: Vec<Open<'a>>,
}

impl<'a> Search<'a> {
    pub(super) fn new(world: &'a World, claims: &Claims<'a>) -> Search<'a> {
        let storage = world.storage();
        let bound = claims
            .bound
            .iter()
            .map(|claim| storage.find_volume(claim.volume_name).map(|(_, volume)| volume))
            .collect();
        let mut open: Vec<Open<'a>> = claims
            .open
            .iter()
            .map(|&(id, claim)| {
                let selected_node = storage.selected_node(id);
                let candidates = match selected_node {
                    Some(_) => Candidates::none(claim),
                    None => Candidates::of(world, id, claim),
                };
                let provisioning = Provisioning::of(world, claim);
                Open { id, claim, selected_node, candidates, provisioning }
            })
            .collect();
        // Stable: equal sizes keep their order, as upstream's sort of so few does.
        open.sort_by_key(|it| match it.selected_node {
            Some(_) => (false, Quantity::ZERO),
            None => (true, it.claim.size()),
        });
        Search { world, bound, open }
    }

    pub(super) fn on_row(&self, row: usize) -> OnNode<'a> {
        let mut found = OnNode::default();
        self.find(row, &mut found);
        found
    }

    /// What is found for a row, in the memory of what was found for another.
    pub(super) fn find(&self, row: usize, found: &mut OnNode<'a>) {
        let columns = self.world.nodes().columns();
        let (mut bindings, mut provisions, mut to_provision) = (
            std::mem::take(&mut found.bindings),
            std::mem::take(&mut found.provisions),
            std::mem::take(&mut found.to_provision),
        );
        bindings.clear();
        provisions.clear();
        to_provision.clear();
        *found = OnNode { bindings, provisions, to_provision, ..OnNode::default() };
        self.find_on_node((columns.id[row], columns.name[row], columns.label_set[row]), found);
    }

    fn find_on_node(&self, (node, name, labels): (NodeId, Symbol, LabelSetId), found: &mut OnNode<'a>) {
        for volume in &self.bound {
            match volume {
                None => found.is_bound_present = false,
                Some(volume) if !self.is_usable(volume, node, labels) => found.is_bound_usable = false,
                Some(_) => continue,
            }
            break;
        }
        if self.open.iter().any(|it| it.selected_node.is_some_and(|selected| selected != name)) {
            found.is_open_satisfied = false;
            return;
        }
        for (at, open) in self.open.iter().enumerate() {
            let volume = match open.selected_node {
                Some(_) => None,
                None => open.candidates.first(self.world, labels, &found.bindings),
            };
            match volume {
                Some(volume) => found.bindings.push((open.id, volume)),
                None => found.to_provision.push(at),
            }
        }
        debug_assert_eq!(
            found.bindings.len() + found.to_provision.len(),
            self.open.len(),
            "an open claim gets a volume, or is provisioned"
        );
        for &at in &found.to_provision {
            let open = &self.open[at];
            let provisioning = &open.provisioning;
            if !provisioning.is_possible(self.world, labels) {
                found.is_open_satisfied = false;
                break;
            }
            match provisioning.capacity(self.world, labels) {
                Ok(capacity) => found.provisions.push((open.id, capacity)),
                Err(NotEnough) => {
                    found.is_space_sufficient = false;
                    break;
                }
            }
        }
    }

    /// Whether a bound volume's node affinity holds, in the form that is valid on the node.
    fn is_usable(&self, volume: &Volume, node: NodeId, labels: LabelSetId) -> bool {
        let translation = volume.translation.as_ref().filter(|translation| {
            let csi_node = self.world.storage().csi_node(node);
            csi_node.is_some_and(|it| it.migrated_plugins.contains(&translation.plugin))
        });
        match translation.map(|it| &it.affinity) {
            None => self.matches(volume.affinity.as_ref(), labels),
            Some(Ok(affinity)) => self.matches(affinity.as_ref(), labels),
            // Upstream ends the cycle with an error.
            Some(Err(_)) => false,
        }
    }

    fn matches(&self, affinity: Option<&NodeSelector>, labels: LabelSetId) -> bool {
        matches(self.world, affinity, labels)
    }
}

/// Volumes are compared with labels only: without a node's name, field requirements do not count.
fn matches(world: &World, affinity: Option<&NodeSelector>, labels: LabelSetId) -> bool {
    affinity.is_none_or(|selector| selector.matches(EMPTY, labels, &world.vocabulary))
}

/// What volumes are tried in the order of: the smallest first, equal ones by name.
fn place<'a>(world: &'a World, id: VolumeId, volume: &Volume) -> (Quantity, &'a str) {
    (volume.capacity, world.vocabulary.symbols.text(world.storage().volume_name(id)))
}

impl<'a> Candidates<'a> {
    /// None at all: a volume is being provisioned.
    fn none(claim: &'a Claim) -> Candidates<'a> {
        Candidates { claim, kept: Vec::new(), open: None }
    }

    fn of(world: &'a World, id: ClaimId, claim: &'a Claim) -> Candidates<'a> {
        let storage = world.storage();
        let claim_ref = storage.claim_ref(id);
        let is_kept = |volume_id: VolumeId, volume: &Volume| match storage.assumed_claim(volume_id) {
            Some(assumed) => assumed == id,
            None => volume.is_for(claim_ref),
        };
        let mut kept: Vec<(VolumeId, &Volume)> = storage
            .volumes_of_claim(id)
            .filter_map(|volume_id| Some((volume_id, storage.volume(volume_id)?)))
            .filter(|&(volume_id, volume)| {
                volume.class == claim.class
                    && is_kept(volume_id, volume)
                    && !volume.is_terminating
                    && is_large_enough_and_alike(claim, volume)
            })
            .collect();
        kept.sort_by(|one, other| place(world, one.0, one.1).cmp(&place(world, other.0, other.1)));
        // One that was taken in thought may name the claim by now.
        kept.dedup_by_key(|(id, _)| *id);
        Candidates { claim, kept, open: storage.open_volumes(claim.class) }
    }

    /// The volume that the claim gets on a node with these labels, if any.
    fn first(&self, world: &World, labels: LabelSetId, taken: &[(ClaimId, VolumeId)]) -> Option<VolumeId> {
        let is_free = |id: VolumeId| taken.iter().all(|&(_, other)| other != id);
        if let Some(&(id, volume)) = self.kept.iter().find(|(id, _)| is_free(*id)) {
            return matches(world, volume.affinity.as_ref(), labels).then_some(id);
        }
        let storage = world.storage();
        let suits = |&id: &VolumeId| {
            let volume = storage.volume(id)?;
            let suits = is_free(id)
                && storage.assumed_claim(id).is_none()
                && self.suits(world, volume)
                && matches(world, volume.affinity.as_ref(), labels);
            suits.then_some((id, volume))
        };
        let is_too_small =
            |id: &VolumeId| storage.volume(*id).is_some_and(|volume| volume.capacity < self.claim.size());
        let lists = self.open?.within_reach(|key| world.vocabulary.label(labels, key));
        lists
            .filter_map(|list| list[list.partition_point(is_too_small)..].iter().find_map(suits))
            .min_by(|one, other| place(world, one.0, one.1).cmp(&place(world, other.0, other.1)))
            .map(|(id, _)| id)
    }

    /// Whether the claim may get an open volume, wherever.
    fn suits(&self, world: &World, volume: &Volume) -> bool {
        is_large_enough_and_alike(self.claim, volume)
            && self.claim.access_modes.iter().all(|mode| volume.access_modes.contains(mode))
            && selects(world, self.claim, volume)
    }
}

fn is_large_enough_and_alike(claim: &Claim, volume: &Volume) -> bool {
    volume.capacity >= claim.size()
        && volume.is_block == claim.is_block
        && volume.attributes_class == claim.attributes_class
}

fn selects(world: &World, claim: &Claim, volume: &Volume) -> bool {
    match &claim.selector {
        ClaimSelector::All => true,
        ClaimSelector::Labels(selector) => selector.matches(volume.labels, &world.vocabulary),
        ClaimSelector::Unreadable => false,
    }
}

/// No capacity that the node can reach is large enough.
struct NotEnough;

impl<'a> Provisioning<'a> {
    fn of(world: &'a World, claim: &Claim) -> Provisioning<'a> {
        let storage = world.storage();
        let class = storage.class(claim.class);
        let provisioner = class.and_then(|class| storage.driver(class.provisioner));
        let size = claim.request.filter(|_| provisioner.is_some_and(|it| it.has_storage_capacity));
        let capacities = size.map(|size| {
            let suffices = |it: &&StorageCapacity| {
                it.class == claim.class && it.volume_bytes_max.is_some_and(|max| max >= size.value())
            };
            storage.capacities().filter(suffices).collect()
        });
        Provisioning { class, capacities }
    }

    /// Upstream: binder.go `checkVolumeProvisions`.
    fn is_possible(&self, world: &World, labels: LabelSetId) -> bool {
        self.class
            .is_some_and(|it| it.can_provision && matches(world, it.allowed_topologies.as_ref(), labels))
    }

    /// Upstream: binder.go `hasEnoughCapacity`.
    fn capacity(&self, world: &World, labels: LabelSetId) -> Result<Option<&'a StorageCapacity>, NotEnough> {
        let Some(capacities) = &self.capacities else { return Ok(None) };
        let is_reachable = |it: &&&StorageCapacity| {
            it.topology.as_ref().is_some_and(|topology| topology.matches(labels, &world.vocabulary))
        };
        capacities.iter().find(is_reachable).map(|it| Some(*it)).ok_or(NotEnough)
    }
}
