//! Replays recorded decisions of kube-scheduler on the plain twins, and prints what differs.
//!
//! `cargo run -p schedlab-workloads --example replay_naive -- <trace.json.gz>...`
//!
//! What the twins do not have (volumes, declared features, dynamic resources) is left out on both
//! sides: a node that only such a plugin rejects counts as unknown, and steps where that changes
//! scores or preemption are compared up to there.

#![allow(clippy::print_stdout, reason = "a tool for developers: its output is the result")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use k8s_openapi::api::core::v1::Pod;
use schedlab_cluster::convert::{
    disruption_budget_input, node_input, pod_input, replica_set_input, replication_controller_input,
    service_input, stateful_set_input,
};
use schedlab_core::input::{Labels, PodMeta};
use schedlab_core::naive::nominated::first_rejection;
use schedlab_core::naive::preemption::{Preemption, PreemptionArgs, preempt};
use schedlab_core::naive::schedule::{
    Pick, Profile, ScoreState, Search, run_pre_filter, schedule_pod, score_nodes, skipped_scores,
};
use schedlab_core::naive::{Code, NaiveCluster, NaiveNode, NaivePod, Verdict};
use schedlab_workloads::replay::{
    Applied, Cluster, NodeRecord, PreemptionRecord, ScheduleRecord, Step, Trace, read_trace,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

type Failure = Box<dyn std::error::Error>;

/// Differences printed for each trace.
const SHOWN_MAX: usize = 8;

fn main() -> ExitCode {
    let mut totals: BTreeMap<String, (usize, usize, usize)> = BTreeMap::new();
    for path in std::env::args().skip(1) {
        match read_trace(path.as_ref()).map_err(Failure::from).and_then(|trace| replay(&trace)) {
            Ok(report) => {
                let total = totals.entry(report.family.clone()).or_default();
                total.0 += report.steps;
                total.1 += report.comparisons;
                total.2 += report.differences.len();
                for difference in report.differences.iter().take(SHOWN_MAX) {
                    println!("{path}: {difference}");
                }
            }
            Err(failure) => {
                println!("{path}: {failure}");
                return ExitCode::from(2);
            }
        }
    }
    for (family, (steps, comparisons, differences)) in &totals {
        println!("{family}: {steps} decisions, {comparisons} comparisons, {differences} differences");
    }
    ExitCode::from(u8::from(totals.values().any(|total| total.2 > 0)))
}

#[derive(Default)]
struct Report {
    family: String,
    steps: usize,
    comparisons: usize,
    differences: Vec<String>,
    /// The step that is being compared.
    place: String,
}

impl Report {
    fn check<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, recorded: T, ours: T) {
        self.comparisons += 1;
        if recorded != ours {
            self.differences.push(format!("{}: {what}: recorded {recorded:?}, ours {ours:?}", self.place));
        }
    }
}

fn replay(trace: &Trace) -> Result<Report, Failure> {
    let mut report = Report { family: trace.family.clone(), ..Default::default() };
    let profile = Profile { percentage_of_nodes_to_score: 100, ..Profile::default() };
    let mut cluster = initial(&trace.cluster)?;
    for (at, step) in trace.steps.iter().enumerate() {
        if let Step::Schedule { pod, record } = step {
            let mut pod = naive_pod(pod)?;
            // The node it names is part of what is evaluated.
            pod.input.node_name = pod.meta.node_name.clone();
            report.place = format!("step {at}: {}", key(&pod));
            report.steps += 1;
            compare(&profile, &cluster, &pod, record, &mut report);
        }
        apply(&mut cluster, step)?;
    }
    Ok(report)
}

