//! A count of placed pods by topology domain, kept as pods come and go.

use crate::class::PodClass;
use crate::class::affinity::AffinityTerm;
use crate::class::labels::LabelSelector;
use crate::class::selector::RequiredNodeAffinity;
use crate::class::tolerations::Toleration;
use crate::ids::{LabelSetId, Symbol};
use crate::interner::{EMPTY, TaintEffect, Vocabulary};
use crate::snapshot::NodeSnapshot;
use crate::snapshot::mask::NodeMask;
use crate::topology::domains::{Domains, KeyId, NO_DOMAIN};

/// Where a counter stands in the list of all counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CounterId(pub(super) u32);

/// What a placed pod's term means to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Required anti-affinity: pods the term speaks of are kept away.
    Repels,
    /// Required affinity: pods the term speaks of are welcome.
    Requires,
    /// Preferred affinity and anti-affinity: weights, negative for the latter.
    Prefers,
}

/// The nodes over which a spread constraint counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeRule {
    /// The nodes that the pod's node affinity admits.
    pub affinity: Option<RequiredNodeAffinity>,
    /// The nodes whose taints these tolerate.
    pub tolerations: Option<Box<[Toleration]>>,
    /// The nodes that have all these keys.
    pub keys: Box<[KeyId]>,
}

impl NodeRule {
    fn admits(&self, row: usize, nodes: &NodeSnapshot, domains: &Domains, vocabulary: &Vocabulary) -> bool {
        let columns = nodes.columns();
        let is_tolerated = |tolerations: &[Toleration]| {
            vocabulary
                .taints(columns.taint_set[row])
                .iter()
                .filter(|taint| matches!(taint.effect, TaintEffect::NoSchedule | TaintEffect::NoExecute))
                .all(|taint| tolerations.iter().any(|toleration| toleration.tolerates(taint)))
        };
        self.keys.iter().all(|&key| domains.of_rows(key)[row] != NO_DOMAIN)
            && self.affinity.as_ref().is_none_or(|affinity| {
                affinity.matches(columns.name[row], columns.label_set[row], vocabulary)
            })
            && self.tolerations.as_deref().is_none_or(is_tolerated)
    }
}

/// Which placed pods count, and where.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Pods of a namespace that a spread constraint selects, on nodes it looks at.
    Spread {
        /// The pending pod's namespace.
        namespace: Symbol,
        /// The constraint's selector.
        selector: LabelSelector,
        /// The nodes that count.
        nodes: NodeRule,
    },
    /// Pods that all of these terms ask for.
    Asked(Box<[AffinityTerm]>),
    /// Pods that carry this term.
    Carried(AffinityTerm, Role),
}

/// What one pod adds to a counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DomainShare {
    /// Added to its domain.
    pub weight: i32,
    /// Pairs of pod and term: 0 when the pod does not concern the counter.
    pub hits: i32,
}

impl DomainShare {
    const ONE: DomainShare = DomainShare { weight: 1, hits: 1 };
    const NONE: DomainShare = DomainShare { weight: 0, hits: 0 };

    /// The pod does not concern the counter.
    #[must_use]
    pub fn is_none(self) -> bool {
        self.hits == 0
    }
}

/// What a class of placed pods is to a rule.
#[derive(Clone, Copy, Debug)]
pub struct CountedRow<'a> {
    /// The class.
    pub class: &'a PodClass,
    /// Labels of its namespace, if that exists.
    pub namespace_labels: Option<LabelSetId>,
}

impl Rule {
    /// What a placed pod adds.
    #[must_use]
    pub fn placed_share(&self, pod: CountedRow<'_>, vocabulary: &Vocabulary) -> DomainShare {
        match self {
            Rule::Spread { selector, .. } if pod.class.is_terminating || selector.is_everything() => {
                DomainShare::NONE
            }
            _ => self.what_if_share(pod, vocabulary),
        }
    }

