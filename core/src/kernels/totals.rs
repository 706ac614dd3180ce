//! Weighted sums of scores, scores brought to one scale, the highest total and who has it.

use super::{ROWS_MAX, kernel};

kernel! {
    /// Adds the weighted scores of a column to the sums of the same rows. Sums wrap, as Go's do.
    pub fn add_weighted(sums: &mut [i64], scores: &[i64], weight: i64) {
        // A product of 64 bits takes several instructions.
        if weight == 1 {
            for (sum, score) in sums.iter_mut().zip(scores) {
                *sum = sum.wrapping_add(*score);
            }
        } else {
            for (sum, score) in sums.iter_mut().zip(scores) {
                *sum = sum.wrapping_add(weight.wrapping_mul(*score));
            }
        }
    }
}

kernel! {
    /// The highest total among the rows of `bits`; the lowest number of all when there are none.
    pub fn highest(totals: &[i64], bits: u64) -> i64 {
        let mut highest = i64::MIN;
        if let Some(totals) = totals.first_chunk::<ROWS_MAX>() {
            for (bit, &total) in totals.iter().enumerate() {
                highest = highest.max(if bits >> bit & 1 == 1 { total } else { i64::MIN });
            }
        } else {
            for (bit, &total) in totals.iter().enumerate() {
                highest = highest.max(if bits >> bit & 1 == 1 { total } else { i64::MIN });
            }
        }
        highest
    }
}

kernel! {
    /// Those rows of `bits` that have this total.
    pub fn rows_with(totals: &[i64], bits: u64, total: i64) -> u64 {
        let mut rows = 0u64;
        if let Some(totals) = totals.first_chunk::<ROWS_MAX>() {
            for (bit, &other) in totals.iter().enumerate() {
                rows |= u64::from(other == total) << bit;
            }
        } else {
            for (bit, &other) in totals.iter().enumerate() {
                rows |= u64::from(other == total) << bit;
            }
        }
        rows & bits
    }
}

kernel! {
    /// Takes over the values of the rows of `bits`. Says how many of these rows were not 0 before, and
    /// how many are not 0 now.
    pub fn replace(values: &mut [i64], by: &[i64], bits: u64) -> (u32, u32) {
        let (mut before, mut after) = (0, 0);
        for (bit, (value, &by)) in values.iter_mut().zip(by).enumerate().take(ROWS_MAX) {
            let is_replaced = bits >> bit & 1 == 1;
            before += u32::from(is_replaced && *value != 0);
            after += u32::from(is_replaced && by != 0);
            *value = if is_replaced { by } else { *value };
        }
        (before, after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::for_each_seed;
    use crate::kernels::Level;

    #[test]
    fn sums_highest_totals_and_who_has_them_equal_row_by_row_at_every_level() {
        let name = "sums_highest_totals_and_who_has_them_equal_row_by_row_at_every_level";
        for_each_seed(name, 5_000, |rng| {
            let row_count = rng.range(1..=64);
            let wild = rng.chance(20);
            let mut column = || -> Vec<i64> {
                let value = |rng: &mut crate::fake::Rng| {
                    if wild { rng.next_u64().cast_signed() } else { rng.range(0..=5) as i64 - 2 }
                };
                (0..row_count).map(|_| value(rng)).collect()
            };
            let (sums, scores) = (column(), column());
            let weight = *rng.pick(&[1, 2, -3, 100, i64::MAX]);
            let bits = *rng.pick(&[u64::MAX, 0]) | rng.next_u64();
            let rows: Vec<usize> = (0..row_count).filter(|row| bits >> row & 1 == 1).collect();
            for level in Level::available() {
                let mut added = sums.clone();
                add_weighted(level, &mut added, &scores, weight);
                for row in 0..row_count {
                    assert_eq!(added[row], sums[row].wrapping_add(weight.wrapping_mul(scores[row])));
                }
                let best = rows.iter().map(|&row| sums[row]).fold(i64::MIN, i64::max);
                assert_eq!(highest(level, &sums, bits), best, "{}", level.name());
                let mut tied = 0;
                rows.iter().filter(|&&row| sums[row] == best).for_each(|&row| tied |= 1 << row);
                assert_eq!(rows_with(level, &sums, bits, best), tied, "{}", level.name());
                let mut values = sums.clone();
                let counts = replace(level, &mut values, &scores, bits);
                let nonzero = |of: &[i64]| rows.iter().filter(|&&row| of[row] != 0).count();
                assert_eq!((counts.0 as usize, counts.1 as usize), (nonzero(&sums), nonzero(&scores)));
                for row in 0..row_count {
                    let is_replaced = rows.contains(&row);
                    assert_eq!(values[row], if is_replaced { scores[row] } else { sums[row] });
                }
            }
        });
    }
}
