//! The order of the node list: round robin over zones, so that neighbours in the list are far
//! apart in the cluster.
//!
//! ```text
//! zone a: a1 a2 a3
//! zone b: b1            list: a1 b1 c1 a2 c2 a3
//! zone c: c1 c2
//! ```
//!
//! Upstream: backend/cache/node_tree.go, component-helpers/node/topology `GetZoneKey`.

use crate::input::NodeInput;

/// Node names by zone. Zones are in order of their first node's arrival, nodes within a zone in
/// order of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeTree {
    zones: Vec<(String, Vec<String>)>,
}

impl NodeTree {
    /// Adds a node to its zone, unless it is there already.
    pub fn add_node(&mut self, node: &NodeInput) {
        let key = zone_key(node);
        match self.zones.iter_mut().find(|(zone, _)| *zone == key) {
            Some((_, names)) if names.contains(&node.name) => {}
            Some((_, names)) => names.push(node.name.clone()),
            None => self.zones.push((key, vec![node.name.clone()])),
        }
    }

    /// Takes a node out of the zone that its labels name; nothing happens when it is not there.
    pub fn remove_node(&mut self, node: &NodeInput) {
        let key = zone_key(node);
        for (zone, names) in &mut self.zones {
            if *zone == key {
                names.retain(|name| *name != node.name);
            }
        }
        self.zones.retain(|(_, names)| !names.is_empty());
    }

    /// Moves a node to the end of its new zone; nothing happens when the zone is the same.
    pub fn update_node(&mut self, old: &NodeInput, new: &NodeInput) {
        if zone_key(old) != zone_key(new) {
            self.remove_node(old);
            self.add_node(new);
        }
    }

    /// All names: the first of each zone, then the second of each, and so on.
    #[must_use]
    pub fn list(&self) -> Vec<String> {
        let longest = self.zones.iter().map(|(_, names)| names.len()).max();
        (0..longest.unwrap_or(0))
            .flat_map(|round| self.zones.iter().filter_map(move |(_, names)| names.get(round)))
            .cloned()
            .collect()
    }
}

