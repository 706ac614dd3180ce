//! The order in which nodes are tried: round-robin over zones, first come first served in a zone.
//!
//! Upstream: backend/cache/node_tree.go. A node's zone is its region and zone labels (the old
//! beta labels win when present).

use crate::ids::{NodeId, Symbol};
use crate::input::Labels;
use crate::interner::{EMPTY, Interner};

/// A region and a zone; both empty for a node without such labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ZoneKey {
    region: Symbol,
    zone: Symbol,
}

impl Default for ZoneKey {
    fn default() -> Self {
        ZoneKey { region: EMPTY, zone: EMPTY }
    }
}

impl ZoneKey {
    /// Upstream: component-helpers/node/topology `GetZoneKey`.
    #[must_use]
    pub fn of(labels: &Labels, symbols: &mut Interner) -> ZoneKey {
        let mut either = |old: &str, new: &str| {
            labels.get(old).or_else(|| labels.get(new)).map_or(EMPTY, |text| symbols.intern(text))
        };
        ZoneKey {
            region: either("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
            zone: either("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
        }
    }
}

/// Which order the node list has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeOrdering {
    /// Zones take turns, as upstream's scheduler tries nodes.
    #[default]
    ZoneInterleaved,
    /// Plain order of arrival, whatever the labels; an update keeps a node's place, and rows are
    /// settled at all times. Conformance traces list nodes so.
    Arrival,
}

/// Nodes grouped by zone, zones in order of first arrival.
#[derive(Clone, Debug, Default)]
pub struct NodeOrder {
    ordering: NodeOrdering,
    zones: Vec<(ZoneKey, Vec<NodeId>)>,
}

impl NodeOrder {
    /// An order of no nodes.
    #[must_use]
    pub fn new(ordering: NodeOrdering) -> NodeOrder {
        NodeOrder { ordering, zones: Vec::new() }
    }

    /// The zone that a node with these labels is listed in. In order of arrival there is only one.
    #[must_use]
    pub fn zone_of(&self, labels: &Labels, symbols: &mut Interner) -> ZoneKey {
        match self.ordering {
            NodeOrdering::ZoneInterleaved => ZoneKey::of(labels, symbols),
            NodeOrdering::Arrival => ZoneKey::default(),
        }
    }

    /// Adds a node at the end of its zone.
    pub fn add(&mut self, node: NodeId, zone: ZoneKey) {
        debug_assert!(
            self.zones.iter().all(|(_, nodes)| !nodes.is_empty()),
            "a zone without nodes is forgotten"
        );
        match self.zones.iter_mut().find(|(key, _)| *key == zone) {
            Some((_, nodes)) => nodes.push(node),
            None => self.zones.push((zone, vec![node])),
        }
    }

    /// Takes a node out; a zone without nodes is forgotten, and with it its place in the order.
    pub fn remove(&mut self, node: NodeId, zone: ZoneKey) {
        let Some(at) = self.zones.iter().position(|(key, _)| *key == zone) else { return };
        self.zones[at].1.retain(|&other| other != node);
        if self.zones[at].1.is_empty() {
            self.zones.remove(at);
        }
    }

    /// Whether a node added to this zone goes to the very end of the list.
    #[must_use]
    pub fn appends(&self, zone: ZoneKey) -> bool {
        match self.zones.as_slice() {
            [] => true,
            [(only, _)] => *only == zone,
            _ => false,
        }
    }

    /// Whether nodes that stay keep their places when one leaves.
    #[must_use]
    pub fn has_one_zone(&self) -> bool {
        self.zones.len() <= 1
    }

    /// Writes the whole order.
    pub fn list_into(&self, out: &mut Vec<NodeId>) {
        out.clear();
        let longest = self.zones.iter().map(|(_, nodes)| nodes.len()).max().unwrap_or(0);
        for turn in 0..longest {
            out.extend(self.zones.iter().filter_map(|(_, nodes)| nodes.get(turn)));
        }
        let listed: usize = self.zones.iter().map(|(_, nodes)| nodes.len()).sum();
        debug_assert_eq!(out.len(), listed, "each node has one turn");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::NodeInput;
    use crate::world::World;

    fn zone(name: char) -> ZoneKey {
        ZoneKey { region: EMPTY, zone: Symbol(u32::from(name)) }
    }

    fn listed(order: &NodeOrder) -> Vec<u32> {
        let mut out = Vec::new();
        order.list_into(&mut out);
        out.into_iter().map(|node| node.0).collect()
    }

    #[test]
    fn node_list_is_round_robin_over_zones() {
        let mut order = NodeOrder::default();
        for (node, name) in [(0, 'a'), (1, 'a'), (2, 'b'), (3, 'a'), (4, 'c'), (5, 'b')] {
            order.add(NodeId(node), zone(name));
        }
        assert_eq!(listed(&order), [0, 2, 4, 1, 5, 3]);
        order.remove(NodeId(0), zone('a'));
        assert_eq!(listed(&order), [1, 2, 4, 3, 5]);
        order.remove(NodeId(4), zone('c'));
        order.add(NodeId(4), zone('c'));
        assert_eq!(listed(&order), [1, 2, 4, 3, 5], "an emptied zone comes back last, here the same place");
        order.remove(NodeId(1), zone('a'));
        order.remove(NodeId(3), zone('a'));
        order.add(NodeId(1), zone('a'));
        assert_eq!(listed(&order), [2, 4, 1, 5], "zone a lost its place");
    }

    #[test]
    fn beta_zone_labels_win_and_no_labels_is_its_own_zone() {
        let labels = |pairs: &[(&str, &str)]| -> Labels {
            pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
        };
        let mut symbols = Interner::default();
        symbols.intern("");
        let mut zone = |pairs: &[(&str, &str)]| ZoneKey::of(&labels(pairs), &mut symbols);
        let old = ("failure-domain.beta.kubernetes.io/zone", "old");
        let new = ("topology.kubernetes.io/zone", "new");
        assert_eq!(zone(&[old, new]), zone(&[old]));
        assert_ne!(zone(&[old, new]), zone(&[new]));
        assert_eq!(zone(&[]), ZoneKey::default());
        assert_ne!(zone(&[("topology.kubernetes.io/region", "x")]), ZoneKey::default());
    }

    #[test]
    fn arrival_order_keeps_node_position_whatever_its_zone() {
        let mut world = World::with_node_ordering(NodeOrdering::Arrival);
        let node = |name: &str, zone: &str| NodeInput {
            name: name.to_owned(),
            labels: [("topology.kubernetes.io/zone".to_owned(), zone.to_owned())].into(),
            ..NodeInput::default()
        };
        // Not settled on purpose: this order never needs it.
        let names = |world: &World| -> Vec<String> {
            world.nodes().columns().id.iter().map(|&id| world.node_name(id).to_owned()).collect()
        };
        for (name, zone) in [("n1", "a"), ("n2", "a"), ("n3", "b"), ("n4", "c")] {
            world.upsert_node(&node(name, zone));
        }
        assert_eq!(names(&world), ["n1", "n2", "n3", "n4"]);
        world.upsert_node(&node("n1", "b"));
        assert_eq!(names(&world), ["n1", "n2", "n3", "n4"], "an update that moves the zone");
        let second = world.node_id("n2");
        world.remove_node(second);
        assert_eq!(names(&world), ["n1", "n3", "n4"]);
        world.upsert_node(&node("n2", "a"));
        assert_eq!(names(&world), ["n1", "n3", "n4", "n2"], "a node that comes back comes last");
        world.settle();
        assert_eq!(names(&world), ["n1", "n3", "n4", "n2"]);
    }
}