fn compare(
    profile: &Profile,
    cluster: &NaiveCluster,
    pod: &NaivePod,
    record: &ScheduleRecord,
    report: &mut Report,
) {
    let pre_filter = run_pre_filter(profile, cluster, pod);
    let recorded = &record.pre_filter;
    let is_ours = |plugin: &str| profile.filter_plugins.contains(&plugin);
    if recorded.rejected.as_ref().is_some_and(|it| it.plugin.as_deref().is_some_and(|by| !is_ours(by))) {
        return;
    }
    let recorded_rejection = recorded
        .rejected
        .as_ref()
        .map(|it| (it.plugin.clone().unwrap_or_default(), it.code.clone(), set(&it.reasons)));
    report.check("PreFilter rejection", recorded_rejection, pre_filter.rejected.as_ref().map(shown));
    let Some(records) = &record.nodes else { return };
    let skip_filter: BTreeSet<&str> =
        record.skip_filter.iter().map(String::as_str).filter(|plugin| is_ours(plugin)).collect();
    report.check("skipped filters", skip_filter, pre_filter.skip.iter().copied().collect());
    let names: Vec<&str> = cluster.nodes.iter().map(|node| node.input.name.as_str()).collect();
    report.check("node list", records.iter().map(|it| it.name.as_str()).collect(), names);

    let search = Search::new(profile, cluster, pod, &pre_filter.skip);
    let is_searched =
        |node: &NaiveNode| pre_filter.nodes.as_ref().is_none_or(|names| names.contains(&node.input.name));
    for (record, node) in records.iter().zip(&cluster.nodes) {
        if is_searched(node) {
            compare_node(&search, node, record, is_ours, report);
        }
    }
    let is_feasible = |record: &NodeRecord| record.feasible;
    let feasible: Vec<&NaiveNode> =
        cluster.nodes.iter().zip(records).filter(|(_, it)| is_feasible(it)).map(|(node, _)| node).collect();
    let foreign_scores = compare_scores(&search, &feasible, record, report);
    let foreign_filters =
        records.iter().any(|it| it.plugin.as_deref().is_some_and(|by| by.split(',').any(|by| !is_ours(by))));
    if foreign_scores || foreign_filters {
        return;
    }
    let decision = schedule_pod(profile, cluster, pod, 0, Pick::First);
    report.check("chosen", record.chosen.clone(), decision.chosen.clone());
    report.check("via nominated", record.via_nominated, decision.via_nominated);
    if !record.via_nominated {
        report.check("ties", record.ties.unwrap_or(0), decision.ties.len());
    }
    if let Some(recorded) = &record.preemption {
        let args = PreemptionArgs { candidates_min_percent: 100, ..Default::default() };
        let ours = preempt(profile, &args, cluster, pod, &decision, 0);
        compare_preemption(recorded, &ours, report);
    }
}

fn compare_node(
    search: &Search<'_>,
    node: &NaiveNode,
    record: &NodeRecord,
    is_ours: impl Fn(&str) -> bool,
    report: &mut Report,
) {
    type Rejection = (String, String, BTreeSet<String>);
    let first = record
        .plugin
        .clone()
        .map(|plugin| (plugin, record.code.clone().unwrap_or_default(), set(&record.reasons)));
    let also = record
        .also
        .iter()
        .map(|it| (it.plugin.clone().unwrap_or_default(), it.code.clone(), set(&it.reasons)));
    let recorded: Vec<Rejection> = first.into_iter().chain(also).filter(|it| is_ours(&it.0)).collect();
    // As recorded: each further plugin is asked with those before it left out.
    let mut plugins: &[&str] = &search.profile.filter_plugins;
    let mut ours: Vec<Rejection> = Vec::new();
    while let Some(verdict) = first_rejection(search, &search.state, node, plugins) {
        ours.push(shown(&verdict));
        let position = plugins.iter().position(|plugin| *plugin == verdict.plugin).map_or(0, |at| at + 1);
        plugins = &plugins[position..];
    }
    report.check(&format!("rejections of {}", record.name), recorded, ours);
}

