//! What is known about a class on every node: verdicts and scores by row, each with a bit that
//! says whether it is known. A change to a row clears its bits; the next cycle that reaches the
//! row evaluates it again. So the cost of a decision is that of the rows that changed, not that of
//! the cluster.
//!
//! ```text
//! word:      known  feasible  scored   best (highest total of the word and how many have it)
//! row:       totals[row]  raw[plugin][row]
//! ```
//!
//! Invariant: `feasible` and `scored` are subsets of `known`; `best` of a word is fresh only while
//! all feasible rows of the word are scored.

use std::sync::Arc;

use crate::class::PodClass;
use crate::cycle::dispatch::{Dispatch, Work};
use crate::cycle::plan::{Plan, Scope};
use crate::cycle::select::Best;
use crate::framework::diagnosis::Diagnosis;
use crate::framework::profile::Profile;
use crate::ids::ClassId;
use crate::snapshot::mask::{BitRows, WORD_BITS, valid_bits, word_count};
use crate::world::World;

/// Raw scores of a plugin whose scale depends on the other feasible nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawColumn {
    pub(crate) values: Vec<i64>,
    /// Rows whose value is not 0. While there are none, the scaled score is the same everywhere.
    nonzero: usize,
}

impl RawColumn {
    /// Writes `scores[i]` to row `rows[i]`.
    fn set(&mut self, rows: &[u32], scores: &[i64]) {
        // The common case, no preference anywhere: there is nothing to write.
        if self.nonzero == 0 && scores.iter().all(|&score| score == 0) {
            return;
        }
        for (&row, &score) in rows.iter().zip(scores) {
            let old = std::mem::replace(&mut self.values[row as usize], score);
            self.nonzero += usize::from(score != 0);
            self.nonzero -= usize::from(old != 0);
        }
    }
}

/// The state the entry was last brought up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Versions {
    structure: u64,
    images: u64,
    topology: u64,
}

impl Versions {
    fn of(world: &World) -> Versions {
        let nodes = world.nodes();
        Versions {
            structure: nodes.structure_version(),
            images: nodes.images().version(),
            topology: world.topology().generation(),
        }
    }

    /// No state has these.
    const NEVER: Versions = Versions { structure: u64::MAX, images: u64::MAX, topology: u64::MAX };
}

/// All that is known about one class.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) class: ClassId,
    pub(crate) last_used: u64,
    pub(crate) plan: Plan,
    pub(crate) feasible: Vec<u64>,
    pub(crate) totals: Vec<i64>,
    pub(crate) raw: Vec<RawColumn>,
    known: Vec<u64>,
    scored: Vec<u64>,
    best: Vec<Best>,
    best_is_fresh: Vec<u64>,
    versions: Versions,
    cursor: u64,
    node_count: usize,
    diagnosis: Option<Arc<Diagnosis>>,
}

/// Memory that evaluations borrow and give back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) words: Vec<u64>,
    pub(crate) rows: Vec<u32>,
    pub(crate) scores: Vec<i64>,
}

impl Entry {
    /// Makes the entry stand for `class`, keeping its memory.
    pub(crate) fn adopt(&mut self, class: ClassId) {
        self.class = class;
        self.versions = Versions::NEVER;
    }

    /// Forgets what no longer holds. Returns at once when nothing changed.
    pub(crate) fn refresh(&mut self, world: &mut World, profile: &Profile) {
        let is_current = self.versions == Versions::of(world)
            && self.plan.is_current(world, profile, world.class(self.class));
        if !is_current {
            for plugin in profile.plugins() {
                plugin.prepare(world, self.class);
            }
            self.versions = Versions::of(world);
            self.rebuild(world, profile);
            return;
        }
        let nodes = world.nodes();
        let cursor = nodes.change_cursor();
        if cursor == self.cursor {
            return;
        }
        match nodes.changes_since(self.cursor) {
            // Clearing all words is cheaper than clearing so many bits one by one.
            Some(rows) if rows.len() <= self.known.len().max(WORD_BITS) => {
                for &row in rows {
                    self.forget_row(row as usize);
                }
            }
            _ => self.forget_rows(),
        }
        self.cursor = cursor;
        self.diagnosis = None;
    }

    fn rebuild(&mut self, world: &World, profile: &Profile) {
        self.plan = Plan::make(world, profile, world.class(self.class));
        self.cursor = world.nodes().change_cursor();
        self.diagnosis = None;
        // A pod bound to a few named nodes is evaluated there, without columns.
        self.node_count = if self.plan.scope == Scope::All { world.nodes().node_count() } else { 0 };
        let words = word_count(self.node_count);
        for column in [&mut self.known, &mut self.feasible, &mut self.scored] {
            column.clear();
            column.resize(words, 0);
        }
        self.best.clear();
        self.best.resize(words, Best::default());
        self.best_is_fresh.clear();
        self.best_is_fresh.resize(word_count(words), 0);
        self.totals.clear();
        self.totals.resize(self.node_count, 0);
        self.raw.resize_with(self.plan.scaled_scores.len(), RawColumn::default);
        for column in &mut self.raw {
            column.values.clear();
            column.values.resize(self.node_count, 0);
            column.nonzero = 0;
        }
    }

