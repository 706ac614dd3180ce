//! Records traces as upstream would, with the plain twins as the scheduler.

use std::collections::{BTreeMap, BTreeSet};

use schedlab_cluster::convert::{
    claim_input, disruption_budget_input, node_input, persistent_volume_input, pod_input, replica_set_input,
    replication_controller_input, service_input, stateful_set_input, storage_input,
};
use schedlab_core::input::storage::StorageInput;
use schedlab_core::input::{Labels, PodMeta};
use schedlab_core::naive::nominated_pods::first_rejection;
use schedlab_core::naive::preemption::{NaivePreemption, NaivePreemptionArgs, preempt};
use schedlab_core::naive::schedule::{
    NaiveDecision, NaiveProfile, NaiveScoreState, Pick, Search, run_pre_filter, schedule_pod, score_nodes,
};
use schedlab_core::naive::{NaiveCluster, NaiveCode, NaiveNode, NaivePod, NaiveVerdict};
use schedlab_core::plugins::volume_binding::naive as volume_binding;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::document::{
    Applied, AppliedObject, BoundClaim, CandidateRecord, Cluster, FailedRecord, NodeRecord, PreFilterRecord,
    PreemptionRecord, RejectionRecord, ScheduleRecord, TraceStep, VolumesRecord,
};
use k8s_openapi::api::core::v1::Pod;

/// A cluster that the plain twins schedule in.
pub(super) struct Recorder {
    profile: NaiveProfile,
    pub(super) cluster: NaiveCluster,
}

/// Why traces of the family `dra` are not recorded by the twins.
pub(super) const TWINS_CANNOT: &str =
    "the twin of DynamicResources has neither errors nor extended resources";

/// Whether to look for victims when no node is feasible.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Preempting {
    Yes,
    No,
}

impl Recorder {
    pub(super) fn new(from: &Cluster) -> Recorder {
        let profile = NaiveProfile { percentage_of_nodes_to_score: 100, ..NaiveProfile::default() };
        Recorder { profile, cluster: initial(from) }
    }

    /// What the twins decide, in the form that upstream's decisions are recorded in.
    pub(super) fn record(&self, pod: &Pod, preempting: Preempting) -> ScheduleRecord {
        let mut pod = naive_pod(pod);
        // The node it names is part of what is evaluated.
        pod.input.node_name = pod.meta.node_name.clone();
        let decision = schedule_pod(&self.profile, &self.cluster, &pod, 0, Pick::First);
        let pre_filter = run_pre_filter(&self.profile, &self.cluster, &pod);
        let mut record = ScheduleRecord {
            pre_filter: PreFilterRecord {
                rejected: pre_filter.rejected.as_ref().map(rejection_record),
                nodes: pre_filter.nodes.as_ref().map(|names| names.iter().cloned().collect()),
                nodes_by: names(&pre_filter.nodes_by),
            },
            ..ScheduleRecord::default()
        };
        if let Some(rejected) = &record.pre_filter.rejected {
            record.pre_filter.nodes = None;
            if rejected.plugin.is_some() {
                // A plugin that rejects all nodes makes the others' sets void.
                record.pre_filter.nodes_by.clear();
            }
        } else {
            record.skip_filter = names(&pre_filter.skip);
            self.record_nodes(&pod, &pre_filter.skip, &mut record);
        }
        record.chosen.clone_from(&decision.chosen);
        record.via_nominated = decision.via_nominated;
        record.ties = Some(decision.ties.len()).filter(|&ties| ties > 0);
        record.volumes = decision.chosen.as_ref().map(|node| self.volumes(&pod, node));
        if decision.chosen.is_none() && preempting == Preempting::Yes {
            record.preemption = Some(self.preemption(&pod, &decision));
        }
        record
    }

