//! Inline or parallel: chunks of rows run on the current thread or on the rayon pool the caller
//! runs in. The choice is made by measured cost and can never change a result: chunks are
//! disjoint, and whatever they compute is per row.
//!
//! Handing work to another thread costs microseconds, about as much as filtering a thousand
//! nodes. [`CostBook`] keeps, per size class, what one way costs in terms of the other, takes the
//! cheaper one, and looks at the other one now and then.
//!
//! What a hand-over costs depends on the last one: a thread that has just been used is awake and
//! takes the next chunk at once, one that went to sleep must be woken. So Filter and Score of a
//! size class go the same way, a look lasts a few jobs, and its first jobs, which find the other
//! threads asleep, do not count.

use std::sync::Arc;

use rayon::prelude::*;

use crate::cycle::plugin_times::PluginTimes;
use crate::snapshot::mask::WORD_BITS;

/// Upstream's default `parallelism`.
pub const DEFAULT_PARALLELISM: usize = 16;

/// Upstream: framework/parallelize/parallelism.go `chunkSizeFor`.
#[must_use]
pub fn chunk_size_for(rows: usize, parallelism: usize) -> usize {
    let by_root = rows.isqrt();
    let by_share = rows / parallelism.max(1) + 1;
    by_root.min(by_share).max(1)
}

/// Upstream's chunk in whole mask words, so that no two chunks share a word.
/// Differs: upstream's chunks need not be a multiple of 64; which node is in which chunk decides
/// nothing here (`any_chunking_gives_the_same_result`).
#[must_use]
pub fn chunk_words_for(rows: usize, parallelism: usize) -> usize {
    chunk_size_for(rows, parallelism).div_ceil(WORD_BITS)
}

/// Kinds of chunked work, whose costs are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Filter: one row costs a few compares.
    Filter,
    /// Score: one row costs a few divisions.
    Score,
}

/// How chunks are run.
#[derive(Clone, Copy, Debug)]
pub enum Ways {
    /// One after the other.
    Inline,
    /// On the pool.
    Parallel,
    /// Whichever was cheaper lately, by this clock (nanoseconds).
    Measured(fn() -> u64),
}

/// Runs chunks.
#[derive(Clone, Debug)]
pub struct Parallelizer {
    ways: Ways,
    parallelism: usize,
    book: CostBook,
    times: Option<Arc<PluginTimes>>,
    /// Single plugins are timed in this cycle.
    is_timed: bool,
}

impl Parallelizer {
    /// Chunks are cut for `parallelism` ways.
    #[must_use]
    pub fn new(ways: Ways, parallelism: usize) -> Parallelizer {
        Parallelizer {
            ways,
            parallelism: parallelism.max(1),
            book: CostBook::default(),
            times: None,
            is_timed: false,
        }
    }

    /// Has somewhere to note how long plugins take.
    pub(crate) fn set_times(&mut self, times: Arc<PluginTimes>) {
        self.times = Some(times);
    }

    /// What was noted, when there is somewhere.
    pub(crate) fn times(&self) -> Option<&PluginTimes> {
        self.times.as_deref()
    }

    /// Whether plugins are timed from now on.
    #[inline]
    pub(crate) fn set_timed(&mut self, is_timed: bool) {
        self.is_timed = is_timed;
    }

    /// Plugins are timed in this cycle.
    #[inline]
    pub(crate) fn is_timed(&self) -> bool {
        self.is_timed
    }

    /// Where to note, when this cycle is timed.
    #[inline]
    pub(crate) fn timed(&self) -> Option<Arc<PluginTimes>> {
        if self.is_timed { self.times.clone() } else { None }
    }

    /// Runs `work` over `items`, chunk by chunk; `work` gets the offset of its chunk. `row_count`
    /// is how many rows all items stand for, `chunk` how many items a chunk has.
    pub fn run<T: Send>(
        &mut self,
        kind: Work,
        row_count: usize,
        chunk: usize,
        items: &mut [T],
        work: impl Fn(usize, &mut [T]) + Sync,
    ) {
        debug_assert!(chunk > 0, "a chunk has an item at least");
        debug_assert!(items.is_empty() || row_count > 0, "items stand for rows");
        let job = self.begin(row_count, items.len() <= chunk);
        if job.is_parallel() {
            Parallelizer::in_parallel(chunk, items, work);
        } else {
            work(0, items);
        }
        self.end(kind, job);
    }

