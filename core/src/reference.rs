//! A reference kernel: the same work on every machine, to say how fast a machine was at a moment.
//!
//! It mimics what a pod costs from creation to binding: walk columns that fit the second cache, add,
//! compare, keep the best ([`Reference::walk`]); take branches that cannot be predicted
//! ([`Reference::branch`]); follow ids through memory that no cache holds, each look-up waiting for the
//! one before ([`Reference::chase`]); and write on through that memory ([`Reference::stream`]).
//!
//! It reads the machine and not its own place in memory. The first kernel chased through 256 kB, which
//! fits the second cache or not as the kernel happened to place its pages: two placements in one process
//! differed by up to half, two processes by a tenth. It streamed around 16 MB, which the third cache
//! still held after a small run and not after a large one. So what is small here fits the first cache or
//! is walked in order, and what is large is larger than a third cache.
//!
//! The work is fixed: changing it changes every normalised figure, so
//! `reference_answer_is_fixed` holds the answer, benches/instructions.rs counts its instructions, and
//! another kernel has another [`VERSION`].

/// Which kernel this is: figures of two versions are never compared.
pub const VERSION: u32 = 2;

/// Rows of a column: three columns of 8 bytes are 240 kB.
const ROWS: usize = 10_000;
/// Entries of the table that decides branches: 16 kB, a power of two.
const LINKS: usize = 1 << 12;
/// Branches after each walk: half as long as the walk takes.
const BRANCHES: u32 = 1_500;
/// Words of the memory that no cache holds: 64 MB, a power of two.
const WORDS: usize = 1 << 23;
/// Look-ups of a turn in that memory: three quarters of the time of the walk.
const LOOKUPS: u32 = 40;
/// Words of a turn that are written, around and around: 128 kB, half as long as the walk takes.
const WORDS_PER_TURN: usize = 1 << 14;

/// Steps of one [`Reference::turn`]: its rows.
pub const STEPS_PER_TURN: u64 = ROWS as u64;

/// The columns, the table and the memory, made once.
#[derive(Clone, Debug)]
pub struct Reference {
    free: Vec<u64>,
    used: Vec<u64>,
    weight: Vec<u64>,
    links: Vec<u32>,
    link: u32,
    words: Vec<u64>,
    lookup: u64,
    word: usize,
    turns: u32,
}

impl Default for Reference {
    fn default() -> Reference {
        let mix = |value: u64| value.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let column = |salt: u64| (0..ROWS as u64).map(|row| mix(row + (salt << 20)) >> 40).collect();
        let links = (0..LINKS as u64).map(|at| (mix(at + 1) >> 48) as u32);
        Reference {
            free: column(1),
            used: column(2),
            weight: column(3),
            links: links.collect(),
            link: 0,
            words: (0..WORDS as u64).map(mix).collect(),
            lookup: 0,
            word: 0,
            turns: 0,
        }
    }
}

impl Reference {
    /// One turn: [`STEPS_PER_TURN`] steps. The answer must be used, so that the work is not removed.
    #[must_use]
    pub fn turn(&mut self) -> u64 {
        self.turns = self.turns.wrapping_add(1);
        let best = self.walk();
        let sum = self.branch().wrapping_add(self.chase());
        best.wrapping_add(sum).wrapping_add(self.stream())
    }

    fn walk(&mut self) -> u64 {
        let request = u64::from(self.turns & 1023);
        let (mut best, mut best_row) = (0, 0);
        let rows = self.free.iter().zip(&self.used).zip(&self.weight);
        for (row, ((&free, &used), &weight)) in rows.enumerate() {
            let fits = u64::from(used.wrapping_add(request) <= free);
            let total = (weight & 1023).wrapping_add(free.wrapping_sub(used) & 4095) * fits;
            if best < total {
                (best, best_row) = (total, row);
            }
        }
        self.used[best_row] = self.used[best_row].wrapping_add(request);
        best
    }

    fn branch(&mut self) -> u64 {
        let (mut at, mut sum) = (self.link, 0_u64);
        let first = self.turns.wrapping_mul(0x9E37_79B9);
        for count in 0..BRANCHES {
            let salt = first.wrapping_add(count);
            let link = self.links[at as usize % LINKS];
            // The bits of a link follow no pattern: half of the guesses are wrong. The salt keeps
            // the way from running into a short loop.
            if link & 0x4000 == 0 {
                sum = sum.rotate_left(5) ^ u64::from(link);
                at = link.wrapping_add(salt);
            } else {
                sum = sum.wrapping_add(u64::from(link));
                at = link ^ salt;
            }
        }
        self.link = at;
        sum
    }

    fn chase(&mut self) -> u64 {
        let mut at = self.lookup.wrapping_add(u64::from(self.turns));
        for _ in 0..LOOKUPS {
            // The upper bits: the lower ones of a product repeat.
            let word = self.words[(at >> 40) as usize % WORDS];
            at = (at ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        self.lookup = at;
        at
    }

    /// Turns every word by a bit, so that look-ups find other words and no simpler ones.
    fn stream(&mut self) -> u64 {
        let first = self.word;
        self.word = (first + WORDS_PER_TURN) % WORDS;
        let mut last = 0_u64;
        for word in &mut self.words[first..first + WORDS_PER_TURN] {
            *word = word.rotate_left(1);
            last ^= *word;
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_answer_is_fixed() {
        let mut reference = Reference::default();
        let answer = (0..100).fold(0_u64, |sum, _| sum.rotate_left(7) ^ reference.turn());
        assert_eq!(answer, 0x626b_ad2e_0dc2_fd82, "{answer:#x}: another answer is another kernel");
    }

    #[test]
    fn branches_and_look_ups_run_into_no_short_loop() {
        let mut reference = Reference::default();
        let (mut links, mut words) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
        for _ in 0..2000 {
            let _ = reference.turn();
            links.insert(reference.link as usize % LINKS);
            words.insert((reference.lookup >> 40) as usize % WORDS);
        }
        assert!(1200 < links.len(), "{} places of {LINKS} after 2,000 turns", links.len());
        assert!(1990 < words.len(), "{} places after 2,000 turns", words.len());
    }

    #[test]
    fn memory_is_larger_than_a_third_cache_and_the_table_fits_the_first() {
        const { assert!(64 << 20 <= WORDS * 8) };
        const { assert!(LINKS * 4 <= 16 << 10) };
        assert_eq!(WORDS % WORDS_PER_TURN, 0, "a turn never reaches over the end");
    }
}
