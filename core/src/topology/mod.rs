//! Counts of placed pods by topology domain, for topology spread and pod affinity.
//!
//! Upstream counts over all pods of the cluster in every cycle. Here a pod that comes or goes adds
//! its share to the counters it concerns, so a cycle only looks counts up:
//!
//! ```text
//! place(pod, row) ──▶ links of the pod's class ──▶ counter.counts[domain of row] += share
//! cycle           ──▶ counters of the pending pod's class: counts[domain of each row]
//! ```
//!
//! Counters are made when a class first needs them (see [`Topology::counter`]) and are shared by
//! all classes that count the same. They are made anew when nodes join, leave, or change labels or
//! taints, and when a namespace changes.

pub mod affinity;
mod checks;
pub mod counter;
pub mod domains;
pub mod spread;

use rustc_hash::FxHashMap;

use crate::class::affinity::AffinityTerm;
use crate::class::{ClassTable, PodClass};
use crate::ids::{ClassId, LabelSetId, PodUid, Symbol};
use crate::interner::Vocabulary;
use crate::pods::PodTable;
use crate::snapshot::NodeSnapshot;
use affinity::AffinityState;
use counter::{CountedRow, Counter, CounterId, DomainShare, Role, Rule};
use domains::{Domains, EACH_NODE, KeyId, NO_DOMAIN};
use spread::SpreadState;

/// How counts come about. Decisions are the same either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PodCounting {
    /// Kept as pods come and go.
    #[default]
    Kept,
    /// Over all pods of the cluster in every cycle, as upstream does it: to measure what keeping
    /// them brings.
    Scanned,
}

/// Labels of the namespaces that exist.
pub type Namespaces = FxHashMap<Symbol, LabelSetId>;

/// What counting reads, besides the counters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed<'a> {
    pub(crate) vocabulary: &'a Vocabulary,
    pub(crate) classes: &'a ClassTable,
    pub(crate) nodes: &'a NodeSnapshot,
    pub(crate) pods: &'a PodTable,
    pub(crate) namespaces: &'a Namespaces,
}

impl<'a> Placed<'a> {
    fn candidate(&self, class: &'a PodClass) -> CountedRow<'a> {
        CountedRow { class, namespace_labels: self.namespaces.get(&class.namespace).copied() }
    }

    /// Every placed pod as (row, class).
    fn each(self) -> impl Iterator<Item = (usize, ClassId)> + 'a {
        let ids = self.nodes.columns().id.iter().enumerate();
        ids.flat_map(move |(row, &id)| self.pods.on_node(id).map(move |pod| (row, self.pods.get(pod).class)))
    }
}

/// A counter that a class concerns.
#[derive(Clone, Copy, Debug)]
struct Link {
    counter: CounterId,
    share: DomainShare,
}

/// What a class is to the counters.
#[derive(Clone, Debug, Default)]
struct ClassLinks {
    /// Counters a placed pod adds to.
    placed: Vec<Link>,
    /// Counters a pod adds to while a cycle asks what if it were there, or not.
    what_if: Vec<Link>,
    /// Carried terms that speak of the class.
    spoken_of: Vec<(Role, CounterId)>,
    /// What a pending pod of the class counts for spreading.
    spread: Option<SpreadState>,
    /// What a pending pod of the class counts for affinity.
    affinity: Option<AffinityState>,
}

/// All counters.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    counting: PodCounting,
    domains: Domains,
    counters: Vec<Counter>,
    by_rule: FxHashMap<(Rule, KeyId), CounterId>,
    classes: Vec<ClassLinks>,
    /// Moves when all counters were dropped.
    generation: u64,
    /// The node attributes that the counters were made from.
    nodes_version: u64,
}

impl Topology {
    /// Counters that count in this way.
    #[must_use]
    pub fn with_counting(counting: PodCounting) -> Topology {
        Topology { counting, ..Topology::default() }
    }

    /// Domains of rows.
    #[inline]
    #[must_use]
    pub fn domains(&self) -> &Domains {
        &self.domains
    }

    /// A counter.
    #[inline]
    #[must_use]
    pub fn get(&self, id: CounterId) -> &Counter {
        &self.counters[id.0 as usize]
    }

    /// Moves when what was prepared for classes was dropped.
    #[inline]
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// What a pending pod of the class counts for spreading.
    #[inline]
    #[must_use]
    pub fn spread(&self, class: ClassId) -> Option<&SpreadState> {
        self.classes[class.index()].spread.as_ref()
    }

    /// What a pending pod of the class counts for affinity.
    #[inline]
    #[must_use]
    pub fn affinity(&self, class: ClassId) -> Option<&AffinityState> {
        self.classes[class.index()].affinity.as_ref()
    }

