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

mod checks;
mod scoring;

use std::sync::Arc;

use crate::class::PodClass;
use crate::cycle::engine::ClassCache;
use crate::cycle::parallelize::{Parallelizer, Work};
use crate::cycle::plan::{FilterScope, Plan};
use crate::cycle::tally::Tally;
use crate::cycle::word::Word;
use crate::framework::diagnosis::Diagnosis;
use crate::framework::profile::{PluginIndex, Profile};
use crate::ids::ClassId;
use crate::kernels::Level;
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

/// Runs of words that are told apart when they are forgotten: those of a search from one start.
const LOOKED_AT_MAX: usize = 16;

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
        // What stands in a row that is not scored is never read.
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
    pub(crate) plan: Plan,
    pub(crate) words: Vec<Word>,
    pub(crate) totals: Vec<i64>,
    pub(crate) raw: Vec<RawColumn>,
    attributes: Attributes,
    class_cache: ClassCache,
    /// What kernels are compiled for.
    pub(crate) level: Level,
    /// Without a class cache: the words of which something is known, from and to.
    looked_at: Vec<(usize, usize)>,
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
    /// Rows to be scored, by word.
    wanted: Vec<(u32, u64)>,
    blocks: Vec<scoring::Block>,
}

impl Entry {
    /// An entry that stands for no class yet.
    pub(crate) fn new(class_cache: ClassCache) -> Entry {
        Entry {
            class: ClassId::default(),
            plan: Plan::default(),
            words: Vec::new(),
            totals: Vec::new(),
            raw: Vec::new(),
            attributes: Attributes::default(),
            class_cache,
            level: Level::BASELINE,
            looked_at: Vec::new(),
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
            return self.forget_words_looked_at();
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
        self.plan.remake(world, profile, world.class(self.class));
        self.level = world.nodes().columns().level;
        self.tally.follow(&self.plan, profile);
        self.cursor = world.nodes().change_cursor();
        self.diagnosis = None;
        // A pod bound to a few named nodes is evaluated there, without columns.
        self.node_count = if self.plan.scope == FilterScope::All { world.nodes().node_count() } else { 0 };
        self.words.clear();
        self.words.resize(word_count(self.node_count), Word::default());
        self.looked_at.clear();
        self.looked_at.reserve(self.words.len().min(LOOKED_AT_MAX));
        // What stands in a row that is not scored is never read.
        self.totals.resize(self.node_count, 0);
        if self.class_cache == ClassCache::On {
            self.attributes.reset(self.node_count);
        }
        self.raw.resize_with(self.plan.scaled_scores.len(), RawColumn::default);
        for column in &mut self.raw {
            column.reset(self.node_count);
        }
    }

    /// Forgets everything: a search looks at a few words, where a cluster has many.
    fn forget_words_looked_at(&mut self) {
        if self.looked_at.len() == LOOKED_AT_MAX {
            self.words.fill(Word::default());
        }
        for &(from, to) in &self.looked_at {
            self.words[from..to].fill(Word::default());
        }
        self.looked_at.clear();
        self.diagnosis = None;
    }

    /// Notes that something will be known of words `from..to`.
    fn look_at(&mut self, (from, to): (usize, usize)) {
        if let Some(last) = self.looked_at.last_mut().filter(|last| last.1 == from) {
            last.1 = to;
        } else if self.looked_at.len() < LOOKED_AT_MAX {
            // At that many they are no longer told apart: all are forgotten.
            self.looked_at.push((from, to));
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
        if self.class_cache == ClassCache::Off {
            self.look_at((from, to));
        }
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
