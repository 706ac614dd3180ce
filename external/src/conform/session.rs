//! Decisions of a scheduler under test beside ours, seed after seed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{Api, ListQuery, Object};
use schedlab_cluster::clock::unix_ns;
use schedlab_core::scheduler::KINDS;
use schedlab_objects::ApiJson as _;
use schedlab_workloads::executor::{RunningScheduler, SchedulerUnderTest, UnderTestError, UnderTestSetup};
use serde_json::{Value, json};

use super::decision::{ConformDecision, OurDecision};
use super::ours::{self, Follower, pod_key, put};
use super::random::{self, Random};
use super::shrink;
use crate::UnderTest;

/// Between two looks at the pod.
const LOOK: Duration = Duration::from_micros(500);
/// A difference is looked at again so often: of nodes that are as good for preemption kube-scheduler draws one.
const LOOKS: u32 = 3;
/// And each time after this time.
const LONG_SETTLE: Duration = Duration::from_millis(1500);

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub struct ConformOptions {
    /// The first seed and the one after the last.
    pub seeds: (u64, u64),
    /// Pods of each.
    pub pods: u64,
    /// How long the scheduler gets to learn of a change.
    pub settle: Duration,
    /// How long it may take for a pod.
    pub decides_within: Duration,
    /// It ends after so many differences.
    pub differences_max: usize,
}

/// Why nothing can be compared.
#[derive(Debug, thiserror::Error)]
pub enum ConformError {
    /// The scheduler does not run.
    #[error(transparent)]
    UnderTest(#[from] UnderTestError),
    /// The store refuses something that it should not.
    #[error("seed {seed}: {why}")]
    Store {
        /// The seed.
        seed: u64,
        /// What it said.
        why: String,
    },
}

/// What was compared so far.
#[derive(Clone, Debug, Default)]
pub struct ConformReport {
    /// Seeds that were run to their end.
    pub seeds: u64,
    /// Decisions that were compared.
    pub decisions: u64,
    /// Those that placed the pod at once, those after preemption, and those that rejected it.
    pub outcomes: (u64, u64, u64),
    /// Those that differed at first and not when they were looked at again.
    pub passing: u64,
    /// Objects and pods that the API refused.
    pub refused: u64,
    /// Those that stayed.
    pub differences: Vec<Difference>,
}

/// Two decisions that are not the same.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The seed.
    pub seed: u64,
    /// The pod's number.
    pub pod: u64,
    /// What is not the same.
    pub what: String,
    /// Ours.
    pub ours: OurDecision,
    /// Theirs.
    pub theirs: ConformDecision,
    /// The smallest cluster that shows it, with the pod last.
    pub objects: Vec<Value>,
}

impl Difference {
    /// The objects as a list that `explain` and kubectl load; JSON is YAML.
    #[must_use]
    pub fn manifest(&self) -> String {
        format!("{:#}\n", json!({"apiVersion": "v1", "kind": "List", "items": self.objects}))
    }
}