/// True when plugins that the twins lack had a say.
fn compare_scores(
    search: &Search<'_>,
    feasible: &[&NaiveNode],
    record: &ScheduleRecord,
    report: &mut Report,
) -> bool {
    let Search { profile, cluster, pod, .. } = search;
    if feasible.is_empty() {
        return false;
    }
    let is_ours = |plugin: &str| profile.score_plugins.iter().any(|(name, _)| *name == plugin);
    let state = ScoreState::new(profile, cluster, pod, feasible);
    let skipped: BTreeSet<&str> =
        record.skip_score.iter().map(String::as_str).filter(|plugin| is_ours(plugin)).collect();
    report.check("skipped scores", skipped, skipped_scores(profile, pod, &state));
    let Ok(scores) = score_nodes(profile, cluster, pod, feasible) else {
        report.check("scores", "scored", "an error");
        return true;
    };
    let mut foreign = false;
    let records = record.nodes.iter().flatten().filter(|it| it.feasible);
    for (record, ours) in records.zip(scores) {
        let own = |scores: &BTreeMap<String, i64>| -> BTreeMap<String, i64> {
            scores
                .iter()
                .filter(|(plugin, _)| is_ours(plugin))
                .map(|(plugin, it)| (plugin.clone(), *it))
                .collect()
        };
        let plain = |scores: &BTreeMap<&'static str, i64>| -> BTreeMap<String, i64> {
            scores.iter().map(|(plugin, it)| ((*plugin).to_owned(), *it)).collect()
        };
        report.check(&format!("raw scores of {}", record.name), own(&record.raw), plain(&ours.raw));
        report.check(&format!("scores of {}", record.name), own(&record.scores), plain(&ours.weighted));
        let others: i64 = record.scores.iter().filter(|(plugin, _)| !is_ours(plugin)).map(|(_, it)| it).sum();
        foreign |= others != 0;
        report.check(&format!("total of {}", record.name), record.total.unwrap_or(0), ours.total + others);
    }
    foreign
}

fn compare_preemption(recorded: &PreemptionRecord, ours: &Preemption, report: &mut Report) {
    report.check("preemption: eligible", recorded.eligible, ours.ineligible.is_none());
    report.check("preemption: reason", recorded.reason.as_deref(), ours.ineligible);
    report.check("preemption: potential nodes", &recorded.potential_nodes, &ours.potential_nodes);
    let candidates =
        recorded.candidates.iter().map(|it| (it.node.clone(), it.victims.clone(), it.pdb_violations));
    let our_candidates = ours.candidates.iter().map(|it| {
        let victims: Vec<String> = it.victims.iter().map(key).collect();
        (it.node.clone(), victims, it.violations)
    });
    report.check("preemption: candidates", candidates.collect::<Vec<_>>(), our_candidates.collect());
    let failed = recorded.failed.iter().map(|it| {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        (it.node.clone(), (text(&it.plugin), text(&it.code), set(&it.reasons)))
    });
    let our_failed = ours.failed.iter().map(|(node, verdict)| (node.clone(), shown(verdict)));
    report.check("preemption: failed", failed.collect::<Vec<_>>(), our_failed.collect());
    report.check("preemption: chosen", recorded.chosen.as_ref(), ours.best.first());
    let tied = if ours.best.len() > 1 { ours.best.clone() } else { Vec::new() };
    report.check("preemption: tied", recorded.tied.clone(), tied);
    let nominated = recorded.applied.nominated_node_name.as_ref();
    report.check("preemption: nominated", nominated, ours.best.first());
    let cleared: BTreeSet<&String> = recorded.applied.nominations_cleared.iter().collect();
    report.check("preemption: nominations cleared", cleared, ours.nominations_cleared.iter().collect());
}

fn shown(verdict: &Verdict) -> (String, String, BTreeSet<String>) {
    let code = match verdict.code {
        Code::Unschedulable => "Unschedulable",
        Code::UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
    };
    (verdict.plugin.to_owned(), code.to_owned(), set(&verdict.reasons))
}

