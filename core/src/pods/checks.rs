//! What must hold of the table of pods between two events. See `World::check`.

use super::{NONE, PodTable};

impl PodTable {
    /// Panics where rows, UIDs and the lists of nodes do not agree.
    pub(crate) fn check(&self) {
        self.by_uid.check();
        assert_eq!(self.by_uid.len() + self.free.len(), self.rows.len(), "a row has a UID or is free");
        assert_eq!(self.ids().count(), self.by_uid.len(), "a UID leads to a row that has it");
        for &id in &self.free {
            let row = self.get(id);
            assert_eq!(row.node, NONE, "a free row is on no node");
            assert_ne!(self.find(row.uid), Some(id), "a free row is not found");
        }
        let placed = self.ids().filter(|&id| self.get(id).node != NONE).count();
        let listed: usize = (0..self.heads.len()).map(|node| self.check_list_of_node(node)).sum();
        assert_eq!(listed, placed, "a placed pod is in the list of its node");
    }

    /// Walks a node's list. How long it is.
    fn check_list_of_node(&self, node: usize) -> usize {
        let (mut at, mut previous, mut length) = (self.heads[node], NONE, 0);
        while at != NONE {
            assert!((at as usize) < self.rows.len(), "a list is of rows that are there");
            let row = &self.rows[at as usize];
            assert_eq!(row.node as usize, node, "a pod is in the list of the node it is on");
            assert_eq!(row.previous_on_node, previous, "neighbours of a list know each other");
            length += 1;
            assert!(length <= self.rows.len(), "a list ends");
            (previous, at) = (at, row.next_on_node);
        }
        length
    }
}
