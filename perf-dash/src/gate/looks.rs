//! How often the gate looks, and what each look may claim.
//!
//! ```text
//! look        1         2                   3
//! sessions    12        24                  48  ...   twice as many each time, for open rows only
//!             |-------------|                         interval reaches over the fence: go on
//!                  |------|                           wholly within: unchanged, and nothing more
//! ```
//!
//! To look again and again until something shows, each time at 95 %, is to be wrong more often than
//! 5 % of the time. So the number of looks is fixed beforehand and shares the 5 % among them: all
//! intervals of a row together hold the truth with 95 % at least (Bonferroni's inequality, which
//! asks nothing of how looks depend on each other), and so does the one at which the gate stops,
//! whatever made it stop. "Worse" of a row that is at its fence, and "unchanged" of a row that is
//! beyond it, are each claimed with 2.5 % at most.

use crate::compare::{FENCE_DEFAULT, Row};
use crate::stats::{Fence, Verdict};

/// When to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks {
    /// Sessions before the first look.
    pub first: usize,
    /// Looks at most.
    pub count: usize,
}

/// What all looks together may be wrong by.
const ERROR: f64 = 0.05;

impl Looks {
    /// Sessions at a look, from 0.
    #[must_use]
    pub fn sessions_at(&self, look: usize) -> usize {
        self.first << look
    }

    /// The confidence of each look's interval.
    #[must_use]
    pub fn confidence(&self) -> f64 {
        1.0 - ERROR / self.count as f64
    }
}