fn set(texts: &[String]) -> BTreeSet<String> {
    texts.iter().cloned().collect()
}

fn key(pod: &NaivePod) -> String {
    format!("{}/{}", pod.input.namespace, pod.meta.name)
}

fn naive_pod(pod: &Pod) -> Result<NaivePod, Failure> {
    let (input, meta) = pod_input(pod)?;
    Ok(NaivePod { input, meta })
}

fn initial(from: &Cluster) -> Result<NaiveCluster, Failure> {
    let mut cluster = NaiveCluster::default();
    for node in &from.nodes {
        cluster.add_node(node_input(node)?);
    }
    for pod in &from.pods {
        bind(&mut cluster, naive_pod(pod)?)?;
    }
    for pod in &from.nominated {
        cluster.nominated.push(naive_pod(pod)?);
    }
    for namespace in &from.namespaces {
        let name = namespace["metadata"]["name"].as_str().ok_or("a namespace without a name")?;
        let labels: Labels = read::<Option<Labels>>(&namespace["metadata"]["labels"])?.unwrap_or_default();
        cluster.namespaces.insert(name.to_owned(), labels);
    }
    for object in &from.services {
        cluster.services.push(service_input(&read(object)?));
    }
    for object in &from.replication_controllers {
        cluster.workloads.push(replication_controller_input(&read(object)?));
    }
    for object in &from.replica_sets {
        cluster.workloads.push(replica_set_input(&read(object)?));
    }
    for object in &from.stateful_sets {
        cluster.workloads.push(stateful_set_input(&read(object)?));
    }
    for object in &from.pod_disruption_budgets {
        cluster.budgets.push(disruption_budget_input(&read(object)?));
    }
    Ok(cluster)
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, Failure> {
    Ok(T::deserialize(value)?)
}

/// Applies what upstream did, whatever the twins would have done.
fn apply(cluster: &mut NaiveCluster, step: &Step) -> Result<(), Failure> {
    match step {
        Step::Schedule { pod, record } => {
            let pod = naive_pod(pod)?;
            match (&record.chosen, &record.preemption) {
                (Some(node), _) => place(cluster, pod, node)?,
                (None, Some(preemption)) => apply_preemption(cluster, pod, &preemption.applied),
                (None, None) => {}
            }
        }
        Step::DeletePod { pod } => delete_pod(cluster, pod),
        Step::UpdatePod { pod } => {
            let pod = naive_pod(pod)?;
            delete_pod(cluster, &key(&pod));
            bind(cluster, pod)?;
        }
        Step::AddNode { node } => cluster.add_node(node_input(node)?),
        Step::UpdateNode { node } => cluster.update_node(node_input(node)?),
        Step::RemoveNode { node, nominations_cleared, .. } => {
            cluster.remove_node(node);
            clear_nominations(cluster, nominations_cleared);
        }
        Step::Nominate { pod } => nominate(cluster, naive_pod(pod)?),
        Step::ClearNomination { pod } => clear_nominations(cluster, std::slice::from_ref(pod)),
        Step::ApplyObjects { .. } => {}
    }
    Ok(())
}

fn place(cluster: &mut NaiveCluster, pod: NaivePod, node: &str) -> Result<(), Failure> {
    clear_nominations(cluster, &[key(&pod)]);
    let meta = PodMeta {
        node_name: Some(node.to_owned()),
        nominated_node_name: None,
        start_time_s: pod.meta.creation_time_s.map(|created| created + 1),
        ..pod.meta
    };
    bind(cluster, NaivePod { input: pod.input, meta })
}

fn bind(cluster: &mut NaiveCluster, pod: NaivePod) -> Result<(), Failure> {
    let node = pod.meta.node_name.clone().ok_or_else(|| format!("{} is not bound", key(&pod)))?;
    cluster.add_pod(&node, pod);
    Ok(())
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
