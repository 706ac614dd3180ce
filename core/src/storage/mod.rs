//! Volumes, claims and the objects around them, and what pods use of them on their nodes.
//!
//! ```text
//! pod class ──claims──▶ Claim ──volume name──▶ Volume      StorageClass  CsiDriver  StorageCapacity
//!                         │ users (node, pods)    │              │
//!                         └──────── attachable: (driver, handle) ┴──▶ Usage: volumes per node
//! ```
//!
//! What a claim counts as on a node (its volume's handle, or a stand-in while it has none) is
//! resolved when one of these objects changes, not when a pod is scheduled.
//!
//! A binding that was decided but that the API has not confirmed yet is *assumed*: the volume is
//! taken, the claim has its node. An update of the object ends the assumption, as upstream's
//! passive_assume_cache.go has it.

mod checks;
pub mod csi;
mod news;
pub mod objects;
pub mod open_volumes;
mod reclaim;
pub mod selector;
mod usage;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::class::PodClass;
use crate::class::volumes::{Disk, InlineVolume};
use crate::ids::{ClaimId, NodeId, Symbol, VolumeId};
use crate::input::storage::{
    AttachmentInput, ClaimInput, CsiDriverInput, CsiNodeInput, PersistentVolumeInput, StorageCapacityInput,
    StorageClassInput,
};
use crate::interner::{EMPTY, Vocabulary};

use objects::{Attachable, Claim, ClaimRef, CsiNode, StorageCapacity, StorageClass, Volume, attachable};
use open_volumes::{OpenVolumes, VolumeIndex};
use usage::{Usage, Witness};

pub use news::StorageNews;
pub use usage::CsiVolume;

/// A CSIDriver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CsiDriver {
    /// Its storage capacity is published and must be respected.
    pub has_storage_capacity: bool,
    /// Pods with its volumes cannot go to nodes that lack it.
    pub is_required_on_node: bool,
}

/// A claim that was heard of.
#[derive(Clone, Debug)]
struct ClaimRow {
    namespace: Symbol,
    name: Symbol,
    object: Option<Claim>,
    assumed_node: Option<Symbol>,
    /// What it counts as on a node.
    attachable: Option<Attachable>,
    /// Nodes whose pods use it, and how many volumes of theirs do.
    users: Vec<(NodeId, u32)>,
    /// Volumes of placed pods that name it, those made from templates left out.
    named_uses: u32,
    /// Moves with `named_uses`.
    use_version: u64,
}

/// A volume that was heard of.
#[derive(Clone, Debug)]
struct VolumeRow {
    name: Symbol,
    object: Option<Volume>,
    assumed: Option<ClaimId>,
}

#[derive(Clone, Debug)]
struct Attachment {
    node: NodeId,
    attacher: Symbol,
    volume_name: Option<Symbol>,
    counted: Option<CsiVolume>,
}

/// Which volumes a pod's claims get on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VolumeDecision {
    /// Claims bound to volumes that exist.
    pub bindings: Vec<(ClaimId, VolumeId)>,
    /// Claims for which a volume is to be provisioned.
    pub provisions: Vec<ClaimId>,
}

impl VolumeDecision {
    /// Nothing is to be done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bindings.is_empty() && self.provisions.is_empty()
    }
}

/// All that is known of storage.
#[derive(Clone, Debug, Default)]
pub struct Storage {
    version: u64,
    claims: Vec<ClaimRow>,
    claim_ids: FxHashMap<(Symbol, Symbol), ClaimId>,
    free_claims: Vec<u32>,
    claims_of_volume: FxHashMap<Symbol, Vec<ClaimId>>,
    volumes: Vec<VolumeRow>,
    volume_ids: FxHashMap<Symbol, VolumeId>,
    free_volumes: Vec<u32>,
    volume_index: VolumeIndex,
    /// Volumes that were taken for a claim and that the API does not know of yet.
    assumed_volumes: FxHashMap<ClaimId, Vec<VolumeId>>,
    classes: FxHashMap<Symbol, StorageClass>,
    drivers: FxHashMap<Symbol, CsiDriver>,
    /// By namespace and name.
    capacities: BTreeMap<(String, String), StorageCapacity>,
    csi_nodes: Vec<Option<CsiNode>>,
    attachments: FxHashMap<Symbol, Attachment>,
    attachments_of_volume: FxHashMap<Symbol, Vec<Symbol>>,
    usage: Usage,
    /// Named uses of claims that are only supposed, by the claim's name.
    supposed_uses: Vec<(Symbol, i32)>,
}

