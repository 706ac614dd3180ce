//! A reference kernel: the same work on every machine, to say how fast a machine was at a moment.
//!
//! It mimics what a pod costs from creation to binding: walk columns that fit the second cache, add,
//! compare, keep the best ([`Reference::walk`]); follow ids from table to table, each look-up waiting
//! for the one before, with a branch that cannot be predicted ([`Reference::chase`]); and go on through
//! memory that no core's own cache holds, as the objects of fifty thousand pods do
//! ([`Reference::stream`]). What slows a run (a lower frequency, a busy sibling, a shared cache, memory
//! that others use) slows it alike; the shares are those with which it did, beside a process that
//! streams through memory.
//!
//! The work is fixed: changing it changes every normalised figure, so
//! `reference_answer_is_fixed` holds the answer and benches/instructions.rs counts its instructions.

/// Rows of a column: three columns of 8 bytes are 240 kB.
const ROWS: usize = 10_000;
/// Entries of the table that is chased: 256 kB, a power of two.
const LINKS: usize = 1 << 16;
/// Look-ups after each walk: a little longer than the walk takes.
const LOOKUPS: usize = 1_500;
/// Words that are streamed through, around and around: 16 MB, a power of two.
const WORDS: usize = 1 << 21;
/// Words of a turn: half a megabyte, about as long as walk and look-ups take.
const WORDS_PER_TURN: usize = 1 << 16;

/// Steps of one [`Reference::turn`]: its rows.
pub const STEPS_PER_TURN: u64 = ROWS as u64;

/// The columns and the table, made once.
#[derive(Clone, Debug)]
pub struct Reference {
    free: Vec<u64>,
    used: Vec<u64>,
    weight: Vec<u64>,
    links: Vec<u32>,
    at: u32,
    words: Vec<u64>,
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
            at: 0,
            words: (0..WORDS as u64).collect(),
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
        let sum = self.chase();
        best.wrapping_add(sum).wrapping_add(self.stream(sum))
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

    fn chase(&mut self) -> u64 {
        let (mut at, mut sum) = (self.at, 0_u64);
        let first = self.turns.wrapping_mul(0x9E37_79B9);
        for count in 0..LOOKUPS as u32 {
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
        self.at = at;
        sum
    }

    fn stream(&mut self, add: u64) -> u64 {
        let first = self.word;
        self.word = (first + WORDS_PER_TURN) % WORDS;
        let mut last = 0_u64;
        for word in &mut self.words[first..first + WORDS_PER_TURN] {
            *word = word.wrapping_add(add);
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
        assert_eq!(answer, 0x639e_43bb_1402_2eaa, "{answer:#x}: another answer is another kernel");
    }

    #[test]
    fn chase_visits_most_of_its_table() {
        let mut reference = Reference::default();
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..2000 {
            let _ = reference.turn();
            seen.insert(reference.at as usize % LINKS);
        }
        assert!(1500 < seen.len(), "{} places after 2,000 turns: a short loop", seen.len());
    }
}
