//! Traces that nobody recorded: clusters, pods and events of several committed traces, thrown
//! together by a seed. The plain twins record what they decide; the engine replays it.
//!
//! The traces exercise what their generator thought of, one family at a time. Thrown together they
//! exercise what it did not: volumes under preemption, spread beside nominations, and so on.

use k8s_openapi::api::core::v1::{Node, Pod, PodCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use schedlab_core::fake::Rng;

use super::super::document::TraceStep;
use super::super::state::pod_key;
use super::grafts::{graft, graft_node, merge, widen};
use super::recorder::{Preempting, Recorder, key};
use super::*;

/// So many traces are made, unless `SCHEDLAB_SEED` names one of them.
const TRACES: u64 = 40;
const STEPS: usize = 40;

#[test]
fn engine_replays_recombined_traces_recorded_by_naive() {
    let sources: Vec<Trace> = traces_in(&folder())
        .iter()
        .map(|path| read_trace(path).unwrap_or_else(|error| panic!("{error}")))
        .filter(can_be_recorded)
        .collect();
    let seeds = match std::env::var("SCHEDLAB_SEED") {
        Ok(seed) => {
            let seed: u64 = seed.parse().expect("SCHEDLAB_SEED is a number");
            seed..seed + 1
        }
        Err(_) => 0..TRACES,
    };
    let mut comparisons = 0;
    for seed in seeds {
        let trace = recombined(&mut Rng::new(seed), &sources);
        let report = replay(&trace).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let shown: Vec<String> = report.differences.iter().take(5).map(ToString::to_string).collect();
        assert!(
            report.is_exact(),
            "SEED={seed}: {} differences (the twins \"recorded\"):\n{}\nreplay with SCHEDLAB_SEED={seed} \
             cargo test -p schedlab-replay recombined",
            report.difference_count,
            shown.join("\n")
        );
        comparisons += report.comparisons;
    }
    assert!(comparisons > 1000, "hardly compared: {comparisons}");
}

/// The engine agrees with upstream on these traces; if it agrees with the twins on them as well, so
/// do the twins.
#[test]
fn naive_records_what_upstream_recorded() {
    for path in traces_in(&folder()) {
        let mut trace = read_trace(&path).unwrap_or_else(|error| panic!("{error}"));
        if !can_be_recorded(&trace) {
            continue;
        }
        let mut recorder = Recorder::new(&trace.cluster);
        for step in &mut trace.steps {
            if let TraceStep::Schedule { pod, record } = step {
                let preempting = match &record.preemption {
                    Some(_) => Preempting::Yes,
                    None => Preempting::No,
                };
                let mut ours = recorder.record(pod, preempting);
                if let (Some(ours), Some(theirs)) = (&mut ours.preemption, &record.preemption) {
                    // Victims may be terminating first; that is not for the scheduler to say.
                    ours.applied.evicted.clone_from(&theirs.applied.evicted);
                }
                **record = ours;
            }
            recorder.apply(step);
        }
        let report = replay(&trace).unwrap_or_else(|error| panic!("{error}"));
        let shown: Vec<String> = report.differences.iter().take(5).map(ToString::to_string).collect();
        assert!(report.is_exact(), "{}: the twins \"recorded\":\n{}", report.name, shown.join("\n"));
    }
}

/// The twins know all that a trace is about; see [`super::recorder::TWINS_CANNOT`].
fn can_be_recorded(trace: &Trace) -> bool {
    trace.family != "dra"
}

/// The committed traces, or those in the folder that `SCHEDLAB_TRACES` names.
fn folder() -> PathBuf {
    std::env::var_os("SCHEDLAB_TRACES").map_or_else(committed, PathBuf::from)
}

/// A trace in the making.
struct Mixture<'a> {
    rng: &'a mut Rng,
    recorder: Recorder,
    steps: Vec<TraceStep>,
    /// Pods to schedule, nodes and steps of all sources.
    pods: Vec<Pod>,
    nodes: Vec<Node>,
    objects: Vec<TraceStep>,
    /// Bound pods as they were last told.
    bound: Vec<Pod>,
    /// Pods that found no node.
    pending: Vec<Pod>,
    named: usize,
}

