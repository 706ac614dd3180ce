//! A set of nodes as `u64` words: node row `r` is bit `r % 64` of word `r / 64`.
//!
//! Invariant: bits past `node_count` are zero, so counts and complements never see ghosts.

/// Nodes per word.
pub const WORD_BITS: usize = 64;

/// How many words cover `node_count` rows.
#[inline]
#[must_use]
pub const fn word_count(node_count: usize) -> usize {
    node_count.div_ceil(WORD_BITS)
}

/// The bits of word `word` that stand for rows below `node_count`.
#[inline]
#[must_use]
pub const fn valid_bits(word: usize, node_count: usize) -> u64 {
    let first = word * WORD_BITS;
    if first + WORD_BITS <= node_count {
        u64::MAX
    } else if first >= node_count {
        0
    } else {
        (1 << (node_count - first)) - 1
    }
}

/// A set of node rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeMask {
    words: Vec<u64>,
    node_count: usize,
}

impl NodeMask {
    /// The empty set over `node_count` rows.
    #[must_use]
    pub fn none(node_count: usize) -> NodeMask {
        NodeMask { words: vec![0; word_count(node_count)], node_count }
    }

    /// All rows.
    #[must_use]
    pub fn all(node_count: usize) -> NodeMask {
        let words = (0..word_count(node_count)).map(|word| valid_bits(word, node_count)).collect();
        let mask = NodeMask { words, node_count };
        debug_assert_eq!(mask.count(), node_count, "every row is in");
        mask
    }

    /// Empties the set and gives it a new size, keeping its memory.
    pub fn reset(&mut self, node_count: usize) {
        self.words.clear();
        self.words.resize(word_count(node_count), 0);
        self.node_count = node_count;
    }

    /// Appends rows that are not in the set.
    pub fn grow(&mut self, node_count: usize) {
        assert!(node_count >= self.node_count, "rows are only added");
        self.words.resize(word_count(node_count), 0);
        self.node_count = node_count;
    }

    /// Rows the mask ranges over.
    #[inline]
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.node_count
    }

    /// The words.
    #[inline]
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The words, to be written. The writer keeps the bits past `node_count` zero.
    #[inline]
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Whether a row is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, row: usize) -> bool {
        debug_assert!(row < self.node_count, "a row of the mask");
        self.words[row / WORD_BITS] >> (row % WORD_BITS) & 1 == 1
    }

    /// Adds a row.
    #[inline]
    pub fn insert(&mut self, row: usize) {
        debug_assert!(row < self.node_count, "a row of the mask");
        self.words[row / WORD_BITS] |= 1 << (row % WORD_BITS);
    }

    /// Takes a row out.
    #[inline]
    pub fn remove(&mut self, row: usize) {
        debug_assert!(row < self.node_count, "a row of the mask");
        self.words[row / WORD_BITS] &= !(1 << (row % WORD_BITS));
    }

    /// Adds a row, or takes it out.
    #[inline]
    pub fn set(&mut self, row: usize, is_in: bool) {
        if is_in {
            self.insert(row);
        } else {
            self.remove(row);
        }
    }

    /// How many rows are in the set.
    #[must_use]
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The rows in the set, ascending.
    pub fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(word, &bits)| BitRows::new(word, bits))
    }
}

/// The rows that a word's bits stand for.
#[derive(Clone, Debug)]
pub struct BitRows {
    bits: u64,
    base: usize,
}

impl BitRows {
    /// Rows of word `word`.
    #[inline]
    #[must_use]
    pub fn new(word: usize, bits: u64) -> BitRows {
        BitRows { bits, base: word * WORD_BITS }
    }
}

impl Iterator for BitRows {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.bits == 0 {
            return None;
        }
        let row = self.base + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(row)
    }
}

/// The lowest `count` set bits of `bits`.
#[inline]
#[must_use]
pub fn lowest_bits(bits: u64, count: u32) -> u64 {
    match nth_bit(bits, count) {
        Some(next) => bits & ((1 << next) - 1),
        None => bits,
    }
}

/// The place of the set bit that has `nth` set bits below it.
///
/// By byte: the sums of bits up to each byte say which byte it is in. Without this a sample that
/// ends in the middle of a word costs a step for each of its rows there.
#[inline]
#[must_use]
pub fn nth_bit(bits: u64, nth: u32) -> Option<u32> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let pairs = bits - (bits >> 1 & 0x5555_5555_5555_5555);
    let nibbles = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    let sums = ((nibbles + (nibbles >> 4)) & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(ONES);
    if u64::from(nth) >= sums >> 56 {
        return None;
    }
    // A byte's high bit stays set where the sum up to it is not above `nth`: those bytes are passed.
    let passed = (((u64::from(nth) * ONES) | HIGHS) - sums) & HIGHS;
    let first = ((passed >> 7).wrapping_mul(ONES) >> 53) & !7;
    let below = (sums << 8) >> first & 0xff;
    let mut byte = bits >> first & 0xff;
    for _ in below..u64::from(nth) {
        byte &= byte - 1;
    }
    Some(u32::try_from(first).expect("below 64") + byte.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_past_the_last_row_stay_zero_at_word_edges() {
        for node_count in [0, 1, 63, 64, 65, 127, 128, 129] {
            let all = NodeMask::all(node_count);
            assert_eq!(all.count(), node_count, "node_count: {node_count}");
            assert_eq!(all.words().len(), word_count(node_count));
            assert_eq!(all.rows().collect::<Vec<_>>(), (0..node_count).collect::<Vec<_>>());
            assert_eq!(NodeMask::none(node_count).count(), 0);
        }
    }

    #[test]
    fn lowest_bits_keeps_the_first_of_a_word() {
        let cases = [
            (0b1011_0100u64, 2, 0b0001_0100u64),
            (0, 3, 0),
            (u64::MAX, 64, u64::MAX),
            (u64::MAX, 0, 0),
            (0b1, 5, 0b1),
        ];
        for (bits, count, expected) in cases {
            assert_eq!(lowest_bits(bits, count), expected, "{bits:b} {count}");
        }
    }

    #[test]
    fn the_nth_bit_is_the_nth_that_is_counted() {
        let mut state = 1u64;
        for turn in 0..20_000u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let bits = match turn % 4 {
                0 => state,
                1 => state & state.rotate_left(17),
                2 => state | state.rotate_left(29),
                _ => [0, 1, 1 << 63, u64::MAX][turn as usize / 4 % 4],
            };
            for nth in 0..=64 {
                let expected = BitRows::new(0, bits).nth(nth as usize);
                assert_eq!(nth_bit(bits, nth).map(|bit| bit as usize), expected, "{bits:b} {nth}");
            }
        }
    }

    #[test]
    fn inserting_and_removing_are_inverse() {
        let mut mask = NodeMask::none(130);
        for row in [0, 63, 64, 129] {
            mask.insert(row);
            assert!(mask.contains(row));
        }
        assert_eq!(mask.count(), 4);
        mask.remove(64);
        assert_eq!(mask.rows().collect::<Vec<_>>(), [0, 63, 129]);
    }
}
