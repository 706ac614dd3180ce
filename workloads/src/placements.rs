//! Where every pod went: `--placements`.
//!
//! One line a pod, in the order of creation, with no time in it: two runs that decided alike give the same
//! bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use schedlab_cluster::ApiError;
use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{
    Api, ConditionStatus, EventKind, StoredPodRow, Watch, WatchEvent, WatchedObject,
};
use schedlab_core::ids::PodUid;
use serde::Serialize;

/// Where a pod went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PodPlacement {
    /// `namespace/name`.
    pub pod: String,
    /// The node it was bound to, also if it is gone by now.
    pub node: Option<String>,
    /// How often it was tried.
    pub attempts: u32,
    /// The node it was nominated to last, also if it went elsewhere.
    pub nominated: Option<String>,
    /// Who had it deleted, if an op did not: a preemptor, or the controller's reason.
    pub evicted_by: Option<String>,
    /// Why.
    pub evicted_why: Option<String>,
}

/// What preemption says of its victims. Upstream: preemption/executor.go, the condition's reason.
const PREEMPTION: &str = "PreemptionByScheduler";

#[derive(Debug, Default)]
struct Pods {
    by_uid: BTreeMap<PodUid, PodPlacement>,
    deleted: BTreeSet<PodUid>,
    attempts: BTreeMap<PodUid, u32>,
    /// Victims and their preemptors.
    preemptions: Vec<(PodUid, PodUid)>,
}

/// What only the scheduler knows of its pods.
#[derive(Debug, Default)]
pub(crate) struct SchedulerFacts {
    /// How often pods that wait were tried.
    pub(crate) attempts: Vec<(PodUid, u32)>,
    /// Victims and their preemptors.
    pub(crate) preemptions: Vec<(PodUid, PodUid)>,
}

/// Follows the pods of a run. Clones follow the same run.
#[derive(Clone, Debug, Default)]
pub struct PlacementLog(Arc<Mutex<Pods>>);

impl PlacementLog {
    fn with<R>(&self, work: impl FnOnce(&mut Pods) -> R) -> R {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A pod was bound at this attempt.
    pub(crate) fn tried(&self, pod: PodUid, attempts: u32) {
        self.with(|pods| pods.attempts.insert(pod, attempts));
    }

    /// What the scheduler knows when the run is over.
    pub(crate) fn note_facts(&self, facts: SchedulerFacts) {
        self.with(|pods| {
            pods.attempts.extend(facts.attempts);
            pods.preemptions = facts.preemptions;
        });
    }

    fn note(&self, cluster: &EmbeddedCluster, event: &WatchEvent) {
        let WatchedObject::Pod(row) = &event.object else { return };
        self.with(|pods| {
            let placement = pods.by_uid.entry(row.uid).or_insert_with(|| PodPlacement {
                pod: format!("{}/{}", cluster.namespace_name(row.namespace), cluster.pod_name(row.name)),
                ..PodPlacement::default()
            });
            if let (None, Some(node)) = (&placement.node, row.node) {
                placement.node = Some(cluster.node_name(node).to_string());
            }
            if let Some(node) = row.nominated {
                placement.nominated = Some(cluster.node_name(node).to_string());
            }
            if event.kind == EventKind::Deleted {
                pods.deleted.insert(row.uid);
                note_disruption(cluster, row, placement);
            }
        });
    }

    /// The placements, in the order in which the pods were created.
    #[must_use]
    pub fn placements(&self) -> Vec<PodPlacement> {
        self.with(|pods| {
            let Pods { by_uid, deleted, attempts, preemptions } = pods;
            let mut found = by_uid.clone();
            for (uid, placement) in &mut found {
                placement.attempts = attempts.get(uid).copied().unwrap_or(0);
            }
            // A victim that was on its way to its node gives that up and is not deleted.
            for (victim, preemptor) in preemptions.iter().filter(|(victim, _)| deleted.contains(victim)) {
                let by = by_uid.get(preemptor).map(|preemptor| preemptor.pod.clone());
                if let Some(placement) = found.get_mut(victim) {
                    placement.evicted_by = by;
                    placement.evicted_why = Some(PREEMPTION.to_owned());
                }
            }
            found.into_values().collect()
        })
    }
}

/// Controllers say in a condition why a pod had to go.
fn note_disruption(cluster: &EmbeddedCluster, row: &StoredPodRow, placement: &mut PodPlacement) {
    let conditions = cluster.pod_conditions(row.conditions);
    let is_target = |type_: &str, status| type_ == "DisruptionTarget" && status == ConditionStatus::True;
    let target = conditions.iter().find(|condition| is_target(&condition.type_, condition.status));
    if let Some(target) = target {
        placement.evicted_by = Some(target.reason.to_string());
        placement.evicted_why = Some(target.message.to_string());
    }
}

/// Reads the events of a run into a log.
pub(crate) struct PlacementReader {
    cluster: Arc<EmbeddedCluster>,
    watch: Box<dyn Watch>,
    log: PlacementLog,
    events: Vec<WatchEvent>,
}

impl PlacementReader {
    /// Reads everything from now on.
    pub(crate) fn new(cluster: Arc<EmbeddedCluster>, log: PlacementLog) -> Result<PlacementReader, ApiError> {
        let watch = cluster.watch(cluster.resource_version())?;
        Ok(PlacementReader { cluster, watch, log, events: Vec::new() })
    }

