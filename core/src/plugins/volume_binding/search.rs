//! Which volumes a pod's claims would get on a node.
//!
//! What does not depend on the node is worked out once for all nodes: which claims are bound, which
//! volumes a claim could get at all, which capacities suffice. A node then costs one look at the
//! affinity of each bound volume, and for each open claim a walk along its candidates, smallest
//! first, up to the first that the node can use. Candidates that name a label value (a local
//! volume's host, a zone) are found by the node's own value of that label.
//!
//! Upstream: plugins/volumebinding/binder.go `FindPodVolumes`, component-helpers/storage/volume
//! `FindMatchingVolume`.

use rustc_hash::FxHashMap;

use crate::class::PodClass;
use crate::class::selector::NodeSelector;
use crate::framework::status::Reason;
use crate::ids::{ClaimId, LabelSetId, NodeId, Symbol, VolumeId};
use crate::input::storage::BindingMode;
use crate::interner::EMPTY;
use crate::plugins::helper::volume_texts::{
    claim_deleted, claim_lost, claim_not_found, no_binding_mode, not_owned, waiting_for_claim,
};
use crate::storage::VolumeDecision;
use crate::storage::objects::{Claim, ClaimSelector, StorageCapacity, StorageClass, Volume};
use crate::world::World;

pub(super) const REASON_UNBOUND_IMMEDIATE: Reason =
    Reason::Text("pod has unbound immediate PersistentVolumeClaims");

/// A pod's claims: bound, and open until a node is chosen.
#[derive(Debug, Default)]
pub(super) struct Claims<'a> {
    bound: Vec<&'a Claim>,
    open: Vec<(ClaimId, &'a Claim)>,
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
#[derive(Debug, Default)]
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
}

impl OnNode<'_> {
    pub(super) fn fits(&self) -> bool {
        self.is_bound_usable && self.is_bound_present && self.is_open_satisfied && self.is_space_sufficient
    }

    pub(super) fn decision(&self) -> VolumeDecision {
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

/// Volumes that a claim could get, smallest first.
#[derive(Debug, Default)]
struct Candidates<'a> {
    /// Volumes kept for the claim: the first that is free decides.
    kept: Vec<(VolumeId, &'a Volume)>,
    others: Vec<(VolumeId, &'a Volume)>,
    /// Places in `others` by label key and value that a node must have.
    anchored: FxHashMap<(Symbol, Symbol), Vec<u32>>,
    anchor_keys: Vec<Symbol>,
    /// Places in `others` of volumes without such a label.
    free: Vec<u32>,
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
                    Some(_) => Candidates::default(),
                    None => Candidates::of(world, id, claim),
                };
                let provisioning = Provisioning::of(world, claim);
                Open { id, claim, selected_node, candidates, provisioning }
            })
            .collect();
        // Stable: equal sizes keep their order, as upstream's sort of so few does.
        open.sort_by_key(|it| match it.selected_node {
            Some(_) => (false, crate::quantity::Quantity::ZERO),
            None => (true, it.claim.size()),
        });
        Search { world, bound, open }
    }

    pub(super) fn on_row(&self, row: usize) -> OnNode<'a> {
        let columns = self.world.nodes().columns();
        self.on_node(columns.id[row], columns.name[row], columns.label_set[row])
    }

    fn on_node(&self, node: NodeId, name: Symbol, labels: LabelSetId) -> OnNode<'a> {
        let mut found = OnNode {
            is_bound_usable: true,
            is_bound_present: true,
            is_open_satisfied: true,
            is_space_sufficient: true,
            ..OnNode::default()
        };
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
            return found;
        }
        let mut to_provision: Vec<&Open<'a>> = Vec::new();
        for open in &self.open {
            let volume = match open.selected_node {
                Some(_) => None,
                None => open.candidates.first(self.world, labels, &found.bindings),
            };
            match volume {
                Some(volume) => found.bindings.push((open.id, volume)),
                None => to_provision.push(open),
            }
        }
        for open in to_provision {
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
        found
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

impl<'a> Candidates<'a> {
    fn of(world: &'a World, id: ClaimId, claim: &Claim) -> Candidates<'a> {
        let storage = world.storage();
        let claim_ref = storage.claim_ref(id);
        let mut candidates = Candidates::default();
        for &volume_id in storage.volumes_of_class(claim.class) {
            let Some(volume) = storage.volume(volume_id) else { continue };
            let is_kept = match storage.assumed_claim(volume_id) {
                Some(assumed) if assumed == id => true,
                Some(_) => continue,
                None => volume.is_for(claim_ref),
            };
            let is_taken = volume.claim_ref.is_some() && !is_kept;
            if is_taken
                || volume.capacity < claim.size()
                || volume.is_block != claim.is_block
                || volume.attributes_class != claim.attributes_class
                || volume.is_terminating
            {
                continue;
            }
            if is_kept {
                candidates.kept.push((volume_id, volume));
            } else if volume.is_available
                && selects(world, claim, volume)
                && claim.access_modes.iter().all(|mode| volume.access_modes.contains(mode))
            {
                candidates.add(volume_id, volume);
            }
        }
        candidates
    }

    fn add(&mut self, id: VolumeId, volume: &'a Volume) {
        let place = u32::try_from(self.others.len()).expect("few volumes");
        self.others.push((id, volume));
        let Some((key, values)) = volume.affinity.as_ref().and_then(NodeSelector::anchor) else {
            return self.free.push(place);
        };
        if !self.anchor_keys.contains(&key) {
            self.anchor_keys.push(key);
        }
        for &value in values {
            self.anchored.entry((key, value)).or_default().push(place);
        }
    }

    /// The volume that the claim gets on a node with these labels, if any.
    fn first(&self, world: &World, labels: LabelSetId, taken: &[(ClaimId, VolumeId)]) -> Option<VolumeId> {
        let is_free = |id: VolumeId| taken.iter().all(|&(_, other)| other != id);
        if let Some(&(id, volume)) = self.kept.iter().find(|(id, _)| is_free(*id)) {
            return matches(world, volume.affinity.as_ref(), labels).then_some(id);
        }
        let fits = |&&place: &&u32| {
            let (id, volume) = self.others[place as usize];
            is_free(id) && matches(world, volume.affinity.as_ref(), labels)
        };
        let anchored = self.anchor_keys.iter().filter_map(|&key| {
            let value = world.vocabulary.label(labels, key)?;
            self.anchored.get(&(key, value))?.iter().find(fits)
        });
        let place = anchored.chain(self.free.iter().find(fits)).min()?;
        Some(self.others[*place as usize].0)
    }
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
