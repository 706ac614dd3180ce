//! The best of many: highest total, ties by a draw.
//!
//! Upstream gives every node a random number and takes the highest among equals: each tied node
//! is as likely as any other. Here one draw per decision from a seeded stream picks the n-th tied
//! node in rotation order, so that a seed fixes every choice.

/// How ties are broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieBreak {
    /// By the seeded stream, as upstream does by chance.
    Draw,
    /// The first in list order.
    First,
}

/// A stream of draws (SplitMix64: 8 bytes of state, no warm-up).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draws {
    state: u64,
}

impl Draws {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Draws {
        Draws { state: seed }
    }

    /// The next number.
    pub fn next_number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, each equally likely but for 2^-32.
    pub fn below(&mut self, bound: usize) -> usize {
        debug_assert!(bound > 0, "there is something to draw from");
        let high = self.next_number() >> 32;
        let drawn = usize::try_from((high * bound as u64) >> 32).expect("below the bound");
        debug_assert!(drawn < bound, "a draw is below its bound");
        drawn
    }
}

/// The running best of a sequence of totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best {
    /// The highest total so far.
    pub total: i64,
    /// How many have it.
    pub ties: usize,
}

impl Default for Best {
    fn default() -> Self {
        Best { total: i64::MIN, ties: 0 }
    }
}

impl Best {
    /// Takes `ties` more candidates with `total` into account.
    #[inline]
    pub fn offer(&mut self, total: i64, ties: usize) {
        if total > self.total {
            *self = Best { total, ties };
        } else if total == self.total {
            self.ties += ties;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_uniform_and_repeat_with_the_seed() {
        let mut counts = [0usize; 5];
        let mut draws = Draws::new(7);
        for _ in 0..50_000 {
            counts[draws.below(5)] += 1;
        }
        for count in counts {
            assert!((9_500..10_500).contains(&count), "{counts:?}");
        }
        let take = |seed| {
            let mut draws = Draws::new(seed);
            (0..8).map(|_| draws.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(take(1), take(1));
        assert_ne!(take(1), take(2));
    }

    #[test]
    fn best_counts_ties_of_the_highest_only() {
        let mut best = Best::default();
        for (total, ties) in [(3, 1), (5, 2), (4, 9), (5, 1)] {
            best.offer(total, ties);
        }
        assert_eq!(best, Best { total: 5, ties: 3 });
    }
}
