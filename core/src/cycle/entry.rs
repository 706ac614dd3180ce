//! What is known about a class on every node: verdicts and scores by row, each with a bit that
//! says whether it is known. A change to a row clears its bits; the next cycle that reaches the
//! row evaluates it again. So the cost of a decision is that of the rows that changed, not that of
//! the cluster.
//!
//! Most changes are pods that come and go. What plugins say that read a node's attributes only
//! ([`Reads::Static`]) outlasts those: it is kept apart, and forgotten only when the node changes.
//!
//! ```text
//! word:  words[word] (known, feasible, scored, best)   attributes.known  .fits  .scored
//! row:   totals[row] = attributes.totals[row] + what plugins say that read pods   raw[plugin][row]
//! ```
//!
//! Without a class cache nothing is kept apart.

use std::sync::Arc;

use crate::class::PodClass;
use crate::cycle::engine::ClassCache;
use crate::cycle::parallelize::{Parallelizer, Work};
use crate::cycle::plan::{FilterScope, Plan, PlannedScore};
use crate::cycle::plugin_times::{PluginTimes, score_rows};
use crate::cycle::tally::Tally;
use crate::cycle::word::Word;
use crate::framework::diagnosis::Diagnosis;
use crate::framework::plugin::Reads;
use crate::framework::profile::{PluginIndex, Profile};
use crate::ids::ClassId;
use crate::snapshot::RowChange;
use crate::snapshot::mask::{WORD_BITS, valid_bits, word_count};
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

/// What plugins say that read a node's attributes only.
#[derive(Clone, Debug, Default)]
struct Attributes {
    known: Vec<u64>,
    /// A subset of `known`.
    fits: Vec<u64>,
    scored: Vec<u64>,
    totals: Vec<i64>,
}

impl Attributes {
    fn reset(&mut self, node_count: usize) {
        for column in [&mut self.known, &mut self.fits, &mut self.scored] {
            column.clear();
            column.resize(word_count(node_count), 0);
        }
        self.totals.clear();
        self.totals.resize(node_count, 0);
    }

    fn forget_all(&mut self) {
        self.known.fill(0);
        self.scored.fill(0);
    }

    fn forget_row(&mut self, row: usize) {
        let keep = !(1u64 << (row % WORD_BITS));
        self.known[row / WORD_BITS] &= keep;
        self.scored[row / WORD_BITS] &= keep;
    }
}

/// All that is known about one class.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) class: ClassId,
    pub(crate) last_used: u64,
    pub(crate) plan: Plan,
    pub(crate) words: Vec<Word>,
    pub(crate) totals: Vec<i64>,
    pub(crate) raw: Vec<RawColumn>,
    attributes: Attributes,
    class_cache: ClassCache,
    versions: Versions,
    cursor: u64,
    node_count: usize,
    diagnosis: Option<Arc<Diagnosis>>,
    pub(crate) tally: Tally,
}

/// Memory that evaluations borrow and give back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) words: Vec<u64>,
    pub(crate) rows: Vec<u32>,
    pub(crate) scores: Vec<i64>,
}

impl Entry {
    /// An entry that stands for no class yet.
    pub(crate) fn new(class_cache: ClassCache) -> Entry {
        Entry {
            class: ClassId::default(),
            last_used: 0,
            plan: Plan::default(),
            words: Vec::new(),
            totals: Vec::new(),
            raw: Vec::new(),
            attributes: Attributes::default(),
            class_cache,
            versions: Versions::NEVER,
            cursor: 0,
            node_count: 0,
            diagnosis: None,
            tally: Tally::default(),
        }
    }

    /// Makes the entry stand for `class`, keeping its memory.
    pub(crate) fn adopt(&mut self, class: ClassId) {
        self.class = class;
        self.versions = Versions::NEVER;
    }

