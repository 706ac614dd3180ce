//! What is known of the 64 rows of a mask word, in one cache line: a cycle walks these and looks at
//! single rows only where something changed.
//!
//! The highest total is kept with the rows that have it. A row that comes or goes mostly leaves it
//! as it is, or moves it in a way that the row alone tells: one of several best rows goes, or a
//! better one comes. Only when the last best row goes is the word searched again.
//!
//! Invariant: `scored` is a subset of `feasible`, and that of `known`.

use crate::kernels::Level;
use crate::kernels::totals::{highest, rows_with};
use crate::snapshot::mask::BitRows;

/// The highest total of some rows of a word, and which of them have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WordBest {
    /// The highest total.
    pub(crate) total: i64,
    /// The rows that have it, as bits of the word; none while nobody looked for them.
    pub(crate) rows: u64,
    /// How many these are: counting bits costs as much as all else that is done with a word.
    pub(crate) ties: u32,
}

impl WordBest {
    #[inline]
    pub(crate) fn of_rows(total: i64, rows: u64) -> WordBest {
        WordBest { total, rows, ties: rows.count_ones() }
    }
}

/// What is known of the rows of a word.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Word {
    /// Rows whose verdict is known.
    pub(crate) known: u64,
    /// Rows that fit.
    pub(crate) feasible: u64,
    /// Rows whose total is known.
    pub(crate) scored: u64,
    /// Over the scored rows, unless it is stale.
    best: WordBest,
    best_is_fresh: bool,
    feasible_count: u8,
}

const _: () = assert!(size_of::<Word>() <= 64);

impl Word {
    /// How many rows fit.
    #[inline]
    pub(crate) fn feasible_count(&self) -> usize {
        usize::from(self.feasible_count)
    }

    /// Panics where bits, counts and the best that is kept do not agree. `totals` are those of the word's rows,
    /// `valid` the bits that stand for one.
    pub(crate) fn check(&self, valid: u64, totals: &[i64]) {
        assert_eq!(self.known & !valid, 0, "only rows that are there are known");
        assert_eq!(self.feasible & !self.known, 0, "only rows that are known fit");
        assert_eq!(self.scored & !self.feasible, 0, "only rows that fit are scored");
        assert_eq!(self.feasible_count(), self.feasible.count_ones() as usize, "rows that fit are counted");
        if !self.best_is_fresh || self.scored == 0 {
            return;
        }
        let scored = || BitRows::new(0, self.scored);
        let best = scored().map(|bit| totals[bit]).max();
        assert_eq!(Some(self.best.total), best, "the highest total of a word is kept");
        if self.best.rows != 0 {
            let rows = scored().filter(|&bit| Some(totals[bit]) == best).fold(0, |rows, bit| rows | 1 << bit);
            assert_eq!(self.best.rows, rows, "the rows that have the highest total are kept");
            assert_eq!(self.best.ties, rows.count_ones(), "the rows that have the highest total are counted");
        }
    }

    /// Nothing has to be looked for to say what the highest total is.
    #[inline]
    pub(crate) fn known_highest(&self) -> Option<i64> {
        self.best_is_fresh.then_some(self.best.total)
    }

    /// All rows of `valid` are known now; of those that were not, these fit.
    #[inline]
    pub(crate) fn learn(&mut self, valid: u64, fits: u64) {
        debug_assert_eq!(fits & !valid, 0, "only rows that are there fit");
        debug_assert_eq!(fits & self.known, 0, "what is known is not evaluated again");
        self.known = valid;
        self.feasible |= fits;
        self.feasible_count = u8::try_from(self.feasible.count_ones()).expect("at most 64");
    }

    /// A row changed. `totals` are those of the word's rows.
    #[inline]
    pub(crate) fn forget(&mut self, bit: usize, totals: &[i64]) {
        debug_assert!(bit < 64, "a row of the word");
        debug_assert_eq!(self.scored & !self.feasible, 0, "only rows that fit are scored");
        let mask = 1u64 << bit;
        self.known &= !mask;
        if self.feasible & mask != 0 {
            self.feasible &= !mask;
            self.feasible_count -= 1;
        }
        if self.scored & mask != 0 {
            self.scored &= !mask;
            self.remove(bit, totals[bit]);
        }
    }

    /// A row that had this total is no longer scored.
    #[inline]
    fn remove(&mut self, bit: usize, total: i64) {
        if total != self.best.total {
            return;
        }
        // Without a note of who else has it, the row may have been the last one.
        self.best.rows &= !(1 << bit);
        self.best.ties = self.best.ties.saturating_sub(1);
        self.best_is_fresh &= self.best.rows != 0;
    }

    /// A row of `scored` that was not has this total.
    #[inline]
    pub(crate) fn score(&mut self, bit: usize, total: i64) {
        let mask = 1u64 << bit;
        debug_assert_ne!(self.scored & mask, 0, "the row is noted as scored");
        debug_assert!(!self.best_is_fresh || self.best.rows & mask == 0, "a row is scored once");
        if !self.best_is_fresh {
            return;
        }
        if total > self.best.total {
            self.best = WordBest { total, rows: mask, ties: 1 };
        } else if total == self.best.total && self.best.rows != 0 {
            self.best.rows |= mask;
            self.best.ties += 1;
        }
    }