/// Reading.
impl Storage {
    /// Moves whenever an object changed or a binding was assumed or taken back.
    #[inline]
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// A claim that exists, by namespace and name.
    #[must_use]
    pub fn find_claim(&self, namespace: Symbol, name: Symbol) -> Option<(ClaimId, &Claim)> {
        let &id = self.claim_ids.get(&(namespace, name))?;
        Some((id, self.claims[id.index()].object.as_ref()?))
    }

    /// A claim that exists.
    #[must_use]
    pub fn claim(&self, id: ClaimId) -> Option<&Claim> {
        self.claims[id.index()].object.as_ref()
    }

    /// Namespace and name of a claim.
    #[must_use]
    pub fn claim_name(&self, id: ClaimId) -> (Symbol, Symbol) {
        let row = &self.claims[id.index()];
        (row.namespace, row.name)
    }

    /// The reference that a volume bound to the claim carries.
    #[must_use]
    pub fn claim_ref(&self, id: ClaimId) -> ClaimRef {
        let row = &self.claims[id.index()];
        let uid = row.object.as_ref().map_or(EMPTY, |claim| claim.uid);
        ClaimRef { namespace: row.namespace, name: row.name, uid }
    }

    /// The node a claim is being provisioned on, as far as known or assumed.
    #[must_use]
    pub fn selected_node(&self, id: ClaimId) -> Option<Symbol> {
        let row = &self.claims[id.index()];
        row.assumed_node.or_else(|| row.object.as_ref()?.selected_node)
    }

    /// What a claim counts as on a node.
    #[must_use]
    pub fn claim_attachable(&self, id: ClaimId) -> Option<Attachable> {
        self.claims[id.index()].attachable
    }

    /// Whether a placed pod names the claim.
    #[must_use]
    pub fn is_claim_in_use(&self, id: ClaimId) -> bool {
        self.claims[id.index()].named_uses > 0
    }

    /// How many uses of claims of this name are supposed, beyond those there are. Upstream looks at
    /// the name only, so claims of other namespaces count as well.
    #[must_use]
    pub fn supposed_uses(&self, name: Symbol) -> i32 {
        self.supposed_uses.iter().filter(|&&(known, _)| known == name).map(|&(_, uses)| uses).sum()
    }

    /// Moves whenever the answer of [`Storage::is_claim_in_use`] may have changed.
    #[must_use]
    pub fn claim_use_version(&self, id: ClaimId) -> u64 {
        self.claims[id.index()].use_version
    }

    /// A volume that exists, by name.
    #[must_use]
    pub fn find_volume(&self, name: Symbol) -> Option<(VolumeId, &Volume)> {
        let &id = self.volume_ids.get(&name)?;
        Some((id, self.volumes[id.index()].object.as_ref()?))
    }

    /// A volume that exists.
    #[must_use]
    pub fn volume(&self, id: VolumeId) -> Option<&Volume> {
        self.volumes[id.index()].object.as_ref()
    }

    /// The name of a volume.
    #[must_use]
    pub fn volume_name(&self, id: VolumeId) -> Symbol {
        self.volumes[id.index()].name
    }

    /// The claim that a volume was taken for and that the API does not know of yet.
    #[must_use]
    pub fn assumed_claim(&self, id: VolumeId) -> Option<ClaimId> {
        self.volumes[id.index()].assumed
    }

    /// Volumes of a class that a claim may still get, but for those that were taken in thought; smallest
    /// first, equal ones by name. Upstream's order is that of a hash map: which of two equal volumes it
    /// takes is luck.
    #[must_use]
    pub fn open_volumes(&self, class: Symbol) -> Option<&OpenVolumes> {
        self.volume_index.open_of(class)
    }

