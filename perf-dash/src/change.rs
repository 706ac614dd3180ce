//! What changed: a run against the last one of the history that may be compared, and against a
//! baseline by name.
//!
//! ```text
//! history ─ same workload, same key (history::Comparable), newest ─▶ samples of base ┐
//! this run ─────────────────────────────────────────────────────────▶ samples of head ┴▶ Change
//! ```
//!
//! The statistic is that of `schedlab compare`: the ratio of medians with its bootstrap interval,
//! against the workload's own fence. The sides are two processes, so the interval is at least as wide
//! as the headlines' own together.

use std::collections::BTreeSet;

use schedlab_workloads::results::{
    Change, Changes, Compared, ComparedFigure, EarlierRun, Estimate, RunStatus,
};

use crate::history::{Comparable, Point, Record, workloads};
use crate::stats::{Fence, FenceSource, Interval, SAMPLES_MIN, Verdict, median, ratio_of_medians};

/// Below this a difference is noise even for a calm workload: code layout alone moves a hot loop by
/// that much.
pub const FENCE_FLOOR: f64 = 0.005;

/// The fence where the history is too short to have one: two processes of one program differ by a few
/// percent without a cause, and so does each side of a comparison.
pub const FENCE_WITHOUT_HISTORY: f64 = 0.05;

/// Two machines agree on a normalised figure within this share, and no better; from the same
/// difference in speed on, a machine counts as another one.
const NORMALISED_FENCE: f64 = 0.05;

/// Seed of the bootstrap: the same runs give the same interval.
const SEED: u64 = 0x5eed;

/// A name that no run of a history has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no run of the history is called {name:?}; {}", known_words(known))]
pub struct UnknownBaseline {
    /// What was asked for.
    pub name: String,
    /// The names there are.
    pub known: Vec<String>,
}

fn known_words(known: &[String]) -> String {
    match known {
        [] => "none has a name: `schedlab run --save-baseline NAME` gives one".to_owned(),
        known => format!("known are {}", known.join(", ")),
    }
}

/// Finds out whether a baseline exists.
pub fn check_baseline(records: &[Record], name: &str) -> Result<(), UnknownBaseline> {
    let known: BTreeSet<&String> = records.iter().filter_map(|record| record.label.as_ref()).collect();
    if known.iter().any(|known| *known == name) {
        return Ok(());
    }
    Err(UnknownBaseline { name: name.to_owned(), known: known.into_iter().cloned().collect() })
}

/// How each workload of a run changed, in the order of its points. `records` are the history in time
/// order; the run itself may be among them.
#[must_use]
pub fn changes(records: &[Record], head: &Record, baseline: Option<&str>) -> Vec<Changes> {
    let fences = Fences::new(records);
    let of_point = |point: &Point| Changes {
        last: since_last(records, &fences, (head, point)),
        baseline: baseline.map(|name| against_baseline(records, &fences, (head, point), name)),
    };
    head.points.iter().map(of_point).collect()
}

/// A workload of a run.
type Part<'a> = (&'a Record, &'a Point);

/// The fence of each series of a history that is long enough to have one.
struct Fences<'a>(Vec<(&'a Point, Comparable, Fence)>);

