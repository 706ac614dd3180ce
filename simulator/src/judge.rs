//! Whether a pod may go to a node, in a few plain rules over shapes. It shares no code with the
//! engine: what both say is compared at every decision.

use super::shape::{Domain, NAMESPACE_COUNT, NodeShape, PodShape, TermScope};

/// A pod that is on a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) shape: PodShape,
    pub(super) node: u8,
    pub(super) is_leaving: bool,
}

/// Why a pod may not go to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    UnknownNode,
    Cordon,
    Taint,
    ExecutionTerms,
    Zone,
    Room,
    Port,
    AntiAffinity,
    Affinity,
    Spread,
}

/// A cluster as one scheduler sees it.
#[derive(Debug, Default)]
pub(super) struct View {
    /// By number.
    pub(super) nodes: Vec<Option<NodeShape>>,
    pub(super) placed: Vec<Placed>,
    /// Namespaces that have the label.
    pub(super) labelled: [bool; NAMESPACE_COUNT],
}

impl View {
    pub(super) fn clear(&mut self) {
        self.labelled = [false; NAMESPACE_COUNT];
        self.nodes.clear();
        self.placed.clear();
    }

    fn node(&self, number: u8) -> Option<&NodeShape> {
        self.nodes.get(usize::from(number))?.as_ref()
    }

    /// Which domain a node is in: its own number, or its zone.
    fn domain(&self, number: u8, by: Domain) -> Option<u8> {
        let node = self.node(number)?;
        match by {
            Domain::Host => Some(number),
            Domain::Zone => node.zone,
        }
    }

    /// The first rule that the pod breaks on the node.
    pub(super) fn broken_rule(&self, pod: &PodShape, number: u8) -> Option<Rule> {
        let Some(node) = self.node(number) else { return Some(Rule::UnknownNode) };
        let rules = [
            (node.cordoned, Rule::Cordon),
            (node.tainted && !pod.tolerates, Rule::Taint),
            (node.repels(pod), Rule::Taint),
            (!pod.execution_terms_match(node), Rule::ExecutionTerms),
            (pod.zone.is_some() && pod.zone != node.zone, Rule::Zone),
            (!self.has_room(pod, number, node), Rule::Room),
            (self.port_is_taken(pod, number), Rule::Port),
            (self.is_avoided(pod, number), Rule::AntiAffinity),
            (!self.is_joined(pod, number), Rule::Affinity),
            (!self.is_spread(pod, number), Rule::Spread),
        ];
        rules.into_iter().find(|(is_broken, _)| *is_broken).map(|(_, rule)| rule)
    }

    /// Whether the node itself takes such pods, were there room.
    pub(super) fn takes(&self, pod: &PodShape, number: u8) -> bool {
        self.node(number).is_some_and(|node| {
            !node.cordoned
                && (!node.tainted || pod.tolerates)
                && !node.repels(pod)
                && pod.execution_terms_match(node)
                && (pod.zone.is_none() || pod.zone == node.zone)
        })
    }

    /// Whether the pod fits on the node when those of its pods are gone that do not stay. Pods of
    /// other nodes are never evicted for it.
    pub(super) fn helps(&self, pod: &PodShape, number: u8, stays: &impl Fn(&Placed) -> bool) -> bool {
        let placed =
            self.placed.iter().filter(|other| other.node != number || stays(other)).copied().collect();
        let others = View { nodes: self.nodes.clone(), placed, labelled: self.labelled };
        others.broken_rule(pod, number).is_none()
    }

    pub(super) fn has_room(&self, pod: &PodShape, number: u8, node: &NodeShape) -> bool {
        let mut left = (i64::from(node.cpu_milli), i64::from(node.memory_mi), i64::from(node.pods));
        for other in self.placed.iter().filter(|other| other.node == number) {
            left.0 -= i64::from(other.shape.cpu_milli);
            left.1 -= i64::from(other.shape.memory_mi);
            left.2 -= 1;
        }
        let fits = |asked: u32, left: i64| asked == 0 || i64::from(asked) <= left;
        fits(pod.cpu_milli, left.0) && fits(pod.memory_mi, left.1) && 1 <= left.2
    }

