//! How long a call to the API takes, and how many may be made in a second: models, not clocks.
//!
//! ```text
//! call ──▶ TokenBucket (client-go's QPS and burst) ──▶ Latency ──▶ the call takes effect and is answered
//! ```
//!
//! Everything is a function of a seed and of times that are passed in, so that the wall-clock
//! runtime and a simulation in virtual time share it.

use std::fmt;
use std::str::FromStr;

use schedlab_core::cycle::select::Draws;

/// How a distribution is written.
pub const LATENCY_GRAMMAR: &str = "5ms; uniform:1ms..9ms; lognormal:5ms,0.5 (median and sigma of the \
logarithm); percentiles:50=4ms,90=9ms,99=30ms (linear between them, nothing outside)";

/// Percentiles that a distribution can be given by.
const POINTS_MAX: usize = 8;

/// The distribution of the time from a call to its answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Latency {
    /// Always the same; 0 is a call that takes no time.
    Constant {
        /// The time.
        ns: u64,
    },
    /// Anything between two ends, equally likely.
    Uniform {
        /// The least.
        low_ns: u64,
        /// The most.
        high_ns: u64,
    },
    /// The exponential of a normal distribution: what round trips look like.
    LogNormal {
        /// Half of the calls are faster.
        median_ns: u64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// As measured somewhere: linear between the given percentiles, none below the first or above
    /// the last.
    Percentiles(Percentiles),
}

/// Percentiles of a distribution, ascending.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentiles {
    /// Share in 0..=1 and time.
    points: [(f64, u64); POINTS_MAX],
    count: usize,
}

/// A distribution that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a latency: {why}; write one of {LATENCY_GRAMMAR}")]
pub struct LatencyError {
    text: String,
    why: String,
}

impl Default for Latency {
    fn default() -> Self {
        Latency::NONE
    }
}

impl Latency {
    /// Calls take no time.
    pub const NONE: Latency = Latency::Constant { ns: 0 };

    /// The same time for every call.
    #[must_use]
    pub fn constant_ms(ms: u64) -> Latency {
        Latency::Constant { ns: ms * 1_000_000 }
    }

    /// No call takes any time.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Latency::NONE
    }

    /// The time of the next call.
    pub fn draw_ns(&self, draws: &mut Draws) -> u64 {
        match self {
            Latency::Constant { ns } => *ns,
            Latency::Uniform { low_ns, high_ns } => between(*low_ns, *high_ns, fraction(draws)),
            Latency::LogNormal { median_ns, sigma } => {
                let ns = *median_ns as f64 * (sigma * normal(draws)).exp();
                // A draw far out in the tail is a call that never comes back within a run.
                ns.min(u64::MAX as f64 / 4.0) as u64
            }
            Latency::Percentiles(percentiles) => percentiles.at(fraction(draws)),
        }
    }
}

impl Percentiles {
    /// From ascending shares in 0..=1 and times that do not descend; `None` otherwise, or when
    /// there are none or more than eight.
    #[must_use]
    pub fn new(points: &[(f64, u64)]) -> Option<Percentiles> {
        let is_ascending = points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        let is_within = points.iter().all(|(share, _)| (0.0..=1.0).contains(share));
        if points.is_empty() || POINTS_MAX < points.len() || !is_ascending || !is_within {
            return None;
        }
        let mut kept = [(0.0, 0); POINTS_MAX];
        kept[..points.len()].copy_from_slice(points);
        Some(Percentiles { points: kept, count: points.len() })
    }

    fn points(&self) -> &[(f64, u64)] {
        &self.points[..self.count]
    }

    /// The time that a share of the calls stays below.
    fn at(&self, share: f64) -> u64 {
        let points = self.points();
        let above = points.partition_point(|(known, _)| *known < share);
        let (Some(low), Some(high)) = (points[..above].last(), points.get(above)) else {
            return points.get(above).or(points.last()).map_or(0, |point| point.1);
        };
        between(low.1, high.1, (share - low.0) / (high.0 - low.0))
    }
}

/// In 0..1.
fn fraction(draws: &mut Draws) -> f64 {
    const STEPS: usize = 1 << 32;
    draws.below(STEPS) as f64 / STEPS as f64
}