    /// Forgets all verdicts and scores, but not the plan.
    pub(crate) fn forget_rows(&mut self) {
        self.known.fill(0);
        self.feasible.fill(0);
        self.scored.fill(0);
        self.best_is_fresh.fill(0);
        self.diagnosis = None;
    }

    #[inline]
    fn forget_row(&mut self, row: usize) {
        let Some(known) = self.known.get_mut(row / WORD_BITS) else { return };
        let keep = !(1u64 << (row % WORD_BITS));
        *known &= keep;
        self.feasible[row / WORD_BITS] &= keep;
        self.scored[row / WORD_BITS] &= keep;
        self.best_is_fresh[row / WORD_BITS / WORD_BITS] &= !(1u64 << (row / WORD_BITS % WORD_BITS));
    }

    /// Evaluates what is not known yet of words `from..to`.
    pub(crate) fn ensure_known(
        &mut self,
        world: &World,
        profile: &Profile,
        (from, to): (usize, usize),
        dispatch: &mut Dispatch,
        scratch: &mut Scratch,
    ) {
        let mut word = from;
        while word < to {
            if self.known[word] == valid_bits(word, self.node_count) {
                word += 1;
                continue;
            }
            let run_end =
                (word + 1..to).find(|&w| self.known[w] == valid_bits(w, self.node_count)).unwrap_or(to);
            self.evaluate(world, profile, (word, run_end), dispatch, scratch);
            word = run_end;
        }
    }

    fn evaluate(
        &mut self,
        world: &World,
        profile: &Profile,
        (from, to): (usize, usize),
        dispatch: &mut Dispatch,
        scratch: &mut Scratch,
    ) {
        let class = world.class(self.class);
        scratch.words.clear();
        scratch.words.extend((from..to).map(|word| valid_bits(word, self.node_count) & !self.known[word]));
        let row_count = (to - from) * WORD_BITS;
        let chunk = dispatch.chunk_words(row_count);
        let filters = &self.plan.filters;
        dispatch.run(Work::Filter, row_count, chunk, &mut scratch.words, |offset, words| {
            run_filters(world, profile, class, filters, from + offset, words);
        });
        for (word, &fits) in (from..to).zip(&scratch.words) {
            self.feasible[word] |= fits;
            self.known[word] = valid_bits(word, self.node_count);
        }
    }

    /// Scores those of the given rows that are not scored yet.
    pub(crate) fn ensure_scored(
        &mut self,
        world: &World,
        profile: &Profile,
        sample: &[(u32, u64)],
        dispatch: &mut Dispatch,
        scratch: &mut Scratch,
    ) {
        scratch.rows.clear();
        // All at once: how many rows come up varies, and no cycle is to allocate later.
        scratch.rows.reserve(self.node_count);
        for &(word, bits) in sample {
            let word = word as usize;
            // Whole words are scored, so that their best can be kept.
            let wanted = if bits == 0 { 0 } else { self.feasible[word] & !self.scored[word] };
            if wanted != 0 {
                push_rows(word, wanted, &mut scratch.rows);
                self.scored[word] |= wanted;
            }
        }
        if scratch.rows.is_empty() {
            return;
        }
        let class = world.class(self.class);
        let Scratch { rows, scores, .. } = scratch;
        let plan = &self.plan;
        let stride = BLOCK_ROWS * (2 + plan.scaled_scores.len());
        let block_count = rows.len().div_ceil(BLOCK_ROWS);
        let block_count_max = self.node_count.div_ceil(BLOCK_ROWS);
        scores.reserve((block_count_max * stride).saturating_sub(scores.len()));
        // What is left over from earlier cycles is overwritten.
        scores.resize(scores.len().max(block_count * stride), 0);
        let blocks = &mut scores[..block_count * stride];
        let chunk = match block_count {
            1 => stride,
            _ => dispatch.chunk_rows(rows.len()).div_ceil(BLOCK_ROWS) * stride,
        };
        // All plugins in one job: handing it to other threads is paid once, not once per plugin.
        dispatch.run(Work::Score, rows.len(), chunk, blocks, |offset, part| {
            let rows = rows[offset / stride * BLOCK_ROWS..].chunks(BLOCK_ROWS);
            for (block, rows) in part.chunks_exact_mut(stride).zip(rows) {
                score_block(world, profile, class, plan, rows, block);
            }
        });
        for (block, rows) in blocks.chunks_exact(stride).zip(rows.chunks(BLOCK_ROWS)) {
            let (sums, raw_columns) = block.split_at(2 * BLOCK_ROWS);
            for (&row, &sum) in rows.iter().zip(sums) {
                self.totals[row as usize] = sum;
            }
            for (column, scores) in self.raw.iter_mut().zip(raw_columns.chunks_exact(BLOCK_ROWS)) {
                column.set(rows, &scores[..rows.len()]);
            }
        }
    }