    /// Volumes that name the claim, or a namesake of it, and those that were taken for it.
    pub fn volumes_of_claim(&self, id: ClaimId) -> impl Iterator<Item = VolumeId> + '_ {
        let row = &self.claims[id.index()];
        let named = self.volume_index.of_claim(row.namespace, row.name);
        let assumed = self.assumed_volumes.get(&id).map_or(&[][..], Vec::as_slice);
        named.iter().chain(assumed).copied()
    }

    /// A StorageClass.
    #[must_use]
    pub fn class(&self, name: Symbol) -> Option<&StorageClass> {
        self.classes.get(&name)
    }

    /// A CSIDriver.
    #[must_use]
    pub fn driver(&self, name: Symbol) -> Option<CsiDriver> {
        self.drivers.get(&name).copied()
    }

    /// Storage capacities in order of namespace and name. Upstream's order is luck.
    pub fn capacities(&self) -> impl Iterator<Item = &StorageCapacity> {
        self.capacities.values()
    }

    /// The CSINode of a node.
    #[inline]
    #[must_use]
    pub fn csi_node(&self, node: NodeId) -> Option<&CsiNode> {
        self.csi_nodes.get(node.index())?.as_ref()
    }

    /// Distinct CSI volumes of a driver that are attached to a node, or will be.
    #[inline]
    #[must_use]
    pub fn volume_count(&self, node: NodeId, driver: Symbol) -> u32 {
        self.usage.volume_count(node, driver)
    }

    /// Whether a pod of the node uses the CSI volume.
    #[inline]
    #[must_use]
    pub fn is_used_by_pods(&self, volume: CsiVolume, node: NodeId) -> bool {
        self.usage.is_used_by_pods(volume, node)
    }

    /// Nodes with a pod that cannot share the disk. A node may come up several times.
    pub fn conflicting_nodes<'a>(&'a self, disk: &'a Disk) -> impl Iterator<Item = NodeId> + 'a {
        self.usage.conflicting_nodes(disk)
    }
}

/// Pods that come and go. Both depend on the class and the node alone, so that they serve real
/// placements and what-if questions alike; one undoes the other.
impl Storage {
    /// A pod of `class` is on the node.
    #[inline]
    pub fn add_pod(&mut self, node: NodeId, class: &PodClass) {
        if !class.volumes.are_none() {
            self.account(node, class, 1);
        }
    }

    /// A pod of `class` has left the node.
    #[inline]
    pub fn remove_pod(&mut self, node: NodeId, class: &PodClass) {
        if !class.volumes.are_none() {
            self.account(node, class, -1);
        }
    }

    /// Counts a pod of `class` in (`sign` 1) or out (-1) for whoever undoes it before anybody who
    /// keeps things could read it: versions stay.
    #[inline]
    pub(crate) fn suppose(&mut self, node: NodeId, class: &PodClass, sign: i32) {
        if class.volumes.are_none() {
            return;
        }
        self.account(node, class, sign);
        for claim in class.volumes.claims.iter().filter(|claim| claim.owner.is_none()) {
            let id = self.claim_id(class.namespace, claim.name);
            let row = &mut self.claims[id.index()];
            row.use_version -= 1;
            row.named_uses = row.named_uses.wrapping_add_signed(-sign);
            match self.supposed_uses.iter().position(|&(name, _)| name == claim.name) {
                Some(at) => {
                    self.supposed_uses[at].1 += sign;
                    if self.supposed_uses[at].1 == 0 {
                        self.supposed_uses.swap_remove(at);
                    }
                }
                None => self.supposed_uses.push((claim.name, sign)),
            }
        }
    }

    fn account(&mut self, node: NodeId, class: &PodClass, change: i32) {
        debug_assert_eq!(change.abs(), 1, "one pod is counted at a time");
        for claim in &class.volumes.claims {
            let id = self.claim_id(class.namespace, claim.name);
            let row = &mut self.claims[id.index()];
            if claim.owner.is_none() {
                // Wraps below zero only while a nominated pod's uses are undone, see `suppose`.
                row.named_uses = row.named_uses.wrapping_add_signed(change);
                row.use_version += 1;
            }
            match row.users.iter().position(|&(user, _)| user == node) {
                Some(at) => {
                    let uses = &mut row.users[at].1;
                    *uses = uses.checked_add_signed(change).expect("uses are added before they go");
                    if *uses == 0 {
                        row.users.swap_remove(at);
                    }
                }
                None => {
                    assert_eq!(change, 1, "uses are added before they go");
                    row.users.push((node, 1));
                }
            }
            if let Some(attachable) = row.attachable {
                self.usage.attach(attachable.volume, node, Witness::Pod, change);
            }
        }
        for volume in &class.volumes.inline {
            if let &InlineVolume::Translated(driver, handle) = volume {
                self.usage.attach(CsiVolume { driver, handle }, node, Witness::Pod, change);
            }
        }
        for disk in &class.volumes.disks {
            self.usage.use_disk(disk, node, change);
        }
    }
}