/// Told of what happens.
#[derive(Clone, Debug)]
pub enum ConformEvent<'a> {
    /// A seed is over.
    Seed(&'a ConformReport),
    /// A difference was found; it is made smaller now.
    Found(&'a str),
}

/// Compares decisions until the seeds are over, or somebody interrupts.
pub fn conform(
    under_test: &UnderTest,
    options: ConformOptions,
    interrupt: &AtomicBool,
    told: &mut dyn FnMut(&ConformEvent<'_>),
) -> Result<ConformReport, ConformError> {
    let cluster = EmbeddedCluster::new(Arc::new(unix_ns));
    let gates = BTreeMap::new();
    let setup = UnderTestSetup {
        config: None,
        feature_gates: &gates,
        parallelism: None,
        percentage_of_nodes_to_score: None,
    };
    let scheduler = under_test.start(&cluster, &setup, interrupt)?;
    let mut session = Session { cluster, scheduler, options, report: ConformReport::default(), interrupt };
    for seed in options.seeds.0..options.seeds.1 {
        if interrupt.load(Ordering::Relaxed) || options.differences_max <= session.report.differences.len() {
            break;
        }
        session.seed(seed, told)?;
        session.report.seeds += 1;
        told(&ConformEvent::Seed(&session.report));
    }
    Ok(session.report)
}

/// A scheduler under test and its cluster.
pub(super) struct Session<'a> {
    cluster: EmbeddedCluster,
    scheduler: Box<dyn RunningScheduler>,
    pub(super) options: ConformOptions,
    report: ConformReport,
    interrupt: &'a AtomicBool,
}

impl Session<'_> {
    fn seed(&mut self, seed: u64, told: &mut dyn FnMut(&ConformEvent<'_>)) -> Result<(), ConformError> {
        let failed = |why| ConformError::Store { seed, why };
        let mut random = Random::new(seed);
        let wanted = random::cluster(&mut random);
        self.clear().map_err(failed)?;
        let mut objects = self.load(&wanted).map_err(failed)?;
        self.report.refused += (wanted.len() - objects.len()) as u64;
        self.settle(self.options.settle);
        for number in 0..self.options.pods {
            if self.interrupt.load(Ordering::Relaxed) {
                break;
            }
            let pod = random::random_pod(&mut random, &format!("w{number}"));
            let Ok(ours) = ours::decide(&objects, &pod) else {
                self.report.refused += 1;
                continue;
            };
            let theirs = self.decide(&pod)?;
            self.count(&theirs);
            if let Some(what) = ours.difference(&theirs) {
                self.differ((seed, number), &objects, &pod, &what, told)?;
                // What the scheduler has seen meanwhile is not this cluster.
                return Ok(());
            }
            self.go_on(&mut objects, pod, &theirs).map_err(failed)?;
        }
        Ok(())
    }

    fn count(&mut self, theirs: &ConformDecision) {
        self.report.decisions += 1;
        let (placed, preempted, rejected) = &mut self.report.outcomes;
        match (&theirs.node, &theirs.message) {
            (Some(_), None) => *placed += 1,
            (Some(_), Some(_)) => *preempted += 1,
            (None, _) => *rejected += 1,
        }
    }

    /// The cluster as the decision leaves it.
    fn go_on(
        &mut self,
        objects: &mut Vec<Value>,
        mut pod: Value,
        theirs: &ConformDecision,
    ) -> Result<(), String> {
        objects.retain(|object| !is_one_of(object, &theirs.victims));
        match &theirs.node {
            Some(node) => {
                pod["spec"]["nodeName"] = json!(node);
                let uses_claims = pod["spec"]["volumes"].is_array();
                objects.push(pod);
                if uses_claims {
                    self.read_again(objects)?;
                }
            }
            None => {
                self.cluster.delete(&pod_key(&pod), None).map_err(|error| error.to_string())?;
                self.settle(self.options.settle);
            }
        }
        Ok(())
    }

    /// Volumes and claims are bound to each other when a pod is placed.
    fn read_again(&self, objects: &mut [Value]) -> Result<(), String> {
        for object in objects {
            let kind = object["kind"].as_str().unwrap_or_default();
            if kind != "PersistentVolume" && kind != "PersistentVolumeClaim" {
                continue;
            }
            let key = Object::from_json(object.clone()).map_err(|error| error.to_string())?.key();
            let Object::Other(now) = self.cluster.get(&key).map_err(|error| error.to_string())? else {
                continue;
            };
            *object = now.to_json().map_err(|error| error.to_string())?;
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.retain(|name, _| {
                    ["name", "namespace", "labels", "annotations"].contains(&name.as_str())
                });
            }
        }
        Ok(())
    }

    /// Puts objects into the store; those that it takes.
    pub(super) fn load(&self, wanted: &[Value]) -> Result<Vec<Value>, String> {
        let mut taken = Vec::new();
        for value in wanted {
            if put(&self.cluster, value).is_ok() {
                taken.push(value.clone());
            }
        }
        Ok(taken)
    }

    /// Takes everything out of the store.
    pub(super) fn clear(&self) -> Result<(), String> {
        // Namespaces stay; they get other labels.
        for row in KINDS.iter().filter(|row| row.name != "Namespace") {
            let listed = self.cluster.list(&ListQuery::all(row.api_version, row.name));
            let items = listed.map(|list| list.items).unwrap_or_default();
            for object in items {
                self.cluster.delete(&object.key(), None).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    pub(super) fn settle(&self, time: Duration) {
        std::thread::sleep(time);
    }

    /// Lets the scheduler under test decide about a pod.
    pub(super) fn decide(&mut self, pod: &Value) -> Result<ConformDecision, ConformError> {
        let failed = |why| ConformError::Store { seed: self.options.seeds.0, why };
        let mut follower = Follower::create(&self.cluster, pod).map_err(failed)?;
        let begun = Instant::now();
        while !follower.look(&self.cluster) && begun.elapsed() < self.options.decides_within {
            if self.interrupt.load(Ordering::Relaxed) {
                break;
            }
            self.scheduler.check_alive()?;
            std::thread::sleep(LOOK);
        }
        Ok(follower.decision(&self.cluster))
    }

    /// The difference that a cluster and a pod show, from a clean start.
    pub(super) fn look_again(
        &mut self,
        objects: &[Value],
        pod: &Value,
        settle: Duration,
    ) -> Result<Option<(String, OurDecision, ConformDecision)>, ConformError> {
        let failed = |why| ConformError::Store { seed: self.options.seeds.0, why };
        let Ok(ours) = ours::decide(objects, pod) else { return Ok(None) };
        self.clear().map_err(failed)?;
        self.settle(settle / 2);
        if self.load(objects).map_err(failed)?.len() != objects.len() {
            return Ok(None);
        }
        self.settle(settle);
        let theirs = self.decide(pod)?;
        Ok(ours.difference(&theirs).map(|what| (what, ours, theirs)))
    }

    fn differ(
        &mut self,
        (seed, pod_number): (u64, u64),
        objects: &[Value],
        pod: &Value,
        what: &str,
        told: &mut dyn FnMut(&ConformEvent<'_>),
    ) -> Result<(), ConformError> {
        for _ in 0..LOOKS {
            if self.look_again(objects, pod, LONG_SETTLE)?.is_none() {
                self.report.passing += 1;
                return Ok(());
            }
        }
        told(&ConformEvent::Found(&format!("seed {seed}, pod {pod_number}: {what}")));
        let (objects, pod) = shrink::shrink(self, objects.to_vec(), pod.clone())?;
        if let Some((what, ours, theirs)) = self.look_again(&objects, &pod, LONG_SETTLE)? {
            let objects = objects.into_iter().chain([pod]).collect();
            self.report.differences.push(Difference { seed, pod: pod_number, what, ours, theirs, objects });
        } else {
            self.report.passing += 1;
        }
        Ok(())
    }
}

fn is_one_of(object: &Value, pods: &std::collections::BTreeSet<String>) -> bool {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or("default");
    object["kind"] == "Pod" && pods.contains(&format!("{}/{}", text("namespace"), text("name")))
}
