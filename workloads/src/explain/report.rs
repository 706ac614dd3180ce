//! The answer as data: what a table, a JSON document and a page are made from.

use std::collections::BTreeMap;

use schedlab_core::cycle::explain::{Explanation, NodeExplanation, explain};
use schedlab_core::cycle::plan::Scope;
use schedlab_core::cycle::sampling::feasible_nodes_to_find;
use schedlab_core::framework::diagnosis::Diagnosis;
use schedlab_core::framework::profile::{PluginIndex, Profile};
use schedlab_core::ids::ClassId;
use schedlab_core::input::PodInput;
use schedlab_core::quantity::Quantity;
use schedlab_core::scheduler::Scheduler;
use schedlab_core::world::World;
use serde::Serialize;

/// The name and version of the document.
pub const SCHEMA: &str = "schedlab-explain/v1";

/// Why a pod goes where it goes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Where the cluster came from.
    pub source: String,
    /// The pod.
    pub pod: PodFacts,
    /// How many nodes the cluster has.
    pub node_count: usize,
    /// How many of them pass all filters.
    pub feasible_count: usize,
    /// After so many feasible nodes kube-scheduler stops looking, with its default settings.
    /// Here all nodes are looked at.
    pub feasible_wanted: usize,
    /// Why the pod is not even tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_back: Option<HeldBack>,
    /// Why no node is looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected_as_a_whole: Option<WholeRejection>,
    /// kube-scheduler's sentence, when no node is feasible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The first node with the highest total, and what it won by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<Winner>,
    /// Nodes by the plugin that rejected them first and its reason, most nodes first.
    pub rejected_first: Vec<RejectedGroup>,
    /// Filters that took part, in order.
    pub filters: Vec<String>,
    /// Filters that have nothing to say about this pod.
    pub skipped_filters: Vec<String>,
    /// Scores that took part, in order; the scores of a node stand in the same order.
    pub scores: Vec<ScoreColumn>,
    /// Scores that have nothing to say about this pod.
    pub skipped_scores: Vec<String>,
    /// The nodes, in the scheduler's order.
    pub nodes: Vec<NodeReport>,
}

/// What the reader should know about the pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PodFacts {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`, or the prefix of a name to come with a `*`.
    pub name: String,
    /// The node it was on; the question is asked as if it were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_to: Option<String>,
    /// `spec.schedulerName`.
    pub scheduler_name: String,
    /// `spec.priority`.
    pub priority: i32,
    /// Requests of all plain containers, summed.
    pub requests: BTreeMap<String, String>,
}

/// A PreEnqueue plugin keeps the pod out of the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeldBack {
    /// The plugin.
    pub plugin: String,
    /// What it says.
    pub message: String,
}

/// PreFilter rejected the pod as such.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WholeRejection {
    /// The plugin, or the plugins that could not agree on a node.
    pub plugins: Vec<String>,
    /// The code.
    pub code: &'static str,
    /// Why.
    pub reason: String,
}

/// The chosen node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Winner {
    /// Its name.
    pub node: String,
    /// Its total.
    pub total: i64,
    /// All nodes with that total, itself included, in the scheduler's order. kube-scheduler draws one.
    pub tied: Vec<String>,
    /// The best node with a lower total.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner_up: Option<String>,
    /// How far it is behind, in sum.
    pub lead: i64,
    /// And by plugin, where it differs, largest difference first.
    pub lead_by_plugin: Vec<Difference>,
}

/// One plugin's part in a lead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The plugin.
    pub plugin: String,
    /// The weighted score of the chosen node.
    pub chosen: i64,
    /// The weighted score of the runner-up.
    pub runner_up: i64,
}

/// Nodes that one plugin rejected first for one reason. A node with several reasons is in several
/// groups, as in kube-scheduler's sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RejectedGroup {
    /// The plugin.
    pub plugin: String,
    /// Why.
    pub reason: String,
    /// How many nodes.
    pub nodes: usize,
    /// How many of them eviction cannot help.
    pub unresolvable: usize,
}

/// A score that took part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScoreColumn {
    /// The plugin.
    pub plugin: String,
    /// Its weight.
    pub weight: i64,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeReport {
    /// Its name.
    pub name: String,
    /// It passes all filters.
    pub feasible: bool,
    /// The sum of its weighted scores; absent unless it is feasible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<i64>,
    /// Weighted scores in the order of [`Report::scores`]; empty unless it is feasible.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weighted: Vec<i64>,
    /// What the plugins said before scaling and weighing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub raw: Vec<i64>,
    /// Every filter that rejects it, in order; the first one decided.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejections: Vec<RejectionReport>,
}

