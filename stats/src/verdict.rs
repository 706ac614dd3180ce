//! From an interval to a word.
//!
//! ```text
//!              -fence      1      +fence
//!   |--------|    .        .        .                    worse (for a throughput)
//!            . |--.---|    .        .                    inconclusive: more samples decide
//!                 .    |-----|      .                    unchanged
//!                 .        .        .   |------|         better
//! ```

use serde::{Deserialize, Serialize};

use crate::bootstrap::Interval;
use crate::fence::Fence;
use crate::size::{SAMPLES_MIN, more_samples_needed};

/// Which way is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Throughput.
    HigherIsBetter,
    /// Times, counts, bytes.
    LowerIsBetter,
}

/// What a comparison found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The interval lies wholly beyond the fence on the good side.
    Better,
    /// The interval lies wholly beyond the fence on the bad side.
    Worse,
    /// The interval lies wholly within the fence.
    Unchanged,
    /// The interval crosses the fence, or there are too few samples.
    Inconclusive,
}

impl Verdict {
    /// The word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Unchanged => "unchanged",
            Verdict::Inconclusive => "inconclusive",
        }
    }
}

/// A verdict, and what would be needed when there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The word.
    pub verdict: Verdict,
    /// Samples (rounds) still missing, for an inconclusive verdict that more samples can end.
    pub more_needed: Option<usize>,
}

/// Judges an interval from `count` samples a side, or rounds.
#[must_use]
pub fn judge(interval: &Interval, fence: &Fence, direction: Direction, count: usize) -> Judged {
    let edge = fence.ln();
    let (low, high) = (interval.low.ln(), interval.high.ln());
    let sided = |is_up: bool| match (is_up, direction) {
        (true, Direction::HigherIsBetter) | (false, Direction::LowerIsBetter) => Verdict::Better,
        _ => Verdict::Worse,
    };
    let verdict = if count < SAMPLES_MIN {
        Verdict::Inconclusive
    } else if edge < low {
        sided(true)
    } else if high < -edge {
        sided(false)
    } else if -edge <= low && high <= edge {
        Verdict::Unchanged
    } else {
        Verdict::Inconclusive
    };
    let more_needed =
        (verdict == Verdict::Inconclusive).then(|| more_samples_needed(interval, fence, count)).flatten();
    Judged { verdict, more_needed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::ratio_of_pairs;
    use crate::testing::Sampler;

    #[test]
    fn verdicts_of_intervals() {
        struct Case {
            name: &'static str,
            interval: (f64, f64),
            count: usize,
            higher: Verdict,
            lower: Verdict,
        }
        use Verdict::{Better, Inconclusive, Unchanged, Worse};
        let cases = [
            Case { name: "beyond above", interval: (1.03, 1.05), count: 20, higher: Better, lower: Worse },
            Case { name: "beyond below", interval: (0.90, 0.95), count: 20, higher: Worse, lower: Better },
            Case { name: "within", interval: (0.99, 1.01), count: 20, higher: Unchanged, lower: Unchanged },
            Case {
                name: "exactly equal",
                interval: (1.0, 1.0),
                count: 20,
                higher: Unchanged,
                lower: Unchanged,
            },
            Case {
                name: "sure of a change within the fence",
                interval: (1.005, 1.01),
                count: 20,
                higher: Unchanged,
                lower: Unchanged,
            },
            Case {
                name: "across the fence",
                interval: (1.01, 1.05),
                count: 20,
                higher: Inconclusive,
                lower: Inconclusive,
            },
            Case {
                name: "across both",
                interval: (0.9, 1.1),
                count: 20,
                higher: Inconclusive,
                lower: Inconclusive,
            },
            Case {
                name: "too few",
                interval: (1.5, 1.6),
                count: 5,
                higher: Inconclusive,
                lower: Inconclusive,
            },
        ];
        for case in &cases {
            let interval = Interval {
                ratio: f64::midpoint(case.interval.0, case.interval.1),
                low: case.interval.0,
                high: case.interval.1,
            };
            let word = |direction| judge(&interval, &Fence::given(0.02), direction, case.count).verdict;
            assert_eq!(word(Direction::HigherIsBetter), case.higher, "case: {}", case.name);
            assert_eq!(word(Direction::LowerIsBetter), case.lower, "case: {}", case.name);
        }
    }

    #[test]
    fn equal_things_are_never_called_worse_and_three_percent_is_caught() {
        let fence = Fence::given(0.01);
        let mut sampler = Sampler::new(77);
        let mut counts = |shift: f64| {
            let mut worse = 0;
            for seed in 0..200 {
                let ratios = sampler.many(40, |s| s.normal(shift, 0.02).exp());
                let judged = judge(&ratio_of_pairs(&ratios, seed), &fence, Direction::HigherIsBetter, 40);
                worse += usize::from(judged.verdict == Verdict::Worse);
            }
            worse
        };
        assert_eq!(counts(0.0), 0, "false alarms");
        assert!(196 <= counts(-0.03), "three percent, caught");
    }
}
