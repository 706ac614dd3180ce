//! Free amounts against what a pod asks for, 64 rows at a time.

use super::{ROWS_MAX, kernel};

kernel! {
    /// Clears the bit of every row on which less than `amount` is free. The columns begin with the
    /// first row of `words`. Differences wrap, as Go's do.
    pub fn keep_with_room(words: &mut [u64], allocatable: &[i64], requested: &[i64], amount: i64) {
        let (whole_allocatable, rest_allocatable) = allocatable.as_chunks::<ROWS_MAX>();
        let (whole_requested, rest_requested) = requested.as_chunks::<ROWS_MAX>();
        let whole = whole_allocatable.iter().zip(whole_requested);
        for (word, (allocatable, requested)) in words.iter_mut().zip(whole) {
            let mut fits = 0u64;
            for bit in 0..ROWS_MAX {
                fits |= u64::from(amount <= allocatable[bit].wrapping_sub(requested[bit])) << bit;
            }
            *word &= fits;
        }
        if let Some(word) = words.get_mut(whole_allocatable.len()) {
            let mut fits = 0u64;
            for (bit, (allocatable, requested)) in rest_allocatable.iter().zip(rest_requested).enumerate() {
                fits |= u64::from(amount <= allocatable.wrapping_sub(*requested)) << bit;
            }
            *word &= fits;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::for_each_seed;
    use crate::kernels::Level;

    #[test]
    fn rows_with_room_are_those_that_a_compare_of_each_finds_at_every_level() {
        for_each_seed("rows_with_room_are_those_that_a_compare_of_each_finds_at_every_level", 2_000, |rng| {
            let row_count = rng.range(1..=200);
            let edges = [0, 1, -1, i64::MAX, i64::MIN, 4000];
            let amount = |rng: &mut crate::fake::Rng| match rng.range(0..=2) {
                0 => *rng.pick(&edges),
                1 => rng.next_u64().cast_signed(),
                _ => rng.range(0..=9) as i64,
            };
            let allocatable: Vec<i64> = (0..row_count).map(|_| amount(rng)).collect();
            let requested: Vec<i64> = (0..row_count).map(|_| amount(rng)).collect();
            let wanted = amount(rng);
            let valid: Vec<u64> = (0..row_count.div_ceil(64)).map(|_| rng.next_u64()).collect();
            let mut expected = valid.clone();
            for row in 0..valid.len() * 64 {
                let has_room = row < row_count && wanted <= allocatable[row].wrapping_sub(requested[row]);
                expected[row / 64] &= !(u64::from(!has_room) << (row % 64));
            }
            for level in Level::available() {
                let mut words = valid.clone();
                keep_with_room(level, &mut words, &allocatable, &requested, wanted);
                assert_eq!(words, expected, "{}", level.name());
            }
        });
    }
}
