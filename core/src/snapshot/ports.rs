//! Host ports in use, turned round: for each distinct port the set of nodes that use it, so that
//! "no node with this port" is one AND per word.
//!
//! Upstream: kube-scheduler/framework/types.go `HostPortInfo`. It is a set, not a count: a port
//! that two pods of a node hold (only possible by force) is free once either leaves.

use rustc_hash::FxHashMap;

use crate::ids::Symbol;
use crate::interner::Vocabulary;
use crate::reclaim::Marks;
use crate::snapshot::gather_mask;
use crate::snapshot::mask::NodeMask;

/// A (host IP, protocol, port) triple after upstream's clean-up: an empty IP is `0.0.0.0`, an
/// empty protocol TCP. Only `0.0.0.0` is a wildcard; `::` is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    /// `None` is the wildcard.
    ip: Option<Symbol>,
    protocol: Symbol,
    port: i32,
}

impl HostPort {
    /// The number.
    #[must_use]
    pub fn port(&self) -> i32 {
        self.port
    }

    /// Cleans up and interns a port.
    pub fn new(ip: &str, protocol: &str, port: i32, vocabulary: &mut Vocabulary) -> HostPort {
        let ip = if ip.is_empty() { "0.0.0.0" } else { ip };
        let protocol = if protocol.is_empty() { "TCP" } else { protocol };
        HostPort {
            ip: (ip != "0.0.0.0").then(|| vocabulary.symbols.intern(ip)),
            protocol: vocabulary.symbols.intern(protocol),
            port,
        }
    }

    /// Whether the two cannot share a node.
    #[must_use]
    pub fn conflicts_with(&self, other: &HostPort) -> bool {
        self.port == other.port
            && self.protocol == other.protocol
            && (self.ip.is_none() || other.ip.is_none() || self.ip == other.ip)
    }
}

/// An address (`None` is the wildcard) and the nodes that use a port on it.
type AddressUse = (Option<Symbol>, NodeMask);

/// Which nodes use which ports.
#[derive(Clone, Debug, Default)]
pub struct PortUse {
    /// Keyed by (protocol, port).
    by_port: FxHashMap<(Symbol, i32), Vec<AddressUse>>,
    node_count: usize,
}

impl PortUse {
    /// Row `i` becomes what row `from[i]` was.
    pub(crate) fn gather(&mut self, from: &[usize]) {
        self.node_count = from.len();
        for (_, mask) in self.by_port.values_mut().flatten() {
            *mask = gather_mask(mask, from);
        }
    }

    /// Extends every mask by rows at the end.
    pub(crate) fn grow(&mut self, node_count: usize) {
        assert!(node_count >= self.node_count, "rows are only added");
        self.node_count = node_count;
        for (_, mask) in self.by_port.values_mut().flatten() {
            mask.grow(node_count);
        }
    }

    /// Marks a port as used or free on a row. Returns whether it was used.
    pub(crate) fn set(&mut self, row: usize, port: HostPort, used: bool) -> bool {
        let node_count = self.node_count;
        debug_assert!(row < node_count, "a port is taken on a row that is there");
        let uses = self.by_port.entry((port.protocol, port.port)).or_default();
        let at = uses.iter().position(|(ip, _)| *ip == port.ip).unwrap_or_else(|| {
            uses.push((port.ip, NodeMask::none(node_count)));
            uses.len() - 1
        });
        let mask = &mut uses[at].1;
        let before = mask.contains(row);
        if used {
            mask.insert(row);
        } else {
            mask.remove(row);
        }
        before
    }

    /// Forgets ports that no node uses, and marks the others.
    pub(crate) fn sweep(&mut self, marks: &mut Marks) {
        self.by_port.retain(|&(protocol, _), uses| {
            uses.retain(|(_, mask)| mask.count() > 0);
            if !uses.is_empty() {
                marks.symbol(protocol);
                uses.iter().filter_map(|&(ip, _)| ip).for_each(|ip| marks.symbol(ip));
            }
            !uses.is_empty()
        });
        self.by_port.shrink_to(2 * self.by_port.len());
    }

    /// Each port with the rows that use it.
    pub(super) fn each(&self) -> impl Iterator<Item = (HostPort, &NodeMask)> {
        self.by_port.iter().flat_map(|(&(protocol, port), uses)| {
            uses.iter().map(move |(ip, rows)| (HostPort { ip: *ip, protocol, port }, rows))
        })
    }

    /// Panics if a mask does not range over the rows there are.
    pub(super) fn check(&self, node_count: usize) {
        assert_eq!(self.node_count, node_count, "ports are known of every row");
        for (_, rows) in self.each() {
            rows.check(node_count);
        }
        for uses in self.by_port.values() {
            for (at, (ip, _)) in uses.iter().enumerate() {
                assert!(uses[..at].iter().all(|(other, _)| other != ip), "an address has one mask a port");
            }
        }
    }

    /// The rows of word `word` on which `port` is taken.
    #[inline]
    #[must_use]
    pub fn taken_word(&self, port: &HostPort, word: usize) -> u64 {
        let Some(uses) = self.by_port.get(&(port.protocol, port.port)) else { return 0 };
        uses.iter()
            .filter(|(ip, _)| port.ip.is_none() || ip.is_none() || *ip == port.ip)
            .fold(0, |taken, (_, mask)| taken | mask.words()[word])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_follow_wildcards_and_protocols() {
        let mut vocabulary = Vocabulary::default();
        let mut port =
            |ip: &str, protocol: &str, number| HostPort::new(ip, protocol, number, &mut vocabulary);
        let cases = [
            (port("", "", 80), port("0.0.0.0", "TCP", 80), true, "empty means wildcard and TCP"),
            (port("127.0.0.1", "TCP", 80), port("", "TCP", 80), true, "one wildcard is enough"),
            (port("127.0.0.1", "TCP", 80), port("127.0.0.2", "TCP", 80), false, "different addresses"),
            (
                port("::", "TCP", 80),
                port("127.0.0.1", "TCP", 80),
                false,
                "the IPv6 wildcard is a plain address",
            ),
            (port("", "TCP", 80), port("", "UDP", 80), false, "different protocols"),
            (port("", "TCP", 80), port("", "TCP", 81), false, "different ports"),
        ];
        for (one, other, conflicts, name) in cases {
            assert_eq!(one.conflicts_with(&other), conflicts, "case: {name}");
            assert_eq!(other.conflicts_with(&one), conflicts, "case: {name}, the other way");
            let mut in_use = PortUse::default();
            in_use.grow(70);
            in_use.set(65, one, true);
            assert_eq!(in_use.taken_word(&other, 1) == 0b10, conflicts, "case: {name}, as a mask");
            assert!(in_use.set(65, one, false));
            assert_eq!(in_use.taken_word(&other, 1), 0, "case: {name}, after removal");
        }
    }
}
