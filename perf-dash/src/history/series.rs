//! The history by workload and setting: a line through points that may be compared, and no others.
//!
//! ```text
//! records ─▶ Workload "PlainPods/5000Nodes_50000Pods"
//!              ├─ Series  class cache on    ●──●─────●──●   the settings of the newest run come first
//!              └─ Series  class cache off         ○─────○
//! ```

use std::collections::BTreeMap;

use schedlab_workloads::results::RunStatus;

use super::comparable::{Comparable, RunKey, legend};
use super::model::{Point, Record, RecordSource};
use crate::stats::Fence;

/// One measured part of a workload in all runs that have it.
#[derive(Clone, Debug)]
pub struct WorkloadSeries<'a> {
    /// `TestCase/Workload`, with the collector where a run measures several parts.
    pub name: String,
    /// Never empty: the series of the newest run of schedlab's own first, then by their newest run.
    pub series: Vec<Series<'a>>,
}

/// Runs of one workload that may be compared with each other.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    /// What they have in common.
    pub key: Comparable,
    /// How they differ from the first series of the workload; empty for that one.
    pub differs: String,
    /// Index of the record and what it measured, in the order of the records. Never empty.
    pub points: Vec<(usize, &'a Point)>,
}

/// All workloads of a history, by name; records in time order.
#[must_use]
pub fn workloads(records: &[Record]) -> Vec<WorkloadSeries<'_>> {
    /// Points of one setting, each with the number of its record.
    type Numbered<'a> = Vec<(usize, &'a Point)>;
    let mut by_name: BTreeMap<String, BTreeMap<Comparable, Numbered<'_>>> = BTreeMap::new();
    for (at, record) in records.iter().enumerate() {
        let run_key = RunKey::of(record);
        let mut parts: BTreeMap<&str, u32> = BTreeMap::new();
        record.points.iter().for_each(|point| *parts.entry(&point.name).or_default() += 1);
        for point in &record.points {
            let name = part_name(point, parts[point.name.as_str()]);
            let series = by_name.entry(name).or_default();
            series.entry(run_key.with(point)).or_default().push((at, point));
        }
    }
    by_name
        .into_iter()
        .map(|(name, points)| WorkloadSeries { name, series: ordered(records, points) })
        .collect()
}

/// The series of a workload, that of the newest run first, each named by how it differs from that.
fn ordered<'a>(records: &[Record], points: BTreeMap<Comparable, Vec<(usize, &'a Point)>>) -> Vec<Series<'a>> {
    let named = |(key, points)| Series { key, differs: String::new(), points };
    let mut series: Vec<Series<'a>> = points.into_iter().map(named).collect();
    series.sort_by_key(|one| {
        let newest = one.newest().0;
        (records[newest].source != RecordSource::Schedlab, std::cmp::Reverse(newest))
    });
    if let Some((first, others)) = series.split_first_mut() {
        others.iter_mut().for_each(|one| one.differs = legend(&first.key.differences(&one.key)));
    }
    series
}

/// The workload's name, with the collector's where a run measured `parts` parts of it.
fn part_name(point: &Point, parts: u32) -> String {
    match &point.collector {
        Some(collector) if 1 < parts => format!("{}/{collector}", point.name),
        _ => point.name.clone(),
    }
}

impl<'a> Series<'a> {
    /// The latest point.
    #[must_use]
    pub fn newest(&self) -> (usize, &'a Point) {
        self.points[self.points.len() - 1]
    }

    /// Changes of the headline between neighbours that measured the same revision: noise.
    #[must_use]
    pub fn noise(&self, records: &[Record]) -> Vec<f64> {
        let is_measured = |point: &Point| point.status == RunStatus::Completed && 0.0 < point.pods_per_s();
        let pairs = self.points.windows(2).filter(|pair| {
            let revision = |(at, _): (usize, &Point)| records[at].revision.as_ref();
            revision(pair[0]).is_some() && revision(pair[0]) == revision(pair[1])
        });
        let pairs = pairs.filter(|pair| pair.iter().all(|(_, point)| is_measured(point)));
        pairs.map(|pair| pair[1].1.pods_per_s() / pair[0].1.pods_per_s()).collect()
    }

    /// Up to where a change is noise; `None` for a history too short to say.
    #[must_use]
    pub fn fence(&self, records: &[Record], floor: f64) -> Option<Fence> {
        Fence::from_ratios(&self.noise(records), floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::{run, workload};

    fn record(minute: usize, cache: &str, rate: f64) -> Record {
        let mut result =
            run(&format!("2026-11-15T12:{minute:02}:00Z"), vec![workload("Basic/5000Nodes", &[rate])]);
        result.options.insert("class cache".to_owned(), cache.to_owned());
        Record::from_run(&result, None, Vec::new())
    }

    #[test]
    fn runs_with_other_settings_are_another_series() {
        let records: Vec<Record> = (0..20)
            .map(|at| if at % 2 == 0 { record(at, "on", 1000.0) } else { record(at, "off", 100.0) })
            .chain([record(20, "on", 1001.0)])
            .collect();
        let found = workloads(&records);
        assert_eq!(found.len(), 1);
        let [first, second] = found[0].series.as_slice() else { panic!("{:?}", found[0].series) };
        assert_eq!((first.differs.as_str(), first.points.len()), ("", 11), "the newest run's settings");
        assert_eq!((second.differs.as_str(), second.points.len()), ("class cache off", 10));
        assert!(second.points.iter().all(|(_, point)| point.pods_per_s() == 100.0));
        // Taken across settings, every change would be tenfold.
        let fence = first.fence(&records, 0.005).expect("ten changes");
        assert_eq!(fence.relative, 0.005);
    }

    #[test]
    fn only_changes_within_a_revision_are_noise() {
        let mut records: Vec<Record> = (0..4).map(|at| record(at, "on", 1000.0)).collect();
        records[2].revision = Some("other".to_owned());
        records[3].points[0].status = RunStatus::Stuck;
        assert_eq!(workloads(&records)[0].series[0].noise(&records), [1.0]);
    }
}
