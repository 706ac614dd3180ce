//! Volumes that a claim may still get, by what a node must have for them, and volumes that speak of a claim.
//!
//! ```text
//! class ─▶ (label key, value that a node must have) ─▶ volumes, smallest first
//!       ─▶ volumes that name no such label          ─▶ volumes, smallest first
//! claim ─▶ volumes that are bound to it or kept for it
//! ```
//!
//! Kept as volumes change, so that a cycle looks at the few volumes of a node, not at all of a class.
//! Whether a volume was taken in thought is asked when it is looked at.

use rustc_hash::FxHashMap;

use super::objects::Volume;
use crate::class::selector::NodeSelector;
use crate::ids::{Symbol, VolumeId};

/// Open volumes of one class.
#[derive(Clone, Debug, Default)]
pub struct OpenVolumes {
    anchored: FxHashMap<(Symbol, Symbol), Vec<VolumeId>>,
    /// Keys of `anchored`, and how many volumes are listed under each.
    anchor_keys: Vec<(Symbol, usize)>,
    unanchored: Vec<VolumeId>,
}

impl OpenVolumes {
    /// Lists of volumes that may be usable from a node with these labels, each smallest first.
    pub fn within_reach<'a>(
        &'a self,
        label: impl Fn(Symbol) -> Option<Symbol> + 'a,
    ) -> impl Iterator<Item = &'a [VolumeId]> {
        let anchored = self.anchor_keys.iter().filter_map(move |&(key, _)| {
            let value = label(key)?;
            self.anchored.get(&(key, value)).map(Vec::as_slice)
        });
        anchored.chain(std::iter::once(self.unanchored.as_slice()))
    }

    fn is_empty(&self) -> bool {
        self.anchor_keys.is_empty() && self.unanchored.is_empty()
    }

    /// Places of volumes; one that names several values has several.
    fn len(&self) -> usize {
        self.unanchored.len() + self.anchored.values().map(Vec::len).sum::<usize>()
    }

    /// Panics unless the volume is where its labels put it. How many places it has.
    fn check_volume(&self, id: VolumeId, volume: &Volume) -> usize {
        let Some((label, values)) = anchor(volume) else {
            assert!(self.unanchored.contains(&id), "a volume without such a label is in the list of those");
            return 1;
        };
        assert!(self.anchor_keys.iter().any(|&(key, _)| key == label), "the key of a listed volume is known");
        for value in distinct(values) {
            let listed = self.anchored.get(&(label, value)).is_some_and(|list| list.contains(&id));
            assert!(listed, "a volume is listed under each value that it names");
        }
        distinct(values).count()
    }

    fn add<K: Ord>(&mut self, id: VolumeId, volume: &Volume, key: impl Fn(VolumeId) -> K) {
        let insert = |list: &mut Vec<VolumeId>| {
            let own = key(id);
            let at = list.partition_point(|&other| key(other) < own);
            list.insert(at, id);
        };
        let Some((label, values)) = anchor(volume) else { return insert(&mut self.unanchored) };
        match self.anchor_keys.iter_mut().find(|(known, _)| *known == label) {
            Some((_, count)) => *count += 1,
            None => self.anchor_keys.push((label, 1)),
        }
        for value in distinct(values) {
            insert(self.anchored.entry((label, value)).or_default());
        }
    }

    fn remove(&mut self, id: VolumeId, volume: &Volume) {
        let Some((label, values)) = anchor(volume) else {
            return self.unanchored.retain(|&other| other != id);
        };
        if let Some(at) = self.anchor_keys.iter().position(|&(known, _)| known == label) {
            self.anchor_keys[at].1 -= 1;
            if self.anchor_keys[at].1 == 0 {
                self.anchor_keys.swap_remove(at);
            }
        }
        for value in distinct(values) {
            let Some(list) = self.anchored.get_mut(&(label, value)) else { continue };
            list.retain(|&other| other != id);
            if list.is_empty() {
                self.anchored.remove(&(label, value));
            }
        }
    }
}

/// A label of which a node must have one of some values, if the volume's affinity names one.
fn anchor(volume: &Volume) -> Option<(Symbol, &[Symbol])> {
    volume.affinity.as_ref().and_then(NodeSelector::anchor)
}

fn distinct(values: &[Symbol]) -> impl Iterator<Item = Symbol> + '_ {
    values.iter().enumerate().filter(|&(at, value)| !values[..at].contains(value)).map(|(_, &value)| value)
}

/// Open volumes of all classes, and volumes by the claim that they name.
#[derive(Clone, Debug, Default)]
pub(super) struct VolumeIndex {
    open: FxHashMap<Symbol, OpenVolumes>,
    of_claim: FxHashMap<(Symbol, Symbol), Vec<VolumeId>>,
}

impl VolumeIndex {
    /// No claim has the volume, and one may get it.
    fn is_open(volume: &Volume) -> bool {
        volume.claim_ref.is_none() && volume.is_available && !volume.is_terminating
    }

    /// A volume is there. `key` says what volumes are sorted by.
    pub(super) fn add<K: Ord>(&mut self, id: VolumeId, volume: &Volume, key: impl Fn(VolumeId) -> K) {
        if Self::is_open(volume) {
            self.open.entry(volume.class).or_default().add(id, volume, key);
        }
        if let Some(claim) = volume.claim_ref {
            self.of_claim.entry((claim.namespace, claim.name)).or_default().push(id);
        }
    }

    /// A volume that was added is not there any more, or not as it was.
    pub(super) fn remove(&mut self, id: VolumeId, volume: &Volume) {
        if Self::is_open(volume)
            && let Some(open) = self.open.get_mut(&volume.class)
        {
            open.remove(id, volume);
            if open.is_empty() {
                self.open.remove(&volume.class);
            }
        }
        if let Some(claim) = volume.claim_ref
            && let Some(ids) = self.of_claim.get_mut(&(claim.namespace, claim.name))
        {
            ids.retain(|&other| other != id);
            if ids.is_empty() {
                self.of_claim.remove(&(claim.namespace, claim.name));
            }
        }
    }

    /// Open volumes of a class, unless there are none.
    pub(super) fn open_of(&self, class: Symbol) -> Option<&OpenVolumes> {
        self.open.get(&class)
    }

    /// Volumes that name a claim of this namespace and name.
    pub(super) fn of_claim(&self, namespace: Symbol, name: Symbol) -> &[VolumeId] {
        self.of_claim.get(&(namespace, name)).map_or(&[], Vec::as_slice)
    }

    /// Panics where the lists are not those of the volumes there are. See `World::check`.
    pub(super) fn check<'a, I: Iterator<Item = (VolumeId, &'a Volume)>>(&self, volumes: impl Fn() -> I) {
        let (mut places, mut of_claims) = (0, 0);
        for (id, volume) in volumes() {
            if let Some(claim) = volume.claim_ref {
                let named = self.of_claim(claim.namespace, claim.name);
                assert!(named.contains(&id), "a volume is found by the claim it names");
                of_claims += 1;
            }
            if Self::is_open(volume) {
                let open = self.open_of(volume.class).expect("a class with an open volume is listed");
                places += open.check_volume(id, volume);
            }
        }
        let listed: usize = self.of_claim.values().map(Vec::len).sum();
        assert_eq!(listed, of_claims, "a volume is listed with the claim it names, once");
        let listed: usize = self.open.values().map(OpenVolumes::len).sum();
        assert_eq!(listed, places, "an open volume is listed with its class and labels, once");
    }
}