    fn record_nodes(&self, pod: &NaivePod, skip: &BTreeSet<&'static str>, record: &mut ScheduleRecord) {
        let Recorder { profile, cluster } = self;
        let search = Search::new(profile, cluster, pod, skip);
        let mut nodes: Vec<NodeRecord> =
            cluster.nodes.iter().map(|node| node_record(&search, &record.pre_filter, node)).collect();
        let feasible: Vec<&NaiveNode> =
            cluster.nodes.iter().zip(&nodes).filter(|(_, it)| it.feasible).map(|(node, _)| node).collect();
        if !feasible.is_empty() {
            let state = NaiveScoreState::new(profile, cluster, pod, &feasible);
            record.skip_score = names(&state.skipped());
            let scores = score_nodes(profile, cluster, pod, &feasible).expect("terms of traces are readable");
            for (node, score) in nodes.iter_mut().filter(|it| it.feasible).zip(scores) {
                node.raw = owned(&score.raw);
                node.scores = owned(&score.weighted);
                node.total = Some(score.total);
            }
        }
        record.nodes = Some(nodes);
    }

    fn volumes(&self, pod: &NaivePod, node: &str) -> VolumesRecord {
        let node = self.cluster.nodes.iter().find(|it| it.input.name == node).expect("the chosen node");
        let Ok(found) = volume_binding::find(&self.cluster, pod, node) else {
            return VolumesRecord::default();
        };
        let claim = |namespace: &str, name: &str| format!("{namespace}/{name}");
        VolumesRecord {
            bound: found
                .bindings
                .iter()
                .map(|(it, volume)| BoundClaim {
                    pvc: claim(&it.namespace, &it.name),
                    pv: volume.name.clone(),
                })
                .collect(),
            provisioned: found.provisions.iter().map(|(it, _)| claim(&it.namespace, &it.name)).collect(),
        }
    }

    fn preemption(&self, pod: &NaivePod, decision: &NaiveDecision) -> PreemptionRecord {
        let args = NaivePreemptionArgs { candidates_min_percent: 100, ..NaivePreemptionArgs::default() };
        let found = preempt(&self.profile, &args, &self.cluster, pod, decision, 0);
        preemption_record(&found)
    }

    /// Applies a step to the twins' cluster.
    pub(super) fn apply(&mut self, step: &TraceStep) {
        let cluster = &mut self.cluster;
        match step {
            TraceStep::Schedule { pod, record } => match (&record.chosen, &record.preemption) {
                (Some(node), _) => place(cluster, naive_pod(pod), node),
                (None, Some(preemption)) => apply_preemption(cluster, naive_pod(pod), &preemption.applied),
                (None, None) => {}
            },
            TraceStep::DeletePod { pod } => delete_pod(cluster, pod),
            TraceStep::UpdatePod { pod } => {
                let pod = naive_pod(pod);
                delete_pod(cluster, &key(&pod));
                bind(cluster, pod);
            }
            TraceStep::AddNode { node } => cluster.add_node(node_input(node).expect("a sound node")),
            TraceStep::UpdateNode { node } => cluster.update_node(node_input(node).expect("a sound node")),
            TraceStep::RemoveNode { node, nominations_cleared, .. } => {
                cluster.remove_node(node);
                clear_nominations(cluster, nominations_cleared);
            }
            TraceStep::Nominate { pod } => nominate(cluster, naive_pod(pod)),
            TraceStep::ClearNomination { pod } => clear_nominations(cluster, std::slice::from_ref(pod)),
            TraceStep::SchedulePodGroup { .. } => unreachable!("no trace that is mixed has groups"),
            TraceStep::ApplyObjects { objects } => {
                for object in objects {
                    cluster.storage.put(match object {
                        AppliedObject::PodGroup(_) => unreachable!("no trace that is mixed has groups"),
                        AppliedObject::Volume(it) => StorageInput::PersistentVolume(
                            persistent_volume_input(it).expect("a sound volume"),
                        ),
                        AppliedObject::Claim(it) => {
                            StorageInput::PersistentVolumeClaim(claim_input(it).expect("a sound claim"))
                        }
                        AppliedObject::Other(it) => panic!("{}: {TWINS_CANNOT}", it.kind),
                    });
                }
            }
            TraceStep::DeleteObjects { .. } => panic!("deleteObjects: {TWINS_CANNOT}"),
        }
    }
}

