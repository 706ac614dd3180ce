//! Change points of a history: where a workload got slower or faster for good, and what of it is
//! still open.
//!
//! ```text
//! series ─ change_points (E-divisive means) ─▶ levels ─ ratio of medians, fence ─▶ Alert
//!                                                                                   open
//!   ●●●●●●●●                     ○○○○○                                              recovered
//!            ●●●●●●●●●●   or   ●●     ●●●   or  the workload's file has changed    superseded
//!   a level is the median of its runs; it takes three runs to be one
//! ```
//!
//! A series holds runs of one setting on one machine ([`crate::history::Comparable`]), so neither
//! another flag nor another machine is ever a change.

mod text;

use schedlab_workloads::results::{ComparedFigure, EarlierRun, Estimate, RunStatus};
use serde::{Deserialize, Serialize};

use crate::change::earlier_run;
use crate::history::{Point, Record, RecordSource, Series, WorkloadSeries, workloads};
use crate::stats::{Direction, Fence, Interval, Verdict, change_points, judge, median, ratio_of_medians};

pub use text::markdown;

/// Value of `schema` in every list of alerts this version writes.
pub const SCHEMA: &str = "schedlab-alerts/v1";

/// Seed of the permutations and of the bootstrap.
const SEED: u64 = 0x5eed;

/// All alerts of a history, as `schedlab alerts --output json` prints them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alerts {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Runs that were looked at.
    pub runs: usize,
    /// Series that were looked at: a workload with one setting on one machine.
    pub series: usize,
    /// Series too short for a change point.
    pub too_short: usize,
    /// Regressions that are open.
    pub open: usize,
    /// The newest first.
    pub alerts: Vec<Alert>,
}

/// One change point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alert {
    /// `TestCase/Workload`.
    pub workload: String,
    /// How the series differs from the newest settings; empty when it does not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub settings: String,
    /// The series, by its key's short name.
    pub series: String,
    /// Slower or faster.
    pub verdict: Verdict,
    /// Whether somebody has to look.
    pub state: State,
    /// What was compared.
    pub figure: ComparedFigure,
    /// The last run at the old level.
    pub before: EarlierRun,
    /// The first run at the new level.
    pub first: EarlierRun,
    /// The run that brought the old level back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered: Option<EarlierRun>,
    /// Median of the old level.
    pub base: f64,
    /// Median of the new level.
    pub head: f64,
    /// Runs of the old level.
    pub base_runs: usize,
    /// Runs of the new level.
    pub head_runs: usize,
    /// New over old, with its 95 % interval.
    pub ratio: Estimate,
    /// Changes up to this size are none: 0.02 is two percent.
    pub fence: f64,
    /// Index of the first run at the new level among the records.
    #[serde(skip)]
    pub at: usize,
}

/// Whether somebody has to look at a change point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Slower, and still so.
    Open,
    /// Slower, and later back at the old level.
    Recovered,
    /// Slower, and the workload's file has changed since: the series has ended.
    Superseded,
    /// Faster.
    Improvement,
}

impl State {
    /// The word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            State::Open => "open",
            State::Recovered => "recovered",
            State::Superseded => "superseded",
            State::Improvement => "improvement",
        }
    }
}

impl Alerts {
    /// Looks through a history, records in time order. Changes of less than `fence` are none.
    #[must_use]
    pub fn of(records: &[Record], fence: Fence) -> Alerts {
        let workloads = workloads(records);
        let mut found = Alerts {
            schema: SCHEMA.to_owned(),
            runs: records.len(),
            series: 0,
            too_short: 0,
            open: 0,
            alerts: Vec::new(),
        };
        for workload in &workloads {
            for series in &workload.series {
                found.series += 1;
                let values = Values::of(series);
                found.too_short += usize::from(values.rates.len() < 2 * crate::stats::SEGMENT_MIN);
                found.alerts.extend(of_series(records, workload, series, &values, fence));
            }
        }
        found.alerts.sort_by_key(|alert| (std::cmp::Reverse(alert.at), alert.workload.clone()));
        found.counted()
    }

    /// Only those that a question is about.
    #[must_use]
    pub fn only(mut self, wanted: impl Fn(&Alert) -> bool) -> Alerts {
        self.alerts.retain(wanted);
        self.counted()
    }

    fn counted(mut self) -> Alerts {
        self.open = self.alerts.iter().filter(|alert| alert.state == State::Open).count();
        self
    }
}

/// The measured points of a series.
struct Values {
    figure: ComparedFigure,
    /// Indices of the records.
    at: Vec<usize>,
    rates: Vec<f64>,
}

impl Values {
    /// The normalised figure, where every run has it by one reference kernel: what neighbours did to the
    /// machine is then no change of the workload.
    fn of(series: &Series<'_>) -> Values {
        let is_measured = |point: &Point| point.status == RunStatus::Completed && 0.0 < point.pods_per_s();
        let points = || series.points.iter().filter(|(_, point)| is_measured(point));
        let kernel = |point: &Point| point.normalised.map(|it| it.kernel);
        let first = points().next().and_then(|(_, point)| kernel(point));
        let normalised = |point: &Point| {
            let is_of_first = first == kernel(point);
            point.normalised.map(|it| it.pods_per_s).filter(|&rate| is_of_first && 0.0 < rate)
        };
        let all: Option<Vec<f64>> = points().map(|(_, point)| normalised(point)).collect();
        let figure = if all.is_some() { ComparedFigure::Normalised } else { ComparedFigure::PodsPerS };
        let rates = all.unwrap_or_else(|| points().map(|(_, point)| point.pods_per_s()).collect());
        Values { figure, at: points().map(|(at, _)| *at).collect(), rates }
    }
}

