//! What must hold of the node snapshot between two events. See `World::check`.

use super::mask::{NodeMask, valid_bits, word_count};
use super::ports::HostPort;
use super::{ABSENT, NodeColumns, NodeSnapshot};
use crate::interner::Vocabulary;

impl NodeMask {
    /// Panics if the mask does not range over so many rows, or a bit stands for no row.
    pub(crate) fn check(&self, node_count: usize) {
        assert_eq!(self.node_count(), node_count, "a mask ranges over the rows there are");
        assert_eq!(self.words().len(), word_count(node_count), "a mask has a bit for each row");
        if let Some((word, &last)) = self.words().iter().enumerate().next_back() {
            assert_eq!(last & !valid_bits(word, node_count), 0, "bits past the last row are zero");
        }
    }
}

impl NodeColumns {
    fn check(&self) {
        let node_count = self.name.len();
        self.check_lengths(node_count);
        self.unschedulable.check(node_count);
        for column in &self.scalars {
            assert_eq!(column.allocatable.len(), node_count, "a scalar's allocatable column is complete");
            assert_eq!(column.requested.len(), node_count, "a scalar's requested column is complete");
        }
        for row in 0..node_count {
            assert!(self.pod_count[row] >= 0, "no row has fewer than no pods");
        }
    }
}

impl NodeSnapshot {
    /// Panics where columns, slots, names, order and masks do not agree.
    pub(crate) fn check(&self, vocabulary: &Vocabulary) {
        self.columns.check();
        self.ports.check(self.node_count());
        self.check_slots();
        self.check_order();
        self.images.check(self.columns.image_set.iter().map(|&set| vocabulary.images(set)));
        for row in 0..self.node_count() {
            let columns = &self.columns;
            assert!(vocabulary.symbols.is_live(columns.name[row]), "a node's name is interned");
            assert!(vocabulary.is_live_label_set(columns.label_set[row]), "a node's labels are interned");
            assert!(vocabulary.is_live_taint_set(columns.taint_set[row]), "a node's taints are interned");
            assert!(vocabulary.is_live_image_set(columns.image_set[row]), "a node's images are interned");
        }
    }

    fn check_slots(&self) {
        let present = self.slots.iter().filter(|slot| slot.row != ABSENT).count();
        assert_eq!(present, self.node_count(), "each row has one slot");
        assert_eq!(self.by_name.len() + self.free.len(), self.slots.len(), "a slot has a name or is free");
        for (row, &id) in self.columns.id.iter().enumerate() {
            let slot = &self.slots[id.index()];
            assert_eq!(slot.row as usize, row, "a node's slot says its row");
            assert_eq!(slot.name, self.columns.name[row], "a node's slot and row have one name");
        }
        for (&name, &id) in &self.by_name {
            assert_eq!(self.slots[id.index()].name, name, "a node is found under its own name");
        }
        for &id in &self.free {
            assert!((id as usize) < self.slots.len(), "a free id is one of the table");
            assert_eq!(self.slots[id as usize].row, ABSENT, "a free id is no node of the list");
        }
    }

    fn check_order(&self) {
        let mut listed = Vec::with_capacity(self.node_count());
        self.order.list_into(&mut listed);
        assert_eq!(listed.len(), self.node_count(), "the list has each node once");
        if !self.order_is_stale {
            assert_eq!(listed, self.columns.id, "settled rows stand in list order");
        }
        for &id in &listed {
            assert_ne!(self.slots[id.index()].row, ABSENT, "only nodes that are there are listed");
        }
    }

    /// Panics if a host port is taken on a row on which `uses` says that no pod has it.
    pub(crate) fn check_ports(&self, uses: impl Fn(usize, HostPort) -> bool) {
        for (port, rows) in self.ports.each() {
            for row in rows.rows() {
                assert!(uses(row, port), "a host port in use is some pod's");
            }
        }
    }
}
