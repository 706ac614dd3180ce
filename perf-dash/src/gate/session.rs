//! From times to a row: quartets within sessions within a run.
//!
//! ```text
//! block     about a millisecond of one kernel in one build
//! quartet   four blocks, A B B A or B A A B: the machine's drift cancels
//! session   some quartets of one pair of processes          -> one ratio
//! run       some sessions, each with processes of its own   -> their middle, its interval, a verdict
//! ```
//!
//! Why sessions? Where the loader and the kernel put a process decides caches and aliasing, and so
//! its speed, by a percent or so, for as long as it lives. Blocks of one pair of processes agree
//! with each other and are wrong together; only a new pair is a new sample.

use super::Looks;
use crate::compare::{ComparedMetric, Row};
use crate::stats::{Fence, median, quantile};

/// Times of one quartet in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quartet {
    /// Of base.
    pub base_ns: [f64; 2],
    /// Of head.
    pub head_ns: [f64; 2],
}

/// The quartets of one kernel in one pair of processes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    /// In the order they ran.
    pub quartets: Vec<Quartet>,
}

impl Session {
    /// `head / base`.
    ///
    /// # Panics
    /// When there is no quartet.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        let of = |quartet: &Quartet| {
            let ln = |times: [f64; 2]| times[0].ln() + times[1].ln();
            (ln(quartet.head_ns) - ln(quartet.base_ns)) / 2.0
        };
        median(&self.quartets.iter().map(of).collect::<Vec<f64>>()).exp()
    }

    /// What a block of base took, undisturbed: the first quartile, because other programs only ever
    /// make it slower.
    #[must_use]
    pub fn base_ns(&self) -> f64 {
        self.low(|quartet| quartet.base_ns)
    }

    /// The same of head.
    #[must_use]
    pub fn head_ns(&self) -> f64 {
        self.low(|quartet| quartet.head_ns)
    }

    fn low(&self, side: impl Fn(&Quartet) -> [f64; 2]) -> f64 {
        quantile(&self.quartets.iter().flat_map(side).collect::<Vec<f64>>(), 0.25)
    }
}

/// A change must be this unlikely to be chance, by the rank test over sessions: reached from eight
/// sessions on.
pub const GATE_LEVEL: f64 = 0.01;

/// The row of a kernel whose blocks have so many turns, at one of these looks.
#[must_use]
pub fn kernel_row(kernel: &str, sessions: &[Session], turns: usize, fence: Fence, looks: Looks) -> Row {
    let per_turn = |ns: fn(&Session) -> f64| -> Vec<f64> {
        sessions.iter().map(|session| ns(session) / turns as f64).collect()
    };
    let ratios: Vec<f64> = sessions.iter().map(Session::ratio).collect();
    let (base, head) = (per_turn(Session::base_ns), per_turn(Session::head_ns));
    Row::from_ratios(
        kernel,
        ComparedMetric::cost("wall clock", "ns"),
        (&base, &head),
        &ratios,
        fence,
        looks.confidence(),
    )
    .needing_p_below(GATE_LEVEL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Verdict;
    use crate::stats::testing::Sampler;

    const ONCE: Looks = Looks { first: 12, count: 1 };

    /// Sessions of a head that is slower by `cost`: each has its own bias, blocks jitter, some are
    /// interrupted, and the machine drifts.
    fn sessions(sampler: &mut Sampler, cost: f64) -> Vec<Session> {
        let mut clock = 0.0;
        let mut session = |_| {
            let bias = [sampler.normal(1.0, 0.004), sampler.normal(1.0, 0.004) * (1.0 + cost)];
            let mut block = |side: usize| {
                clock += 1.0;
                let stall = if sampler.normal(0.0, 1.0) < 1.6 { 0.0 } else { 4e5 };
                1e6 * bias[side] * (1.0 + clock / 1e5) * sampler.normal(1.0, 0.01) + stall
            };
            let mut quartet = |_| {
                let (first, second, third, last) = (block(0), block(1), block(1), block(0));
                Quartet { base_ns: [first, last], head_ns: [second, third] }
            };
            Session { quartets: (0..20).map(&mut quartet).collect() }
        };
        (0..12).map(&mut session).collect()
    }

    #[test]
    fn three_percent_is_worse_and_no_change_is_unchanged() {
        let mut sampler = Sampler::new(31);
        let mut verdicts = |cost| {
            (0..60)
                .map(|_| kernel_row("k", &sessions(&mut sampler, cost), 10, Fence::given(0.01), ONCE).verdict)
                .collect::<Vec<_>>()
        };
        assert!(
            verdicts(0.0).iter().all(|verdict| *verdict != Verdict::Worse && *verdict != Verdict::Better)
        );
        let caught = verdicts(0.03).iter().filter(|verdict| **verdict == Verdict::Worse).count();
        assert!(57 <= caught, "{caught} of 60");
    }

    #[test]
    fn the_row_shows_the_undisturbed_time_of_a_turn() {
        let quartet = |stall: f64| Quartet { base_ns: [1000.0, 1000.0 + stall], head_ns: [1100.0, 1100.0] };
        let session = Session { quartets: vec![quartet(0.0), quartet(9e6), quartet(0.0)] };
        let row = kernel_row("k", &vec![session; 8], 10, Fence::given(0.02), ONCE);
        assert_eq!((row.base, row.head), (Some(100.0), Some(110.0)));
        assert_eq!((row.base_samples, row.verdict), (8, Verdict::Worse));
        assert_eq!(row.change(), "+10.0 %");
    }
}