/// A row that is still open after the last look, and whose kernel does exactly as many instructions
/// in both builds: it is unchanged if its interval lies within twice its fence, 2 % at least. The
/// same instructions can still be slower, by their place in the caches; what is promised of such a
/// row is the wider fence, and it says so.
#[must_use]
pub fn settled_by_equal_counts(row: Row) -> Row {
    let wider = Fence { relative: (2.0 * row.fence.relative).max(FENCE_DEFAULT), ..row.fence };
    let is_within = |fence: &Fence| {
        row.ratio.is_some_and(|ratio| -fence.ln() <= ratio.low.ln() && ratio.high.ln() <= fence.ln())
    };
    let is_open = row.is_judged() && row.verdict == Verdict::Inconclusive;
    if !is_open || !is_within(&wider) {
        return row;
    }
    let note = format!(
        "open by its own fence of {:.2} %; its instructions are equal and its time is within {:.2} %",
        row.fence.relative * 100.0,
        wider.relative * 100.0
    );
    Row { verdict: Verdict::Unchanged, more_needed: None, fence: wider, note: Some(note), ..row }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{Quartet, Session, kernel_row};
    use crate::stats::testing::Sampler;
    use crate::stats::{middle_of_pairs, pairs_needed};

    const LOOKS: Looks = Looks { first: 12, count: 4 };

    /// A machine as docs/gate.md measured one: how a process lies in memory makes it slower or
    /// faster for as long as it lives, one of ten lies badly, blocks jitter, one of twenty is
    /// interrupted, and the clock drifts. A session's ratio deviates by `deviation` or so.
    struct Machine {
        sampler: Sampler,
        deviation: f64,
        clock: f64,
    }

    impl Machine {
        fn process(&mut self) -> f64 {
            let badly = if self.sampler.uniform() < 0.1 { 4.0 } else { 1.0 };
            self.sampler.normal(0.0, badly * self.deviation / 2.0).exp()
        }

        fn block(&mut self, speed: f64) -> f64 {
            self.clock += 1.0;
            let drift = 1.0 + 0.05 * (self.clock / 500.0).sin();
            let stall = if self.sampler.uniform() < 0.05 { 1.4 } else { 1.0 };
            1e6 * speed * drift * stall * self.sampler.normal(0.0, 0.01).exp()
        }

        fn session(&mut self, cost: f64) -> Session {
            let (base, head) = (self.process(), self.process() * (1.0 + cost));
            let mut quartet = |_| {
                let (first, second) = (self.block(base), self.block(head));
                let (third, last) = (self.block(head), self.block(base));
                Quartet { base_ns: [first, last], head_ns: [second, third] }
            };
            Session { quartets: (0..10).map(&mut quartet).collect() }
        }

        /// Looks until there is a verdict.
        fn judged(&mut self, cost: f64, fence: Fence, looks: Looks) -> Row {
            self.judged_by(cost, fence, looks, looks)
        }

        /// The same, with each look's interval as if it were one of `sure`.
        fn judged_by(&mut self, cost: f64, fence: Fence, looks: Looks, sure: Looks) -> Row {
            let mut sessions: Vec<Session> = Vec::new();
            let mut look = 0;
            loop {
                sessions.resize_with(looks.sessions_at(look), || self.session(cost));
                let row = kernel_row("k", &sessions, 10, fence, sure);
                look += 1;
                if row.verdict != Verdict::Inconclusive || look == looks.count {
                    return row;
                }
            }
        }

        /// The fence of this many comparisons of a build with itself, as `--calibrate` makes it.
        fn calibrated(&mut self, count: usize) -> Fence {
            let mut once = |_| {
                let ratios: Vec<f64> = (0..LOOKS.first).map(|_| self.session(0.0).ratio()).collect();
                middle_of_pairs(&ratios, LOOKS.confidence()).ratio
            };
            let ratios: Vec<f64> = (0..count).map(&mut once).collect();
            Fence::from_ratios(&ratios, 0.005).expect("enough of them")
        }
    }

    /// Verdicts of 12 machines with 25 runs each, three kernels a run; a run is as bad as its worst row.
    fn runs(cost: f64, looks: Looks) -> [usize; 3] {
        let (mut changed, mut open, mut all) = (0, 0, 0);
        for seed in 0..12 {
            let kernels = [0.012, 0.021, 0.018].map(|deviation| {
                let mut machine = Machine { sampler: Sampler::new(seed), deviation, clock: 0.0 };
                let fence = machine.calibrated(24);
                (machine, fence)
            });
            let mut kernels = kernels;
            for _ in 0..25 {
                let verdicts =
                    kernels.each_mut().map(|(machine, fence)| machine.judged(cost, *fence, looks).verdict);
                let has = |wanted| verdicts.contains(&wanted);
                all += 1;
                changed += usize::from(has(Verdict::Worse) || has(Verdict::Better));
                open += usize::from(!has(Verdict::Worse) && has(Verdict::Inconclusive));
            }
        }
        [changed, open, all]
    }

    #[test]
    fn build_against_itself_is_never_worse_and_inconclusive_in_fewer_than_5_of_100() {
        let [changed, open, all] = runs(0.0, LOOKS);
        assert_eq!(changed, 0, "false alarms of {all}");
        assert!(open * 100 < 5 * all, "{open} of {all} inconclusive");
    }

    #[test]
    fn single_look_leaves_a_fifth_of_the_runs_inconclusive() {
        let [changed, open, all] = runs(0.0, Looks { count: 1, ..LOOKS });
        assert_eq!(changed, 0, "false alarms of {all}");
        assert!(all < 5 * open, "{open} of {all} inconclusive");
    }

    #[test]
    fn three_percent_more_time_is_caught_in_every_run() {
        // The noisiest kernel has a fence of its own that may reach beyond three percent; the proof
        // plants its slowdown in the calmest.
        let mut machine = Machine { sampler: Sampler::new(5), deviation: 0.012, clock: 0.0 };
        let fence = machine.calibrated(24);
        let caught =
            (0..200).filter(|_| machine.judged(0.03, fence, LOOKS).verdict == Verdict::Worse).count();
        assert_eq!(caught, 200);
    }

    #[test]
    fn repeated_looks_do_not_raise_the_error_rate() {
        // The worst case: the build is slower by exactly its fence, so that "worse" and "unchanged"
        // are both wrong. 2.5 % of 1000 each, and four deviations of that.
        let (fence, at_most) = (Fence::given(0.01), 25 + 20);
        let count = |sure: Looks, wanted: Verdict| {
            let mut machine = Machine { sampler: Sampler::new(9), deviation: 0.01, clock: 0.0 };
            (0..1000).filter(|_| machine.judged_by(0.01, fence, LOOKS, sure).verdict == wanted).count()
        };
        for wanted in [Verdict::Worse, Verdict::Unchanged] {
            let claimed = count(LOOKS, wanted);
            assert!(claimed <= at_most, "{claimed} of 1000 {}", wanted.word());
            // Four looks at 95 % each are what the rule is there to prevent.
            let careless = count(Looks { count: 1, ..LOOKS }, wanted);
            assert!(at_most < careless, "{careless} of 1000 {}", wanted.word());
        }
    }

    #[test]
    fn error_rate_is_split_over_looks() {
        assert_eq!([0, 1, 2, 3].map(|look| LOOKS.sessions_at(look)), [12, 24, 48, 96]);
        assert!((LOOKS.confidence() - 0.9875).abs() < 1e-12);
        assert_eq!(pairs_needed(LOOKS.confidence()), 8);
    }

    #[test]
    fn equal_instructions_settle_an_open_row_within_twice_its_fence() {
        let session = |ratio: f64| Session {
            quartets: vec![Quartet { base_ns: [1e6, 1e6], head_ns: [1e6 * ratio, 1e6 * ratio] }],
        };
        let row = |ratios: [f64; 2]| {
            let sessions: Vec<Session> =
                (0..24).map(|at| session(ratios[at % 2] + at as f64 * 1e-6)).collect();
            kernel_row("k", &sessions, 10, Fence::given(0.012), LOOKS)
        };
        let open = row([1.004, 1.018]);
        assert_eq!(open.verdict, Verdict::Inconclusive);
        let settled = settled_by_equal_counts(open);
        assert_eq!((settled.verdict, settled.more_needed), (Verdict::Unchanged, None));
        let said =
            "open by its own fence of 1.20 %; its instructions are equal and its time is within 2.40 %";
        assert_eq!(settled.note.as_deref(), Some(said));
        // Beyond that it stays open, and what is worse stays worse.
        for (ratios, wanted) in [([1.004, 1.05], Verdict::Inconclusive), ([1.04, 1.05], Verdict::Worse)] {
            assert_eq!(settled_by_equal_counts(row(ratios)).verdict, wanted, "{ratios:?}");
        }
    }
}
