//! Scores of a class: rows that are not scored yet, in blocks that stay in the first cache, one plugin after
//! the other.
//!
//! ```text
//! sparse: a few rows that changed     ScorePlugin::score over their numbers
//! dense:  most rows of some words     ScorePlugin::score_words over whole columns
//! ```
//!
//! Both write the same; which one is taken depends on how many rows of a word are wanted.

use super::{Entry, RawColumn, Scratch};
use crate::class::PodClass;
use crate::cycle::engine::ClassCache;
use crate::cycle::parallelize::{Parallelizer, Work};
use crate::cycle::plan::{Plan, PlannedScore};
use crate::cycle::plugin_times::{PluginTimes, score_rows, score_words};
use crate::framework::plugin::{Reads, WordScores};
use crate::framework::profile::Profile;
use crate::kernels::{Level, totals};
use crate::snapshot::mask::{BitRows, WORD_BITS};
use crate::world::World;

impl RawColumn {
    /// Every row's value becomes 0.
    pub(super) fn reset(&mut self, node_count: usize) {
        if self.nonzero > 0 {
            self.values.fill(0);
            self.nonzero = 0;
        }
        self.values.resize(node_count, 0);
    }

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

    /// Every row's value is 0.
    pub(crate) fn is_zero(&self) -> bool {
        self.nonzero == 0
    }

    /// Writes the scores of those rows of a word that `bits` says; `None` stands for 0 everywhere.
    fn set_word(&mut self, level: Level, first: usize, scores: Option<&[i64]>, bits: u64) {
        if self.nonzero == 0 && scores.is_none() {
            return;
        }
        let end = self.values.len().min(first + WORD_BITS);
        let scores = scores.unwrap_or(&[0; WORD_BITS]);
        let (before, after) = totals::replace(level, &mut self.values[first..end], scores, bits);
        self.nonzero = self.nonzero + after as usize - before as usize;
    }
}

/// Neighbouring words whose rows are scored together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Block {
    first_word: usize,
    len: usize,
    wanted: [u64; BLOCK_WORDS],
}

impl Block {
    fn of_word(word: usize, wanted: u64) -> Block {
        let mut block = Block { first_word: word, len: 1, wanted: [0; BLOCK_WORDS] };
        block.wanted[0] = wanted;
        block
    }

    /// Takes in the next word. `false` when it is another's.
    fn takes(&mut self, word: usize, wanted: u64) -> bool {
        let is_next = self.len < BLOCK_WORDS && word == self.first_word + self.len;
        if is_next {
            self.wanted[self.len] = wanted;
            self.len += 1;
        }
        is_next
    }

    fn words(&self) -> (usize, &[u64]) {
        (self.first_word, &self.wanted[..self.len])
    }
}

impl Entry {
    /// Scores those of the given rows that are not scored yet.
    pub(crate) fn ensure_scored(
        &mut self,
        world: &World,
        profile: &Profile,
        sample: &[(u32, u64)],
        dispatch: &mut Parallelizer,
        scratch: &mut Scratch,
    ) {
        let mut asks = if self.class_cache == ClassCache::On { Asks::Pods } else { Asks::All };
        self.reserve(dispatch, scratch);
        let mut row_count = 0;
        for &(at, bits) in sample {
            let word = &mut self.words[at as usize];
            // Whole words are scored, so that their best can be kept.
            if word.feasible != word.scored && bits != 0 {
                let wanted = word.feasible & !word.scored;
                // At once: the word in which the search began may come up again at its end.
                word.scored |= wanted;
                scratch.wanted.push((at, wanted));
                row_count += wanted.count_ones() as usize;
                if asks == Asks::Pods && wanted & !self.attributes.scored[at as usize] != 0 {
                    asks = Asks::All;
                }
            }
        }
        if row_count == 0 {
            return;
        }
        #[cfg(feature = "planted")]
        crate::planted::work(row_count);
        if row_count >= DENSE_ROWS * scratch.wanted.len() {
            self.score_dense(world, profile, (asks, row_count), dispatch, scratch);
        } else {
            let Scratch { wanted, rows, .. } = scratch;
            wanted.iter().for_each(|&(at, bits)| push_rows(at as usize, bits, rows));
            self.score_sparse(world, profile, asks, dispatch, scratch);
        }
    }

    /// Columns of a block.
    fn stride(&self) -> usize {
        BLOCK_ROWS * (BLOCK_SUMS + self.plan.scaled_scores.len())
    }

