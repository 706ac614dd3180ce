//! The history as the pages look at it: by workload.

use std::collections::BTreeMap;

use schedlab_workloads::results::{Change as Compared, ComparedFigure, FileNames};

use super::Audience;
use super::parts::{self, Part};
use crate::alerts::{Alert, Alerts};
use crate::change::{FENCE_FLOOR, FENCE_WITHOUT_HISTORY, compare_parts};
use crate::compare::FENCE_DEFAULT;
use crate::history::{Point, Record, RecordSource, Series, workloads};
use crate::stats::{Fence, Verdict};

/// All records, and the line of each workload through them.
pub(super) struct Lab<'a> {
    pub(super) records: &'a [Record],
    pub(super) audience: Audience,
    pub(super) lines: Vec<Line<'a>>,
    /// Change points of all lines, the newest first.
    pub(super) alerts: Vec<Alert>,
    /// What each record's files are called: its id, unless that is no name of a file.
    run_files: Vec<String>,
    /// What each part's files are called.
    part_files: BTreeMap<Part, String>,
}

/// One workload over all runs. What is drawn as one line is one of its series: runs that may be
/// compared ([`crate::history::Comparable`]).
pub(super) struct Line<'a> {
    /// `TestCase/Workload`, with the collector where a run measures several parts.
    pub(super) name: String,
    /// File name of its page.
    pub(super) slug: String,
    /// By setting: that of the newest run first. Never empty.
    pub(super) series: Vec<Series<'a>>,
    /// The fence of each series, when its history is long enough.
    pub(super) fences: Vec<Option<Fence>>,
    /// The points of all series, in the order of the records.
    pub(super) points: Vec<LinePoint<'a>>,
}

/// A point of a line.
#[derive(Clone, Copy)]
pub(super) struct LinePoint<'a> {
    /// Index of the record.
    pub(super) at: usize,
    /// What it measured.
    pub(super) point: &'a Point,
    /// Index of its series.
    pub(super) series: usize,
}

impl<'a> Line<'a> {
    fn new(workload: crate::history::WorkloadSeries<'a>, slug: String, records: &[Record]) -> Line<'a> {
        let crate::history::WorkloadSeries { name, series } = workload;
        let of_series = |(number, one): (usize, &Series<'a>)| {
            let points = one.points.clone().into_iter();
            points.map(move |(at, point)| LinePoint { at, point, series: number }).collect::<Vec<_>>()
        };
        let mut points: Vec<LinePoint<'a>> = series.iter().enumerate().flat_map(of_series).collect();
        points.sort_by_key(|point| point.at);
        let fences = series.iter().map(|one| one.fence(records, FENCE_FLOOR)).collect();
        Line { name, slug, series, fences, points }
    }

    /// The series of the newest settings: what tables, sparklines and charts show unless asked.
    pub(super) fn newest(&self) -> &Series<'a> {
        &self.series[0]
    }

    /// Its fence.
    pub(super) fn fence(&self) -> Option<Fence> {
        self.fences[0]
    }

    /// Whether the record is one of the newest settings.
    pub(super) fn is_newest(&self, at: usize) -> bool {
        self.newest().points.binary_search_by_key(&at, |(record, _)| *record).is_ok()
    }
}

/// The latest point of a line against the one before that is comparable.
pub(super) struct Change<'a> {
    pub(super) latest: (usize, &'a Point),
    pub(super) previous: Option<(usize, &'a Point)>,
    pub(super) ratio: Option<f64>,
    /// What the ratio is of: with another speed of the machine it is not that of pods/s.
    pub(super) figure: ComparedFigure,
    pub(super) fence: Option<Fence>,
    pub(super) verdict: Option<Verdict>,
}

impl<'a> Lab<'a> {
    pub(super) fn new(records: &'a [Record], audience: Audience) -> Lab<'a> {
        let mut slugs = Slugs::default();
        let lines = workloads(records).into_iter().map(|workload| {
            let slug = slugs.make(&workload.name);
            Line::new(workload, slug, records)
        });
        let lines = lines.collect();
        let alerts = Alerts::of(records, Fence::given(FENCE_DEFAULT)).alerts;
        let mut names = FileNames::default();
        let run_files = records.iter().map(|record| names.make(&record.id)).collect();
        let mut slugs = Slugs::default();
        let part_files = parts::parts(records).into_iter().map(|part| {
            let file = slugs.make(&part.title());
            (part, file)
        });
        Lab { records, audience, lines, alerts, run_files, part_files: part_files.collect() }
    }

    /// What the files of a record are called.
    pub(super) fn run_file(&self, at: usize) -> &str {
        &self.run_files[at]
    }

    /// Every part that any record knows, and what its files are called.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&Part, &str)> {
        self.part_files.iter().map(|(part, file)| (part, file.as_str()))
    }

    /// The last run of schedlab itself; of anybody, when there is none.
    pub(super) fn latest(&self) -> Option<usize> {
        let ours = self.records.iter().rposition(|record| record.source == RecordSource::Schedlab);
        ours.or_else(|| self.records.len().checked_sub(1))
    }

    /// The latest point of a line and what it is held against.
    pub(super) fn change(&self, line: &Line<'a>) -> Change<'a> {
        let series = line.newest();
        let latest = series.newest();
        let previous = series.points.len().checked_sub(2).map(|at| series.points[at]);
        let fence = line.fence();
        let part = |(at, point): (usize, &'a Point)| (&self.records[at], point);
        let judged = previous.map(|previous| {
            compare_parts(part(previous), part(latest), fence.unwrap_or(Fence::given(FENCE_WITHOUT_HISTORY)))
        });
        let compared = judged.as_ref().and_then(Compared::compared);
        let ratio = compared.map(|compared| compared.ratio.value);
        let figure = compared.map_or(ComparedFigure::PodsPerS, |compared| compared.figure);
        Change { latest, previous, ratio, figure, fence, verdict: compared.map(|compared| compared.verdict) }
    }

    /// The change points of a line.
    pub(super) fn alerts_of(&self, line: &Line<'_>) -> impl Iterator<Item = &Alert> {
        self.alerts.iter().filter(|alert| alert.workload == line.name)
    }
}

/// Within such a fence anything could hide: whatever lies inside is not "unchanged".
pub(super) fn is_too_noisy(fence: Fence) -> bool {
    1.0 < fence.relative
}

/// File names from names, each once.
#[derive(Default)]
pub(super) struct Slugs(FileNames);

impl Slugs {
    pub(super) fn make(&mut self, name: &str) -> String {
        self.0.make(&slug(name))
    }
}

/// Letters, digits and single dashes; never empty.
pub(super) fn slug(name: &str) -> String {
    let mut slug = String::new();
    for letter in name.chars() {
        match letter {
            letter if letter.is_ascii_alphanumeric() => slug.push(letter.to_ascii_lowercase()),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
    }
    match slug.trim_end_matches('-') {
        "" => "unnamed".to_owned(),
        slug => slug.to_owned(),
    }
}