/// Bindings that were decided and that the API does not know of yet.
impl Storage {
    /// Takes the volumes and selects the node. Upstream: binder.go `AssumePodVolumes`.
    pub fn assume(&mut self, decision: &VolumeDecision, node_name: Symbol) {
        for &(claim, volume) in &decision.bindings {
            self.set_assumed(volume, Some(claim));
        }
        for claim in &decision.provisions {
            self.claims[claim.index()].assumed_node = Some(node_name);
        }
        self.version += 1;
    }

    /// Takes a decision back. What the API has confirmed since stays.
    /// Upstream: binder.go `RevertAssumedPodVolumes`.
    pub fn revert(&mut self, decision: &VolumeDecision) {
        for &(_, volume) in &decision.bindings {
            self.set_assumed(volume, None);
        }
        for claim in &decision.provisions {
            self.claims[claim.index()].assumed_node = None;
        }
        self.version += 1;
    }

    fn set_assumed(&mut self, id: VolumeId, claim: Option<ClaimId>) {
        let row = &mut self.volumes[id.index()];
        let old = std::mem::replace(&mut row.assumed, claim);
        if let Some(old) = old
            && let Some(volumes) = self.assumed_volumes.get_mut(&old)
        {
            volumes.retain(|&other| other != id);
            if volumes.is_empty() {
                self.assumed_volumes.remove(&old);
            }
        }
        if let Some(new) = claim {
            self.assumed_volumes.entry(new).or_default().push(id);
        }
    }
}

/// Objects that come, change and go.
impl Storage {
    fn claim_id(&mut self, namespace: Symbol, name: Symbol) -> ClaimId {
        if let Some(&id) = self.claim_ids.get(&(namespace, name)) {
            return id;
        }
        let row = ClaimRow {
            namespace,
            name,
            object: None,
            assumed_node: None,
            attachable: None,
            users: Vec::new(),
            named_uses: 0,
            use_version: 0,
        };
        let id = ClaimId(put(&mut self.claims, &mut self.free_claims, row));
        self.claim_ids.insert((namespace, name), id);
        id
    }

    fn volume_id(&mut self, name: Symbol) -> VolumeId {
        if let Some(&id) = self.volume_ids.get(&name) {
            return id;
        }
        let row = VolumeRow { name, object: None, assumed: None };
        let id = VolumeId(put(&mut self.volumes, &mut self.free_volumes, row));
        self.volume_ids.insert(name, id);
        id
    }

    pub(crate) fn upsert_claim(&mut self, input: &ClaimInput, vocabulary: &mut Vocabulary) {
        let namespace = vocabulary.symbols.intern(&input.namespace);
        let id = self.claim_id(namespace, vocabulary.symbols.intern(&input.name));
        self.set_claim(id, Some(Claim::new(input, vocabulary)), vocabulary);
    }

    pub(crate) fn remove_claim(&mut self, namespace: Symbol, name: Symbol, vocabulary: &mut Vocabulary) {
        if let Some(&id) = self.claim_ids.get(&(namespace, name)) {
            self.set_claim(id, None, vocabulary);
        }
    }

    fn set_claim(&mut self, id: ClaimId, object: Option<Claim>, vocabulary: &mut Vocabulary) {
        let volume_of = |claim: &Option<Claim>| {
            claim.as_ref().map(|claim| claim.volume_name).filter(|&name| name != EMPTY)
        };
        let row = &mut self.claims[id.index()];
        let (old, new) = (volume_of(&row.object), volume_of(&object));
        row.object = object;
        row.assumed_node = None;
        row.use_version += 1;
        if old != new {
            if let Some(old) = old {
                unlist(&mut self.claims_of_volume, old, id);
            }
            if let Some(new) = new {
                self.claims_of_volume.entry(new).or_default().push(id);
            }
        }
        self.resolve(id, vocabulary);
        self.version += 1;
    }

    pub(crate) fn upsert_volume(
        &mut self,
        input: &PersistentVolumeInput,
        vocabulary: &mut Vocabulary,
    ) -> StorageNews {
        let id = self.volume_id(vocabulary.symbols.intern(&input.name));
        let new = Volume::new(input, vocabulary);
        let news = StorageNews::of_volume(self.volume(id), &new);
        self.set_volume(id, Some(new), vocabulary);
        news
    }