    /// Nothing ever goes to the pool.
    pub(crate) fn is_inline(&self) -> bool {
        matches!(self.ways, Ways::Inline)
    }

    /// Decides how so many rows are worked on. The caller does so, and says [`Parallelizer::end`].
    #[must_use]
    pub(crate) fn begin(&mut self, row_count: usize, is_one_chunk: bool) -> Job {
        let (way, started_ns) = match self.ways {
            Ways::Inline => (Way::Inline, None),
            Ways::Parallel => (Way::Parallel, None),
            // A job this small is done before another thread wakes up.
            Ways::Measured(_) if row_count < CostBook::ROWS_MIN || is_one_chunk => (Way::Inline, None),
            Ways::Measured(now_ns) => (self.book.choose(row_count), Some(now_ns())),
        };
        Job { way, row_count, started_ns }
    }

    /// Notes what a job cost.
    pub(crate) fn end(&mut self, kind: Work, job: Job) {
        if let (Ways::Measured(now_ns), Some(started_ns)) = (self.ways, job.started_ns) {
            self.book.record(kind, job.row_count, now_ns().saturating_sub(started_ns));
        }
    }

    /// Runs `work` over chunks of `items` on the pool.
    pub(crate) fn in_parallel<T: Send>(chunk: usize, items: &mut [T], work: impl Fn(usize, &mut [T]) + Sync) {
        items.par_chunks_mut(chunk).enumerate().for_each(|(at, part)| work(at * chunk, part));
    }

    /// Items per chunk when an item is a mask word.
    #[must_use]
    pub fn chunk_words(&self, row_count: usize) -> usize {
        chunk_words_for(row_count, self.parallelism)
    }

    /// Items per chunk when an item is a row.
    #[must_use]
    pub fn chunk_rows(&self, row_count: usize) -> usize {
        chunk_size_for(row_count, self.parallelism)
    }
}

/// Work that was begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    way: Way,
    row_count: usize,
    /// When its cost is noted.
    started_ns: Option<u64>,
}

impl Job {
    /// On the pool.
    pub(crate) fn is_parallel(self) -> bool {
        self.way == Way::Parallel
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Way {
    #[default]
    Inline,
    Parallel,
}

impl Way {
    fn other(self) -> Way {
        match self {
            Way::Inline => Way::Parallel,
            Way::Parallel => Way::Inline,
        }
    }
}

/// Recent cost of one kind of work, in nanoseconds per 1,024 rows; 0 while unknown.
#[derive(Clone, Copy, Debug, Default)]
struct Cost(u64);

impl Cost {
    /// A moving average over about eight samples. One sample counts at most twice the average: a
    /// job that was interrupted says nothing about the way.
    fn record(&mut self, ns_per_kilorow: u64) {
        self.0 = match self.0 {
            0 => ns_per_kilorow.max(1),
            average => (7 * average + ns_per_kilorow.min(2 * average)) / 8,
        };
    }
}

/// The last samples of a look at one kind of work. Their median stands for the way, so that one
/// interruption does not spoil the look.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    samples: [u64; 3],
    count: usize,
}

impl Look {
    fn record(&mut self, ns_per_kilorow: u64) {
        self.samples[self.count % self.samples.len()] = ns_per_kilorow.max(1);
        self.count += 1;
    }

