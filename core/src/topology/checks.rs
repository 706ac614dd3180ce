//! What must hold of the counts by topology domain between two events. See `World::check`.

use super::counter::{Counter, Role, Rule};
use super::domains::{Domains, NO_DOMAIN};
use super::{Placed, PodCounting, Topology};

impl Domains {
    /// Panics where a row is in a domain that is not there.
    pub(super) fn check(&self, node_count: usize) {
        for key in self.keys() {
            let domains = self.of_rows(key);
            assert_eq!(domains.len(), node_count, "a key has a domain for each row");
            for &domain in domains {
                assert!((domain as usize) < self.size(key), "a row's domain is one of the key's");
            }
        }
    }
}

impl Counter {
    fn check(&self, domains: &Domains, node_count: usize) {
        assert_eq!(self.counts().len(), domains.size(self.key), "a counter counts every domain");
        assert_eq!(self.counts()[NO_DOMAIN as usize], 0, "nothing counts without a domain");
        if !matches!(self.rule, Rule::Carried(_, Role::Prefers)) {
            assert!(self.counts().iter().all(|&count| count >= 0), "what is taken away was counted");
        }
        self.check_eligible(node_count);
    }
}

impl Topology {
    /// Panics where counters, links and domains do not agree, or a count is not that of the pods at hand.
    pub(crate) fn check(&self, placed: Placed<'_>) {
        assert_eq!(self.by_rule.len(), self.counters.len(), "a rule has one counter");
        for ((rule, key), &id) in &self.by_rule {
            let counter = self.get(id);
            assert_eq!(counter.key, *key, "a counter is found by its own key");
            assert!(counter.rule == *rule, "a counter is found by its own rule");
        }
        for links in &self.classes {
            for link in links.placed.iter().chain(&links.what_if) {
                assert!((link.counter.0 as usize) < self.counters.len(), "a link leads to a counter");
                assert!(!link.share.is_none(), "a link adds something");
            }
        }
        for class in placed.classes.slots().filter(|&class| placed.classes.is_live(class)) {
            assert!(class.index() < self.classes.len(), "every class is linked");
        }
        // Otherwise all is made anew before it is read.
        if self.nodes_version == placed.nodes.attributes_version() {
            self.domains.check(placed.nodes.node_count());
            self.domains.check_labels(placed.nodes, placed.vocabulary);
            for counter in &self.counters {
                counter.check(&self.domains, placed.nodes.node_count());
            }
            self.check_hits(placed);
        }
    }

    /// Counts pairs of pod and term anew.
    fn check_hits(&self, placed: Placed<'_>) {
        if self.counting == PodCounting::Scanned {
            return;
        }
        let mut hits = vec![0; self.counters.len()];
        for (row, class) in placed.each() {
            for link in &self.classes[class.index()].placed {
                let counter = self.get(link.counter);
                if counter.counts_row(row, self.domains.of_rows(counter.key)[row]) {
                    hits[link.counter.0 as usize] += i64::from(link.share.hits);
                }
            }
        }
        for (counter, &hits) in self.counters.iter().zip(&hits) {
            assert_eq!(counter.hits(), hits, "a counter counts the pods that are placed");
        }
    }
}
