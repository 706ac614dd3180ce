//! What pod affinity counts for a class of pending pods.

use crate::class::PodClass;
use crate::class::affinity::AffinityTerm;
use crate::ids::ClassId;
use crate::topology::counter::{CounterId, Rule};
use crate::topology::{Placed, Topology};

/// The counters that a class's own terms need.
#[derive(Clone, Debug, Default)]
pub struct AffinityState {
    /// One for each key of the required affinity terms: pods that all of these terms ask for.
    pub required: Box<[CounterId]>,
    /// The pod itself is one that its required affinity terms ask for.
    pub asks_for_itself: bool,
    /// One for each required anti-affinity term.
    pub repelled_by: Box<[CounterId]>,
    /// Preferred terms with their weights, negative for anti-affinity.
    pub preferred: Box<[(i64, CounterId)]>,
}

impl AffinityState {
    /// All counters.
    pub fn counters(&self) -> impl Iterator<Item = CounterId> + '_ {
        let preferred = self.preferred.iter().map(|&(_, id)| id);
        self.required.iter().chain(&self.repelled_by).copied().chain(preferred)
    }
}

impl Topology {
    /// Makes the counters that pending pods of the class need, once.
    pub(crate) fn prepare_affinity(&mut self, id: ClassId, placed: Placed<'_>) {
        if self.classes[id.index()].affinity.is_some() {
            return;
        }
        let class = placed.classes.get(id);
        let state = AffinityState {
            required: self.required(class, placed),
            asks_for_itself: asks_for_itself(class, placed),
            repelled_by: class
                .pod_anti_affinity
                .required
                .iter()
                .map(|term| self.asked(std::slice::from_ref(term), term, placed))
                .collect(),
            preferred: self.preferred(class, placed),
        };
        self.classes[id.index()].affinity = Some(state);
    }

    fn asked(&mut self, terms: &[AffinityTerm], of: &AffinityTerm, placed: Placed<'_>) -> CounterId {
        let key = self.domains.key(of.key, placed.nodes, placed.vocabulary);
        self.counter(Rule::Asked(terms.into()), key, placed)
    }

    fn required(&mut self, class: &PodClass, placed: Placed<'_>) -> Box<[CounterId]> {
        let terms = &class.pod_affinity.required;
        let mut counters: Vec<CounterId> = terms.iter().map(|term| self.asked(terms, term, placed)).collect();
        counters.dedup();
        counters.into()
    }

    fn preferred(&mut self, class: &PodClass, placed: Placed<'_>) -> Box<[(i64, CounterId)]> {
        let mut preferred = Vec::new();
        for (sign, terms) in [(1, &class.pod_affinity), (-1, &class.pod_anti_affinity)] {
            for (weight, term) in &terms.preferred {
                let counter = self.asked(std::slice::from_ref(term), term, placed);
                preferred.push((sign * i64::from(*weight), counter));
            }
        }
        preferred.into()
    }
}

fn asks_for_itself(class: &PodClass, placed: Placed<'_>) -> bool {
    let namespace_labels = placed.namespaces.get(&class.namespace).copied();
    class
        .pod_affinity
        .required
        .iter()
        .all(|term| term.asks_for(class.namespace, namespace_labels, class.labels, placed.vocabulary))
}