fn recombined(rng: &mut Rng, sources: &[Trace]) -> Trace {
    let [base, second, third] = [(); 3].map(|()| rng.pick(sources));
    let mut cluster = base.cluster.clone();
    for other in [second, third] {
        merge(rng, &mut cluster, &other.cluster);
    }
    if rng.chance(15) {
        widen(rng, &mut cluster);
    }
    for (at, pod) in cluster.pods.iter_mut().enumerate() {
        // All different, and in no order: equally important pods may be named in any.
        let seconds = 1_800_000_000 + at as i64 * 7919 % 10_007;
        let started = Timestamp::from_second(seconds).expect("a time within range");
        pod.status.get_or_insert_default().start_time = Some(Time(started));
    }
    let all = [base, second, third];
    let donors: Vec<&Pod> = all.iter().flat_map(|trace| &trace.cluster.pods).collect();
    if !donors.is_empty() {
        for pod in &mut cluster.pods {
            for _ in 0..rng.range(0..=2) {
                let donor = *rng.pick(&donors);
                graft(rng, pod, donor);
            }
        }
    }
    let steps = || all.iter().flat_map(|trace| &trace.steps);
    let mut mixture = Mixture {
        recorder: Recorder::new(&cluster),
        bound: cluster.pods.clone(),
        pods: steps()
            .filter_map(|step| match step {
                TraceStep::Schedule { pod, .. } | TraceStep::Nominate { pod } => Some(pod.as_ref().clone()),
                _ => None,
            })
            .collect(),
        nodes: all
            .iter()
            .flat_map(|trace| &trace.cluster.nodes)
            .chain(steps().filter_map(|step| match step {
                TraceStep::AddNode { node } | TraceStep::UpdateNode { node } => Some(node.as_ref()),
                _ => None,
            }))
            .cloned()
            .collect(),
        objects: steps().filter(|step| matches!(step, TraceStep::ApplyObjects { .. })).cloned().collect(),
        rng,
        steps: Vec::new(),
        pending: Vec::new(),
        named: 0,
    };
    for _ in 0..STEPS {
        mixture.step();
    }
    let Mixture { steps, .. } = mixture;
    let path = format!("{}+{}+{}", base.path, second.path, third.path);
    Trace { path, cluster, steps, ..base.clone() }
}

