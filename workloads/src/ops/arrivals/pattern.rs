//! When pods arrive: patterns as offsets from the op's begin.

use schedlab_core::cycle::select::Draws;

/// A pattern of arrivals, ready to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// One after the other, equally far apart.
    Constant {
        /// So many a second.
        per_second: f64,
    },
    /// Independent of each other: the times between two are exponential.
    Poisson {
        /// On average so many a second.
        per_second: f64,
    },
    /// So many at once, then nothing.
    Bursts {
        /// On average so many a second.
        per_second: f64,
        /// At once.
        size: u32,
    },
    /// As a day: the rate goes up and down as a sine.
    Diurnal {
        /// On average so many a second.
        per_second: f64,
        /// The length of a day, in seconds.
        period_s: f64,
        /// How far the rate goes up and down, as a part of the average; at most 1.
        amplitude: f64,
    },
    /// As they were recorded.
    Recorded {
        /// Nanoseconds from the op's begin, ascending.
        offsets_ns: Vec<u64>,
    },
}

impl Pattern {
    /// When each of `count` pods arrives, in nanoseconds from the op's begin; ascending.
    #[must_use]
    pub fn offsets_ns(&self, count: u32, seed: u64) -> Vec<u64> {
        let numbers = (0..count).map(f64::from);
        match self {
            Pattern::Constant { per_second } => numbers.map(|number| ns(number / per_second)).collect(),
            Pattern::Poisson { per_second } => {
                let mut draws = Draws::new(seed);
                let mut at_s = 0.0;
                let arrival = |_| {
                    at_s -= unit(&mut draws).ln() / per_second;
                    ns(at_s)
                };
                numbers.map(arrival).collect()
            }
            Pattern::Bursts { per_second, size } => {
                let burst_s = f64::from(*size) / per_second;
                (0..count).map(|number| ns(f64::from(number / size) * burst_s)).collect()
            }
            Pattern::Diurnal { per_second, period_s, amplitude } => {
                numbers.map(|number| ns(diurnal(number, *per_second, *period_s, *amplitude))).collect()
            }
            Pattern::Recorded { offsets_ns } => offsets_ns.iter().copied().take(count as usize).collect(),
        }
    }
}

/// When pod `number` arrives: the time by which the rate, a sine, has summed up to it. The sum only grows, so
/// halving finds it.
fn diurnal(number: f64, per_second: f64, period_s: f64, amplitude: f64) -> f64 {
    let turn = std::f64::consts::TAU / period_s;
    let arrived = |at_s: f64| per_second * (at_s + amplitude / turn * (1.0 - (turn * at_s).cos()));
    let (mut low, mut high) = (0.0, number / per_second + period_s);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if arrived(middle) < number {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; saturates")]
fn ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

/// Above 0, up to 1.
#[allow(clippy::cast_precision_loss, reason = "a random number")]
fn unit(draws: &mut Draws) -> f64 {
    const STEPS: usize = 1 << 30;
    (draws.below(STEPS) as f64 + 1.0) / STEPS as f64
}

/// Seconds from the begin, one a line; empty lines and those that begin with `#` are passed over. The error is a
/// line's number and what is wrong with it.
pub(super) fn parse_recorded(text: &str) -> Result<Vec<u64>, (usize, String)> {
    let mut offsets_ns: Vec<u64> = Vec::new();
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let seconds = line.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && 0.0 <= *seconds);
        let seconds =
            seconds.ok_or_else(|| (number, format!("`{line}` is no number of seconds from 0 on")))?;
        if offsets_ns.last().is_some_and(|last| ns(seconds) < *last) {
            return Err((number, format!("`{line}` is earlier than the line before; sort the arrivals")));
        }
        offsets_ns.push(ns(seconds));
    }
    if offsets_ns.is_empty() {
        return Err((1, "the file has no arrivals; write a number of seconds a line".to_owned()));
    }
    Ok(offsets_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn patterns_keep_their_average_rate_and_order() {
        let per_second = 100.0;
        let patterns = [
            Pattern::Constant { per_second },
            Pattern::Poisson { per_second },
            Pattern::Bursts { per_second, size: 50 },
            Pattern::Diurnal { per_second, period_s: 10.0, amplitude: 0.9 },
        ];
        for pattern in patterns {
            let offsets = pattern.offsets_ns(10_001, 7);
            assert!(offsets.is_sorted(), "{pattern:?}");
            let last_s = offsets[10_000] as f64 / 1e9;
            assert!((last_s - 100.0).abs() < 4.0, "{pattern:?}: {last_s}");
        }
    }

    #[test]
    fn bursts_come_at_once_and_days_have_a_busy_half() {
        let bursts = Pattern::Bursts { per_second: 10.0, size: 5 }.offsets_ns(11, 1);
        assert_eq!(
            bursts,
            [[0; 5], [SECOND / 2; 5]].concat().into_iter().chain([SECOND]).collect::<Vec<_>>()
        );
        let day = Pattern::Diurnal { per_second: 100.0, period_s: 10.0, amplitude: 1.0 };
        let first_half = day.offsets_ns(1000, 1).into_iter().filter(|at| *at < 5 * SECOND).count();
        // The integral of 1 + sin over half a turn: 1/2 + 1/pi of the pods.
        assert!((800..=836).contains(&first_half), "{first_half}");
    }

    #[test]
    fn poisson_gaps_are_drawn_from_the_seed() {
        let pattern = Pattern::Poisson { per_second: 10.0 };
        assert_eq!(pattern.offsets_ns(100, 1), pattern.offsets_ns(100, 1));
        assert_ne!(pattern.offsets_ns(100, 1), pattern.offsets_ns(100, 2));
    }

    #[test]
    fn recorded_arrivals_are_read_with_the_line_of_what_is_wrong() {
        assert_eq!(parse_recorded("# a day\n0\n0.5\n\n2\n"), Ok(vec![0, SECOND / 2, 2 * SECOND]));
        assert_eq!(
            parse_recorded("1\nsoon\n"),
            Err((2, "`soon` is no number of seconds from 0 on".to_owned()))
        );
        let early = "`1` is earlier than the line before; sort the arrivals".to_owned();
        assert_eq!(parse_recorded("2\n1\n"), Err((2, early)));
        assert!(parse_recorded("# nothing\n").is_err());
    }
}
