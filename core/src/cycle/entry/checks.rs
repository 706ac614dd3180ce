//! What must hold of an entry between two cycles: columns, bits and what is kept of them agree.

use super::{Attributes, Entry, LOOKED_AT_MAX, RawColumn};
use crate::cycle::engine::ClassCache;
use crate::cycle::plan::FilterScope;
use crate::snapshot::mask::{WORD_BITS, valid_bits, word_count};

impl Entry {
    /// Panics where parts of the entry do not agree. One that was never refreshed stands for nothing yet.
    pub(crate) fn check(&self) {
        self.plan.check();
        assert_eq!(self.words.len(), word_count(self.node_count), "an entry has a word for 64 rows each");
        assert_eq!(self.totals.len(), self.node_count, "an entry has a total for each row");
        assert!(
            self.node_count == 0 || self.plan.scope == FilterScope::All,
            "a pod that may go to a few named nodes has no columns"
        );
        for (at, word) in self.words.iter().enumerate() {
            let first = at * WORD_BITS;
            let rows = first..self.node_count.min(first + WORD_BITS);
            word.check(valid_bits(at, self.node_count), &self.totals[rows]);
        }
        let scaled = self.plan.scaled_scores.len();
        assert_eq!(self.raw.len(), scaled, "a score that is scaled has its column of raw scores");
        self.raw.iter().for_each(|column| column.check(self.node_count));
        if self.class_cache == ClassCache::On && self.node_count > 0 {
            self.attributes.check(self.node_count);
        }
        assert!(self.looked_at.len() <= LOOKED_AT_MAX, "only so many runs of words are told apart");
        for &(from, to) in &self.looked_at {
            assert!(from < to && to <= self.words.len(), "a run of words is one of the entry's");
        }
        if self.class_cache == ClassCache::Off && self.looked_at.len() < LOOKED_AT_MAX {
            let is_noted = |at: usize| self.looked_at.iter().any(|&(from, to)| (from..to).contains(&at));
            let is_known = |at: usize| self.words[at].known != 0;
            let forgotten = (0..self.words.len()).all(|at| !is_known(at) || is_noted(at));
            assert!(forgotten, "without a class cache, what is known is noted to be forgotten");
        }
    }
}

impl RawColumn {
    fn check(&self, node_count: usize) {
        assert_eq!(self.values.len(), node_count, "a column of raw scores has a value for each row");
        let nonzero = self.values.iter().filter(|&&value| value != 0).count();
        assert_eq!(self.nonzero, nonzero, "rows with a raw score are counted");
    }
}

impl Attributes {
    fn check(&self, node_count: usize) {
        for column in [&self.known, &self.fits, &self.scored] {
            assert_eq!(column.len(), word_count(node_count), "bits of attributes are there for each row");
        }
        assert_eq!(self.totals.len(), node_count, "scores of attributes are there for each row");
        for at in 0..self.known.len() {
            let valid = valid_bits(at, node_count);
            assert_eq!(self.known[at] & !valid, 0, "only rows that are there are known");
            assert_eq!(self.scored[at] & !self.known[at], 0, "attributes are scored where they are known");
        }
    }
}