    /// Makes room for all that a cycle may need: how many rows come up varies, and no cycle is to allocate
    /// later.
    fn reserve(&self, dispatch: &Parallelizer, scratch: &mut Scratch) {
        let Scratch { wanted, blocks, rows, scores, .. } = scratch;
        wanted.clear();
        wanted.reserve(self.words.len() + 2);
        blocks.clear();
        blocks.reserve(self.words.len() + 2);
        let sparse_rows = DENSE_ROWS * self.words.len();
        rows.clear();
        rows.reserve(sparse_rows);
        let most = if dispatch.is_inline() { sparse_rows } else { self.node_count };
        let columns = (most.div_ceil(BLOCK_ROWS) + 1) * self.stride();
        scores.reserve(columns.saturating_sub(scores.len()));
    }

    /// Scores the rows of whole words.
    fn score_dense(
        &mut self,
        world: &World,
        profile: &Profile,
        (asks, row_count): (Asks, usize),
        dispatch: &mut Parallelizer,
        scratch: &mut Scratch,
    ) {
        let class = world.class(self.class);
        let Scratch { wanted, blocks, scores, .. } = scratch;
        for &(word, bits) in wanted.iter() {
            let is_taken = blocks.last_mut().is_some_and(|block| block.takes(word as usize, bits));
            if !is_taken {
                blocks.push(Block::of_word(word as usize, bits));
            }
        }
        let stride = self.stride();
        let times = dispatch.timed();
        let (asked, times) = ((world, profile, class), times.as_deref());
        let chunk = dispatch.chunk_rows(row_count).div_ceil(BLOCK_ROWS);
        let job = dispatch.begin(row_count, blocks.len() <= chunk);
        // What is left over from earlier cycles is overwritten.
        let columns = if job.is_parallel() { blocks.len() } else { 1 };
        scores.resize(scores.len().max(columns * stride), 0);
        if job.is_parallel() {
            // All plugins in one job: handing it to other threads is paid once, not once per plugin.
            let columns = &mut scores[..blocks.len() * stride];
            let plan = (&self.plan, self.class_cache, asks);
            Parallelizer::in_parallel(chunk * stride, columns, |offset, part| {
                for (block, columns) in blocks[offset / stride..].iter().zip(part.chunks_exact_mut(stride)) {
                    score_block_words(asked, plan, times, block, columns);
                }
            });
            for (block, columns) in blocks.iter().zip(scores.chunks_exact(stride)) {
                self.take_over_words(block, columns, asks);
            }
        } else {
            for block in blocks.iter() {
                let plan = (&self.plan, self.class_cache, asks);
                score_block_words(asked, plan, times, block, &mut scores[..stride]);
                self.take_over_words(block, &scores[..stride], asks);
            }
        }
        dispatch.end(Work::Score, job);
    }

    /// Writes the scores of whole words to the columns.
    fn take_over_words(&mut self, block: &Block, columns: &[i64], asks: Asks) {
        let (sums, rest) = columns.split_at(2 * BLOCK_ROWS);
        let (is_written, raw_columns) = rest.split_at(BLOCK_ROWS);
        let (of_pods, of_attributes) = sums.split_at(BLOCK_ROWS);
        let blocks = of_pods.chunks_exact(WORD_BITS).zip(of_attributes.chunks_exact(WORD_BITS));
        for ((&wanted, at), (of_pods, of_attributes)) in
            block.wanted[..block.len].iter().zip(block.first_word..).zip(blocks)
        {
            let rows = at * WORD_BITS..self.node_count.min((at + 1) * WORD_BITS);
            let word = &mut self.words[at];
            word.score_many();
            let totals = &mut self.totals[rows.clone()];
            write(totals, of_pods, (wanted, word.scored));
            if self.class_cache == ClassCache::On {
                let kept = &mut self.attributes;
                if asks == Asks::All {
                    kept.scored[at] |= wanted;
                    write(&mut kept.totals[rows.clone()], of_attributes, (wanted, kept.scored[at]));
                }
                if wanted == word.scored {
                    totals::add_weighted(self.level, totals, &kept.totals[rows], 1);
                } else {
                    let first = rows.start;
                    BitRows::new(0, wanted).for_each(|bit| totals[bit] += kept.totals[first + bit]);
                }
            }
        }
        let raw = self.raw.iter_mut().zip(raw_columns.chunks_exact(BLOCK_ROWS)).zip(is_written);
        for (planned, ((column, scores), &is_written)) in self.plan.scaled_scores.iter().zip(raw) {
            if !asks.concern(planned) {
                continue;
            }
            let words = block.wanted[..block.len].iter().zip(block.first_word..);
            for ((&wanted, at), scores) in words.zip(scores.chunks_exact(WORD_BITS)) {
                let scores = (is_written == 1).then_some(scores);
                column.set_word(self.level, at * WORD_BITS, scores, wanted);
            }
        }
    }