    /// Where it is noted.
    pub(crate) fn log(&self) -> &PlacementLog {
        &self.log
    }

    /// Takes in what has happened since the last time.
    pub(crate) fn read(&mut self) -> Result<(), ApiError> {
        self.events.clear();
        self.watch.drain_into(&mut self.events)?;
        self.events.iter().for_each(|event| self.log.note(&self.cluster, event));
        Ok(())
    }
}

/// How placements are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementFormat {
    /// A JSON object a line.
    JsonLines,
    /// With a header.
    Csv,
}

impl PlacementFormat {
    /// As the file is called.
    #[must_use]
    pub fn of(path: &std::path::Path) -> PlacementFormat {
        let is_csv = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        if is_csv { PlacementFormat::Csv } else { PlacementFormat::JsonLines }
    }
}

#[derive(Serialize)]
struct Line<'a> {
    workload: &'a str,
    #[serde(flatten)]
    placement: &'a PodPlacement,
}

/// The file's text, of workloads in this order.
#[must_use]
pub fn placements_text(format: PlacementFormat, workloads: &[(String, Vec<PodPlacement>)]) -> String {
    let mut text = String::new();
    if format == PlacementFormat::Csv {
        text.push_str("workload,pod,node,attempts,nominated,evicted_by,evicted_why\n");
    }
    for (workload, placements) in workloads {
        for placement in placements {
            match format {
                PlacementFormat::JsonLines => {
                    let line = serde_json::to_string(&Line { workload, placement });
                    text.push_str(&line.expect("text and numbers are JSON"));
                }
                PlacementFormat::Csv => push_csv(&mut text, workload, placement),
            }
            text.push('\n');
        }
    }
    text
}

fn push_csv(text: &mut String, workload: &str, placement: &PodPlacement) {
    let PodPlacement { pod, node, attempts, nominated, evicted_by, evicted_why } = placement;
    let field = |value: &Option<String>| quoted(value.as_deref().unwrap_or_default());
    let written = write!(
        text,
        "{},{},{},{attempts},{},{},{}",
        quoted(workload),
        quoted(pod),
        field(node),
        field(nominated),
        field(evicted_by),
        field(evicted_why)
    );
    written.expect("text grows");
}

/// A CSV field, in quotes where it needs them.
fn quoted(value: &str) -> String {
    if value.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", value.replace('"', "\"\""));
    }
    value.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Vec<(String, Vec<PodPlacement>)> {
        let bound = PodPlacement {
            pod: "a/p-0".to_owned(),
            node: Some("n-1".to_owned()),
            attempts: 2,
            nominated: Some("n-1".to_owned()),
            ..PodPlacement::default()
        };
        let evicted = PodPlacement {
            pod: "a/p-1".to_owned(),
            evicted_by: Some("DeletionByTaintManager".to_owned()),
            evicted_why: Some("no, \"not\" here".to_owned()),
            ..PodPlacement::default()
        };
        vec![("Case/W".to_owned(), vec![bound, evicted])]
    }

    #[test]
    fn placements_are_written_as_json_lines() {
        let expected = "{\"workload\":\"Case/W\",\"pod\":\"a/p-0\",\"node\":\"n-1\",\"attempts\":2,\
                        \"nominated\":\"n-1\",\"evicted_by\":null,\"evicted_why\":null}\n\
                        {\"workload\":\"Case/W\",\"pod\":\"a/p-1\",\"node\":null,\"attempts\":0,\
                        \"nominated\":null,\"evicted_by\":\"DeletionByTaintManager\",\
                        \"evicted_why\":\"no, \\\"not\\\" here\"}\n";
        assert_eq!(placements_text(PlacementFormat::JsonLines, &two()), expected);
    }

    #[test]
    fn placements_are_written_as_csv() {
        let expected = "workload,pod,node,attempts,nominated,evicted_by,evicted_why\n\
                        Case/W,a/p-0,n-1,2,n-1,,\n\
                        Case/W,a/p-1,,0,,DeletionByTaintManager,\"no, \"\"not\"\" here\"\n";
        assert_eq!(placements_text(PlacementFormat::Csv, &two()), expected);
        assert_eq!(PlacementFormat::of("a/b.CSV".as_ref()), PlacementFormat::Csv);
        assert_eq!(PlacementFormat::of("b.jsonl".as_ref()), PlacementFormat::JsonLines);
    }
}