    fn median(mut self) -> Option<u64> {
        let count = self.count.min(self.samples.len());
        let samples = &mut self.samples[..count];
        samples.sort_unstable();
        // The lower one of two.
        samples.get(count.checked_sub(1)? / 2).copied()
    }
}

/// What the parallel way costs in parts of [`Ratio::ONE`] of what inline costs, over several looks.
///
/// The two ways are compared only within a look: a machine that others keep busy makes both dearer
/// at once, and a cost of a while ago against one of now would say that the other way is cheaper.
#[derive(Clone, Copy, Debug)]
struct Ratio(u64);

impl Ratio {
    const ONE: u64 = 1024;
    /// A second thread must save this much to be worth it, 1 part in 32; two ways that cost the
    /// same are then not taken by turns.
    const WORTH_IT: u64 = Self::ONE - Self::ONE / 32;

    /// Takes in another look. One that says something else altogether counts alone.
    fn after(self, look: Ratio) -> Ratio {
        let differs = look.0.abs_diff(self.0) > self.0 / 4;
        if differs { look } else { Ratio((3 * self.0 + look.0) / 4) }
    }

    fn better_way(self) -> Way {
        if self.0 < Self::WORTH_IT { Way::Parallel } else { Way::Inline }
    }
}

/// What both ways cost for jobs of about the same size.
///
/// ```text
///        patience over, or jobs became dearer
/// Taken ──────────────────────────────────────▶ Look: LOOK_JOBS jobs the other way
///   ▲                                             │
///   └─────────── patience for what it cost ◀──────┘
/// ```
#[derive(Clone, Copy, Debug, Default)]
struct SizeClass {
    /// Of the way that is taken, by kind.
    costs: [Cost; 2],
    /// The same when the last look ended, or less.
    costs_at_look: [Cost; 2],
    ratio: Option<Ratio>,
    taken: Way,
    /// Jobs since the way was taken, up to [`SizeClass::JOBS_MIN`].
    jobs: u32,
    /// Jobs left of the look under way.
    look_jobs: u32,
    /// By kind.
    looks: [Look; 2],
    /// What the look under way has cost more than the way that is taken.
    look_extra_ns: u64,
    /// Looks so far that said the same, up to [`SizeClass::LOOKS_APART`].
    looks_alike: u64,
    /// Time to be spent on the way taken before the next look.
    patience_ns: u64,
}

impl SizeClass {
    /// Jobs before a look.
    const JOBS_MIN: u32 = 8;
    /// Jobs of a look: Filter and Score of five cycles.
    const LOOK_JOBS: u32 = 10;
    /// The last so many jobs of a look count.
    const LOOK_JOBS_COUNTED: u32 = 6;
    /// Looks may cost one part in so many of all time: 2 %.
    const LOOK_SHARE: u64 = 50;
    /// Looks that cost nothing are still this many looks apart, once that many said the same.
    const LOOKS_APART: u64 = 8;

    fn way(&mut self) -> Way {
        let is_due = self.patience_ns == 0 || self.became_dearer();
        if self.look_jobs == 0 && is_due && self.jobs >= Self::JOBS_MIN {
            self.look_jobs = Self::LOOK_JOBS;
            self.patience_ns = 0;
        }
        if self.look_jobs > 0 { self.taken.other() } else { self.taken }
    }

    /// By half since the last look: another thread's core may have become busy.
    fn became_dearer(&self) -> bool {
        self.costs.iter().zip(&self.costs_at_look).any(|(now, then)| then.0 > 0 && now.0 > then.0 * 3 / 2)
    }

    fn record(&mut self, kind: Work, row_count: usize, elapsed_ns: u64) {
        debug_assert!(row_count > 0, "a job is of some rows");
        debug_assert!(self.look_jobs <= Self::LOOK_JOBS, "a look is of so many jobs");
        let ns_per_kilorow = elapsed_ns * 1024 / row_count as u64;
        let cost = &mut self.costs[kind as usize];
        if self.look_jobs == 0 {
            self.jobs = Self::JOBS_MIN.min(self.jobs + 1);
            cost.record(ns_per_kilorow);
            let at_look = &mut self.costs_at_look[kind as usize];
            at_look.0 = at_look.0.min(cost.0);
            // What a job costs, not how long it was interrupted, pays for looks.
            self.patience_ns = self.patience_ns.saturating_sub(cost.0 * row_count as u64 / 1024);
        } else {
            let expected_ns = cost.0 * row_count as u64 / 1024;
            // An interruption says nothing about the way.
            self.look_extra_ns += elapsed_ns.min(4 * expected_ns).saturating_sub(expected_ns);
            self.patience_ns += (1 + self.looks_alike) * expected_ns;
            if self.look_jobs <= Self::LOOK_JOBS_COUNTED {
                self.looks[kind as usize].record(ns_per_kilorow);
            }
            self.look_jobs -= 1;
            if self.look_jobs == 0 {
                self.end_look();
            }
        }
    }

