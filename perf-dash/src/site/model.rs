//! The history as the pages look at it: by workload.

use std::collections::{BTreeMap, BTreeSet};

use super::Audience;
use crate::history::{Point, Record, Source, fences};
use crate::stats::{Fence, Verdict};

/// Below this a difference is noise even for a calm workload.
const FENCE_FLOOR: f64 = 0.005;

/// All records, and the line of each workload through them.
pub(super) struct Lab<'a> {
    pub(super) records: &'a [Record],
    pub(super) audience: Audience,
    pub(super) lines: Vec<Line<'a>>,
    fences: BTreeMap<String, Fence>,
}

/// One workload over all runs.
pub(super) struct Line<'a> {
    /// `TestCase/Workload`, with the collector where a run measures several parts.
    pub(super) name: String,
    /// File name of its page.
    pub(super) slug: String,
    /// Index of the record and what it measured.
    pub(super) points: Vec<(usize, &'a Point)>,
}

/// The latest point of a line against the one before that is comparable.
pub(super) struct Change<'a> {
    pub(super) latest: (usize, &'a Point),
    pub(super) previous: Option<(usize, &'a Point)>,
    pub(super) ratio: Option<f64>,
    pub(super) fence: Option<Fence>,
    pub(super) verdict: Option<Verdict>,
}

impl<'a> Lab<'a> {
    pub(super) fn new(records: &'a [Record], audience: Audience) -> Lab<'a> {
        let mut by_name: BTreeMap<String, Vec<(usize, &'a Point)>> = BTreeMap::new();
        for (at, record) in records.iter().enumerate() {
            let mut parts: BTreeMap<&str, u32> = BTreeMap::new();
            record.points.iter().for_each(|point| *parts.entry(&point.name).or_default() += 1);
            for point in &record.points {
                by_name.entry(line_name(point, parts[point.name.as_str()])).or_default().push((at, point));
            }
        }
        let mut slugs = Slugs::default();
        let lines = by_name
            .into_iter()
            .map(|(name, points)| Line { slug: slugs.make(&name), name, points })
            .collect();
        Lab { records, audience, lines, fences: fences(records, FENCE_FLOOR) }
    }

    /// The fence of a line, when its history is long enough.
    pub(super) fn fence(&self, line: &Line<'_>) -> Option<Fence> {
        self.fences.get(&line.points[0].1.name).copied()
    }

    /// The last run of schedlab itself; of anybody, when there is none.
    pub(super) fn latest(&self) -> Option<usize> {
        let ours = self.records.iter().rposition(|record| record.source == Source::Schedlab);
        ours.or_else(|| self.records.len().checked_sub(1))
    }

    /// The latest point of a line and what it is held against.
    pub(super) fn change(&self, line: &Line<'a>) -> Change<'a> {
        let is_ours = |(at, _): &&(usize, &Point)| self.records[*at].source == Source::Schedlab;
        let latest = *line.points.iter().rev().find(is_ours).unwrap_or(&line.points[line.points.len() - 1]);
        let record = &self.records[latest.0];
        let comparable = |(at, _): &&(usize, &Point)| {
            let other = &self.records[*at];
            *at < latest.0
                && other.source == record.source
                && other.machine == record.machine
                && other.settings == record.settings
        };
        let previous = line.points.iter().rev().find(comparable).copied();
        let ratio = previous
            .filter(|(_, before)| 0.0 < before.pods_per_s() && 0.0 < latest.1.pods_per_s())
            .map(|(_, before)| latest.1.pods_per_s() / before.pods_per_s());
        let fence = self.fence(line);
        let verdict = ratio.map(|ratio| match fence {
            None => Verdict::Inconclusive,
            Some(fence) if is_too_noisy(fence) => Verdict::Inconclusive,
            Some(fence) if fence.ln() < ratio.ln() => Verdict::Better,
            Some(fence) if ratio.ln() < -fence.ln() => Verdict::Worse,
            Some(_) => Verdict::Unchanged,
        });
        Change { latest, previous, ratio, fence, verdict }
    }
}

/// Within such a fence anything could hide: whatever lies inside is not "unchanged".
pub(super) fn is_too_noisy(fence: Fence) -> bool {
    1.0 < fence.relative
}

/// The workload's name, with the collector's where a run measured `parts` parts of it.
fn line_name(point: &Point, parts: u32) -> String {
    match &point.collector {
        Some(collector) if 1 < parts => format!("{}/{collector}", point.name),
        _ => point.name.clone(),
    }
}

/// File names from names, each once.
#[derive(Default)]
pub(super) struct Slugs(BTreeSet<String>);

impl Slugs {
    pub(super) fn make(&mut self, name: &str) -> String {
        let plain = slug(name);
        let numbered = (2..).map(|number| format!("{plain}-{number}"));
        let free = std::iter::once(plain.clone()).chain(numbered).find(|slug| !self.0.contains(slug));
        let free = free.expect("the numbers do not end");
        self.0.insert(free.clone());
        free
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