fn node_record(search: &Search<'_>, pre_filter: &PreFilterRecord, node: &NaiveNode) -> NodeRecord {
    let mut record = NodeRecord { name: node.input.name.clone(), ..NodeRecord::default() };
    if pre_filter.nodes.as_ref().is_some_and(|names| !names.contains(&record.name)) {
        record.plugin = Some(pre_filter.nodes_by.join(","));
        record.code = Some("UnschedulableAndUnresolvable".to_owned());
        record.reasons =
            vec![format!("node(s) didn't satisfy plugin(s) [{}]", pre_filter.nodes_by.join(" "))];
        return record;
    }
    // As recorded: each further plugin is asked with those before it left out.
    let mut plugins: &[&str] = &search.profile.filter_plugins;
    let mut rejections = Vec::new();
    while let Some(verdict) = first_rejection(search, &search.state, node, plugins) {
        let position = plugins.iter().position(|plugin| *plugin == verdict.plugin).map_or(0, |at| at + 1);
        plugins = &plugins[position..];
        rejections.push(rejection_record(&verdict));
    }
    record.feasible = rejections.is_empty();
    let mut rejections = rejections.into_iter();
    if let Some(first) = rejections.next() {
        record.plugin = first.plugin;
        record.code = Some(first.code);
        record.reasons = first.reasons;
    }
    record.also = rejections.collect();
    record
}

fn preemption_record(found: &NaivePreemption) -> PreemptionRecord {
    let chosen = found.best.first().cloned();
    let victims_on = |node: &String| {
        let candidate = found.candidates.iter().find(|it| it.node == *node);
        candidate.map_or(Vec::new(), |it| it.victims.iter().map(key).collect())
    };
    PreemptionRecord {
        eligible: found.ineligible.is_none(),
        reason: found.ineligible.map(str::to_owned),
        potential_nodes: found.potential_nodes.clone(),
        candidates: found
            .candidates
            .iter()
            .map(|it| CandidateRecord {
                node: it.node.clone(),
                victims: it.victims.iter().map(key).collect(),
                pdb_violations: it.violations,
            })
            .collect(),
        failed: found.failed.iter().map(|(node, verdict)| failed_record(node, verdict)).collect(),
        tied: if found.best.len() > 1 { found.best.clone() } else { Vec::new() },
        applied: Applied {
            evicted: chosen.as_ref().map_or(Vec::new(), victims_on),
            nominated_node_name: chosen.clone(),
            nominations_cleared: found.nominations_cleared.clone(),
        },
        chosen,
    }
}

fn failed_record(node: &str, verdict: &NaiveVerdict) -> FailedRecord {
    let RejectionRecord { plugin, code, mut reasons } = rejection_record(verdict);
    reasons.sort();
    // The twins have no word for an error.
    let is_error = plugin.is_none() && code == "Unschedulable";
    let code = if is_error { "Error".to_owned() } else { code };
    FailedRecord { node: node.to_owned(), plugin, code: Some(code), reasons }
}

fn rejection_record(verdict: &NaiveVerdict) -> RejectionRecord {
    let code = match verdict.code {
        NaiveCode::Unschedulable => "Unschedulable",
        NaiveCode::UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
    };
    RejectionRecord {
        plugin: Some(verdict.plugin.to_owned()).filter(|plugin| !plugin.is_empty()),
        code: code.to_owned(),
        reasons: verdict.reasons.clone(),
    }
}