    /// Scores single rows.
    fn score_sparse(
        &mut self,
        world: &World,
        profile: &Profile,
        asks: Asks,
        dispatch: &mut Parallelizer,
        scratch: &mut Scratch,
    ) {
        let class = world.class(self.class);
        let Scratch { rows, scores, .. } = scratch;
        let plan = &self.plan;
        let stride = self.stride();
        let block_count = rows.len().div_ceil(BLOCK_ROWS);
        // What is left over from earlier cycles is overwritten.
        scores.resize(scores.len().max(block_count * stride), 0);
        let blocks = &mut scores[..block_count * stride];
        // A few rows that changed, as in most cycles: there is nothing to cut into chunks.
        let times = dispatch.timed();
        let asked = (world, profile, class);
        if block_count == 1 {
            score_block(asked, (plan, asks), times.as_deref(), rows, blocks);
            return self.take_over(blocks, rows, asks);
        }
        let chunk = dispatch.chunk_rows(rows.len()).div_ceil(BLOCK_ROWS) * stride;
        // All plugins in one job: handing it to other threads is paid once, not once per plugin.
        dispatch.run(Work::Score, rows.len(), chunk, blocks, |offset, part| {
            let rows = rows[offset / stride * BLOCK_ROWS..].chunks(BLOCK_ROWS);
            for (block, rows) in part.chunks_exact_mut(stride).zip(rows) {
                score_block(asked, (plan, asks), times.as_deref(), rows, block);
            }
        });
        for (block, rows) in blocks.chunks_exact(stride).zip(rows.chunks(BLOCK_ROWS)) {
            self.take_over(block, rows, asks);
        }
    }

    /// Writes a scored block to the columns.
    fn take_over(&mut self, block: &[i64], rows: &[u32], asks: Asks) {
        let (sums, raw_columns) = block.split_at(BLOCK_SUMS * BLOCK_ROWS);
        let (of_pods, of_attributes) = sums.split_at(BLOCK_ROWS);
        let sums = of_pods[..rows.len()].iter().zip(&of_attributes[..rows.len()]);
        for (&row, (&of_pods, &of_attributes)) in rows.iter().zip(sums) {
            let (row, word, bit) = (row as usize, row as usize / WORD_BITS, row as usize % WORD_BITS);
            let mut total = of_pods + of_attributes;
            if self.class_cache == ClassCache::On {
                let kept = &mut self.attributes;
                if asks == Asks::All {
                    kept.totals[row] = of_attributes;
                    kept.scored[word] |= 1 << bit;
                }
                total = of_pods + kept.totals[row];
            }
            self.totals[row] = total;
            self.words[word].score(bit, total);
        }
        let columns = self.raw.iter_mut().zip(raw_columns.chunks_exact(BLOCK_ROWS));
        for (planned, (column, scores)) in self.plan.scaled_scores.iter().zip(columns) {
            if asks.concern(planned) {
                column.set(rows, &scores[..rows.len()]);
            }
        }
    }
}

/// Appends the rows of a word. The count is known beforehand: one look at the capacity, not one a
/// row.
#[inline(never)]
fn push_rows(word: usize, mut bits: u64, rows: &mut Vec<u32>) {
    let first = u32::try_from(word * WORD_BITS).expect("rows fit u32");
    let old_len = rows.len();
    rows.resize(old_len + bits.count_ones() as usize, 0);
    for row in &mut rows[old_len..] {
        *row = first + bits.trailing_zeros();
        bits &= bits - 1;
    }
}

/// Which score plugins are asked about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asks {
    /// All.
    All,
    /// Those that read the pods of the node.
    Pods,
}

impl Asks {
    #[inline]
    fn concern(self, planned: &PlannedScore) -> bool {
        self == Asks::All || planned.reads != Reads::Static
    }
}

/// Rows scored by one plugin after the other while they are in the first cache. A virtual call per
/// plugin and block is then lost in the noise.
const BLOCK_ROWS: usize = 256;
/// Columns of a block before those of the plugins that are scaled later.
const BLOCK_SUMS: usize = 3;

