//! The best of the feasible nodes.
//! Upstream: schedule_one.go `prioritizeNodes`, `selectHost`.

use super::{Engine, EngineSettings, pick};
use crate::cycle::entry::{Entry, RawColumn};
use crate::cycle::plan::PlannedScore;
use crate::cycle::plugin_times::score_rows;
use crate::cycle::select::{Draws, TieBreak};
use crate::cycle::word::{Word, WordBest};
use crate::framework::plugin::{Normalization, normalized};
use crate::framework::profile::Profile;
use crate::kernels::Level;
use crate::kernels::shares::scaled;
use crate::kernels::totals::{add_weighted, highest, rows_with};
use crate::snapshot::mask::{BitRows, WORD_BITS, nth_bit};
use crate::world::World;

impl Engine {
    /// The row with the highest total of the sample, and how many have it.
    pub(super) fn select_host(&mut self, at: usize, world: &World, profile: &Profile) -> (usize, usize) {
        let entry = &self.entries[at];
        if entry.totals_decide() {
            self.select_by_totals(at)
        } else if entry.plan.live_scores.is_empty() {
            self.select_scaled(at)
        } else {
            self.select_by_sum(at, world, profile)
        }
    }

    /// Totals alone decide: the best of each word is kept, so that only words that changed are
    /// looked into.
    fn select_by_totals(&mut self, at: usize) -> (usize, usize) {
        let Engine { entries, sample, parts, draws, settings, .. } = self;
        if settings.tie_break == TieBreak::First {
            sample.sort_unstable();
        }
        let Entry { words, totals, level, .. } = &mut entries[at];
        let mut best = i64::MIN;
        parts.clear();
        for &(at, bits) in sample.iter().filter(|(_, bits)| *bits != 0) {
            let word = &mut words[at as usize];
            debug_assert_eq!(bits & !word.scored, 0, "what is compared was scored");
            // Who has it is looked for only if it is the best of all.
            let part = match word.known_highest() {
                Some(total) if total < best => continue,
                Some(_) if bits == word.scored => word.kept_best(),
                _ => best_of(*level, word, bits, rows_of(totals, at)),
            };
            if part.total > best {
                best = part.total;
                parts.clear();
            }
            if part.total == best {
                parts.push((at, part));
            }
        }
        debug_assert!(!parts.is_empty(), "some feasible row is the best");
        debug_assert!(parts.iter().all(|(_, part)| part.total == best), "only words with the best are kept");
        let mut ties = 0;
        for (at, part) in parts.iter_mut() {
            if part.rows == 0 {
                *part = words[*at as usize].best(*level, rows_of(totals, *at));
            }
            ties += part.ties;
        }
        nth_tie(parts, pick(*settings, draws, ties as usize), ties)
    }

    /// Scores are brought to one scale over the feasible rows, added and compared, word by word.
    fn select_scaled(&mut self, at: usize) -> (usize, usize) {
        let Engine { entries, sample, parts, totals: highest_raw, draws, settings, .. } = self;
        if settings.tie_break == TieBreak::First {
            sample.sort_unstable();
        }
        let Entry { plan, raw, totals, level, .. } = &entries[at];
        let highest_of = |column: &RawColumn| {
            let words = sample.iter().filter(|(_, bits)| *bits != 0);
            words.fold(0, |high, &(at, bits)| high.max(highest(*level, rows_of(&column.values, at), bits)))
        };
        highest_raw.clear();
        highest_raw.extend(raw.iter().map(highest_of));
        let mut best = i64::MIN;
        parts.clear();
        for &(at, bits) in sample.iter().filter(|(_, bits)| *bits != 0) {
            let mut sums = [0; WORD_BITS];
            let of_word = rows_of(totals, at);
            let sums = &mut sums[..of_word.len()];
            sums.copy_from_slice(of_word);
            let columns = plan.scaled_scores.iter().zip(raw).zip(&*highest_raw);
            for ((planned, column), &highest) in columns.filter(|((_, column), _)| !column.is_zero()) {
                add_scaled(*level, sums, (planned, highest), rows_of(&column.values, at), bits);
            }
            let total = highest(*level, sums, bits);
            if total > best {
                best = total;
                parts.clear();
            }
            if total == best {
                parts.push((at, WordBest::of_rows(total, rows_with(*level, sums, bits, total))));
            }
        }
        debug_assert!(!parts.is_empty(), "some feasible row is the best");
        debug_assert_eq!(highest_raw.len(), plan.scaled_scores.len(), "each column has its highest score");
        let ties = parts.iter().map(|(_, part)| part.ties).sum();
        nth_tie(parts, pick(*settings, draws, ties as usize), ties)
    }

