//! Inline or parallel: chunks of rows run on the current thread or on the rayon pool the caller
//! runs in. The choice is made by measured cost and can never change a result: chunks are
//! disjoint, and whatever they compute is per row.
//!
//! Handing work to another thread costs microseconds, about as much as filtering a thousand
//! nodes. [`CostBook`] keeps, per kind of work and size class, what both ways cost lately, takes
//! the cheaper one, and looks at the other one now and then.

use rayon::prelude::*;

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
pub struct Dispatch {
    ways: Ways,
    parallelism: usize,
    books: [CostBook; 2],
}

impl Dispatch {
    /// Chunks are cut for `parallelism` ways.
    #[must_use]
    pub fn new(ways: Ways, parallelism: usize) -> Dispatch {
        Dispatch { ways, parallelism: parallelism.max(1), books: [CostBook::default(), CostBook::default()] }
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
        let inline = |items: &mut [T]| work(0, items);
        let parallel = |items: &mut [T]| {
            items.par_chunks_mut(chunk).enumerate().for_each(|(at, part)| work(at * chunk, part));
        };
        match self.ways {
            Ways::Inline => inline(items),
            Ways::Parallel => parallel(items),
            // A job this small is done before another thread wakes up.
            Ways::Measured(_) if row_count < CostBook::ROWS_MIN || items.len() <= chunk => inline(items),
            Ways::Measured(now_ns) => {
                let book = &mut self.books[kind as usize];
                let way = book.choose(row_count);
                let start_ns = now_ns();
                match way {
                    Way::Inline => inline(items),
                    Way::Parallel => parallel(items),
                }
                book.record(row_count, way, now_ns().saturating_sub(start_ns));
            }
        }
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Inline,
    Parallel,
}

/// Recent cost of one way for one size class, in nanoseconds per 1,024 rows.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    ns_per_kilorow: u64,
    samples: u32,
}

impl Cost {
    /// A moving average over about eight samples. One sample counts at most twice the average: a
    /// job that was interrupted says nothing about the way.
    fn record(&mut self, ns_per_kilorow: u64) {
        self.samples = self.samples.saturating_add(1);
        if self.samples == 1 {
            self.ns_per_kilorow = ns_per_kilorow;
            return;
        }
        let sample = ns_per_kilorow.min(2 * self.ns_per_kilorow);
        self.ns_per_kilorow = (7 * self.ns_per_kilorow + sample) / 8;
    }
}

/// What both ways cost, by size class (powers of two).
#[derive(Clone, Debug)]
struct CostBook {
    inline: [Cost; CostBook::CLASSES],
    parallel: [Cost; CostBook::CLASSES],
    /// Jobs since the dearer way was tried.
    since_look: [u32; CostBook::CLASSES],
}

impl Default for CostBook {
    fn default() -> Self {
        CostBook {
            inline: [Cost::default(); CostBook::CLASSES],
            parallel: [Cost::default(); CostBook::CLASSES],
            since_look: [0; CostBook::CLASSES],
        }
    }
}

impl CostBook {
    const CLASSES: usize = 32;
    /// Jobs below this many rows are not worth a thought.
    const ROWS_MIN: usize = 512;
    /// Both ways are tried this often before one is trusted.
    const SAMPLES_MIN: u32 = 4;
    /// The dearer way is tried again as often as that costs 1 %: at twice the cost once in a
    /// hundred jobs, at a tenth more once in ten, so that a close call is revised soon when other
    /// work takes or leaves the cores.
    const LOOK_PERCENT: u64 = 1;
    /// Between two looks, at least and at most.
    const LOOK_EVERY: (u64, u64) = (8, 128);

    fn class(row_count: usize) -> usize {
        row_count.max(1).ilog2() as usize % Self::CLASSES
    }

    fn choose(&mut self, row_count: usize) -> Way {
        let class = Self::class(row_count);
        let (inline, parallel) = (self.inline[class], self.parallel[class]);
        if inline.samples < Self::SAMPLES_MIN {
            return Way::Inline;
        }
        if parallel.samples < Self::SAMPLES_MIN {
            return Way::Parallel;
        }
        let since_look = &mut self.since_look[class];
        *since_look += 1;
        let is_look = u64::from(*since_look) >= Self::look_every(inline, parallel);
        if is_look {
            *since_look = 0;
        }
        let inline_is_cheaper = inline.ns_per_kilorow <= parallel.ns_per_kilorow;
        if inline_is_cheaper == is_look { Way::Parallel } else { Way::Inline }
    }

    fn look_every(one: Cost, other: Cost) -> u64 {
        let cheaper = one.ns_per_kilorow.min(other.ns_per_kilorow).max(1);
        let dearer = one.ns_per_kilorow.max(other.ns_per_kilorow);
        let extra_percent = (dearer - cheaper.min(dearer)) * 100 / cheaper;
        let (least, most) = Self::LOOK_EVERY;
        (extra_percent / Self::LOOK_PERCENT).clamp(least, most)
    }

    fn record(&mut self, row_count: usize, way: Way, elapsed_ns: u64) {
        let class = Self::class(row_count);
        let ns_per_kilorow = elapsed_ns * 1024 / row_count as u64;
        match way {
            Way::Inline => self.inline[class].record(ns_per_kilorow),
            Way::Parallel => self.parallel[class].record(ns_per_kilorow),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_follow_upstreams_rule() {
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

    #[test]
    fn the_cheaper_way_is_taken_and_the_other_is_looked_at_again() {
        let mut book = CostBook::default();
        for _ in 0..64 {
            let way = book.choose(5000);
            book.record(5000, way, if way == Way::Inline { 10_000 } else { 30_000 });
        }
        let taken: Vec<Way> = (0..1280).map(|_| book.choose(5000)).collect();
        let parallel = taken.iter().filter(|&&way| way == Way::Parallel).count();
        assert_eq!(parallel, 10, "one in 128");
        // The machine changes: the other way becomes cheaper and is found out.
        for _ in 0..4096 {
            let way = book.choose(5000);
            book.record(5000, way, if way == Way::Inline { 90_000 } else { 30_000 });
        }
        assert_eq!(book.choose(5000), Way::Parallel);
    }

    #[test]
    fn a_close_call_is_revised_soon() {
        let mut book = CostBook::default();
        let mut run = |jobs: usize, parallel_ns: u64| {
            (0..jobs)
                .filter(|_| {
                    let way = book.choose(5000);
                    book.record(5000, way, if way == Way::Inline { 10_000 } else { parallel_ns });
                    way == Way::Parallel
                })
                .count()
        };
        run(64, 11_000);
        let looks = run(1000, 11_000);
        assert!((50..=130).contains(&looks), "{looks} of 1000: a tenth more costs 1 % once in ten");
        // Another core became free: within two hundred jobs the other way is taken for good.
        run(200, 6_000);
        assert!(run(100, 6_000) > 90);
    }

    #[test]
    fn every_item_is_seen_once_whichever_way() {
        for ways in [Ways::Inline, Ways::Parallel] {
            let mut items = vec![0usize; 1000];
            Dispatch::new(ways, 16).run(Work::Filter, 64_000, 7, &mut items, |offset, part| {
                for (at, item) in part.iter_mut().enumerate() {
                    *item += offset + at + 1;
                }
            });
            assert!(items.iter().enumerate().all(|(at, &item)| item == at + 1), "{ways:?}");
        }
    }
}