    /// Many rows of `scored` got totals: who is best is found when somebody asks.
    #[inline]
    pub(crate) fn score_many(&mut self) {
        self.best_is_fresh = false;
    }

    /// What [`Word::known_highest`] speaks of; who has it only if that is known.
    #[inline]
    pub(crate) fn kept_best(&self) -> WordBest {
        self.best
    }

    /// The highest total of the scored rows; who has it only if that is known.
    #[inline]
    pub(crate) fn highest(&mut self, level: Level, totals: &[i64]) -> WordBest {
        if !self.best_is_fresh {
            self.best_is_fresh = true;
            self.best = WordBest { total: highest(level, totals, self.scored), rows: 0, ties: 0 };
        }
        self.best
    }

    /// The highest total of the scored rows, and who has it.
    #[inline]
    pub(crate) fn best(&mut self, level: Level, totals: &[i64]) -> WordBest {
        let best = self.highest(level, totals);
        if best.rows == 0 {
            self.best = WordBest::of_rows(best.total, rows_with(level, totals, self.scored, best.total));
        }
        self.best
    }

    /// The best of some of the scored rows.
    pub(crate) fn best_within(&mut self, level: Level, bits: u64, totals: &[i64]) -> WordBest {
        debug_assert_eq!(bits & !self.scored, 0, "only scored rows are compared");
        debug_assert_ne!(bits, 0, "some row is compared");
        let best = self.best(level, totals);
        if best.rows & bits != 0 {
            return WordBest::of_rows(best.total, best.rows & bits);
        }
        let total = highest(level, totals, bits);
        WordBest::of_rows(total, rows_with(level, totals, bits, total))
    }
}

/// How many words from the first on are known whole and do not fill what is wanted, and how many
/// rows fit in them: what most cycles see of most words.
#[inline]
pub(crate) fn known_run(words: &[Word], wanted: usize) -> (usize, usize) {
    let mut count = 0;
    for (at, word) in words.iter().enumerate() {
        let next = count + word.feasible_count();
        if word.known != u64::MAX || next >= wanted {
            return (at, count);
        }
        count = next;
    }
    (words.len(), count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{Rng, for_each_seed};
    use crate::snapshot::mask::valid_bits;

    fn plain(totals: &[i64], bits: u64) -> WordBest {
        let mut best = WordBest { total: i64::MIN, rows: 0, ties: 0 };
        for bit in BitRows::new(0, bits) {
            if totals[bit] > best.total {
                best = WordBest { total: totals[bit], rows: 0, ties: 0 };
            }
            if totals[bit] == best.total {
                best.rows |= 1 << bit;
                best.ties += 1;
            }
        }
        best
    }

    fn random_bits(rng: &mut Rng) -> u64 {
        match rng.range(0..=3) {
            0 => rng.next_u64() & rng.next_u64() & rng.next_u64(),
            1 => rng.next_u64(),
            _ => u64::MAX,
        }
    }

    /// Rows change and are scored again, and whatever is asked is what a search of the word says.
    #[test]
    fn cached_best_node_of_64_rows_equals_a_scan() {
        for_each_seed("cached_best_node_of_64_rows_equals_a_scan", 600, |rng| {
            let row_count = *rng.pick(&[1usize, 3, 63, 64]);
            let valid = valid_bits(0, row_count);
            let mut totals: Vec<i64> = (0..row_count).map(|_| rng.range(0..=5) as i64 - 2).collect();
            let mut word = Word::default();
            let level = *rng.pick(&Level::available());
            for _ in 0..300 {
                let bit = rng.range(0..=row_count - 1);
                word.forget(bit, &totals);
                assert_eq!(word.known >> bit & 1, 0);
                if rng.chance(70) {
                    let fits = random_bits(rng) & valid & !word.known;
                    word.learn(valid, fits);
                    assert_eq!(word.feasible_count(), word.feasible.count_ones() as usize);
                    let wanted = word.feasible & !word.scored;
                    word.scored |= wanted;
                    for bit in BitRows::new(0, wanted) {
                        totals[bit] = rng.range(0..=5) as i64 - 2;
                        word.score(bit, totals[bit]);
                    }
                }
                if word.scored == 0 {
                    continue;
                }
                let expected = plain(&totals, word.scored);
                match rng.range(0..=3) {
                    0 => assert_eq!(word.highest(level, &totals).total, expected.total),
                    1 => assert_eq!(word.best(level, &totals), expected),
                    2 => {
                        let bits = word.scored & random_bits(rng);
                        if bits != 0 {
                            assert_eq!(word.best_within(level, bits, &totals), plain(&totals, bits));
                        }
                    }
                    _ => {}
                }
            }
        });
    }
}