/// Runs between two change points.
#[derive(Clone, Copy)]
struct Level {
    from: usize,
    to: usize,
}

impl Level {
    /// Its last runs, as many as say how high it was before the next one.
    fn end<'a>(&self, rates: &'a [f64]) -> &'a [f64] {
        &rates[self.from.max(self.to.saturating_sub(LEVEL_RUNS))..self.to]
    }

    /// Its first runs.
    fn beginning<'a>(&self, rates: &'a [f64]) -> &'a [f64] {
        &rates[self.from..self.to.min(self.from + LEVEL_RUNS)]
    }
}

/// More runs of a level do not say better how high it is next to a change.
const LEVEL_RUNS: usize = 50;

/// A change is looked for in so many of the newest runs of a series: what is older has been looked at
/// long ago.
const RUNS_MAX: usize = 400;

fn of_series(
    records: &[Record],
    workload: &WorkloadSeries<'_>,
    series: &Series<'_>,
    values: &Values,
    fence: Fence,
) -> Vec<Alert> {
    let rates = &values.rates;
    if rates.is_empty() {
        return Vec::new();
    }
    let (levels, judged) = levels(rates, fence);
    let last = median(levels[levels.len() - 1].end(rates));
    let is_back = |height: f64, old: f64| old.ln() - fence.ln() <= height.ln();
    let mut alerts = Vec::new();
    for (at, (ratio, verdict)) in judged.into_iter().enumerate() {
        let (old, new) = (levels[at].end(rates), levels[at + 1].beginning(rates));
        let base = median(old);
        let mut later = levels[at + 2..].iter();
        let recovered = later.find(|level| is_back(median(level.beginning(rates)), base));
        let recovered = recovered.filter(|_| is_back(last, base));
        let state = match (verdict, recovered) {
            (Verdict::Better, _) => State::Improvement,
            (_, Some(_)) => State::Recovered,
            _ if has_ended(workload, series, records) => State::Superseded,
            _ => State::Open,
        };
        let run = |place: usize| earlier_run(&records[values.at[place]]);
        let first = levels[at + 1].from;
        alerts.push(Alert {
            workload: workload.name.clone(),
            settings: series.differs.clone(),
            series: series.key.id(),
            verdict,
            state,
            figure: values.figure,
            before: run(first - 1),
            first: run(first),
            recovered: recovered.filter(|_| verdict == Verdict::Worse).map(|level| run(level.from)),
            base,
            head: median(new),
            base_runs: old.len(),
            head_runs: new.len(),
            ratio: Estimate { value: ratio.ratio, low: ratio.low, high: ratio.high },
            fence: fence.relative,
            at: values.at[first],
        });
    }
    alerts
}

/// Whether a newer run of the workload ran another file: this series cannot recover any more.
fn has_ended(workload: &WorkloadSeries<'_>, series: &Series<'_>, records: &[Record]) -> bool {
    let (at, point) = series.newest();
    let is_ours = |at: usize| records[at].source == RecordSource::Schedlab;
    let newer =
        workload.series.iter().map(Series::newest).filter(|(other, _)| at < *other && is_ours(*other));
    is_ours(at)
        && newer.max_by_key(|(other, _)| *other).is_some_and(|(_, newest)| newest.content != point.content)
}

/// The levels of a series and what lies between each and the next: split at the change points, less
/// those that are too small or too unsure to speak of.
fn levels(rates: &[f64], fence: Fence) -> (Vec<Level>, Vec<(Interval, Verdict)>) {
    let skipped = rates.len().saturating_sub(RUNS_MAX);
    let logarithms: Vec<f64> = rates[skipped..].iter().map(|rate| rate.ln()).collect();
    let mut ends: Vec<usize> = change_points(&logarithms, SEED).iter().map(|at| at + skipped).collect();
    loop {
        let levels = between(&ends, rates.len());
        let sides = |at: usize| (levels[at].end(rates), levels[at + 1].beginning(rates));
        let judged: Vec<(Interval, Verdict)> = (0..ends.len()).map(|at| judged(sides(at), fence)).collect();
        let is_change = |verdict: Verdict| matches!(verdict, Verdict::Better | Verdict::Worse);
        let weak = judged.iter().enumerate().filter(|(_, (_, verdict))| !is_change(*verdict));
        let size = |ratio: &Interval| ratio.ratio.ln().abs();
        let weakest = weak.min_by(|(_, (one, _)), (_, (other, _))| size(one).total_cmp(&size(other)));
        match weakest.map(|(at, _)| at) {
            Some(at) => ends.remove(at),
            None => return (levels, judged),
        };
    }
}

fn between(ends: &[usize], count: usize) -> Vec<Level> {
    let from = std::iter::once(0).chain(ends.iter().copied());
    let to = ends.iter().copied().chain([count]);
    from.zip(to).map(|(from, to)| Level { from, to }).collect()
}

/// That there is a change point is settled by the permutation test; the interval says how large it is.
fn judged((old, new): (&[f64], &[f64]), fence: Fence) -> (Interval, Verdict) {
    let ratio = ratio_of_medians(old, new, SEED);
    (ratio, judge(&ratio, &fence, Direction::HigherIsBetter, usize::MAX).verdict)
}

#[cfg(test)]
mod tests;