    /// Carried terms that speak of the class.
    #[inline]
    #[must_use]
    pub fn spoken_of(&self, class: ClassId) -> &[(Role, CounterId)] {
        &self.classes[class.index()].spoken_of
    }

    /// The first pods that a counter counts, in a domain or in all, by row. Slow: for a reader.
    pub(crate) fn pods_counted(
        &self,
        counter: &Counter,
        domain: Option<u32>,
        placed: Placed<'_>,
        max: usize,
    ) -> Vec<PodUid> {
        let counts = |class: &ClassLinks| {
            class.placed.iter().any(|link| std::ptr::eq(self.get(link.counter), counter))
        };
        let counts: Vec<bool> = self.classes.iter().map(counts).collect();
        let domains = self.domains.of_rows(counter.key);
        let is_looked_at =
            |row: usize| domain.map_or(domains[row] != NO_DOMAIN, |domain| domains[row] == domain);
        let ids = placed.nodes.columns().id.iter().enumerate().filter(|&(row, _)| is_looked_at(row));
        ids.flat_map(|(_, &node)| placed.pods.on_node(node))
            .map(|pod| placed.pods.get(pod))
            .filter(|pod| counts[pod.class.index()])
            .map(|pod| pod.uid)
            .take(max)
            .collect()
    }

    /// Links a class that was just compiled.
    pub(crate) fn add_class(&mut self, id: ClassId, placed: Placed<'_>) {
        debug_assert!(placed.classes.is_live(id), "only classes that are there are linked");
        if self.classes.len() <= id.index() {
            self.classes.resize_with(id.index() + 1, ClassLinks::default);
        }
        self.classes[id.index()] = ClassLinks::default();
        let class = placed.classes.get(id);
        let candidate = placed.candidate(class);
        for at in 0..self.counters.len() {
            self.link(CounterId(u32::try_from(at).expect("few counters")), candidate, placed.vocabulary);
        }
        let both = [&class.pod_affinity, &class.pod_anti_affinity];
        let required = [(Role::Requires, &class.pod_affinity), (Role::Repels, &class.pod_anti_affinity)];
        for (role, terms) in required {
            for term in &terms.required {
                self.carried(term, role, placed);
            }
        }
        for (_, term) in both.into_iter().flat_map(|terms| &terms.preferred) {
            self.carried(term, Role::Prefers, placed);
        }
    }

    fn carried(&mut self, term: &AffinityTerm, role: Role, placed: Placed<'_>) -> CounterId {
        let key = self.domains.key(term.key, placed.nodes, placed.vocabulary);
        self.counter(Rule::Carried(term.clone(), role), key, placed)
    }

    /// The counter of a rule by a key, made and filled on first sight.
    pub(crate) fn counter(&mut self, rule: Rule, key: KeyId, placed: Placed<'_>) -> CounterId {
        let named = (rule, key);
        if let Some(&id) = self.by_rule.get(&named) {
            return id;
        }
        debug_assert_eq!(self.by_rule.len(), self.counters.len(), "a rule has one counter");
        let id = CounterId(u32::try_from(self.counters.len()).expect("fewer than 2^32 counters"));
        self.counters.push(Counter::new(named.0.clone(), key));
        self.by_rule.insert(named, id);
        for class in placed.classes.slots().take(self.classes.len()).filter(|&it| placed.classes.is_live(it))
        {
            self.link(id, placed.candidate(placed.classes.get(class)), placed.vocabulary);
        }
        self.fill(id, placed);
        id
    }

    /// Notes what a class adds to a counter, and whether a carried term speaks of it.
    fn link(&mut self, id: CounterId, candidate: CountedRow<'_>, vocabulary: &Vocabulary) {
        let rule = &self.counters[id.0 as usize].rule;
        let CountedRow { class, namespace_labels } = candidate;
        let links = &mut self.classes[class.id.index()];
        let shares = [
            (&mut links.placed, rule.placed_share(candidate, vocabulary)),
            (&mut links.what_if, rule.what_if_share(candidate, vocabulary)),
        ];
        for (list, share) in shares {
            if !share.is_none() {
                list.push(Link { counter: id, share });
            }
        }
        if let Rule::Carried(term, role) = rule
            && term.speaks_of(class.namespace, namespace_labels, class.labels, vocabulary)
        {
            links.spoken_of.push((*role, id));
        }
    }

