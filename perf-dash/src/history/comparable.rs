//! When two measurements may be compared: the one definition that changes, charts, fences and alerts
//! share.
//!
//! ```text
//! of the run        who measured, what it covers, machine, threads, parallelism,
//!                   percentageOfNodesToScore, seed, every option (class cache, API latency, build ...)
//! of the workload   feature gates, digest of its file and templates, digest of the scheduler
//!                   configuration
//! ```
//!
//! Not part of it: schedlab's version and revision, which are what a comparison is about; how often
//! a workload ran, which decides how sure one is and not what is measured; labels and dates.
//! What an older version did not record is a value of its own, "not recorded": never the same as one
//! that is known.

use std::fmt;
use std::sync::Arc;

use schedlab_workloads::results::Machine;

use super::model::{Point, Record, RecordSource, Settings};

/// What a measurement is a measurement of. Equal keys may be compared, others never.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Comparable {
    /// Shared by all workloads of a run.
    run: Arc<[Fact]>,
    workload: Vec<Fact>,
}

/// One setting by name, as `class cache`: `off`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Fact {
    name: String,
    value: String,
}

/// A setting in which two measurements differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingDifference {
    /// `class cache`.
    pub name: String,
    /// Here.
    pub here: String,
    /// There.
    pub there: String,
}

impl fmt::Display for SettingDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.as_str() {
            // A digest says nothing to a reader.
            WORKLOAD | SCHEDULER_CONFIG => f.write_str(&self.name),
            name => write!(f, "{name} ({} now, {} then)", self.here, self.there),
        }
    }
}

/// What stands for a setting that a record does not tell.
const NOT_RECORDED: &str = "not recorded";
const MACHINE: &str = "machine";
const MEASURED_BY: &str = "measured by";
const WORKLOAD: &str = "workload file";
const SCHEDULER_CONFIG: &str = "scheduler configuration";

/// The part of the key that all workloads of a run share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunKey(Arc<[Fact]>);

impl RunKey {
    /// How a run was measured.
    #[must_use]
    pub fn of(record: &Record) -> RunKey {
        let mut facts = vec![
            Fact::new(MEASURED_BY, record.source.word()),
            Fact::new("coverage", &record.coverage),
            Fact::new(MACHINE, record.machine.as_ref().map_or_else(|| NOT_RECORDED.to_owned(), machine)),
        ];
        if let Some(settings) = &record.settings {
            facts.extend(of_settings(settings));
        }
        RunKey(facts.into())
    }

    /// The key of one of its workloads.
    #[must_use]
    pub fn with(&self, point: &Point) -> Comparable {
        let mut workload = Vec::new();
        if let Some(gates) = &point.feature_gates {
            let words: Vec<String> = gates.iter().map(|(gate, is_on)| format!("{gate}={is_on}")).collect();
            let value = if words.is_empty() { "defaults".to_owned() } else { words.join(",") };
            workload.push(Fact::new("feature gates", value));
        }
        match &point.content {
            Some(content) => {
                workload.push(Fact::new(WORKLOAD, &content.workload));
                let config = content.scheduler_config.as_deref().unwrap_or("default");
                workload.push(Fact::new(SCHEDULER_CONFIG, config));
            }
            // Files of upstream's say the size at most.
            None => workload.push(Fact::new("nodes", point.nodes.to_string())),
        }
        Comparable { run: Arc::clone(&self.0), workload }
    }

    /// In which settings the other run was measured differently.
    #[must_use]
    pub fn differences(&self, there: &RunKey) -> Vec<SettingDifference> {
        differences(self.0.iter(), there.0.iter())
    }
}

impl Comparable {
    /// The key of a workload of a run.
    #[must_use]
    pub fn of(record: &Record, point: &Point) -> Comparable {
        RunKey::of(record).with(point)
    }

    /// In which settings the other was measured differently; none, if they may be compared.
    #[must_use]
    pub fn differences(&self, there: &Comparable) -> Vec<SettingDifference> {
        differences(self.facts(), there.facts())
    }

    /// Whether only the machine is another: then normalised figures may be compared.
    #[must_use]
    pub fn is_same_work_elsewhere(&self, there: &Comparable) -> bool {
        matches!(self.differences(there).as_slice(), [only] if only.name == MACHINE)
    }

    /// A short name for it: equal keys have equal ones.
    #[must_use]
    pub fn id(&self) -> String {
        let mut digest = schedlab_workloads::digest::Digest::default();
        for fact in self.facts() {
            digest.add(&fact.name);
            digest.add(&fact.value);
        }
        digest.hex()
    }

    fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.run.iter().chain(&self.workload)
    }
}

/// What another series is, seen from this one, for a legend: `class cache off, threads 1`. Digests say
/// nothing to a reader: such a setting is named only.
pub(super) fn legend(differences: &[SettingDifference]) -> String {
    if let Some(by) = differences.iter().find(|difference| difference.name == MEASURED_BY) {
        return by.there.clone();
    }
    let word = |difference: &SettingDifference| match difference.name.as_str() {
        WORKLOAD | SCHEDULER_CONFIG if difference.there != "default" => format!("other {}", difference.name),
        MACHINE => difference.there.clone(),
        name => format!("{name} {}", difference.there),
    };
    differences.iter().map(word).collect::<Vec<_>>().join(", ")
}