    /// Forgets what no longer holds, or everything without a class cache. Returns at once when
    /// nothing changed.
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
        if self.class_cache == ClassCache::Off {
            return self.forget_rows();
        }
        let nodes = world.nodes();
        let cursor = nodes.change_cursor();
        if cursor == self.cursor {
            return;
        }
        self.forget_changes(nodes.changes_since(self.cursor));
        self.cursor = cursor;
        self.diagnosis = None;
    }

    /// `None` when it is not known what changed.
    fn forget_changes(&mut self, changes: Option<&[RowChange]>) {
        match changes {
            // Clearing all words is cheaper than clearing so many bits one by one.
            Some(changes) if changes.len() <= self.words.len().max(WORD_BITS) => {
                for change in changes {
                    self.forget_row(change.row());
                }
            }
            _ => self.forget_rows(),
        }
        if self.node_count == 0 {
            return;
        }
        match changes {
            None => self.attributes.forget_all(),
            Some(changes) => {
                for change in changes.iter().filter(|change| change.is_of_attributes()) {
                    self.attributes.forget_row(change.row());
                }
            }
        }
    }

    fn rebuild(&mut self, world: &World, profile: &Profile) {
        self.plan = Plan::make(world, profile, world.class(self.class));
        self.tally.follow(&self.plan, profile);
        self.cursor = world.nodes().change_cursor();
        self.diagnosis = None;
        // A pod bound to a few named nodes is evaluated there, without columns.
        self.node_count = if self.plan.scope == FilterScope::All { world.nodes().node_count() } else { 0 };
        self.words.clear();
        self.words.resize(word_count(self.node_count), Word::default());
        self.totals.clear();
        self.totals.resize(self.node_count, 0);
        if self.class_cache == ClassCache::On {
            self.attributes.reset(self.node_count);
        }
        self.raw.resize_with(self.plan.scaled_scores.len(), RawColumn::default);
        for column in &mut self.raw {
            column.values.clear();
            column.values.resize(self.node_count, 0);
            column.nonzero = 0;
        }
    }

    /// Forgets all verdicts and scores that pods can change.
    fn forget_rows(&mut self) {
        self.words.fill(Word::default());
        self.diagnosis = None;
    }

    #[inline]
    fn forget_row(&mut self, row: usize) {
        let first = row / WORD_BITS * WORD_BITS;
        if let Some(word) = self.words.get_mut(row / WORD_BITS) {
            word.forget(row % WORD_BITS, &self.totals[first..]);
        }
    }

    /// Whether every row of a word is known.
    #[inline]
    pub(crate) fn is_known(&self, word: usize) -> bool {
        let known = self.words[word].known;
        known == u64::MAX || known == valid_bits(word, self.node_count)
    }

    /// Evaluates what is not known yet of words `from..to`.
    pub(crate) fn ensure_known(
        &mut self,
        world: &World,
        profile: &Profile,
        (from, to): (usize, usize),
        dispatch: &mut Parallelizer,
        scratch: &mut Scratch,
    ) {
        let mut word = from;
        while word < to {
            // A cycle that is timed goes the way on which the clock is looked at.
            if self.is_known(word) || !dispatch.is_timed() && self.evaluate_word(world, profile, word) {
                word += 1;
                continue;
            }
            let run_end = (word + 1..to).find(|&word| self.is_known(word)).unwrap_or(to);
            self.evaluate(world, profile, (word, run_end), dispatch, scratch);
            word = run_end;
        }
    }

    /// Evaluates a word in which pods of one row came or went, as most cycles find one, if that is
    /// all there is to it.
    #[inline]
    fn evaluate_word(&mut self, world: &World, profile: &Profile, word: usize) -> bool {
        let valid = valid_bits(word, self.node_count);
        let wanted = valid & !self.words[word].known;
        // With more to do, neighbours are evaluated with it.
        let is_one_row = wanted & (wanted - 1) == 0;
        if self.class_cache == ClassCache::Off || !is_one_row || wanted & !self.attributes.known[word] != 0 {
            return false;
        }
        let mut words = [wanted & self.attributes.fits[word]];
        let class = world.class(self.class);
        if words[0] != 0 {
            run_filters(world, profile, class, &self.plan.local_filters, word, &mut words);
        }
        self.words[word].learn(valid, words[0]);
        true
    }

    fn evaluate(
        &mut self,
        world: &World,
        profile: &Profile,
        (from, to): (usize, usize),
        dispatch: &mut Parallelizer,
        scratch: &mut Scratch,
    ) {
        let class = world.class(self.class);
        let node_count = self.node_count;
        let valid = |word| valid_bits(word, node_count);
        let words = &mut scratch.words;
        words.clear();
        words.extend((from..to).map(|word| valid(word) & !self.words[word].known));
        let filters = match self.class_cache {
            ClassCache::Off => &self.plan.filters,
            ClassCache::On => {
                let Attributes { known, fits, .. } = &mut self.attributes;
                if (from..to).zip(words.iter()).any(|(word, &wanted)| wanted & !known[word] != 0) {
                    let asked = |known: u64, word| valid(word) & !known;
                    words.clear();
                    words.extend((from..to).map(|word| asked(known[word], word)));
                    let filters = (class, self.plan.static_filters.as_slice());
                    filter_words(world, profile, filters, from, words, dispatch);
                    for (word, &found) in (from..to).zip(words.iter()) {
                        fits[word] = fits[word] & known[word] | found;
                        known[word] = valid(word);
                    }
                }
                words.clear();
                words.extend((from..to).map(|word| valid(word) & !self.words[word].known & fits[word]));
                &self.plan.local_filters
            }
        };
        filter_words(world, profile, (class, filters), from, words, dispatch);
        for (word, &fits) in (from..to).zip(words.iter()) {
            self.words[word].learn(valid(word), fits);
        }
    }

    /// Scores those of the given rows that are not scored yet.
    pub(crate) fn ensure_scored(
        &mut self,
        world: &World,
        profile: &Profile,
        sample: &[(u32, u64)],
        dispatch: &mut Parallelizer,
        scratch: &mut Scratch,
    ) {
        let rows = &mut scratch.rows;
        rows.clear();
        // All at once: how many rows come up varies, and no cycle is to allocate later.
        rows.reserve(self.node_count);
        let mut asks = if self.class_cache == ClassCache::On { Asks::Pods } else { Asks::All };
        for &(at, bits) in sample {
            let word = &mut self.words[at as usize];
            // Whole words are scored, so that their best can be kept.
            if word.feasible != word.scored && bits != 0 {
                let wanted = word.feasible & !word.scored;
                // At once: the word in which the search began may come up again at its end.
                word.scored |= wanted;
                push_rows(at as usize, wanted, rows);
                if asks == Asks::Pods && wanted & !self.attributes.scored[at as usize] != 0 {
                    asks = Asks::All;
                }
            }
        }
        if !rows.is_empty() {
            self.score(world, profile, asks, dispatch, scratch);
        }
    }

    fn score(
        &mut self,
        world: &World,
        profile: &Profile,
        asks: Asks,
        dispatch: &mut Parallelizer,
        scratch: &mut Scratch,
    ) {
        #[cfg(feature = "planted")]
        crate::planted::work(scratch.rows.len());
        let class = world.class(self.class);
        let Scratch { rows, scores, .. } = scratch;
        let plan = &self.plan;
        let stride = BLOCK_ROWS * (BLOCK_SUMS + plan.scaled_scores.len());
        let block_count = rows.len().div_ceil(BLOCK_ROWS);
        let block_count_max = self.node_count.div_ceil(BLOCK_ROWS);
        scores.reserve((block_count_max * stride).saturating_sub(scores.len()));
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
        self.words.capacity() * size_of::<Word>()
            + (self.totals.capacity() + self.attributes.totals.capacity()) * 8
            + self.attributes.known.capacity() * 3 * 8
            + self.raw.iter().map(|column| column.values.capacity() * 8).sum::<usize>()
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

/// Clears the bits of rows that any of the filters rejects, chunk by chunk.
fn filter_words(
    world: &World,
    profile: &Profile,
    (class, filters): (&PodClass, &[PluginIndex]),
    first_word: usize,
    words: &mut [u64],
    dispatch: &mut Parallelizer,
) {
    let times = dispatch.timed();
    let filter = |first_word: usize, words: &mut [u64]| match &times {
        None => run_filters(world, profile, class, filters, first_word, words),
        Some(times) => times.run_filters((world, profile, class), filters, first_word, words),
    };
    // One row that changed, as in most cycles: there is nothing to cut into chunks.
    if words.len() == 1 {
        return filter(first_word, words);
    }
    let row_count = words.len() * WORD_BITS;
    let chunk = dispatch.chunk_words(row_count);
    dispatch.run(Work::Filter, row_count, chunk, words, |offset, words| filter(first_word + offset, words));
}

/// Clears the bits of rows that any filter rejects, in plugin order, until none is left.
pub(crate) fn run_filters(
    world: &World,
    profile: &Profile,
    class: &PodClass,
    filters: &[PluginIndex],
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