    /// Counts anew, pod by pod.
    fn fill(&mut self, id: CounterId, placed: Placed<'_>) {
        if self.nodes_version != placed.nodes.attributes_version() {
            // All counters are about to be made anew.
            return;
        }
        let counter = &mut self.counters[id.0 as usize];
        counter.clear(placed.nodes, &self.domains, placed.vocabulary);
        let domains = self.domains.of_rows(counter.key);
        for (row, class) in placed.each() {
            let candidate = placed.candidate(placed.classes.get(class));
            let share = counter.rule.placed_share(candidate, placed.vocabulary);
            if !share.is_none() {
                counter.add(row, domains[row], share, 1);
            }
        }
    }

    /// A pod of a class was put on a row (`sign` 1) or taken off it (-1).
    #[inline]
    pub(crate) fn on_placed(&mut self, row: usize, class: ClassId, sign: i32, nodes: &NodeSnapshot) {
        if self.nodes_version != nodes.attributes_version() {
            // All counters are about to be made anew.
            return;
        }
        let Topology { classes, counters, domains, .. } = self;
        for link in &classes[class.index()].placed {
            let counter = &mut counters[link.counter.0 as usize];
            counter.add(row, domains.of_rows(counter.key)[row], link.share, sign);
        }
    }

    /// As [`Topology::on_placed`], for a pod that is only thought to be there, or not.
    pub(crate) fn on_thought(&mut self, row: usize, class: ClassId, sign: i32) {
        let Topology { classes, counters, domains, .. } = self;
        for link in &classes[class.index()].what_if {
            let counter = &mut counters[link.counter.0 as usize];
            counter.add(row, domains.of_rows(counter.key)[row], link.share, sign);
        }
    }

    /// Counts anew if nodes changed in a way that counters notice.
    pub(crate) fn settle(&mut self, placed: Placed<'_>) {
        if self.nodes_version == placed.nodes.attributes_version() {
            return;
        }
        self.nodes_version = placed.nodes.attributes_version();
        self.domains.refill(placed.nodes, placed.vocabulary);
        for counter in &mut self.counters {
            counter.clear(placed.nodes, &self.domains, placed.vocabulary);
        }
        let Topology { classes, counters, domains, .. } = self;
        for (row, class) in placed.each() {
            for link in &classes[class.index()].placed {
                let counter = &mut counters[link.counter.0 as usize];
                counter.add(row, domains.of_rows(counter.key)[row], link.share, 1);
            }
        }
    }

    /// Drops everything: the meaning of namespaces changed.
    pub(crate) fn reset(&mut self, placed: Placed<'_>) {
        self.counters.clear();
        self.by_rule.clear();
        self.generation += 1;
        self.classes.clear();
        for class in placed.classes.slots().filter(|&class| placed.classes.is_live(class)) {
            self.add_class(class, placed);
        }
    }

    /// After a sweep: counters of rules that nothing asks for any more are gone, and so are the domains
    /// of nodes that left. The others are made when they are next asked for.
    pub(crate) fn rebuild(&mut self, placed: Placed<'_>) {
        let next = Topology { counting: self.counting, generation: self.generation, ..Topology::default() };
        // Not the attributes that any snapshot has: all is counted anew before it is read.
        *self = Topology { nodes_version: u64::MAX, ..next };
        self.reset(placed);
    }

    /// Counts what a pending pod of the class reads over all pods, if that is how counts come
    /// about.
    pub(crate) fn scan(&mut self, class: ClassId, placed: Placed<'_>) {
        if self.counting == PodCounting::Kept {
            return;
        }
        let links = &self.classes[class.index()];
        let mut ids: Vec<CounterId> = links.spoken_of.iter().map(|&(_, id)| id).collect();
        ids.extend(links.spread.iter().flat_map(SpreadState::counters));
        ids.extend(links.affinity.iter().flat_map(AffinityState::counters));
        for id in ids {
            self.fill(id, placed);
        }
    }

    /// Holds the counters against counters made from the pods at hand.
    #[cfg(test)]
    pub(crate) fn check_counts(&self, placed: Placed<'_>) {
        if self.counting == PodCounting::Scanned {
            return;
        }
        let mut fresh = self.clone();
        for (at, counter) in self.counters.iter().enumerate() {
            fresh.fill(CounterId(u32::try_from(at).expect("few counters")), placed);
            assert_eq!(format!("{counter:?}"), format!("{:?}", fresh.counters[at]));
        }
    }

    /// Bytes held by counters and links.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let counts: usize = self.counters.iter().map(|counter| counter.counts().len() * 8).sum();
        let links: usize = self.classes.iter().map(|class| class.placed.len() + class.what_if.len()).sum();
        counts + links * size_of::<Link>()
    }

    /// The pseudo key by which every node is its own domain.
    pub(crate) const EACH_NODE: KeyId = EACH_NODE;
}