    /// The best total among the feasible rows of a word, all of which are scored.
    #[inline]
    pub(crate) fn word_best(&mut self, word: usize) -> Best {
        let fresh = &mut self.best_is_fresh[word / WORD_BITS];
        let bit = 1u64 << (word % WORD_BITS);
        if *fresh & bit == 0 {
            *fresh |= bit;
            self.best[word] = best_of(&self.totals, word, self.feasible[word]);
        }
        self.best[word]
    }

    /// Every scaled score is the same on all nodes, so totals alone decide.
    pub(crate) fn totals_decide(&self) -> bool {
        self.plan.live_scores.is_empty() && self.raw.iter().all(|column| column.nonzero == 0)
    }

    /// Why no node fits, made once per state of the cluster.
    pub(crate) fn diagnosis(&mut self, make: impl FnOnce(&Plan) -> Diagnosis) -> Arc<Diagnosis> {
        let plan = &self.plan;
        Arc::clone(self.diagnosis.get_or_insert_with(|| Arc::new(make(plan))))
    }

    /// Bytes held by the entry's columns.
    pub(crate) fn memory_bytes(&self) -> usize {
        (self.known.capacity() + self.feasible.capacity() + self.scored.capacity()) * 8
            + self.totals.capacity() * 8
            + self.best.capacity() * size_of::<Best>()
            + self.raw.iter().map(|column| column.values.capacity() * 8).sum::<usize>()
    }
}

/// Appends the rows of a word. The count is known beforehand: one look at the capacity, not one a
/// row.
#[inline]
fn push_rows(word: usize, mut bits: u64, rows: &mut Vec<u32>) {
    let first = u32::try_from(word * WORD_BITS).expect("rows fit u32");
    let old_len = rows.len();
    rows.resize(old_len + bits.count_ones() as usize, 0);
    for row in &mut rows[old_len..] {
        *row = first + bits.trailing_zeros();
        bits &= bits - 1;
    }
}

/// Clears the bits of rows that any filter rejects, in plugin order, until none is left.
pub(crate) fn run_filters(
    world: &World,
    profile: &Profile,
    class: &PodClass,
    filters: &[usize],
    first_word: usize,
    words: &mut [u64],
) {
    for &plugin in filters {
        profile.filter(plugin).filter(world, class, first_word, words);
        if words.iter().all(|&word| word == 0) {
            return;
        }
    }
}

/// Rows scored by one plugin after the other while they are in the first cache. A virtual call per
/// plugin and block is then lost in the noise.
const BLOCK_ROWS: usize = 256;

/// Scores up to [`BLOCK_ROWS`] rows. `block` is columns of that length: the weighted sum of all
/// final scores, scratch, then the raw scores of each plugin that is scaled later.
fn score_block(
    world: &World,
    profile: &Profile,
    class: &PodClass,
    plan: &Plan,
    rows: &[u32],
    block: &mut [i64],
) {
    let (sums, rest) = block.split_at_mut(BLOCK_ROWS);
    let (scores, raw_columns) = rest.split_at_mut(BLOCK_ROWS);
    let (sums, scores) = (&mut sums[..rows.len()], &mut scores[..rows.len()]);
    sums.fill(0);
    for planned in &plan.final_scores {
        profile.score(planned.plugin).score(world, class, rows, scores);
        for (sum, score) in sums.iter_mut().zip(scores.iter()) {
            *sum += planned.weight * score;
        }
    }
    for (planned, column) in plan.scaled_scores.iter().zip(raw_columns.chunks_exact_mut(BLOCK_ROWS)) {
        profile.score(planned.plugin).score(world, class, rows, &mut column[..rows.len()]);
    }
}

/// The best total among the rows of `bits`.
#[inline]
pub(crate) fn best_of(totals: &[i64], word: usize, bits: u64) -> Best {
    let mut best = Best::default();
    if bits == u64::MAX {
        let rows = &totals[word * WORD_BITS..(word + 1) * WORD_BITS];
        let total = rows.iter().copied().fold(i64::MIN, i64::max);
        return Best { total, ties: rows.iter().filter(|&&other| other == total).count() };
    }
    for row in BitRows::new(word, bits) {
        best.offer(totals[row], 1);
    }
    best
}