impl Mixture<'_> {
    fn push(&mut self, step: TraceStep) {
        self.recorder.apply(&step);
        self.steps.push(step);
    }

    fn step(&mut self) {
        match self.rng.range(0..=99) {
            0..=9 => self.delete_pod(),
            10..=17 => self.change_node(),
            18..=21 => self.add_or_remove_node(),
            22..=28 => self.nominate(),
            29..=31 => self.clear_nomination(),
            32..=36 => self.terminate_any(),
            37..=39 => self.apply_objects(),
            40..=54 => self.try_again(),
            _ => {
                let pod = self.fresh_pod();
                self.schedule(pod);
            }
        }
    }

    /// A pod of any source under a name of its own.
    fn fresh_pod(&mut self) -> Pod {
        let mut pod = self.rng.pick(&self.pods).clone();
        for _ in 0..self.rng.range(0..=3) {
            let donor = self.rng.pick(&self.pods).clone();
            graft(self.rng, &mut pod, &donor);
        }
        self.named += 1;
        pod.metadata.name = Some(format!("mixed-{}", self.named));
        pod.metadata.uid = Some(format!("uid-{}", self.named));
        // Start times differ, so that no two pods are equally important.
        let seconds = 1_900_000_000 + self.named as i64 * 7;
        pod.metadata.creation_timestamp =
            Some(Time(Timestamp::from_second(seconds).expect("a time within range")));
        let nominated = if self.rng.chance(10) { Some(self.any_node_name()) } else { None };
        pod.status.get_or_insert_default().nominated_node_name = nominated;
        pod
    }

    fn any_node_name(&mut self) -> String {
        self.rng.pick(&self.recorder.cluster.nodes).input.name.clone()
    }

    fn schedule(&mut self, mut pod: Pod) {
        let preempting = if self.rng.chance(70) { Preempting::Yes } else { Preempting::No };
        let mut record = self.recorder.record(&pod, preempting);
        if record.pre_filter.nodes.is_some() {
            // The format does not say how a nominated node is recorded that PreFilter did not name.
            pod.status.get_or_insert_default().nominated_node_name = None;
            record = self.recorder.record(&pod, preempting);
        }
        let mut leaving = Vec::new();
        if let Some(preemption) = &mut record.preemption
            && self.rng.chance(40)
        {
            leaving = std::mem::take(&mut preemption.applied.evicted);
        }
        let evicted = record.preemption.as_ref().map(|it| it.applied.evicted.clone()).unwrap_or_default();
        self.bound.retain(|bound| !evicted.contains(&pod_key(bound)));
        let mut after = pod.clone();
        match &record.chosen {
            Some(node) => {
                after.spec.get_or_insert_default().node_name = Some(node.clone());
                let status = after.status.get_or_insert_default();
                status.nominated_node_name = None;
                let created = after.metadata.creation_timestamp.as_ref().expect("it was created");
                let started = Timestamp::from_second(created.0.as_second() + 1).expect("within range");
                status.start_time = Some(Time(started));
                self.bound.push(after);
            }
            None => {
                let applied = record.preemption.as_ref().map(|it| &it.applied);
                if let Some(node) = applied.and_then(|it| it.nominated_node_name.clone()) {
                    after.status.get_or_insert_default().nominated_node_name = Some(node);
                }
                self.pending.push(after);
            }
        }
        self.push(TraceStep::Schedule { pod: Box::new(pod), record: Box::new(record) });
        for victim in leaving {
            let at = self.bound.iter().position(|bound| pod_key(bound) == victim);
            self.terminate(at.expect("a victim is bound"));
        }
    }

    /// A pod that found no node tries again, with the nomination it got.
    fn try_again(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let at = self.rng.range(0..=self.pending.len() - 1);
        let mut pod = self.pending.swap_remove(at);
        let nominated = self.recorder.cluster.nominated.iter().find(|other| key(other) == pod_key(&pod));
        let node = nominated.and_then(|other| other.meta.nominated_node_name.clone());
        pod.status.get_or_insert_default().nominated_node_name = node;
        self.schedule(pod);
    }

    fn delete_pod(&mut self) {
        if self.bound.is_empty() {
            return;
        }
        let at = self.rng.range(0..=self.bound.len() - 1);
        let pod = pod_key(&self.bound.swap_remove(at));
        self.push(TraceStep::DeletePod { pod });
    }

    fn terminate_any(&mut self) {
        if !self.bound.is_empty() {
            let at = self.rng.range(0..=self.bound.len() - 1);
            self.terminate(at);
        }
    }

    /// A bound pod is about to go, mostly because of the scheduler.
    fn terminate(&mut self, at: usize) {
        let is_preempted = self.rng.chance(80);
        let pod = &mut self.bound[at];
        pod.metadata.deletion_timestamp.clone_from(&pod.metadata.creation_timestamp);
        let status = pod.status.get_or_insert_default();
        if is_preempted {
            status.conditions.get_or_insert_default().push(PodCondition {
                type_: "DisruptionTarget".to_owned(),
                status: "True".to_owned(),
                reason: Some("PreemptionByScheduler".to_owned()),
                ..PodCondition::default()
            });
        }
        let pod = Box::new(pod.clone());
        self.push(TraceStep::UpdatePod { pod });
    }

    fn change_node(&mut self) {
        let mut node = self.rng.pick(&self.nodes).clone();
        if self.rng.chance(50) {
            let donor = self.rng.pick(&self.nodes).clone();
            graft_node(self.rng, &mut node, &donor);
        }
        let known = &self.recorder.cluster.nodes;
        if known.iter().any(|it| Some(&it.input.name) == node.metadata.name.as_ref()) {
            self.push(TraceStep::UpdateNode { node: Box::new(node) });
        }
    }

    fn add_or_remove_node(&mut self) {
        let node = self.rng.pick(&self.nodes).clone();
        let name = node.metadata.name.clone().expect("a node has a name");
        let nodes = &self.recorder.cluster.nodes;
        let Some(known) = nodes.iter().find(|it| it.input.name == name) else {
            return self.push(TraceStep::AddNode { node: Box::new(node) });
        };
        if nodes.len() == 1 {
            return;
        }
        let pods_removed: Vec<String> = known.pods.iter().map(key).collect();
        let nominated = self.recorder.cluster.nominated.iter();
        let is_there = |pod: &&schedlab_core::naive::NaivePod| {
            pod.meta.nominated_node_name.as_deref() == Some(name.as_str())
        };
        let nominations_cleared = nominated.filter(is_there).map(key).collect();
        self.bound.retain(|pod| !pods_removed.contains(&pod_key(pod)));
        self.push(TraceStep::RemoveNode { node: name, pods_removed, nominations_cleared });
    }

    fn nominate(&mut self) {
        let mut pod = self.fresh_pod();
        let node = self.any_node_name();
        pod.status.get_or_insert_default().nominated_node_name = Some(node);
        self.pending.push(pod.clone());
        self.push(TraceStep::Nominate { pod: Box::new(pod) });
    }

    fn clear_nomination(&mut self) {
        let nominated = &self.recorder.cluster.nominated;
        if !nominated.is_empty() {
            let pod = key(&nominated[self.rng.range(0..=nominated.len() - 1)]);
            self.push(TraceStep::ClearNomination { pod });
        }
    }

    fn apply_objects(&mut self) {
        if !self.objects.is_empty() {
            let step = self.rng.pick(&self.objects).clone();
            self.push(step);
        }
    }
}
