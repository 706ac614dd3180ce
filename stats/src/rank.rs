//! Rank tests: do two samples differ at all? They carry no size, so the verdict rests on the
//! interval; the p value stands beside it, as readers of benchstat expect.

/// Two-sided p of Mann and Whitney's U for two independent samples. Exact without ties up to
/// [`EXACT_MAX`] values, else the normal approximation with tie and continuity correction.
///
/// # Panics
/// When a sample is empty.
#[must_use]
pub fn mann_whitney_p(base: &[f64], head: &[f64]) -> f64 {
    assert!(!base.is_empty());
    assert!(!head.is_empty());
    let (n, m) = (base.len(), head.len());
    let pooled: Vec<f64> = base.iter().chain(head).copied().collect();
    let (ranks, ties) = ranks(&pooled);
    let rank_sum: f64 = ranks[..n].iter().sum();
    let u = rank_sum - (n * (n + 1)) as f64 / 2.0;
    if ties == 0.0 && n + m <= EXACT_MAX {
        return exact_two_sided(&u_counts(n, m), u);
    }
    let count = (n + m) as f64;
    let product = (n * m) as f64;
    let variance = product / 12.0 * ((count + 1.0) - ties / (count * (count - 1.0)));
    normal_two_sided(u - product / 2.0, variance)
}

/// Two-sided p of Wilcoxon's signed ranks for ratios of pairs, against a ratio of 1. Ratios of
/// exactly 1 are left out.
#[must_use]
pub fn wilcoxon_p(ratios: &[f64]) -> f64 {
    let differences: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).filter(|&d| d != 0.0).collect();
    if differences.is_empty() {
        return 1.0;
    }
    let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
    let (ranks, ties) = ranks(&sizes);
    let positive: f64 = ranks.iter().zip(&differences).filter(|(_, d)| 0.0 < **d).map(|(rank, _)| rank).sum();
    let count = differences.len();
    if ties == 0.0 && count <= EXACT_MAX {
        return exact_two_sided(&signed_rank_shares(count), positive);
    }
    let n = count as f64;
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
    normal_two_sided(positive - n * (n + 1.0) / 4.0, variance)
}

/// Beyond this the normal approximation is right to three digits.
const EXACT_MAX: usize = 50;

/// Ranks from 1, ties sharing their mean; and the sum of t^3 - t over groups of ties.
fn ranks(values: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&one, &other| values[one].total_cmp(&values[other]));
    let (mut ranks, mut ties) = (vec![0.0; values.len()], 0.0);
    let mut first = 0;
    for group in order.chunk_by(|&one, &other| values[one] == values[other]) {
        let size = group.len();
        let shared = first as f64 + (size as f64 + 1.0) / 2.0;
        group.iter().for_each(|&at| ranks[at] = shared);
        ties += (size * size * size - size) as f64;
        first += size;
    }
    (ranks, ties)
}

/// How many of the choices of `n` ranks among `n + m` have each U: partitions in an n by m box.
fn u_counts(n: usize, m: usize) -> Vec<f64> {
    // ways[k][u] after looking at some of the ranks: k of them chosen, U so far.
    let mut ways = vec![vec![0.0; n * m + 1]; n + 1];
    ways[0][0] = 1.0;
    for rank in 1..=n + m {
        for chosen in (1..=n.min(rank)).rev() {
            // The chosen-th smallest of base at this rank has rank - chosen of head below it.
            let above = rank - chosen;
            if m < above {
                continue;
            }
            for u in (above..=n * m).rev() {
                ways[chosen][u] += ways[chosen - 1][u - above];
            }
        }
    }
    ways.swap_remove(n)
}

/// The share of the 2^n signings that has each sum of positive ranks. Shares and not counts: these
/// stay finite for any n.
pub(crate) fn signed_rank_shares(n: usize) -> Vec<f64> {
    let mut shares = vec![0.0; n * (n + 1) / 2 + 1];
    shares[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..=rank * (rank + 1) / 2).rev() {
            let signed = if rank <= sum { shares[sum - rank] } else { 0.0 };
            shares[sum] = f64::midpoint(shares[sum], signed);
        }
    }
    shares
}

fn exact_two_sided(counts: &[f64], statistic: f64) -> f64 {
    let at = statistic.round() as usize;
    let all: f64 = counts.iter().sum();
    let below: f64 = counts[..=at].iter().sum();
    let above: f64 = counts[at..].iter().sum();
    (2.0 * below.min(above) / all).min(1.0)
}

fn normal_two_sided(distance: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    let z = ((distance.abs() - 0.5).max(0.0)) / variance.sqrt();
    erfc(z / std::f64::consts::SQRT_2).min(1.0)
}

/// Complementary error function for x >= 0, Abramowitz and Stegun 7.1.26: right to 1.5e-7.
fn erfc(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let poly = [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
    poly.iter().rev().fold(0.0, |sum, factor| (sum + factor) * t) * (-x * x).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sampler;

    #[test]
    fn p_values_of_textbooks() {
        let near = |got: f64, wanted: f64, name: &str| assert!((got - wanted).abs() < 2e-4, "{name}: {got}");
        // R: wilcox.test(c(1,2,3,4,5), c(6,7,8,9,10)) is 2 of choose(10, 5) = 252.
        near(mann_whitney_p(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0]), 2.0 / 252.0, "apart");
        // Two of two: 2 of 6 at the end, so p is 2/3 with one crossing and 1/3 without.
        near(mann_whitney_p(&[1.0, 2.0], &[3.0, 4.0]), 1.0 / 3.0, "tiny");
        near(mann_whitney_p(&[1.0, 4.0], &[2.0, 3.0]), 1.0, "in the middle");
        near(mann_whitney_p(&[3.0; 20], &[3.0; 20]), 1.0, "all tied");
        // All six positive: 2 of 64.
        near(wilcoxon_p(&[1.1, 1.2, 1.3, 1.4, 1.5, 1.6]), 2.0 / 64.0, "signed");
        near(wilcoxon_p(&[1.0, 1.0]), 1.0, "no difference at all");
        near(erfc(1.96 / std::f64::consts::SQRT_2), 0.05, "the normal tail");
    }

    #[test]
    fn exact_and_approximate_meet() {
        let mut sampler = Sampler::new(31);
        for _ in 0..20 {
            let base = sampler.many(25, |s| s.normal(0.0, 1.0));
            let head = sampler.many(25, |s| s.normal(0.5, 1.0));
            let exact = mann_whitney_p(&base, &head);
            // One more value a side crosses the limit of the exact way.
            let product = 625.0_f64;
            let (ranks, _) = ranks(&base.iter().chain(&head).copied().collect::<Vec<_>>());
            let u = ranks[..25].iter().sum::<f64>() - 325.0;
            let approximate = normal_two_sided(u - product / 2.0, product * 51.0 / 12.0);
            assert!((exact - approximate).abs() < 0.006, "{exact} and {approximate}");
        }
    }

    #[test]
    fn equal_distributions_are_rejected_as_often_as_the_level_says() {
        let mut sampler = Sampler::new(17);
        let rejected = (0..1000)
            .filter(|_| {
                let base = sampler.many(12, |s| s.stalled(1.0));
                let head = sampler.many(12, |s| s.stalled(1.0));
                mann_whitney_p(&base, &head) < 0.05
            })
            .count();
        assert!((20..80).contains(&rejected), "{rejected} of 1000");
    }
}
