//! What storage refers to, and names that nothing refers to any more. See [`crate::reclaim`].

use super::{Attachment, ClaimRow, Storage, VolumeDecision};
use crate::interner::EMPTY;
use crate::reclaim::{Marks, cut, give_back};

/// The claim exists, or a placed pod names it.
fn is_in_use(row: &ClaimRow) -> bool {
    row.object.is_some() || row.assumed_node.is_some() || !row.users.is_empty() || row.named_uses != 0
}

impl VolumeDecision {
    /// Marks what was decided about.
    pub(crate) fn mark(&self, marks: &mut Marks) {
        for &(claim, volume) in &self.bindings {
            marks.claim(claim);
            marks.volume(volume);
        }
        self.provisions.iter().for_each(|&claim| marks.claim(claim));
    }
}

impl Storage {
    /// Marks what objects refer to. Decisions are marked already.
    pub(crate) fn mark(&self, marks: &mut Marks) {
        debug_assert!(self.supposed_uses.is_empty(), "nothing is supposed between two cycles");
        self.volumes.iter().filter_map(|row| row.assumed).for_each(|claim| marks.claim(claim));
        for (&(namespace, name), &id) in &self.claim_ids {
            let row = &self.claims[id.index()];
            if !is_in_use(row) && !marks.claims.contains(id.index()) {
                continue;
            }
            marks.claim(id);
            marks.symbol(namespace);
            marks.symbol(name);
            row.assumed_node.into_iter().for_each(|node| marks.symbol(node));
            row.object.iter().for_each(|object| marks.uses(&object.uses));
            row.users.iter().for_each(|&(node, _)| marks.node(node));
            if let Some(attachable) = row.attachable {
                marks.symbol(attachable.volume.driver);
                marks.symbol(attachable.volume.handle);
            }
        }
        for (&name, &id) in &self.volume_ids {
            let row = &self.volumes[id.index()];
            if row.object.is_some() || row.assumed.is_some() || marks.volumes.contains(id.index()) {
                marks.volume(id);
                marks.symbol(name);
                row.object.iter().for_each(|object| marks.uses(&object.uses));
            }
        }
        self.mark_others(marks);
        self.usage.mark(marks);
    }

    fn mark_others(&self, marks: &mut Marks) {
        for (&name, class) in &self.classes {
            marks.symbol(name);
            marks.uses(&class.uses);
        }
        self.drivers.keys().for_each(|&name| marks.symbol(name));
        self.capacities.values().for_each(|capacity| marks.uses(&capacity.uses));
        for (at, csi) in self.csi_nodes.iter().enumerate() {
            let Some(csi) = csi else { continue };
            marks.nodes.insert(at);
            csi.drivers.iter().for_each(|&(name, _)| marks.symbol(name));
            csi.migrated_plugins.iter().for_each(|&name| marks.symbol(name));
        }
        for (&name, attachment) in &self.attachments {
            let &Attachment { node, attacher, volume_name, counted } = attachment;
            marks.node(node);
            [name, attacher].into_iter().chain(volume_name).for_each(|name| marks.symbol(name));
            let counted = counted.into_iter().flat_map(|volume| [volume.driver, volume.handle]);
            counted.for_each(|name| marks.symbol(name));
        }
    }

    /// Forgets claims and volumes that nothing speaks of. There are so many ids of nodes.
    pub(crate) fn sweep(&mut self, marks: &Marks, nodes: usize) {
        let mut freed = Vec::new();
        self.claim_ids.retain(|_, id| {
            let stays = marks.claims.contains(id.index());
            if !stays {
                freed.push(id.0);
            }
            stays
        });
        for &id in &freed {
            let row = &mut self.claims[id as usize];
            (row.namespace, row.name) = (EMPTY, EMPTY);
        }
        let len = give_back(&mut self.free_claims, freed, self.claims.len());
        cut(&mut self.claims, len);
        let mut freed = Vec::new();
        self.volume_ids.retain(|_, id| {
            let stays = marks.volumes.contains(id.index());
            if !stays {
                freed.push(id.0);
            }
            stays
        });
        freed.iter().for_each(|&id| self.volumes[id as usize].name = EMPTY);
        let len = give_back(&mut self.free_volumes, freed, self.volumes.len());
        cut(&mut self.volumes, len);
        self.claim_ids.shrink_to(2 * self.claim_ids.len());
        self.volume_ids.shrink_to(2 * self.volume_ids.len());
        debug_assert!(
            self.csi_nodes.iter().skip(nodes).all(Option::is_none),
            "a node that goes has no CSINode"
        );
        let len = nodes.min(self.csi_nodes.len());
        cut(&mut self.csi_nodes, len);
        self.usage.cut_nodes(nodes);
        self.version += 1;
    }
}