fn differences<'a>(
    here: impl Iterator<Item = &'a Fact>,
    there: impl Iterator<Item = &'a Fact>,
) -> Vec<SettingDifference> {
    let mut there: Vec<&Fact> = there.collect();
    let mut found = Vec::new();
    for fact in here {
        let other = there.iter().position(|other| other.name == fact.name).map(|at| there.remove(at));
        if other != Some(fact) {
            let there = other.map_or(NOT_RECORDED, |other| &other.value).to_owned();
            found.push(SettingDifference { name: fact.name.clone(), here: fact.value.clone(), there });
        }
    }
    found.extend(there.into_iter().map(|fact| SettingDifference {
        name: fact.name.clone(),
        here: NOT_RECORDED.to_owned(),
        there: fact.value.clone(),
    }));
    found
}

impl Fact {
    fn new(name: &str, value: impl Into<String>) -> Fact {
        Fact { name: name.to_owned(), value: value.into() }
    }
}

impl RecordSource {
    /// Who measured, in a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            RecordSource::Schedlab => "schedlab",
            RecordSource::PerfDash => "kube-scheduler",
        }
    }
}

/// Memory in whole GiB: what the kernel keeps for itself differs from boot to boot.
fn machine(machine: &Machine) -> String {
    let gib = (machine.memory_bytes as f64 / f64::from(1_u32 << 30)).round();
    let cores = crate::format::counted(u64::from(machine.cores), "core");
    format!("{}, {cores}, {gib} GiB, {}/{}", machine.cpu_model, machine.os, machine.arch)
}

fn of_settings(settings: &Settings) -> Vec<Fact> {
    let mut facts = vec![
        Fact::new("threads", settings.threads.to_string()),
        Fact::new("parallelism", settings.parallelism.to_string()),
        Fact::new("percentageOfNodesToScore", settings.percentage_of_nodes_to_score.to_string()),
    ];
    facts.extend(settings.seed.map(|seed| Fact::new("seed", seed.to_string())));
    facts.extend(settings.options.iter().map(|(name, value)| Fact::new(name, value)));
    facts
}

#[cfg(test)]
mod tests {
    use schedlab_workloads::results::Content;

    use super::*;
    use crate::compare::tests::{run, workload};

    fn record() -> Record {
        let mut result = run("2026-11-15T12:00:00Z", vec![workload("Basic/5000Nodes", &[100.0; 6])]);
        result.options.insert("class cache".to_owned(), "on".to_owned());
        result.workloads[0].content =
            Some(Content { workload: "0123456789abcdef".to_owned(), scheduler_config: None });
        Record::from_run(&result, None, Vec::new())
    }

    fn key(record: &Record) -> Comparable {
        Comparable::of(record, &record.points[0])
    }

    type Edit = fn(&mut Record);

    #[test]
    fn runs_differing_in_any_setting_are_not_comparable() {
        let cases: [(&str, Edit); 13] = [
            ("measured by", |it| it.source = RecordSource::PerfDash),
            ("coverage", |it| it.coverage = "core".to_owned()),
            ("machine", |it| it.machine.as_mut().expect("known").cpu_model = "Other".to_owned()),
            ("machine", |it| it.machine.as_mut().expect("known").cores = 8),
            ("threads", |it| it.settings.as_mut().expect("known").threads = 1),
            ("parallelism", |it| it.settings.as_mut().expect("known").parallelism = 1),
            ("percentageOfNodesToScore", |it| {
                it.settings.as_mut().expect("known").percentage_of_nodes_to_score = 100;
            }),
            ("seed", |it| it.settings.as_mut().expect("known").seed = Some(7)),
            ("class cache", |it| {
                it.settings.as_mut().expect("known").options.insert("class cache".into(), "off".into());
            }),
            ("class cache", |it| it.settings.as_mut().expect("known").options.clear()),
            ("feature gates", |it| {
                it.points[0].feature_gates.as_mut().expect("known").insert("A".into(), true);
            }),
            ("workload file", |it| it.points[0].content.as_mut().expect("known").workload = "x".into()),
            ("scheduler configuration", |it| {
                it.points[0].content.as_mut().expect("known").scheduler_config = Some("y".into());
            }),
        ];
        for (name, edit) in cases {
            let mut other = record();
            edit(&mut other);
            let found = key(&record()).differences(&key(&other));
            let names: Vec<&str> = found.iter().map(|difference| difference.name.as_str()).collect();
            assert_eq!(names, [name]);
            assert_ne!(key(&record()), key(&other), "{name}");
            assert_ne!(key(&record()).id(), key(&other).id(), "{name}");
            assert_eq!(key(&record()).is_same_work_elsewhere(&key(&other)), name == "machine", "{name}");
        }
    }

    #[test]
    fn revision_label_time_and_samples_are_not_part_of_the_comparability_key() {
        let edits: [Edit; 6] = [
            |it| it.revision = Some("other".to_owned()),
            |it| it.label = Some("nightly".to_owned()),
            |it| it.started_at = "2026-11-16T12:00:00Z".to_owned(),
            |it| it.points[0].repeats.truncate(2),
            |it| it.points[0].throughput.total = 7.0,
            |it| it.machine.as_mut().expect("known").memory_bytes += 5 << 20,
        ];
        for edit in edits {
            let mut other = record();
            edit(&mut other);
            assert_eq!(key(&record()), key(&other));
            assert_eq!(key(&record()).id(), key(&other).id());
        }
    }

    #[test]
    fn legend_says_what_differs_and_no_digest() {
        let mut other = record();
        other.settings.as_mut().expect("known").options.insert("class cache".into(), "off".into());
        other.points[0].content.as_mut().expect("known").workload = "fedcba".into();
        let text = legend(&key(&record()).differences(&key(&other)));
        assert_eq!(text, "class cache off, other workload file");
        other.source = RecordSource::PerfDash;
        assert_eq!(legend(&key(&record()).differences(&key(&other))), "kube-scheduler");
    }
}