    fn end_look(&mut self) {
        debug_assert_eq!(self.look_jobs, 0, "a look ends with its last job");
        let looks = std::mem::take(&mut self.looks).map(Look::median);
        let extra_ns = std::mem::take(&mut self.look_extra_ns);
        self.patience_ns = self.patience_ns.max(extra_ns * Self::LOOK_SHARE);
        self.costs_at_look = self.costs;
        // Over the kinds that were seen both ways.
        let known = || self.costs.iter().zip(&looks).filter_map(|(cost, look)| Some((cost.0, (*look)?)));
        let known = || known().filter(|&(cost, _)| cost > 0);
        let taken: u64 = known().map(|(cost, _)| cost).sum();
        let other: u64 = known().map(|(_, look)| look).sum();
        let (inline, parallel) = match self.taken {
            Way::Inline => (taken, other),
            Way::Parallel => (other, taken),
        };
        let Some(said) = (parallel * Ratio::ONE).checked_div(inline).map(Ratio) else { return };
        let ratio = self.ratio.map_or(said, |ratio| ratio.after(said));
        self.ratio = Some(ratio);
        if ratio.better_way() == self.taken {
            self.looks_alike = Self::LOOKS_APART.min(self.looks_alike + 1);
        } else {
            self.take_other(looks);
        }
    }

    /// What the look saw is now what the way that is taken costs.
    fn take_other(&mut self, looks: [Option<u64>; 2]) {
        self.taken = self.taken.other();
        self.costs = looks.map(|look| Cost(look.unwrap_or(0)));
        self.costs_at_look = self.costs;
        self.jobs = 0;
        self.looks_alike = 0;
        // The next look comes soon, and says whether this one was right.
        self.patience_ns = 0;
    }
}

/// Costs by size class (powers of two).
#[derive(Clone, Debug, Default)]
struct CostBook {
    classes: [SizeClass; CostBook::CLASSES],
}

impl CostBook {
    const CLASSES: usize = 32;
    /// Jobs below this many rows are not worth a thought.
    const ROWS_MIN: usize = 512;

    fn class(&mut self, row_count: usize) -> &mut SizeClass {
        &mut self.classes[row_count.max(1).ilog2() as usize % Self::CLASSES]
    }

    fn choose(&mut self, row_count: usize) -> Way {
        self.class(row_count).way()
    }