/// Region and zone of a node as one text, empty when it has neither. The old labels win.
#[must_use]
pub fn zone_key(node: &NodeInput) -> String {
    let label = |old: &str, new: &str| {
        let value = node.labels.get(old).or_else(|| node.labels.get(new));
        value.cloned().unwrap_or_default()
    };
    let zone = label("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone");
    let region = label("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region");
    if zone.is_empty() && region.is_empty() {
        return String::new();
    }
    format!("{region}:\0:{zone}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{bare_node, label_pairs};

    const ZONE: &str = "topology.kubernetes.io/zone";
    const REGION: &str = "topology.kubernetes.io/region";
    const OLD_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
    const OLD_REGION: &str = "failure-domain.beta.kubernetes.io/region";

    fn labelled(name: &str, list: &[(&str, &str)]) -> NodeInput {
        NodeInput { labels: label_pairs(list), ..bare_node(name) }
    }

    /// A node named after its zone: `b2` is in zone `b`.
    fn in_zone(name: &str) -> NodeInput {
        labelled(name, &[(REGION, "r"), (ZONE, &name[..1])])
    }

    fn tree(names: &[&str]) -> NodeTree {
        let mut tree = NodeTree::default();
        for name in names {
            tree.add_node(&in_zone(name));
        }
        tree
    }

    #[test]
    fn zone_key_cases() {
        struct Case {
            name: &'static str,
            labels: &'static [(&'static str, &'static str)],
            key: &'static str,
        }
        #[rustfmt::skip]
        let cases = [
            Case { name: "no labels", labels: &[], key: "" },
            Case { name: "other labels", labels: &[("zone", "z")], key: "" },
            Case { name: "zone only", labels: &[(ZONE, "z")], key: ":\0:z" },
            Case { name: "region only", labels: &[(REGION, "r")], key: "r:\0:" },
            Case { name: "both", labels: &[(ZONE, "z"), (REGION, "r")], key: "r:\0:z" },
            Case { name: "old labels", labels: &[(OLD_ZONE, "z"), (OLD_REGION, "r")], key: "r:\0:z" },
            Case { name: "old labels win", labels: &[(OLD_ZONE, "old"), (ZONE, "new"), (REGION, "r")], key: "r:\0:old" },
            Case { name: "an empty old label wins too", labels: &[(OLD_ZONE, ""), (ZONE, "new")], key: "" },
        ];
        for case in &cases {
            assert_eq!(zone_key(&labelled("n", case.labels)), case.key, "case: {}", case.name);
        }
    }

    #[test]
    fn list_cases() {
        struct Case {
            name: &'static str,
            added: &'static [&'static str],
            list: &'static [&'static str],
        }
        #[rustfmt::skip]
        let cases = [
            Case { name: "empty", added: &[], list: &[] },
            Case { name: "one node", added: &["a1"], list: &["a1"] },
            Case { name: "the same node twice", added: &["a1", "a1"], list: &["a1"] },
            Case { name: "one zone keeps the order of arrival", added: &["a2", "a1", "a3"], list: &["a2", "a1", "a3"] },
            Case { name: "zones take turns in order of arrival", added: &["b1", "a1", "a2", "b2"], list: &["b1", "a1", "b2", "a2"] },
            Case { name: "short zones drop out", added: &["a1", "a2", "a3", "b1", "c1", "c2"], list: &["a1", "b1", "c1", "a2", "c2", "a3"] },
        ];
        for case in &cases {
            assert_eq!(tree(case.added).list(), case.list, "case: {}", case.name);
        }
    }

    #[test]
    fn nodes_without_a_zone_are_a_zone() {
        let mut tree = tree(&["a1", "a2"]);
        tree.add_node(&bare_node("x1"));
        tree.add_node(&bare_node("x2"));
        assert_eq!(tree.list(), ["a1", "x1", "a2", "x2"]);
    }

    #[test]
    fn remove_cases() {
        struct Case {
            name: &'static str,
            removed: &'static [&'static str],
            list: &'static [&'static str],
        }
        // Zones a: a1 a2, b: b1, c: c1.
        #[rustfmt::skip]
        let cases = [
            Case { name: "one of two", removed: &["a1"], list: &["a2", "b1", "c1"] },
            Case { name: "a whole zone", removed: &["b1"], list: &["a1", "c1", "a2"] },
            Case { name: "all", removed: &["c1", "a2", "b1", "a1"], list: &[] },
            Case { name: "a stranger", removed: &["d1"], list: &["a1", "b1", "c1", "a2"] },
        ];
        for case in &cases {
            let mut tree = tree(&["a1", "b1", "c1", "a2"]);
            for name in case.removed {
                tree.remove_node(&in_zone(name));
            }
            assert_eq!(tree.list(), case.list, "case: {}", case.name);
        }
    }

    #[test]
    fn update_cases() {
        struct Case {
            name: &'static str,
            old: NodeInput,
            new: NodeInput,
            list: &'static [&'static str],
        }
        let moved = |name: &str, zone: &str| labelled(name, &[(REGION, "r"), (ZONE, zone)]);
        // Zones a: a1 a2, b: b1.
        #[rustfmt::skip]
        let cases = [
            Case { name: "same zone", old: in_zone("a1"), new: labelled("a1", &[(REGION, "r"), (ZONE, "a"), ("x", "y")]), list: &["a1", "b1", "a2"] },
            Case { name: "to another zone", old: in_zone("a1"), new: moved("a1", "b"), list: &["a2", "b1", "a1"] },
            Case { name: "to a new zone", old: in_zone("a1"), new: moved("a1", "c"), list: &["a2", "b1", "a1"] },
            Case { name: "the only node of its zone", old: in_zone("b1"), new: moved("b1", "a"), list: &["a1", "a2", "b1"] },
            Case { name: "loses its zone", old: in_zone("b1"), new: bare_node("b1"), list: &["a1", "b1", "a2"] },
            Case { name: "a stranger is added", old: bare_node("n"), new: moved("n", "b"), list: &["a1", "b1", "a2", "n"] },
        ];
        for case in &cases {
            let mut tree = tree(&["a1", "b1", "a2"]);
            tree.update_node(&case.old, &case.new);
            assert_eq!(tree.list(), case.list, "case: {}", case.name);
        }
    }

    #[test]
    fn readded_zone_is_last() {
        let mut tree = tree(&["a1", "b1", "b2"]);
        tree.remove_node(&in_zone("a1"));
        tree.add_node(&in_zone("c1"));
        tree.add_node(&in_zone("a1"));
        assert_eq!(tree.list(), ["b1", "c1", "a1", "b2"]);
    }
}