fn names(plugins: &BTreeSet<&'static str>) -> Vec<String> {
    plugins.iter().map(|plugin| (*plugin).to_owned()).collect()
}

fn owned(scores: &BTreeMap<&'static str, i64>) -> BTreeMap<String, i64> {
    scores.iter().map(|(plugin, score)| ((*plugin).to_owned(), *score)).collect()
}

/// `namespace/name`, as traces refer to pods.
pub(super) fn key(pod: &NaivePod) -> String {
    format!("{}/{}", pod.input.namespace, pod.meta.name)
}

fn naive_pod(pod: &Pod) -> NaivePod {
    let (input, meta) = pod_input(pod).expect("a sound pod");
    NaivePod { input, meta }
}

fn initial(from: &Cluster) -> NaiveCluster {
    let mut cluster = NaiveCluster::default();
    for object in from.storage() {
        if let Some(input) = storage_input(object).expect("a sound object") {
            cluster.storage.put(input);
        }
    }
    for node in &from.nodes {
        cluster.add_node(node_input(node).expect("a sound node"));
    }
    from.pods.iter().for_each(|pod| bind(&mut cluster, naive_pod(pod)));
    cluster.nominated = from.nominated.iter().map(naive_pod).collect();
    for namespace in &from.namespaces {
        let labels: Option<Labels> = read(&namespace["metadata"]["labels"]);
        let name = namespace["metadata"]["name"].as_str().expect("a namespace has a name");
        cluster.namespaces.insert(name.to_owned(), labels.unwrap_or_default());
    }
    cluster.services = from.services.iter().map(|it| service_input(&read(it))).collect();
    let controllers = from.replication_controllers.iter().map(|it| replication_controller_input(&read(it)));
    let replica_sets = from.replica_sets.iter().map(|it| replica_set_input(&read(it)));
    let stateful_sets = from.stateful_sets.iter().map(|it| stateful_set_input(&read(it)));
    cluster.workloads = controllers.chain(replica_sets).chain(stateful_sets).collect();
    cluster.budgets =
        from.pod_disruption_budgets.iter().map(|it| disruption_budget_input(&read(it))).collect();
    cluster
}

fn read<T: DeserializeOwned>(value: &Value) -> T {
    T::deserialize(value).expect("an object of its kind")
}

fn place(cluster: &mut NaiveCluster, pod: NaivePod, node: &str) {
    clear_nominations(cluster, &[key(&pod)]);
    let meta = PodMeta {
        node_name: Some(node.to_owned()),
        nominated_node_name: None,
        start_time_s: pod.meta.creation_time_s.map(|created| created + 1),
        ..pod.meta
    };
    bind(cluster, NaivePod { input: pod.input, meta });
}

fn bind(cluster: &mut NaiveCluster, pod: NaivePod) {
    let node = pod.meta.node_name.clone().expect("a bound pod names its node");
    cluster.add_pod(&node, pod);
}

fn apply_preemption(cluster: &mut NaiveCluster, mut pod: NaivePod, applied: &Applied) {
    applied.evicted.iter().for_each(|victim| delete_pod(cluster, victim));
    clear_nominations(cluster, &applied.nominations_cleared);
    if let Some(node) = &applied.nominated_node_name {
        pod.meta.nominated_node_name = Some(node.clone());
        nominate(cluster, pod);
    }
}

fn nominate(cluster: &mut NaiveCluster, pod: NaivePod) {
    clear_nominations(cluster, &[key(&pod)]);
    cluster.nominated.push(pod);
}

fn clear_nominations(cluster: &mut NaiveCluster, pods: &[String]) {
    cluster.nominated.retain(|other| !pods.contains(&key(other)));
}

fn delete_pod(cluster: &mut NaiveCluster, pod: &str) {
    for node in &mut cluster.nodes {
        if let Some(leaving) = node.pods.iter().find(|other| key(other) == pod).cloned() {
            node.remove_pod(&leaving);
        }
    }
}