    fn port_is_taken(&self, pod: &PodShape, number: u8) -> bool {
        pod.port.is_some()
            && self.placed.iter().any(|other| other.node == number && other.shape.port == pod.port)
    }

    /// Whether terms of `owner` about this app are about a pod.
    fn selects(&self, owner: &PodShape, app: u8, pod: &PodShape) -> bool {
        let is_in_scope = match owner.term_scope {
            TermScope::Own => pod.namespace == owner.namespace,
            TermScope::Labelled => self.labelled[usize::from(pod.namespace)],
        };
        is_in_scope && pod.app == app
    }

    /// Somebody is too near: one that the pod avoids, or one that avoids the pod.
    fn is_avoided(&self, pod: &PodShape, number: u8) -> bool {
        let near = |other: &Placed, by: Domain| {
            let here = self.domain(number, by);
            here.is_some() && self.domain(other.node, by) == here
        };
        self.placed.iter().any(|other| {
            let avoided =
                pod.avoids.is_some_and(|(app, by)| self.selects(pod, app, &other.shape) && near(other, by));
            let avoids = other
                .shape
                .avoids
                .is_some_and(|(app, by)| self.selects(&other.shape, app, pod) && near(other, by));
            avoided || avoids
        })
    }

    fn is_joined(&self, pod: &PodShape, number: u8) -> bool {
        let Some((app, by)) = pod.joins else { return true };
        let Some(here) = self.domain(number, by) else { return false };
        let mut matching = self.placed.iter().filter(|other| self.selects(pod, app, &other.shape));
        let mut domains = matching.clone().filter_map(|other| self.domain(other.node, by));
        if domains.any(|there| there == here) {
            return true;
        }
        // The first of a group that wants to be together may go anywhere.
        let nobody = !matching.any(|other| self.domain(other.node, by).is_some());
        nobody && self.selects(pod, app, pod)
    }

    fn is_spread(&self, pod: &PodShape, number: u8) -> bool {
        let Some((skew, by)) = pod.spreads else { return true };
        let Some(here) = self.domain(number, by) else { return false };
        let numbers = (0..u8::try_from(self.nodes.len()).unwrap_or(u8::MAX)).filter(|&number| {
            // Nodes that the pod's selector rules out do not count.
            self.node(number).is_some_and(|node| {
                (pod.zone.is_none() || node.zone == pod.zone) && pod.execution_terms_match(node)
            })
        });
        let mut counts = [None; 256];
        for number in numbers.clone() {
            if let Some(domain) = self.domain(number, by) {
                counts[usize::from(domain)].get_or_insert(0u32);
            }
        }
        let is_counted = |other: &&Placed| {
            let is_alike = other.shape.app == pod.app && other.shape.namespace == pod.namespace;
            is_alike && !other.is_leaving
        };
        for other in self.placed.iter().filter(is_counted) {
            let counts_here = numbers.clone().any(|number| number == other.node);
            if let Some(domain) = self.domain(other.node, by).filter(|_| counts_here)
                && let Some(count) = &mut counts[usize::from(domain)]
            {
                *count += 1;
            }
        }
        let least = counts.iter().flatten().min().copied().unwrap_or(0);
        let count = counts[usize::from(here)].unwrap_or(0);
        count < least + u32::from(skew)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Anti-affinity reaches beyond a node, evictions do not.
    #[test]
    fn preemption_helps_on_the_victims_node_only() {
        let node =
            NodeShape { cpu_milli: 1000, memory_mi: 64, pods: 5, zone: Some(0), ..NodeShape::default() };
        let keeps_away = PodShape { app: 2, avoids: Some((1, Domain::Zone)), ..PodShape::default() };
        let placed = vec![Placed { shape: keeps_away, node: 0, is_leaving: false }];
        let view = View { nodes: vec![Some(node), Some(node)], placed, ..View::default() };
        let pod = PodShape { app: 1, priority: 5, ..PodShape::default() };
        let stays = |other: &Placed| other.shape.priority >= pod.priority;
        assert_eq!(view.broken_rule(&pod, 1), Some(Rule::AntiAffinity));
        assert_eq!([0, 1].map(|number| view.helps(&pod, number, &stays)), [true, false]);
    }
}