/// Scores up to [`BLOCK_ROWS`] rows. `block` is columns of that length: the weighted sum of the
/// final scores that read pods, that of those that read attributes only, scratch, then the raw
/// scores of each plugin that is scaled later.
fn score_block(
    asked: (&World, &Profile, &PodClass),
    (plan, asks): (&Plan, Asks),
    times: Option<&PluginTimes>,
    rows: &[u32],
    block: &mut [i64],
) {
    let (sums, rest) = block.split_at_mut(2 * BLOCK_ROWS);
    let (of_pods, of_attributes) = sums.split_at_mut(BLOCK_ROWS);
    let (scores, raw_columns) = rest.split_at_mut(BLOCK_ROWS);
    let scores = &mut scores[..rows.len()];
    of_pods[..rows.len()].fill(0);
    of_attributes[..rows.len()].fill(0);
    for planned in plan.final_scores.iter().filter(|planned| asks.concern(planned)) {
        score_rows(times, asked, planned.plugin, rows, scores);
        let sums = if planned.reads == Reads::Static { &mut *of_attributes } else { &mut *of_pods };
        for (sum, score) in sums.iter_mut().zip(scores.iter()) {
            *sum += planned.weight * score;
        }
    }
    let columns = plan.scaled_scores.iter().zip(raw_columns.chunks_exact_mut(BLOCK_ROWS));
    for (planned, column) in columns.filter(|(planned, _)| asks.concern(planned)) {
        score_rows(times, asked, planned.plugin, rows, &mut column[..rows.len()]);
    }
}

/// Words that are scored together.
const BLOCK_WORDS: usize = BLOCK_ROWS / WORD_BITS;
/// From so many rows a word on, whole columns are cheaper than single rows.
const DENSE_ROWS: usize = 12;

/// Takes over the values of the rows of `wanted`. When these are all that count, whatever stands in the others
/// may be overwritten.
#[inline]
fn write(values: &mut [i64], by: &[i64], (wanted, that_count): (u64, u64)) {
    if wanted == that_count {
        values.copy_from_slice(&by[..values.len()]);
    } else {
        BitRows::new(0, wanted).for_each(|bit| values[bit] = by[bit]);
    }
}

/// Scores the rows of a block's words. `columns` are as in [`score_block`], and word by word; in place of
/// scratch they then say, with a 1 for each plugin that is scaled later, whether its column was written: if
/// not, it is 0 everywhere.
fn score_block_words(
    asked: (&World, &Profile, &PodClass),
    (plan, class_cache, asks): (&Plan, ClassCache, Asks),
    times: Option<&PluginTimes>,
    block: &Block,
    columns: &mut [i64],
) {
    let level = asked.0.nodes().columns().level;
    let len = block.len * WORD_BITS;
    let (sums, rest) = columns.split_at_mut(2 * BLOCK_ROWS);
    let (of_pods, of_attributes) = sums.split_at_mut(BLOCK_ROWS);
    let (scores, raw_columns) = rest.split_at_mut(BLOCK_ROWS);
    let (of_pods, of_attributes) = (&mut of_pods[..len], &mut of_attributes[..len]);
    // Without a class cache nothing is kept apart.
    let keeps_apart = class_cache == ClassCache::On;
    let mut are_written = [false; 2];
    for planned in plan.final_scores.iter().filter(|planned| asks.concern(planned)) {
        let is_apart = keeps_apart && planned.reads == Reads::Static;
        let sums = if is_apart { &mut *of_attributes } else { &mut *of_pods };
        let is_written = &mut are_written[usize::from(is_apart)];
        // The first one writes to where the sum will be.
        let column = if *is_written { &mut scores[..len] } else { &mut *sums };
        match score_words(times, asked, planned.plugin, block.words(), column) {
            WordScores::AllZero => {}
            WordScores::Written if *is_written => {
                totals::add_weighted(level, sums, &scores[..len], planned.weight);
            }
            WordScores::Written => {
                *is_written = true;
                if planned.weight != 1 {
                    sums.iter_mut().for_each(|sum| *sum = sum.wrapping_mul(planned.weight));
                }
            }
        }
    }
    if !are_written[0] {
        of_pods.fill(0);
    }
    if keeps_apart && !are_written[1] {
        of_attributes.fill(0);
    }
    let columns = plan.scaled_scores.iter().zip(raw_columns.chunks_exact_mut(BLOCK_ROWS)).zip(scores);
    for ((planned, column), is_written) in columns.filter(|((planned, _), _)| asks.concern(planned)) {
        let written = score_words(times, asked, planned.plugin, block.words(), &mut column[..len]);
        *is_written = i64::from(written == WordScores::Written);
    }
}
