//! What pods use on their nodes: CSI volumes, counted once however many pods share them, and disks.
//! Kept as pods come and go, so that a cycle counts nothing.

use rustc_hash::FxHashMap;

use crate::class::volumes::{Disk, DiskKey};
use crate::ids::{NodeId, Symbol};
use crate::reclaim::{Marks, cut};

/// A CSI volume: driver and handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CsiVolume {
    /// The driver.
    pub driver: Symbol,
    /// The driver's name for the volume.
    pub handle: Symbol,
}

/// Who says that a volume is attached to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Witness {
    Pod,
    Attachment,
}

/// How often a volume is attached to a node.
#[derive(Clone, Copy, Debug, Default)]
struct Holder {
    node: NodeId,
    pods: u32,
    attachments: u32,
}

/// A disk that pods of a node use.
#[derive(Clone, Debug)]
struct DiskUse {
    node: NodeId,
    disk: Disk,
    pods: u32,
}

/// Volumes and disks in use, by node.
#[derive(Clone, Debug, Default)]
pub(super) struct Usage {
    holders: FxHashMap<CsiVolume, Vec<Holder>>,
    /// Distinct volumes of each driver, by node.
    counts: Vec<Vec<(Symbol, u32)>>,
    disks: FxHashMap<DiskKey, Vec<DiskUse>>,
}

fn moved(count: u32, change: i32) -> u32 {
    count.checked_add_signed(change).expect("what is taken away was added before")
}

impl Usage {
    /// Counts `change` more witnesses of a volume on a node.
    pub(super) fn attach(&mut self, volume: CsiVolume, node: NodeId, witness: Witness, change: i32) {
        let holders = self.holders.entry(volume).or_default();
        let at = holders.iter().position(|holder| holder.node == node).unwrap_or_else(|| {
            holders.push(Holder { node, ..Holder::default() });
            holders.len() - 1
        });
        let holder = &mut holders[at];
        let before = holder.pods + holder.attachments;
        match witness {
            Witness::Pod => holder.pods = moved(holder.pods, change),
            Witness::Attachment => holder.attachments = moved(holder.attachments, change),
        }
        let after = holder.pods + holder.attachments;
        debug_assert_ne!(before, after, "something is counted in or out");
        if after == 0 {
            holders.swap_remove(at);
            if holders.is_empty() {
                self.holders.remove(&volume);
            }
        }
        match (before, after) {
            (0, 1..) => self.count(node, volume.driver, 1),
            (1.., 0) => self.count(node, volume.driver, -1),
            _ => {}
        }
    }

    fn count(&mut self, node: NodeId, driver: Symbol, change: i32) {
        if self.counts.len() <= node.index() {
            self.counts.resize_with(node.index() + 1, Vec::new);
        }
        let counts = &mut self.counts[node.index()];
        match counts.iter_mut().find(|(known, _)| *known == driver) {
            Some((_, count)) => *count = moved(*count, change),
            None => counts.push((driver, moved(0, change))),
        }
    }

    /// Marks what is attached, and where.
    pub(super) fn mark(&self, marks: &mut Marks) {
        for (volume, holders) in &self.holders {
            marks.symbol(volume.driver);
            marks.symbol(volume.handle);
            holders.iter().for_each(|holder| marks.node(holder.node));
        }
    }

    /// Attachments counted.
    pub(super) fn attachment_count(&self) -> usize {
        self.holders.values().flatten().map(|holder| holder.attachments as usize).sum()
    }

    /// Panics where volumes, nodes and drivers do not agree.
    pub(super) fn check(&self) {
        let mut held = 0;
        for (volume, holders) in &self.holders {
            assert!(!holders.is_empty(), "a volume that is nowhere is not listed");
            for (at, holder) in holders.iter().enumerate() {
                assert!(holder.pods + holder.attachments > 0, "a node that lacks the volume is not listed");
                let twice = holders[..at].iter().any(|other| other.node == holder.node);
                assert!(!twice, "a node holds a volume once");
                assert!(self.volume_count(holder.node, volume.driver) > 0, "a held volume is counted");
            }
            held += holders.len();
        }
        let counted: usize = self.counts.iter().flatten().map(|&(_, count)| count as usize).sum();
        assert_eq!(counted, held, "each volume of a node is counted once");
        for (key, uses) in &self.disks {
            assert!(!uses.is_empty(), "a disk that is nowhere is not listed");
            for disk_use in uses {
                assert!(disk_use.pods > 0, "a disk without pods is not listed");
                assert!(disk_use.disk.key == *key, "a disk is found by its own key");
            }
        }
    }

    /// There are so many ids of nodes; the others hold nothing.
    pub(super) fn cut_nodes(&mut self, len: usize) {
        self.counts.iter_mut().for_each(|counts| counts.retain(|&(_, count)| count > 0));
        debug_assert!(self.counts.iter().skip(len).all(Vec::is_empty), "a node that goes holds nothing");
        let len = len.min(self.counts.len());
        cut(&mut self.counts, len);
        self.holders.shrink_to(2 * self.holders.len());
        self.disks.shrink_to(2 * self.disks.len());
    }

    /// Distinct volumes of a driver on a node.
    #[inline]
    pub(super) fn volume_count(&self, node: NodeId, driver: Symbol) -> u32 {
        let counts = self.counts.get(node.index()).map_or(&[][..], Vec::as_slice);
        counts.iter().find(|(known, _)| *known == driver).map_or(0, |&(_, count)| count)
    }

    /// Whether a pod of the node uses the volume.
    #[inline]
    pub(super) fn is_used_by_pods(&self, volume: CsiVolume, node: NodeId) -> bool {
        let holders = self.holders.get(&volume).map_or(&[][..], Vec::as_slice);
        holders.iter().any(|holder| holder.node == node && holder.pods > 0)
    }

    /// Counts `change` more pods with a disk on a node.
    pub(super) fn use_disk(&mut self, disk: &Disk, node: NodeId, change: i32) {
        let uses = self.disks.entry(disk.key).or_default();
        match uses.iter().position(|it| it.node == node && it.disk == *disk) {
            Some(at) => {
                uses[at].pods = moved(uses[at].pods, change);
                if uses[at].pods == 0 {
                    uses.swap_remove(at);
                    if uses.is_empty() {
                        self.disks.remove(&disk.key);
                    }
                }
            }
            None => uses.push(DiskUse { node, disk: disk.clone(), pods: moved(0, change) }),
        }
    }

    /// Nodes where a disk cannot go. A node may come up several times.
    pub(super) fn conflicting_nodes<'a>(&'a self, disk: &'a Disk) -> impl Iterator<Item = NodeId> + 'a {
        let uses = self.disks.get(&disk.key).map_or(&[][..], Vec::as_slice);
        uses.iter().filter(|it| disk.conflicts_with(&it.disk)).map(|it| it.node)
    }
}