/// A filter's verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RejectionReport {
    /// The plugin.
    pub plugin: String,
    /// The code.
    pub code: &'static str,
    /// Why.
    pub reasons: Vec<String>,
}

impl PodFacts {
    pub(super) fn of(
        input: &PodInput,
        namespace: String,
        name: String,
        bound_to: Option<String>,
    ) -> PodFacts {
        let mut requests: BTreeMap<String, Quantity> = BTreeMap::new();
        for (resource, amount) in input.containers.iter().flat_map(|container| &container.requests) {
            match requests.get_mut(resource) {
                Some(sum) => *sum += *amount,
                None => {
                    requests.insert(resource.clone(), *amount);
                }
            }
        }
        PodFacts {
            namespace,
            name,
            bound_to,
            scheduler_name: input.scheduler_name.clone(),
            priority: input.priority,
            requests: requests.into_iter().map(|(name, amount)| (name, readable(amount))).collect(),
        }
    }
}

/// Whole numbers of binary units as such: `4Gi`, not `4294967296`.
fn readable(amount: Quantity) -> String {
    const UNITS: [(&str, i64); 4] = [("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
    let value = amount.value();
    let is_whole = Quantity::parse(&value.to_string()) == Ok(amount);
    let unit = UNITS.iter().find(|(_, size)| is_whole && value != 0 && value % size == 0);
    unit.map_or_else(|| amount.to_string(), |(name, size)| format!("{}{name}", value / size))
}

impl Report {
    pub(super) fn make(scheduler: &mut Scheduler, class: ClassId, pod: PodFacts, source: &str) -> Report {
        let (world, profile) = scheduler.parts();
        let explanation = explain(world, profile, class);
        let node_count = world.nodes().node_count();
        let columns = score_columns(profile, &explanation);
        let nodes = node_reports(world, &explanation, &columns);
        let names = |plugins: &[PluginIndex]| -> Vec<String> {
            plugins.iter().map(|&plugin| profile.name(plugin).to_owned()).collect()
        };
        let is_run = |plugin: &&PluginIndex| !explanation.plan.skipped_filters.contains(plugin);
        let filters: Vec<PluginIndex> = profile.filters().iter().filter(is_run).copied().collect();
        let chosen = explanation.chosen.map(|row| winner(&nodes, &columns_of(profile, &columns), row));
        Report {
            schema: SCHEMA,
            source: source.to_owned(),
            node_count,
            feasible_count: nodes.iter().filter(|node| node.feasible).count(),
            feasible_wanted: feasible_nodes_to_find(profile.percentage_of_nodes_to_score, node_count),
            held_back: held_back(world, profile, class),
            rejected_as_a_whole: whole_rejection(world, &explanation),
            message: explanation.chosen.is_none().then(|| message(world, &explanation)),
            chosen,
            rejected_first: rejected_first(&nodes),
            filters: names(&filters),
            skipped_filters: names(&explanation.plan.skipped_filters),
            scores: columns_of(profile, &columns),
            skipped_scores: names(&explanation.plan.skipped_scores),
            nodes,
            pod,
        }
    }

    /// Names of all plugins that filter, whether they had something to say or not.
    pub fn filter_names(&self) -> impl Iterator<Item = &str> {
        self.filters.iter().chain(&self.skipped_filters).map(String::as_str)
    }
}

/// Plugins that score this pod, with weights.
fn score_columns(profile: &Profile, explanation: &Explanation) -> Vec<(PluginIndex, i64)> {
    let skipped = &explanation.plan.skipped_scores;
    profile.scores().iter().filter(|(plugin, _)| !skipped.contains(plugin)).copied().collect()
}

fn columns_of(profile: &Profile, columns: &[(PluginIndex, i64)]) -> Vec<ScoreColumn> {
    columns
        .iter()
        .map(|&(plugin, weight)| ScoreColumn { plugin: profile.name(plugin).to_owned(), weight })
        .collect()
}

fn node_reports(world: &World, explanation: &Explanation, columns: &[(PluginIndex, i64)]) -> Vec<NodeReport> {
    let ids = &world.nodes().columns().id;
    explanation
        .nodes
        .iter()
        .zip(ids)
        .map(|(node, &id)| {
            let feasible = node.is_feasible();
            let of = |value: fn(&schedlab_core::cycle::explain::NodeScore) -> i64| -> Vec<i64> {
                let score = |plugin| node.scores.iter().find(|score| score.plugin == plugin);
                let wanted = columns.iter().filter(|_| feasible);
                wanted.map(|&(plugin, _)| score(plugin).map_or(0, value)).collect()
            };
            NodeReport {
                name: world.node_name(id).to_owned(),
                feasible,
                total: feasible.then_some(node.total),
                weighted: of(|score| score.weighted),
                raw: of(|score| score.raw),
                rejections: rejections(world, node),
            }
        })
        .collect()
}

fn rejections(world: &World, node: &NodeExplanation) -> Vec<RejectionReport> {
    node.rejections
        .iter()
        .map(|rejection| RejectionReport {
            plugin: rejection.plugin.clone(),
            code: rejection.code.name(),
            reasons: rejection
                .reasons
                .iter()
                .map(|reason| reason.text(&world.vocabulary).into_owned())
                .collect(),
        })
        .collect()
}

fn held_back(world: &World, profile: &Profile, class: ClassId) -> Option<HeldBack> {
    profile.plugins().iter().find_map(|plugin| {
        let held = plugin.as_pre_enqueue()?.pre_enqueue(world, world.class(class))?;
        Some(HeldBack { plugin: plugin.name().to_owned(), message: held.reason })
    })
}

fn whole_rejection(world: &World, explanation: &Explanation) -> Option<WholeRejection> {
    let Scope::Rejected { plugin, code, reason, named_by, .. } = &explanation.plan.scope else { return None };
    Some(WholeRejection {
        plugins: named_by.iter().chain(plugin).map(|&plugin| plugin.to_owned()).collect(),
        code: code.name(),
        reason: reason.text(&world.vocabulary).into_owned(),
    })
}

/// The sentence kube-scheduler writes into the pod's condition.
fn message(world: &World, explanation: &Explanation) -> String {
    let mut diagnosis = Diagnosis { node_count: world.nodes().node_count(), ..Diagnosis::default() };
    if let Scope::Rejected { reason, .. } = &explanation.plan.scope {
        diagnosis.pre_filter = Some(reason.clone());
    }
    for first in explanation.nodes.iter().filter_map(|node| node.rejections.first()) {
        for reason in &first.reasons {
            diagnosis.count(reason.clone(), 1);
        }
    }
    diagnosis.message(&world.vocabulary)
}

fn winner(nodes: &[NodeReport], columns: &[ScoreColumn], row: usize) -> Winner {
    let best = &nodes[row];
    let total = best.total.unwrap_or(0);
    let tied = nodes.iter().filter(|node| node.total == Some(total));
    let behind = |node: &&NodeReport| node.total.is_some_and(|other| other < total);
    // The first of the best, as the chosen node is the first of the best.
    let runner_up = nodes.iter().rev().filter(behind).max_by_key(|node| node.total);
    let lead_by_plugin = runner_up.map_or_else(Vec::new, |other| {
        let mut differences: Vec<Difference> = columns
            .iter()
            .zip(best.weighted.iter().zip(&other.weighted))
            .filter(|(_, (chosen, runner_up))| chosen != runner_up)
            .map(|(column, (&chosen, &runner_up))| Difference {
                plugin: column.plugin.clone(),
                chosen,
                runner_up,
            })
            .collect();
        differences.sort_by_key(|difference| -(difference.chosen - difference.runner_up).abs());
        differences
    });
    Winner {
        node: best.name.clone(),
        total,
        tied: tied.map(|node| node.name.clone()).collect(),
        lead: runner_up.and_then(|node| node.total).map_or(0, |other| total - other),
        runner_up: runner_up.map(|node| node.name.clone()),
        lead_by_plugin,
    }
}

fn rejected_first(nodes: &[NodeReport]) -> Vec<RejectedGroup> {
    let mut groups: BTreeMap<(&str, &str), (usize, usize)> = BTreeMap::new();
    for first in nodes.iter().filter_map(|node| node.rejections.first()) {
        for reason in &first.reasons {
            let (count, unresolvable) = groups.entry((&first.plugin, reason)).or_default();
            *count += 1;
            *unresolvable += usize::from(first.code == "UnschedulableAndUnresolvable");
        }
    }
    let mut groups: Vec<RejectedGroup> = groups
        .into_iter()
        .map(|((plugin, reason), (nodes, unresolvable))| RejectedGroup {
            plugin: plugin.to_owned(),
            reason: reason.to_owned(),
            nodes,
            unresolvable,
        })
        .collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.nodes));
    groups
}