    /// What a pod adds or takes away while a cycle asks "what if it were there". Upstream does
    /// not look at deletion timestamps then, and counts for an empty selector, too.
    /// Upstream: podtopologyspread/filtering.go `updateWithPod`.
    #[must_use]
    pub fn what_if_share(&self, pod: CountedRow<'_>, vocabulary: &Vocabulary) -> DomainShare {
        let CountedRow { class, namespace_labels } = pod;
        match self {
            Rule::Spread { namespace, selector, .. } => {
                let counts = *namespace == class.namespace && selector.matches(class.labels, vocabulary);
                if counts { DomainShare::ONE } else { DomainShare::NONE }
            }
            Rule::Asked(terms) => {
                let counts = terms
                    .iter()
                    .all(|term| term.asks_for(class.namespace, namespace_labels, class.labels, vocabulary));
                if counts { DomainShare::ONE } else { DomainShare::NONE }
            }
            Rule::Carried(term, role) => carried_share(term, *role, class),
        }
    }
}

fn carried_share(term: &AffinityTerm, role: Role, class: &PodClass) -> DomainShare {
    let times = |terms: &[AffinityTerm]| {
        let hits = i32::try_from(terms.iter().filter(|own| *own == term).count()).expect("few terms");
        DomainShare { weight: hits, hits }
    };
    match role {
        Role::Repels => times(&class.pod_anti_affinity.required),
        Role::Requires => times(&class.pod_affinity.required),
        Role::Prefers => {
            let mut share = DomainShare::NONE;
            for (sign, terms) in [(1, &class.pod_affinity), (-1, &class.pod_anti_affinity)] {
                for (weight, _) in terms.preferred.iter().filter(|(_, own)| own == term) {
                    share.weight += sign * weight;
                    share.hits += 1;
                }
            }
            share
        }
    }
}

/// Counts by domain.
///
/// ```text
/// domain:  0 (no key)   1    2    3
/// counts:      0        4    2    2      lowest 2, at_lowest 2
/// nodes:       -        9    7    0      a domain without nodes is none
/// ```
///
/// Invariant: `counts[NO_DOMAIN]` is 0. `lowest` and `at_lowest` are kept for spread rules only.
#[derive(Clone, Debug)]
pub struct Counter {
    /// What is counted.
    pub(super) rule: Rule,
    /// By which key.
    pub(super) key: KeyId,
    counts: Vec<i32>,
    hits: i64,
    /// Rows that count; `None` counts all that have the key.
    eligible: Option<NodeMask>,
    /// Where nodes without the key count, if they count at all: with those that have it empty.
    keyless: u32,
    nodes: Vec<u32>,
    domain_count: usize,
    lowest: i32,
    at_lowest: usize,
}

impl Counter {
    pub(super) fn new(rule: Rule, key: KeyId) -> Counter {
        Counter {
            rule,
            key,
            counts: Vec::new(),
            hits: 0,
            eligible: None,
            keyless: NO_DOMAIN,
            nodes: Vec::new(),
            domain_count: 0,
            lowest: 0,
            at_lowest: 0,
        }
    }

    /// Counts nothing, on the nodes there are now.
    pub(super) fn clear(&mut self, nodes: &NodeSnapshot, domains: &Domains, vocabulary: &Vocabulary) {
        self.counts.clear();
        self.counts.resize(domains.size(self.key), 0);
        self.hits = 0;
        let Rule::Spread { nodes: rule, .. } = &self.rule else { return };
        if rule.keys.is_empty() {
            // Upstream reads a missing label as an empty one where it does not ask for all keys.
            self.keyless = domains.of_value(self.key, EMPTY).unwrap_or(NO_DOMAIN);
        }
        let mut eligible = self.eligible.take().unwrap_or_default();
        eligible.reset(nodes.node_count());
        self.nodes.clear();
        self.nodes.resize(self.counts.len(), 0);
        for (row, &domain) in domains.of_rows(self.key).iter().enumerate() {
            if rule.admits(row, nodes, domains, vocabulary) {
                eligible.insert(row);
                self.nodes[domain as usize] += 1;
            }
        }
        self.eligible = Some(eligible);
        self.domain_count = self.nodes.iter().skip(1).filter(|&&nodes| nodes > 0).count();
        self.find_lowest();
    }

