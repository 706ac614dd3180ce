//! Interleaving: in which order variants run, and what a round of it says.
//!
//! ```text
//! round   1        2        3
//!         A B B A  B A A B  A B B A ...      which of the two begins is drawn from the seed
//! ratio   sqrt(B1 B2 / (A1 A2))              a drift linear in time cancels within the round
//! ```

use schedlab_core::cycle::select::Draws;

/// Runs of each variant in a round.
pub const ROUND: usize = 2;

/// Index of the variant to run next, for every run of every round.
pub type RoundOrder = Vec<usize>;

/// The order of `rounds` rounds of `variants` variants. In a round each variant runs twice: once
/// in a drawn order, then in the reverse of it, so that all have the same mean time. For two
/// variants that is ABBA or BAAB.
#[must_use]
pub fn abba_order(variants: usize, rounds: usize, seed: u64) -> Vec<RoundOrder> {
    let mut draws = Draws::new(seed);
    (0..rounds)
        .map(|_| {
            let mut there: RoundOrder = (0..variants).collect();
            // Fisher and Yates.
            for last in (1..variants).rev() {
                there.swap(last, draws.below(last + 1));
            }
            let back: Vec<usize> = there.iter().rev().copied().collect();
            there.extend(back);
            there
        })
        .collect()
}

/// The ratio `head / base` of each round. Both hold [`ROUND`] samples a round, in the order they
/// ran; a round that is not whole is left out.
///
/// # Panics
/// When a value is not above 0.
#[must_use]
pub fn round_ratios(base: &[f64], head: &[f64]) -> Vec<f64> {
    let middle = |round: &[f64]| {
        assert!(round.iter().all(|&value| 0.0 < value), "{round:?}");
        round.iter().map(|value| value.ln()).sum::<f64>() / ROUND as f64
    };
    let rounds = base.chunks_exact(ROUND).zip(head.chunks_exact(ROUND));
    rounds.map(|(base, head)| (middle(head) - middle(base)).exp()).collect()
}

/// The difference `head - base` of each round, of the means of its samples.
#[must_use]
pub fn round_differences(base: &[f64], head: &[f64]) -> Vec<f64> {
    let mean = |round: &[f64]| round.iter().sum::<f64>() / ROUND as f64;
    let rounds = base.chunks_exact(ROUND).zip(head.chunks_exact(ROUND));
    rounds.map(|(base, head)| mean(head) - mean(base)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::{ratio_of_medians, ratio_of_pairs};
    use crate::testing::Sampler;

    #[test]
    fn a_round_is_a_palindrome_and_both_variants_begin() {
        let order = abba_order(2, 64, 1);
        for round in &order {
            assert!(round == &[0, 1, 1, 0] || round == &[1, 0, 0, 1], "{round:?}");
        }
        let a_begins = order.iter().filter(|round| round[0] == 0).count();
        assert!((16..=48).contains(&a_begins), "{a_begins} of 64");
        assert_eq!(order, abba_order(2, 64, 1));
        assert_ne!(order, abba_order(2, 64, 2));
        for round in abba_order(3, 8, 5) {
            let reversed: Vec<usize> = round.iter().rev().copied().collect();
            assert_eq!(round, reversed);
            assert_eq!(round.len(), 6);
        }
    }

    #[test]
    fn drift_cancels_in_rounds_and_hides_the_difference_without() {
        let mut sampler = Sampler::new(21);
        let (mut base, mut head) = (Vec::new(), Vec::new());
        let mut clock = 0.0;
        for round in abba_order(2, 30, 4) {
            for variant in round {
                // The machine gets 40 % slower over the run; head is 2 % faster throughout.
                let speed = [1000.0, 1020.0][variant] / (1.0 + 0.4 * clock / 120.0);
                let value = speed * sampler.normal(1.0, 0.004);
                [&mut base, &mut head][variant].push(value);
                clock += 1.0;
            }
        }
        let paired = ratio_of_pairs(&round_ratios(&base, &head), 1);
        assert!(1.01 < paired.low && paired.high < 1.03, "{paired:?}");
        assert!(paired.low < 1.02 && 1.02 < paired.high, "{paired:?}");
        let unpaired = ratio_of_medians(&base, &head, 1);
        assert!(unpaired.low < 1.0 && 1.05 < unpaired.high, "{unpaired:?}");
    }

    #[test]
    fn an_unfinished_round_is_left_out() {
        assert_eq!(round_ratios(&[1.0, 1.0, 1.0], &[2.0, 2.0]), [2.0]);
        assert_eq!(round_ratios(&[4.0, 1.0], &[2.0, 8.0]), [2.0]);
        assert!(round_ratios(&[1.0], &[1.0]).is_empty());
        assert_eq!(round_differences(&[4.0, 2.0, 9.0], &[2.0, 2.0, 9.0]), [-1.0]);
    }
}
