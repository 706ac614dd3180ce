//! What topology spread counts for a class of pending pods.

use crate::class::PodClass;
use crate::class::affinity::SpreadConstraint;
use crate::ids::{ClassId, Symbol};
use crate::topology::counter::{CounterId, NodeRule, Rule};
use crate::topology::domains::KeyId;
use crate::topology::{Placed, Topology};

/// A constraint and its counter.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// The topology key.
    pub key: KeyId,
    /// Counts over the key's domains; for a soft constraint by host name: over nodes.
    pub counter: CounterId,
    /// `maxSkew`.
    pub max_skew: i32,
    /// `minDomains`.
    pub min_domains: usize,
    /// 1 if the pod itself counts, else 0.
    pub self_match: i32,
    /// A soft constraint by host name.
    pub by_host: bool,
}

/// The constraints of a class.
#[derive(Clone, Debug, Default)]
pub struct SpreadState {
    /// `DoNotSchedule`.
    pub hard: Box<[Spread]>,
    /// `ScheduleAnyway`.
    pub soft: Box<[Spread]>,
    /// Nodes that lack a key of a soft constraint are not scored.
    pub needs_all_keys: bool,
    /// What default constraints were made from.
    pub(super) version: u64,
}

impl SpreadState {
    /// All counters.
    pub fn counters(&self) -> impl Iterator<Item = CounterId> + '_ {
        self.hard.iter().chain(&self.soft).map(|spread| spread.counter)
    }
}

/// Constraints to be counted for a class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// Its own, or the defaults.
    pub(crate) constraints: &'a [SpreadConstraint],
    /// Nodes that lack a key of a soft constraint are not scored.
    pub(crate) needs_all_keys: bool,
    /// The label that names a host.
    pub(crate) host_key: Symbol,
    /// What default constraints were made from.
    pub(crate) version: u64,
}

impl Topology {
    /// Whether the class was prepared from this version of the default constraints.
    pub(crate) fn is_spread_prepared(&self, id: ClassId, version: u64) -> bool {
        self.classes[id.index()].spread.as_ref().is_some_and(|state| state.version == version)
    }

    /// Makes the counters that pending pods of the class need.
    pub(crate) fn prepare_spread(&mut self, id: ClassId, wanted: Wanted<'_>, placed: Placed<'_>) {
        let class = placed.classes.get(id);
        let mut kinds = [false, true].map(|soft| {
            let constraints: Vec<&SpreadConstraint> =
                wanted.constraints.iter().filter(|it| it.schedule_anyway == soft).collect();
            self.spreads(class, &constraints, wanted, placed)
        });
        self.classes[id.index()].spread = Some(SpreadState {
            hard: std::mem::take(&mut kinds[0]),
            soft: std::mem::take(&mut kinds[1]),
            needs_all_keys: wanted.needs_all_keys,
            version: wanted.version,
        });
    }

    fn spreads(
        &mut self,
        class: &PodClass,
        constraints: &[&SpreadConstraint],
        wanted: Wanted<'_>,
        placed: Placed<'_>,
    ) -> Box<[Spread]> {
        let mut keys: Vec<KeyId> = constraints
            .iter()
            .map(|constraint| self.domains.key(constraint.key, placed.nodes, placed.vocabulary))
            .collect();
        let key_of_constraint = keys.clone();
        keys.sort_unstable();
        keys.dedup();
        let mut spread = |(constraint, key): (&&SpreadConstraint, KeyId)| {
            let by_host = constraint.schedule_anyway && constraint.key == wanted.host_key;
            // A node without a key of any hard constraint counts for none of them.
            let nodes = NodeRule {
                affinity: constraint.honor_affinity.then(|| class.required_node_affinity.clone()).flatten(),
                tolerations: constraint.honor_taints.then(|| class.tolerations.clone()),
                keys: if wanted.needs_all_keys { keys.clone().into() } else { Box::default() },
            };
            // Upstream counts the pods of the very node when it scores by host name.
            let nodes = if by_host { NodeRule::default() } else { nodes };
            let rule =
                Rule::Spread { namespace: class.namespace, selector: constraint.selector.clone(), nodes };
            let counted_by = if by_host { Topology::EACH_NODE } else { key };
            Spread {
                key,
                counter: self.counter(rule, counted_by, placed),
                max_skew: constraint.max_skew,
                min_domains: usize::try_from(constraint.min_domains).unwrap_or(0),
                self_match: i32::from(constraint.selector.matches(class.labels, placed.vocabulary)),
                by_host,
            }
        };
        constraints.iter().zip(key_of_constraint).map(&mut spread).collect()
    }
}