    /// Adds or takes away a pod's share.
    #[inline]
    pub(super) fn add(&mut self, row: usize, domain: u32, share: DomainShare, sign: i32) {
        let domain = if domain == NO_DOMAIN { self.keyless } else { domain };
        if domain == NO_DOMAIN || self.eligible.as_ref().is_some_and(|rows| !rows.contains(row)) {
            return;
        }
        self.hits += i64::from(sign * share.hits);
        debug_assert!((domain as usize) < self.counts.len(), "a row's domain is one of the counter's");
        let count = &mut self.counts[domain as usize];
        let before = *count;
        *count += sign * share.weight;
        let after = *count;
        // Nodes without the key may count in a domain that no node is in.
        if self.eligible.is_none() || self.nodes[domain as usize] == 0 {
            return;
        }
        if after < self.lowest {
            self.lowest = after;
            self.at_lowest = 1;
        } else if after == self.lowest {
            self.at_lowest += usize::from(before != after);
        } else if before == self.lowest {
            self.at_lowest -= 1;
            if self.at_lowest == 0 {
                self.find_lowest();
            }
        }
    }

    /// Whether pods of a row count at all.
    pub(super) fn counts_row(&self, row: usize, domain: u32) -> bool {
        let domain = if domain == NO_DOMAIN { self.keyless } else { domain };
        domain != NO_DOMAIN && self.eligible.as_ref().is_none_or(|rows| rows.contains(row))
    }

    /// Panics where what is kept for spread rules is not what counts and nodes say.
    pub(super) fn check_eligible(&self, node_count: usize) {
        let Some(eligible) = &self.eligible else { return };
        eligible.check(node_count);
        assert_eq!(self.nodes.len(), self.counts.len(), "a domain has its number of nodes");
        let in_domains = || self.counts.iter().zip(&self.nodes).skip(1).filter(|&(_, &nodes)| nodes > 0);
        let lowest = in_domains().map(|(&count, _)| count).min().unwrap_or(i32::MAX);
        assert_eq!(self.domain_count, in_domains().count(), "domains with nodes are counted");
        assert_eq!(self.lowest, lowest, "the lowest count is known");
        let at_lowest = in_domains().filter(|&(&count, _)| count == lowest).count();
        assert_eq!(self.at_lowest, at_lowest, "domains at the lowest count are counted");
        let nodes: usize = self.nodes.iter().map(|&nodes| nodes as usize).sum();
        assert_eq!(nodes, eligible.count(), "each node that counts is in one domain");
    }

    fn find_lowest(&mut self) {
        self.lowest = i32::MAX;
        self.at_lowest = 0;
        for (&count, &nodes) in self.counts.iter().zip(&self.nodes).skip(1) {
            if nodes == 0 || count > self.lowest {
                continue;
            }
            self.at_lowest = if count == self.lowest { self.at_lowest + 1 } else { 1 };
            self.lowest = count;
        }
    }

    /// The term that the counted pods carry, where that is what is counted.
    #[must_use]
    pub fn carried_term(&self) -> Option<&AffinityTerm> {
        match &self.rule {
            Rule::Carried(term, _) => Some(term),
            Rule::Spread { .. } | Rule::Asked(_) => None,
        }
    }

    /// Counts by domain.
    #[inline]
    #[must_use]
    pub fn counts(&self) -> &[i32] {
        &self.counts
    }

    /// The key counts go by.
    #[inline]
    #[must_use]
    pub fn key(&self) -> KeyId {
        self.key
    }

    /// Pairs of pod and term counted, on nodes that have the key.
    #[inline]
    #[must_use]
    pub fn hits(&self) -> i64 {
        self.hits
    }

    /// The lowest count of the domains that have nodes which count.
    #[inline]
    #[must_use]
    pub fn lowest(&self) -> i32 {
        self.lowest
    }

    /// Domains that have nodes which count.
    #[inline]
    #[must_use]
    pub fn domain_count(&self) -> usize {
        self.domain_count
    }
}