    pub(crate) fn remove_volume(&mut self, name: Symbol, vocabulary: &mut Vocabulary) {
        if let Some(&id) = self.volume_ids.get(&name) {
            self.set_volume(id, None, vocabulary);
        }
    }

    fn set_volume(&mut self, id: VolumeId, object: Option<Volume>, vocabulary: &mut Vocabulary) {
        self.set_assumed(id, None);
        let row = &mut self.volumes[id.index()];
        let name = row.name;
        let old = std::mem::replace(&mut row.object, object);
        if let Some(old) = old {
            self.volume_index.remove(id, &old);
        }
        if let Some(new) = &self.volumes[id.index()].object {
            self.volume_index.add(id, new, |id| {
                let row = &self.volumes[id.index()];
                let capacity = row.object.as_ref().map(|volume| volume.capacity);
                (capacity, vocabulary.symbols.text(row.name))
            });
        }
        for claim in self.claims_of_volume.get(&name).cloned().unwrap_or_default() {
            self.resolve(claim, vocabulary);
        }
        for attachment in self.attachments_of_volume.get(&name).cloned().unwrap_or_default() {
            self.count_attachment(attachment);
        }
        self.version += 1;
    }

    pub(crate) fn upsert_class(
        &mut self,
        input: &StorageClassInput,
        vocabulary: &mut Vocabulary,
    ) -> StorageNews {
        let name = vocabulary.symbols.intern(&input.name);
        let new = StorageClass::new(input, vocabulary);
        let news = StorageNews::of_class(self.class(name), &new);
        self.classes.insert(name, new);
        self.resolve_class(name, vocabulary);
        news
    }

    pub(crate) fn remove_class(&mut self, name: Symbol, vocabulary: &mut Vocabulary) {
        self.classes.remove(&name);
        self.resolve_class(name, vocabulary);
    }

    fn resolve_class(&mut self, name: Symbol, vocabulary: &mut Vocabulary) {
        for at in 0..self.claims.len() {
            if self.claims[at].object.as_ref().is_some_and(|claim| claim.class == name) {
                self.resolve(ClaimId(u32::try_from(at).expect("ids fit u32")), vocabulary);
            }
        }
        self.version += 1;
    }

    pub(crate) fn upsert_driver(&mut self, name: Symbol, input: &CsiDriverInput) -> StorageNews {
        let &CsiDriverInput { has_storage_capacity, is_required_on_node, .. } = input;
        let new = CsiDriver { has_storage_capacity, is_required_on_node };
        self.version += 1;
        StorageNews::of_driver(self.drivers.insert(name, new), new)
    }

    pub(crate) fn remove_driver(&mut self, name: Symbol) {
        self.drivers.remove(&name);
        self.version += 1;
    }

    pub(crate) fn upsert_csi_node(
        &mut self,
        node: NodeId,
        input: &CsiNodeInput,
        vocabulary: &mut Vocabulary,
    ) -> StorageNews {
        let new = CsiNode::new(input, vocabulary);
        let news = StorageNews::of_csi_node(self.csi_node(node), &new);
        self.set_csi_node(node, Some(new));
        news
    }

    pub(crate) fn remove_csi_node(&mut self, node: NodeId) {
        self.set_csi_node(node, None);
    }

    fn set_csi_node(&mut self, node: NodeId, object: Option<CsiNode>) {
        if self.csi_nodes.len() <= node.index() {
            self.csi_nodes.resize_with(node.index() + 1, || None);
        }
        self.csi_nodes[node.index()] = object;
        self.version += 1;
    }

    pub(crate) fn upsert_capacity(
        &mut self,
        input: &StorageCapacityInput,
        vocabulary: &mut Vocabulary,
    ) -> StorageNews {
        let key = (input.namespace.clone(), input.name.clone());
        let new = StorageCapacity::new(input, vocabulary);
        let news = StorageNews::of_capacity(self.capacities.get(&key), &new);
        self.capacities.insert(key, new);
        self.version += 1;
        news
    }

    pub(crate) fn remove_capacity(&mut self, namespace: &str, name: &str) {
        self.capacities.remove(&(namespace.to_owned(), name.to_owned()));
        self.version += 1;
    }