    /// Notes what the job that was chosen for last has cost.
    fn record(&mut self, kind: Work, row_count: usize, elapsed_ns: u64) {
        self.class(row_count).record(kind, row_count, elapsed_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_sizes_equal_upstreams_chunk_size_for() {
        let cases = [
            (0, 16, 1),
            (1, 16, 1),
            (10, 16, 1),
            (100, 16, 7),
            (5000, 16, 70),
            (5000, 64, 70),
            (5000, 128, 40),
            (1000, 1, 31),
        ];
        for (rows, parallelism, expected) in cases {
            assert_eq!(chunk_size_for(rows, parallelism), expected, "{rows} rows, {parallelism} ways");
        }
    }

    /// Runs jobs at these costs; returns how many went parallel and what all of them cost.
    fn run_jobs(book: &mut CostBook, jobs: usize, inline_ns: u64, parallel_ns: u64) -> (usize, u64) {
        let (mut parallel, mut spent_ns) = (0, 0);
        for job in 0..jobs {
            let kind = if job % 2 == 0 { Work::Filter } else { Work::Score };
            let elapsed_ns = match book.choose(5000) {
                Way::Inline => inline_ns,
                Way::Parallel => {
                    parallel += 1;
                    parallel_ns
                }
            };
            book.record(kind, 5000, elapsed_ns);
            spent_ns += elapsed_ns;
        }
        (parallel, spent_ns)
    }

    #[test]
    fn cheaper_of_inline_and_parallel_is_chosen_within_three_percent() {
        for (inline_ns, parallel_ns) in
            [(10_000, 30_000), (10_000, 11_000), (30_000, 10_000), (11_000, 10_000)]
        {
            let mut book = CostBook::default();
            run_jobs(&mut book, 64, inline_ns, parallel_ns);
            let (_, spent_ns) = run_jobs(&mut book, 4000, inline_ns, parallel_ns);
            let best_ns = 4000 * inline_ns.min(parallel_ns);
            assert!(spent_ns <= best_ns * 103 / 100, "{inline_ns} {parallel_ns}: {spent_ns} of {best_ns}");
        }
    }

    #[test]
    fn outliers_do_not_change_inline_or_parallel() {
        let mut book = CostBook::default();
        let mut parallel = 0;
        for job in 0..4000 {
            let kind = if job % 2 == 0 { Work::Filter } else { Work::Score };
            let way = book.choose(5000);
            parallel += usize::from(way == Way::Parallel);
            let quiet_ns = if way == Way::Inline { 10_000 } else { 6_000 };
            book.record(kind, 5000, if job % 11 == 0 { 100 * quiet_ns } else { quiet_ns });
        }
        assert!(parallel > 3500, "{parallel} of 4000");
    }

    #[test]
    fn load_swings_do_not_change_inline_or_parallel() {
        // Inline is 7 % cheaper all the time; what both cost swings by 40 %, slower than a look and
        // faster than the pause between two looks.
        for swing_jobs in [30, 70, 150, 400] {
            let mut book = CostBook::default();
            let (mut spent_ns, mut best_ns) = (0, 0);
            for job in 0..8000_u64 {
                let kind = if job % 2 == 0 { Work::Filter } else { Work::Score };
                let phase = (job % swing_jobs).abs_diff(swing_jobs / 2) * 2 * 400 / swing_jobs;
                let inline_ns = 10 * (1000 + phase);
                let way = book.choose(5000);
                let elapsed_ns = if way == Way::Inline { inline_ns } else { inline_ns * 107 / 100 };
                book.record(kind, 5000, elapsed_ns);
                spent_ns += elapsed_ns;
                best_ns += inline_ns;
            }
            assert!(spent_ns <= best_ns * 103 / 100, "swings of {swing_jobs}: {spent_ns} of {best_ns}");
        }
    }

    #[test]
    fn lasting_cost_change_switches_inline_or_parallel() {
        let mut book = CostBook::default();
        assert_eq!(run_jobs(&mut book, 8, 10_000, 30_000).0, 0, "inline comes first");
        run_jobs(&mut book, 1000, 10_000, 30_000);
        let (parallel, _) = run_jobs(&mut book, 4000, 10_000, 30_000);
        assert!(0 < parallel && parallel < 100, "{parallel} looks at the dearer way");
        // Another core became free.
        run_jobs(&mut book, 2000, 10_000, 6_000);
        assert!(run_jobs(&mut book, 1000, 10_000, 6_000).0 > 800);
        // And is taken again: that shows in the way that is taken, so it is left within a few jobs.
        run_jobs(&mut book, 30, 10_000, 30_000);
        assert!(run_jobs(&mut book, 1000, 10_000, 30_000).0 < 100);
    }

    #[test]
    fn every_item_is_run_once_inline_or_parallel() {
        for ways in [Ways::Inline, Ways::Parallel] {
            let mut items = vec![0usize; 1000];
            Parallelizer::new(ways, 16).run(Work::Filter, 64_000, 7, &mut items, |offset, part| {
                for (at, item) in part.iter_mut().enumerate() {
                    *item += offset + at + 1;
                }
            });
            assert!(items.iter().enumerate().all(|(at, &item)| item == at + 1), "{ways:?}");
        }
    }
}