/// Box and Muller; the second number of the pair is not kept.
fn normal(draws: &mut Draws) -> f64 {
    let (radius, angle) = (1.0 - fraction(draws), fraction(draws));
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

fn between(low_ns: u64, high_ns: u64, share: f64) -> u64 {
    low_ns + ((high_ns - low_ns) as f64 * share) as u64
}

impl FromStr for Latency {
    type Err = LatencyError;

    fn from_str(text: &str) -> Result<Latency, LatencyError> {
        let read = match text.split_once(':') {
            None => duration_ns(text).map(|ns| Latency::Constant { ns }),
            Some(("uniform", rest)) => uniform(rest),
            Some(("lognormal", rest)) => log_normal(rest),
            Some(("percentiles", rest)) => percentiles(rest),
            Some((name, _)) => Err(format!("there is no distribution {name:?}")),
        };
        read.map_err(|why| LatencyError { text: text.to_owned(), why })
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Latency::Constant { ns } => write!(f, "{}", Duration(*ns)),
            Latency::Uniform { low_ns, high_ns } => {
                write!(f, "uniform:{}..{}", Duration(*low_ns), Duration(*high_ns))
            }
            Latency::LogNormal { median_ns, sigma } => {
                write!(f, "lognormal:{},{sigma}", Duration(*median_ns))
            }
            Latency::Percentiles(percentiles) => {
                let point = |(share, ns): &(f64, u64)| format!("{}={}", share * 100.0, Duration(*ns));
                let points: Vec<String> = percentiles.points().iter().map(point).collect();
                write!(f, "percentiles:{}", points.join(","))
            }
        }
    }
}

fn uniform(text: &str) -> Result<Latency, String> {
    let (low, high) = text.split_once("..").ok_or("uniform needs two ends")?;
    let (low_ns, high_ns) = (duration_ns(low)?, duration_ns(high)?);
    if high_ns < low_ns {
        return Err(format!("{low} is more than {high}"));
    }
    Ok(Latency::Uniform { low_ns, high_ns })
}

fn log_normal(text: &str) -> Result<Latency, String> {
    let (median, sigma) = text.split_once(',').ok_or("lognormal needs a median and a sigma")?;
    let median_ns = duration_ns(median)?;
    let is_sigma = |sigma: &f64| (0.0..=10.0).contains(sigma);
    let read = sigma.trim().parse::<f64>().ok().filter(is_sigma);
    let sigma = read.ok_or_else(|| format!("sigma {sigma:?} is not a number from 0 to 10"))?;
    Ok(Latency::LogNormal { median_ns, sigma })
}

fn percentiles(text: &str) -> Result<Latency, String> {
    let point = |item: &str| {
        let (percent, time) = item.split_once('=').ok_or_else(|| format!("{item:?} has no ="))?;
        let percent = percent.trim().trim_start_matches('p');
        let share = percent.parse::<f64>().map_err(|_| format!("{percent:?} is not a percentile"))? / 100.0;
        Ok((share, duration_ns(time)?))
    };
    let points = text.split(',').map(point).collect::<Result<Vec<_>, String>>()?;
    let read = Percentiles::new(&points).map(Latency::Percentiles);
    read.ok_or_else(|| format!("percentiles must ascend from 0 to 100, {POINTS_MAX} at most"))
}

const UNITS_NS: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
/// A call that takes longer is a call that times out; nobody models it as latency.
const LONGEST_NS: f64 = 3600.0 * 1e9;

fn duration_ns(text: &str) -> Result<u64, String> {
    let text = text.trim();
    if text == "0" {
        return Ok(0);
    }
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit = UNITS_NS.iter().find(|(name, _)| *name == unit);
    let ns = number.parse::<f64>().ok().zip(unit).map(|(number, (_, ns))| number * ns);
    match ns {
        Some(ns) if ns <= LONGEST_NS => Ok(ns.round() as u64),
        Some(_) => Err(format!("{text} is more than an hour")),
        None => Err(format!("{text:?} is not a time with a unit (ns, us, ms, s)")),
    }
}

/// A time in the unit that fits it.
struct Duration(u64);

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        let unit = [("s", 1e9), ("ms", 1e6), ("us", 1e3)].into_iter().find(|(_, unit)| *unit <= ns);
        let (name, unit) = unit.unwrap_or(("ns", 1.0));
        write!(f, "{}{name}", ns / unit)
    }
}

/// How many calls a client makes: so many a second on average, so many at once at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimit {
    /// Calls a second.
    pub qps: f64,
    /// Calls at once after a rest.
    pub burst: u32,
}

/// A client's allowance. Upstream: client-go `flowcontrol.NewTokenBucketRateLimiter`.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    limit: RateLimit,
    /// Below 0, calls have been promised that have not begun.
    tokens: f64,
    at_ns: u64,
}

impl TokenBucket {
    /// A full bucket.
    #[must_use]
    pub fn new(limit: RateLimit) -> TokenBucket {
        TokenBucket { limit, tokens: f64::from(limit.burst), at_ns: 0 }
    }

    /// When a call that is wanted now may be made; the token is taken. Times must not descend.
    pub fn take_ns(&mut self, now_ns: u64) -> u64 {
        let per_ns = self.limit.qps / 1e9;
        let grown = now_ns.saturating_sub(self.at_ns) as f64 * per_ns;
        self.tokens = (self.tokens + grown).min(f64::from(self.limit.burst)) - 1.0;
        self.at_ns = self.at_ns.max(now_ns);
        let wait_ns = if self.tokens < 0.0 { -self.tokens / per_ns } else { 0.0 };
        now_ns.saturating_add(wait_ns.round() as u64)
    }
}

#[cfg(test)]
mod tests;