impl<'a> Fences<'a> {
    fn new(records: &'a [Record]) -> Fences<'a> {
        let workloads = workloads(records).into_iter();
        let known = workloads.flat_map(|workload| workload.series).filter_map(|series| {
            let fence = series.fence(records, FENCE_FLOOR)?;
            Some((series.newest().1, series.key, fence))
        });
        Fences(known.collect())
    }

    fn of(&self, key: &Comparable, point: &Point) -> Fence {
        let found = self.0.iter().find(|(known, of, _)| is_same_part(known, point) && of == key);
        found.map_or_else(|| Fence::given(FENCE_WITHOUT_HISTORY), |(_, _, fence)| *fence)
    }
}

fn is_same_part(one: &Point, other: &Point) -> bool {
    one.name == other.name && one.collector == other.collector
}

/// Earlier runs of the same measured part, the newest first.
fn earlier<'a>(records: &'a [Record], (head, point): Part<'a>) -> impl Iterator<Item = Part<'a>> {
    let runs = records.iter().rev().filter(|record| record.id != head.id);
    let find = move |record: &'a Record| record.points.iter().find(|other| is_same_part(other, point));
    runs.filter_map(move |record| find(record).map(|found| (record, found)))
}

fn since_last(records: &[Record], fences: &Fences<'_>, head: Part<'_>) -> Change {
    if head.1.status != RunStatus::Completed {
        return not_comparable("this run did not complete");
    }
    let key = Comparable::of(head.0, head.1);
    let completed = |part: &Part<'_>| part.1.status == RunStatus::Completed;
    let mut same = earlier(records, head).filter(completed);
    if let Some(base) = same.find(|base| Comparable::of(base.0, base.1) == key) {
        return compare_parts(base, head, fences.of(&key, head.1));
    }
    match earlier(records, head).next() {
        None => not_comparable("no earlier run of this workload"),
        Some(last) => not_comparable(&format!(
            "no earlier run with these settings; the last one, of {}, differs in {}",
            crate::format::minute(&last.0.started_at),
            differences(&key, &Comparable::of(last.0, last.1))
        )),
    }
}

fn against_baseline(records: &[Record], fences: &Fences<'_>, head: Part<'_>, name: &str) -> Change {
    if head.1.status != RunStatus::Completed {
        return not_comparable("this run did not complete");
    }
    let key = Comparable::of(head.0, head.1);
    let mut named = earlier(records, head).filter(|(record, _)| record.label.as_deref() == Some(name));
    let Some(base) = named.next() else {
        return not_comparable(&format!("{name} has no such workload"));
    };
    let base_key = Comparable::of(base.0, base.1);
    if base.1.status != RunStatus::Completed {
        not_comparable(&format!("it did not complete in {name}"))
    } else if key == base_key || key.is_same_work_elsewhere(&base_key) {
        compare_parts(base, head, fences.of(&key, head.1))
    } else {
        not_comparable(&format!("{name} differs in {}", differences(&key, &base_key)))
    }
}

fn not_comparable(why: &str) -> Change {
    Change::NotComparable { why: why.to_owned() }
}

/// In words; none means that the other run did not complete.
fn differences(here: &Comparable, there: &Comparable) -> String {
    let found = here.differences(there);
    if found.is_empty() {
        return "that it did not complete".to_owned();
    }
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Compares a workload of two runs that measured the same work, on this machine or on another.
#[must_use]
pub fn compare_parts(base: Part<'_>, head: Part<'_>, fence: Fence) -> Change {
    let is_same_machine = Comparable::of(base.0, base.1) == Comparable::of(head.0, head.1);
    let kernels = [base.1, head.1].map(|point| point.normalised.map(|it| it.kernel));
    let is_same_kernel = kernels[0] == kernels[1];
    let speeds = if is_same_kernel { (speed(base.1), speed(head.1)) } else { (None, None) };
    let (figure, note) = match speeds {
        (Some(then), Some(now)) if !is_same_machine || NORMALISED_FENCE.ln_1p() < (now / then).ln().abs() => {
            let which = if is_same_machine { "this machine ran" } else { "another machine, which ran" };
            let note = format!("normalised: {which} at {:.0} % of today's speed", then / now * 100.0);
            (ComparedFigure::Normalised, Some(note))
        }
        _ if is_same_machine => (ComparedFigure::PodsPerS, None),
        _ if kernels.iter().all(Option::is_some) && !is_same_kernel => {
            return not_comparable(
                "it ran on another machine, and was normalised by another reference kernel",
            );
        }
        _ => return not_comparable("it ran on another machine, and a side has no normalised figure"),
    };
    let fence = match figure {
        ComparedFigure::PodsPerS => fence,
        ComparedFigure::Normalised => Fence { relative: fence.relative.max(NORMALISED_FENCE), ..fence },
    };
    let (base_side, head_side) = (Samples::of(base.1, figure), Samples::of(head.1, figure));
    let is_positive = |side: &Samples| !side.rates.is_empty() && side.rates.iter().all(|rate| 0.0 < *rate);
    if !is_positive(&base_side) || !is_positive(&head_side) {
        return not_comparable("a side has no throughput");
    }
    let ratio = base_side.ratio(&head_side);
    let count = base_side.rates.len().min(head_side.rates.len());
    let verdict = verdict(&ratio, fence, count);
    let few = (verdict == Verdict::Inconclusive && count < SAMPLES_MIN)
        .then(|| format!("too few runs for a verdict: {SAMPLES_MIN} a side are needed"));
    let notes: Vec<String> = note.into_iter().chain(few).collect();
    let samples = |side: &Samples| u32::try_from(side.rates.len()).unwrap_or(u32::MAX);
    Change::Compared(Compared {
        against: earlier_run(base.0),
        figure,
        base: median(&base_side.rates),
        head: median(&head_side.rates),
        base_samples: samples(&base_side),
        head_samples: samples(&head_side),
        ratio: Estimate { value: ratio.ratio, low: ratio.low, high: ratio.high },
        fence: fence.relative,
        verdict,
        note: (!notes.is_empty()).then(|| notes.join("; ")),
    })
}

/// One side of a comparison.
struct Samples {
    rates: Vec<f64>,
    /// The headline with its interval, which knows more than the runs of one process show.
    headline: Option<Estimate>,
}

impl Samples {
    fn of(point: &Point, figure: ComparedFigure) -> Samples {
        match figure {
            ComparedFigure::PodsPerS => {
                Samples { rates: rates(point), headline: point.throughput.estimate() }
            }
            ComparedFigure::Normalised => {
                let headline = point
                    .normalised
                    .and_then(|it| Some(Estimate { value: it.pods_per_s, low: it.low?, high: it.high? }));
                Samples { rates: normalised(point), headline }
            }
        }
    }

    /// `head / self`: the bootstrap's interval, or that of two independent headlines where it is wider.
    fn ratio(&self, head: &Samples) -> Interval {
        let ratio = ratio_of_medians(&self.rates, &head.rates, SEED);
        let (Some(base), Some(head)) = (self.headline, head.headline) else { return ratio };
        if [base.low, base.value, head.low, head.value].iter().any(|value| *value <= 0.0) {
            return ratio;
        }
        let down = (head.value / head.low).ln().hypot((base.high / base.value).ln());
        let up = (head.high / head.value).ln().hypot((base.value / base.low).ln());
        Interval {
            ratio: ratio.ratio,
            low: ratio.low.min(ratio.ratio * (-down).exp()),
            high: ratio.high.max(ratio.ratio * up.exp()),
        }
    }
}

/// The workload's own history knows how much headlines of one revision scatter from process to
/// process: a change beyond that is one, unless this very interval says that there may be none.
/// Without a history a few runs decide nothing, and "unchanged" needs an interval within twice the
/// fence: it holds already what two processes differ by.
fn verdict(ratio: &Interval, fence: Fence, count: usize) -> Verdict {
    let is_sure = count < 2 || ratio.high < 1.0 || 1.0 < ratio.low;
    let is_guess = fence.source == FenceSource::Given;
    let is_wide = is_guess && 2.0 * fence.ln() < ratio.high.ln().max(-ratio.low.ln());
    match ratio.ratio.ln() {
        _ if 1.0 < fence.relative || (is_guess && count < SAMPLES_MIN) => Verdict::Inconclusive,
        change if change.abs() <= fence.ln() && is_wide => Verdict::Inconclusive,
        change if change.abs() <= fence.ln() => Verdict::Unchanged,
        _ if !is_sure => Verdict::Inconclusive,
        change if 0.0 < change => Verdict::Better,
        _ => Verdict::Worse,
    }
}

/// A run of the history as a change names it.
#[must_use]
pub fn earlier_run(record: &Record) -> EarlierRun {
    EarlierRun {
        id: record.id.clone(),
        label: record.label.clone(),
        revision: record.revision.clone(),
        started_at: record.started_at.clone(),
    }
}

/// One a repeat, or the headline of a run without repeats.
fn rates(point: &Point) -> Vec<f64> {
    if point.repeats.is_empty() { vec![point.pods_per_s()] } else { point.repeats.clone() }
}

/// The same, each divided by the machine's speed beside it.
fn normalised(point: &Point) -> Vec<f64> {
    if !point.repeats.is_empty() && point.repeats.len() == point.repeat_speeds.len() {
        return point.repeats.iter().zip(&point.repeat_speeds).map(|(rate, speed)| rate / speed).collect();
    }
    point.normalised.map(|normalised| normalised.pods_per_s).into_iter().collect()
}

fn speed(point: &Point) -> Option<f64> {
    point.normalised.map(|normalised| normalised.machine_speed).filter(|&speed| 0.0 < speed)
}

#[cfg(test)]
mod tests {
    use schedlab_workloads::results::Normalised;

    use super::*;
    use crate::compare::tests::{run, workload};
    use crate::stats::testing::Sampler;

    /// A run of the given minute with rates around `rate`, on a machine of this speed.
    fn record(minute: u32, rate: f64, speed: f64) -> Record {
        let rates = Sampler::new(u64::from(minute)).many(12, |s| s.normal(rate, rate * 0.004));
        let mut result = run(&format!("2026-11-15T12:{minute:02}:00Z"), vec![workload("T/W", &rates)]);
        result.options.insert("class cache".to_owned(), "on".to_owned());
        let part = &mut result.workloads[0];
        let runs = &mut part.repeats.as_mut().expect("twelve").runs;
        runs.iter_mut().for_each(|run| run.machine_speed = Some(speed));
        part.normalised = Normalised::of_runs(runs);
        Record::from_run(&result, None, Vec::new())
    }

    fn with_cache(mut record: Record, mode: &str) -> Record {
        let settings = record.settings.as_mut().expect("ours");
        settings.options.insert("class cache".to_owned(), mode.to_owned());
        record.with_id()
    }

    fn last(records: &[Record], head: &Record) -> Change {
        changes(records, head, None).remove(0).last
    }

    #[track_caller]
    fn compared(change: Change) -> Compared {
        match change {
            Change::Compared(compared) => compared,
            Change::NotComparable { why } => panic!("not compared: {why}"),
        }
    }

    #[test]
    fn change_since_the_last_comparable_run_has_interval_and_verdict() {
        use Verdict::{Better, Unchanged, Worse};
        for (rate, wanted) in [(1100.0, Better), (1001.0, Unchanged), (900.0, Worse)] {
            let head = record(9, rate, 1.0);
            let found = compared(last(&[record(1, 1000.0, 1.0), head.clone()], &head));
            assert_eq!((found.verdict, found.figure), (wanted, ComparedFigure::PodsPerS), "{rate}");
            assert!(found.ratio.low <= found.ratio.value && found.ratio.value <= found.ratio.high);
            assert!((found.ratio.value - rate / 1000.0).abs() < 0.01, "{found:?}");
            assert_eq!((found.base_samples, found.head_samples), (12, 12));
        }
    }

    #[test]
    fn runs_with_other_settings_are_passed_over_and_named_when_there_is_no_other() {
        let other = with_cache(record(5, 100.0, 1.0), "off");
        let head = record(9, 1000.0, 1.0);
        let found = compared(last(&[record(1, 1000.0, 1.0), other.clone()], &head));
        assert_eq!(found.against.started_at, "2026-11-15T12:01:00Z");
        let Change::NotComparable { why } = last(&[other], &head) else { panic!("settings differ") };
        assert_eq!(
            why,
            "no earlier run with these settings; the last one, of 2026-11-15 12:05 UTC, differs in class cache \
             (on now, off then)"
        );
        let Change::NotComparable { why } = last(&[], &head) else { panic!("nothing was recorded") };
        assert_eq!(why, "no earlier run of this workload");
    }

    #[test]
    fn machine_at_another_speed_is_compared_by_the_normalised_figure() {
        let head = record(9, 500.0, 0.5);
        let found = compared(last(&[record(1, 1000.0, 1.0)], &head));
        assert_eq!((found.figure, found.verdict), (ComparedFigure::Normalised, Verdict::Unchanged));
        assert!(found.fence >= 0.05 && found.note.is_some_and(|note| note.contains("200 % of today's")));
    }

    #[test]
    fn normalised_figures_of_two_reference_kernels_are_never_compared() {
        let head = record(9, 1000.0, 0.5);
        let mut old = record(1, 1000.0, 1.0);
        old.points[0].normalised.as_mut().expect("it has one").kernel = 1;
        let found = compared(last(std::slice::from_ref(&old), &head));
        assert_eq!((found.figure, found.verdict), (ComparedFigure::PodsPerS, Verdict::Unchanged));
        old.machine.as_mut().expect("ours").cpu_model = "Faster CPU".to_owned();
        old.label = Some("main".to_owned());
        let against = changes(&[old], &head, Some("main")).remove(0).baseline.expect("asked for");
        let Change::NotComparable { why } = against else { panic!("must not be compared") };
        assert_eq!(why, "it ran on another machine, and was normalised by another reference kernel");
    }

    #[test]
    fn baseline_is_found_by_name_also_on_another_machine_and_never_across_settings() {
        let mut base = record(1, 1000.0, 1.0);
        base.label = Some("main".to_owned());
        let against = |base: &Record, head: &Record| {
            changes(std::slice::from_ref(base), head, Some("main")).remove(0).baseline.expect("asked for")
        };
        let head = record(9, 900.0, 1.0);
        assert_eq!(compared(against(&base, &head)).verdict, Verdict::Worse);
        let mut elsewhere = base.clone();
        elsewhere.machine.as_mut().expect("ours").cpu_model = "Faster CPU".to_owned();
        assert_eq!(compared(against(&elsewhere, &head)).figure, ComparedFigure::Normalised);
        let mut unknown_speed = elsewhere.clone();
        unknown_speed.points[0].normalised = None;
        for (base, wanted) in [
            (with_cache(base.clone(), "off"), "main differs in class cache (on now, off then)"),
            (unknown_speed, "it ran on another machine, and a side has no normalised figure"),
        ] {
            let Change::NotComparable { why } = against(&base, &head) else { panic!("must not be compared") };
            assert_eq!(why, wanted);
        }
    }

    #[test]
    fn unknown_baseline_is_refused_with_the_known_names() {
        let mut named = record(1, 1000.0, 1.0);
        named.label = Some("main".to_owned());
        let other = Record { label: Some("v1".to_owned()), ..record(2, 1000.0, 1.0) };
        let records = [named, other, record(3, 1.0, 1.0)];
        assert_eq!(check_baseline(&records, "main"), Ok(()));
        let error = check_baseline(&records, "mian").expect_err("a slip").to_string();
        assert_eq!(error, "no run of the history is called \"mian\"; known are main, v1");
        let error = check_baseline(&[], "main").expect_err("none").to_string();
        assert!(error.contains("--save-baseline NAME"), "{error}");
    }

    #[test]
    fn few_runs_are_judged_by_the_history_or_not_at_all() {
        let single = |minute: u32, rate: f64| {
            Record::from_run(
                &run(&format!("2026-11-15T12:{minute:02}:00Z"), vec![workload("T/W", &[rate])]),
                None,
                Vec::new(),
            )
        };
        let mut records = vec![single(0, 1000.0)];
        let head = single(50, 900.0);
        let found = compared(last(&records, &head));
        assert_eq!(found.verdict, Verdict::Inconclusive);
        assert!(!found.has_interval() && found.note.is_some_and(|note| note.contains("too few runs")));
        records.extend((1..12).map(|at| single(at, if at % 2 == 0 { 1000.0 } else { 1010.0 })));
        assert_eq!(compared(last(&records, &head)).verdict, Verdict::Worse);
        assert_eq!(compared(last(&records, &single(50, 1002.0))).verdict, Verdict::Unchanged);
    }

    #[test]
    fn interval_is_as_wide_as_the_headlines_say() {
        let (mut base, mut head) = (record(1, 1000.0, 1.0), record(9, 900.0, 1.0));
        for record in [&mut base, &mut head] {
            let throughput = &mut record.points[0].throughput;
            (throughput.low, throughput.high) = (Some(throughput.total * 0.8), Some(throughput.total * 1.2));
        }
        let found = compared(last(&[base], &head));
        assert!(found.ratio.low < 0.7 && 1.1 < found.ratio.high, "{found:?}");
        assert_eq!(found.verdict, Verdict::Inconclusive, "a busy machine is no regression");
        let mut equal = record(9, 1001.0, 1.0);
        equal.points[0].throughput = head.points[0].throughput;
        let mut base = record(1, 1000.0, 1.0);
        base.points[0].throughput.low = Some(800.0);
        assert_eq!(compared(last(&[base], &equal)).verdict, Verdict::Inconclusive, "nor proof of none");
    }

    #[test]
    fn incomplete_runs_are_neither_judged_nor_held_against() {
        let mut stuck = record(5, 700.0, 1.0);
        stuck.points[0].status = RunStatus::Stuck;
        let head = record(9, 1000.0, 1.0);
        let found = compared(last(&[record(1, 1000.0, 1.0), stuck.clone()], &head));
        assert_eq!(found.against.started_at, "2026-11-15T12:01:00Z");
        let Change::NotComparable { why } = last(&[head], &stuck) else { panic!("it did not complete") };
        assert_eq!(why, "this run did not complete");
    }
}