    /// Some plugin scores, or scales, all feasible rows at once: sums are made row by row.
    fn select_by_sum(&mut self, at: usize, world: &World, profile: &Profile) -> (usize, usize) {
        let times = self.dispatch.timed();
        let Engine { entries, sample, rows, totals, scratch, draws, settings, .. } = self;
        let entry = &entries[at];
        if settings.tie_break == TieBreak::First {
            sample.sort_unstable();
        }
        rows.clear();
        totals.clear();
        for &(word, bits) in sample.iter() {
            let first = u32::try_from(word as usize * WORD_BITS).expect("rows fit u32");
            if bits == u64::MAX {
                rows.extend(first..first + WORD_BITS as u32);
                totals.extend_from_slice(rows_of(&entry.totals, word));
            } else {
                for row in BitRows::new(word as usize, bits) {
                    rows.push(u32::try_from(row).expect("rows fit u32"));
                    totals.push(entry.totals[row]);
                }
            }
        }
        debug_assert_eq!(rows.len(), totals.len(), "each row has its total");
        debug_assert!(rows.len() > 1, "a single feasible row is not scored");
        let scaled_columns = entry.plan.scaled_scores.iter().zip(&entry.raw);
        // Where all have 0, all have the same.
        for (planned, column) in scaled_columns.filter(|(_, column)| !column.is_zero()) {
            let highest = rows.iter().map(|&row| column.values[row as usize]).fold(0, i64::max);
            for (&row, total) in rows.iter().zip(totals.iter_mut()) {
                *total +=
                    planned.weight * normalized(planned.normalization, column.values[row as usize], highest);
            }
        }
        let class = world.class(entry.class);
        for planned in &entry.plan.live_scores {
            scratch.scores.clear();
            scratch.scores.resize(rows.len(), 0);
            let plugin = profile.score(planned.plugin);
            score_rows(times.as_deref(), (world, profile, class), planned.plugin, rows, &mut scratch.scores);
            plugin.normalize(world, class, rows, &mut scratch.scores);
            add_weighted(entry.level, totals, &scratch.scores, planned.weight);
        }
        take_best_of_many(entry.level, rows, totals, (*settings, draws))
    }
}

/// The best of rows and their totals, 64 at a time.
fn take_best_of_many(
    level: Level,
    rows: &[u32],
    totals: &[i64],
    (settings, draws): (EngineSettings, &mut Draws),
) -> (usize, usize) {
    debug_assert_eq!(rows.len(), totals.len(), "each row has its total");
    let best = totals.chunks(WORD_BITS).fold(i64::MIN, |best, part| best.max(highest(level, part, u64::MAX)));
    let tied = |part: &[i64]| rows_with(level, part, u64::MAX, best);
    let ties = totals.chunks(WORD_BITS).map(|part| tied(part).count_ones()).sum::<u32>() as usize;
    let mut nth = u32::try_from(pick(settings, draws, ties)).expect("below the ties");
    for (rows, part) in rows.chunks(WORD_BITS).zip(totals.chunks(WORD_BITS)) {
        let tied = tied(part);
        if let Some(bit) = nth_bit(tied, nth) {
            return (rows[bit as usize] as usize, ties);
        }
        nth -= tied.count_ones();
    }
    unreachable!("one of the ties is taken")
}

/// Of a column, the rows of a word.
#[inline]
fn rows_of(column: &[i64], word: u32) -> &[i64] {
    let first = word as usize * WORD_BITS;
    &column[first..column.len().min(first + WORD_BITS)]
}

/// The n-th of the rows that share the highest total, and how many these are.
fn nth_tie(parts: &[(u32, WordBest)], nth: usize, ties: u32) -> (usize, usize) {
    let mut nth = u32::try_from(nth).expect("below the ties");
    debug_assert!(nth < ties, "one of the ties is taken");
    debug_assert!(
        parts.iter().all(|(_, it)| it.rows.count_ones() == it.ties),
        "ties are the rows that have it"
    );
    for &(word, part) in parts {
        if nth < part.ties {
            let bit = nth_bit(part.rows, nth).expect("the word has that many ties");
            return (word as usize * WORD_BITS + bit as usize, ties as usize);
        }
        nth -= part.ties;
    }
    unreachable!("one of the ties is taken")
}

/// Adds the scaled and weighted scores of the rows of `bits` to their sums.
fn add_scaled(
    level: Level,
    sums: &mut [i64],
    (planned, highest): (&PlannedScore, i64),
    raw: &[i64],
    bits: u64,
) {
    debug_assert_eq!(sums.len(), raw.len(), "each row has its raw score");
    let mut scores = [0; WORD_BITS];
    let scores = &mut scores[..raw.len()];
    let is_turned = planned.normalization == Normalization::Lowest;
    if highest == 0 && is_turned {
        // All have the same.
        return;
    }
    if highest == 0 || !scaled(level, scores, raw, bits, highest, is_turned) {
        for bit in BitRows::new(0, bits) {
            scores[bit] = normalized(planned.normalization, raw[bit], highest);
        }
    }
    add_weighted(level, sums, scores, planned.weight);
}

/// The best of some rows of a word, of which not all is known.
#[inline(never)]
fn best_of(level: Level, word: &mut Word, bits: u64, totals: &[i64]) -> WordBest {
    if bits == word.scored { word.highest(level, totals) } else { word.best_within(level, bits, totals) }
}