    pub(crate) fn upsert_attachment(
        &mut self,
        node: NodeId,
        input: &AttachmentInput,
        vocabulary: &mut Vocabulary,
    ) {
        let name = vocabulary.symbols.intern(&input.name);
        self.remove_attachment(name);
        let volume_name = input.volume_name.as_deref().map(|name| vocabulary.symbols.intern(name));
        let attacher = vocabulary.symbols.intern(&input.attacher);
        self.attachments.insert(name, Attachment { node, attacher, volume_name, counted: None });
        if let Some(volume) = volume_name {
            self.attachments_of_volume.entry(volume).or_default().push(name);
        }
        self.count_attachment(name);
        self.version += 1;
    }

    /// Forgets an attachment; who had made it, if it was known.
    pub(crate) fn remove_attachment(&mut self, name: Symbol) -> Option<Symbol> {
        let attachment = self.attachments.remove(&name)?;
        if let Some(volume) = attachment.volume_name {
            unlist(&mut self.attachments_of_volume, volume, name);
        }
        if let Some(volume) = attachment.counted {
            self.usage.attach(volume, attachment.node, Witness::Attachment, -1);
        }
        self.version += 1;
        Some(attachment.attacher)
    }

    /// Counts an attachment as what its volume is now. In-tree volumes do not count.
    /// Upstream: nodevolumelimits/csi.go `getNodeVolumeAttachmentInfo`.
    fn count_attachment(&mut self, name: Symbol) {
        let Some(attachment) = self.attachments.get(&name) else { return };
        let Attachment { node, attacher, volume_name, counted } = *attachment;
        let volume = volume_name.and_then(|name| Some(self.find_volume(name)?.1));
        let handle = volume.and_then(|it| it.attachable).filter(|it| !it.is_migrated);
        let now = handle
            .filter(|_| attacher != EMPTY)
            .map(|it| CsiVolume { driver: attacher, handle: it.volume.handle });
        if let Some(old) = counted {
            self.usage.attach(old, node, Witness::Attachment, -1);
        }
        if let Some(new) = now {
            self.usage.attach(new, node, Witness::Attachment, 1);
        }
        if let Some(attachment) = self.attachments.get_mut(&name) {
            attachment.counted = now;
        }
    }

    /// Finds out what a claim counts as, and counts it anew where it is used.
    fn resolve(&mut self, id: ClaimId, vocabulary: &mut Vocabulary) {
        let new = self.attachable_of(id, vocabulary);
        let row = &mut self.claims[id.index()];
        let old = std::mem::replace(&mut row.attachable, new);
        if old == new {
            return;
        }
        for &(node, uses) in &row.users {
            let uses = i32::try_from(uses).expect("few uses");
            if let Some(old) = old {
                self.usage.attach(old.volume, node, Witness::Pod, -uses);
            }
            if let Some(new) = new {
                self.usage.attach(new.volume, node, Witness::Pod, uses);
            }
        }
    }

    /// Upstream: nodevolumelimits/csi.go `getCSIDriverInfo`, `getCSIDriverInfoFromSC`.
    fn attachable_of(&self, id: ClaimId, vocabulary: &mut Vocabulary) -> Option<Attachable> {
        let row = &self.claims[id.index()];
        let claim = row.object.as_ref()?;
        if claim.volume_name != EMPTY
            && let Some((_, volume)) = self.find_volume(claim.volume_name)
        {
            return volume.attachable;
        }
        if claim.class == EMPTY {
            return None;
        }
        let (driver, is_migrated) = self.class(claim.class)?.driver?;
        let symbols = &vocabulary.symbols;
        // A handle that no driver gives out.
        let handle = format!("\0claim {}/{}", symbols.text(row.namespace), symbols.text(row.name));
        let driver = symbols.text(driver).to_owned();
        attachable(&driver, &handle, is_migrated, vocabulary)
    }
}

/// Takes a value out of the list of a key, keeping the order of the others.
fn unlist<T: PartialEq>(lists: &mut FxHashMap<Symbol, Vec<T>>, key: Symbol, value: T) {
    if let Some(list) = lists.get_mut(&key) {
        list.retain(|other| *other != value);
        if list.is_empty() {
            lists.remove(&key);
        }
    }
}

/// Puts a row where one is free, or at the end.
fn put<T>(table: &mut Vec<T>, free: &mut Vec<u32>, row: T) -> u32 {
    match free.pop() {
        Some(id) => {
            table[id as usize] = row;
            id
        }
        None => {
            table.push(row);
            u32::try_from(table.len() - 1).expect("fewer than 2^32 rows")
        }
    }
}
