//! The answer as data: what a table, a JSON document and a page are made from.

use std::collections::BTreeMap;

use schedlab_core::cycle::explain::{Explanation, NodeExplanation};
use schedlab_core::cycle::plan::FilterScope;
use schedlab_core::cycle::sampling::num_feasible_nodes_to_find;
use schedlab_core::framework::diagnosis::Diagnosis;
use schedlab_core::framework::profile::{PluginIndex, Profile};
use schedlab_core::ids::ClassId;
use schedlab_core::input::PodInput;
use schedlab_core::quantity::Quantity;
use schedlab_core::scheduler::{Evaluation, Scheduler};
use schedlab_core::world::World;
use serde::Serialize;

use super::amount::quantity;
use super::detail::{DetailCount, DetailReport, GroupDetails, PodNamer, SpreadReport, spread_reports};
use super::ignored::{IgnoredField, IgnoredKind};
use super::subject::UnusedObjects;

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
    pub pod: ExplainedPod,
    /// How many nodes the cluster has.
    pub node_count: usize,
    /// How many of them pass all filters.
    pub feasible_count: usize,
    /// After so many feasible nodes kube-scheduler stops looking, with its default settings.
    /// Here all nodes are looked at.
    pub feasible_wanted: usize,
    /// What came out.
    pub verdict: ExplainVerdict,
    /// What the answer does not take into account and should, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Fields of the pod that kube-scheduler reads and no plugin here does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored_fields: Vec<IgnoredField>,
    /// Objects that had no say, by kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored_kinds: Vec<IgnoredKind>,
    /// The pod belongs to another scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_scheduler: Option<OtherScheduler>,
    /// Why the pod is not even tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gated_by: Option<PreEnqueueRejection>,
    /// Why no node is looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected_as_a_whole: Option<WholeRejection>,
    /// kube-scheduler's sentence, when no node is feasible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The first node with the highest total, and what it won by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<Winner>,
    /// What would be chosen if the fields that are ignored had no say; then there is no `chosen`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen_if_ignored: Option<Winner>,
    /// The pod's hard topology spread constraints, with the counts of their domains.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub topology_spread: Vec<SpreadReport>,
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

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExplainVerdict {
    /// A node is chosen.
    Chosen,
    /// No node is feasible.
    FitsNowhere,
    /// A node would be chosen, but for fields of the pod that no plugin here honours.
    Unsure,
    /// A PreEnqueue plugin rejects the pod; what is chosen is what would be without that.
    Gated,
    /// No profile takes the pod.
    OtherScheduler,
}

/// The pod names a scheduler that is none of the profiles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OtherScheduler {
    /// `spec.schedulerName`.
    pub scheduler_name: String,
    /// The names of the profiles.
    pub profiles: Vec<String>,
}

/// What the reader should know about the pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ExplainedPod {
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
pub struct PreEnqueueRejection {
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
    pub lead_by_plugin: Vec<PluginLead>,
}

/// One plugin's part in a lead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PluginLead {
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
    /// The facts behind it, most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<DetailCount>,
    /// Distinct facts beyond those.
    #[serde(skip_serializing_if = "is_zero")]
    pub details_left_out: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(value: &usize) -> bool {
    *value == 0
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
    /// Why, in upstream's words.
    pub reasons: Vec<String>,
    /// What that rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<DetailReport>,
}

impl RejectionReport {
    /// The reasons, with the facts behind them.
    #[must_use]
    pub fn with_details(&self) -> String {
        let reasons = self.reasons.join(", ");
        if self.details.is_empty() {
            return reasons;
        }
        let details: Vec<&str> = self.details.iter().map(|detail| detail.text.as_str()).collect();
        format!("{reasons}: {}", details.join("; "))
    }
}

impl ExplainedPod {
    pub(super) fn of(
        input: &PodInput,
        namespace: String,
        name: String,
        bound_to: Option<String>,
    ) -> ExplainedPod {
        let mut requests: BTreeMap<String, Quantity> = BTreeMap::new();
        for (resource, amount) in input.containers.iter().flat_map(|container| &container.requests) {
            match requests.get_mut(resource) {
                Some(sum) => *sum += *amount,
                None => {
                    requests.insert(resource.clone(), *amount);
                }
            }
        }
        ExplainedPod {
            namespace,
            name,
            bound_to,
            scheduler_name: input.scheduler_name.clone(),
            priority: input.priority,
            requests: requests.into_iter().map(|(name, amount)| (name, quantity(amount))).collect(),
        }
    }
}

/// All that a report is made from, beside the scheduler.
pub(super) struct Question<'a> {
    pub(super) class: ClassId,
    pub(super) pod: &'a ExplainedPod,
    pub(super) source: &'a str,
    pub(super) left_out: &'a UnusedObjects,
    pub(super) name_of: PodNamer<'a>,
}

impl Report {
    pub(super) fn make(scheduler: &mut Scheduler, question: &Question<'_>) -> Report {
        let profiles: Vec<String> =
            scheduler.profiles().map(|profile| profile.scheduler_name.clone()).collect();
        match scheduler.evaluation_by(&question.pod.scheduler_name) {
            Some(evaluation) => Report::of_profile(evaluation, question),
            None => Report::of_other_scheduler(scheduler.world(), question, profiles),
        }
    }

    /// What is known without asking a plugin.
    fn unanswered(world: &World, question: &Question<'_>) -> Report {
        let left_out = question.left_out.clone();
        Report {
            schema: SCHEMA,
            source: question.source.to_owned(),
            pod: question.pod.clone(),
            node_count: world.nodes().node_count(),
            feasible_count: 0,
            feasible_wanted: 0,
            verdict: ExplainVerdict::FitsNowhere,
            warnings: left_out.warnings,
            ignored_fields: left_out.fields,
            ignored_kinds: left_out.kinds,
            other_scheduler: None,
            gated_by: None,
            rejected_as_a_whole: None,
            message: None,
            chosen: None,
            chosen_if_ignored: None,
            topology_spread: Vec::new(),
            rejected_first: Vec::new(),
            filters: Vec::new(),
            skipped_filters: Vec::new(),
            scores: Vec::new(),
            skipped_scores: Vec::new(),
            nodes: Vec::new(),
        }
    }

    fn of_other_scheduler(world: &World, question: &Question<'_>, profiles: Vec<String>) -> Report {
        let scheduler_name = question.pod.scheduler_name.clone();
        Report {
            verdict: ExplainVerdict::OtherScheduler,
            other_scheduler: Some(OtherScheduler { scheduler_name, profiles }),
            ..Report::unanswered(world, question)
        }
    }

    fn of_profile(mut evaluation: Evaluation<'_>, question: &Question<'_>) -> Report {
        let explanation = evaluation.explain(question.class.into());
        let (world, profile) = (evaluation.world(), evaluation.profile());
        let columns = score_columns(profile, &explanation);
        let nodes = node_reports(world, &explanation, &columns, question.name_of);
        let names = |plugins: &[PluginIndex]| -> Vec<String> {
            plugins.iter().map(|&plugin| profile.name(plugin).to_owned()).collect()
        };
        let is_run = |plugin: &&PluginIndex| !explanation.plan.skipped_filters.contains(plugin);
        let filters: Vec<PluginIndex> = profile.filters().iter().filter(is_run).copied().collect();
        let winner = explanation.chosen.map(|row| winner(&nodes, &columns_of(profile, &columns), row));
        let gated_by = gated_by(world, profile, question.class);
        let verdict = match (&winner, &gated_by) {
            (None, _) => ExplainVerdict::FitsNowhere,
            (Some(_), _) if !question.left_out.fields.is_empty() => ExplainVerdict::Unsure,
            (Some(_), Some(_)) => ExplainVerdict::Gated,
            (Some(_), None) => ExplainVerdict::Chosen,
        };
        let (chosen, chosen_if_ignored) =
            if verdict == ExplainVerdict::Unsure { (None, winner) } else { (winner, None) };
        let node_count = world.nodes().node_count();
        Report {
            feasible_count: nodes.iter().filter(|node| node.feasible).count(),
            feasible_wanted: num_feasible_nodes_to_find(profile.percentage_of_nodes_to_score, node_count),
            verdict,
            gated_by,
            rejected_as_a_whole: whole_rejection(world, &explanation),
            message: explanation.chosen.is_none().then(|| message(world, &explanation)),
            chosen,
            chosen_if_ignored,
            topology_spread: spread_reports(world, question.class),
            rejected_first: rejected_first(&nodes),
            filters: names(&filters),
            skipped_filters: names(&explanation.plan.skipped_filters),
            scores: columns_of(profile, &columns),
            skipped_scores: names(&explanation.plan.skipped_scores),
            nodes,
            ..Report::unanswered(world, question)
        }
    }

    /// The best node, whether or not fields are ignored: [`Report::verdict`] says how sure that is.
    #[must_use]
    pub fn winner(&self) -> Option<&Winner> {
        self.chosen.as_ref().or(self.chosen_if_ignored.as_ref())
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

fn node_reports(
    world: &World,
    explanation: &Explanation,
    columns: &[(PluginIndex, i64)],
    name_of: PodNamer<'_>,
) -> Vec<NodeReport> {
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
                rejections: rejections(world, node, name_of),
            }
        })
        .collect()
}

fn rejections(world: &World, node: &NodeExplanation, name_of: PodNamer<'_>) -> Vec<RejectionReport> {
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
            details: rejection
                .details
                .iter()
                .map(|detail| DetailReport::of(detail, world, name_of))
                .collect(),
        })
        .collect()
}

fn gated_by(world: &World, profile: &Profile, class: ClassId) -> Option<PreEnqueueRejection> {
    profile.plugins().iter().find_map(|plugin| {
        let held = plugin.as_pre_enqueue()?.pre_enqueue(world, world.class(class))?;
        Some(PreEnqueueRejection { plugin: plugin.name().to_owned(), message: held.reason })
    })
}

fn whole_rejection(world: &World, explanation: &Explanation) -> Option<WholeRejection> {
    let FilterScope::Rejected { plugin, code, reason, named_by, .. } = &explanation.plan.scope else {
        return None;
    };
    Some(WholeRejection {
        plugins: named_by.iter().chain(plugin).map(|&plugin| plugin.to_owned()).collect(),
        code: code.name(),
        reason: reason.text(&world.vocabulary).into_owned(),
    })
}

/// The sentence kube-scheduler writes into the pod's condition.
fn message(world: &World, explanation: &Explanation) -> String {
    let mut diagnosis = Diagnosis { node_count: world.nodes().node_count(), ..Diagnosis::default() };
    if let FilterScope::Rejected { reason, .. } = &explanation.plan.scope {
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
        let mut differences: Vec<PluginLead> = columns
            .iter()
            .zip(best.weighted.iter().zip(&other.weighted))
            .filter(|(_, (chosen, runner_up))| chosen != runner_up)
            .map(|(column, (&chosen, &runner_up))| PluginLead {
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

#[derive(Default)]
struct Group<'a> {
    nodes: usize,
    unresolvable: usize,
    details: GroupDetails<'a>,
}

fn rejected_first(nodes: &[NodeReport]) -> Vec<RejectedGroup> {
    let mut groups: BTreeMap<(&str, &str), Group<'_>> = BTreeMap::new();
    for first in nodes.iter().filter_map(|node| node.rejections.first()) {
        for reason in &first.reasons {
            let group = groups.entry((&first.plugin, reason)).or_default();
            group.nodes += 1;
            group.unresolvable += usize::from(first.code == "UnschedulableAndUnresolvable");
            group.details.count(&first.details, reason);
        }
    }
    let mut groups: Vec<RejectedGroup> = groups
        .into_iter()
        .map(|((plugin, reason), group)| {
            let (details, details_left_out) = group.details.most_frequent();
            RejectedGroup {
                plugin: plugin.to_owned(),
                reason: reason.to_owned(),
                nodes: group.nodes,
                unresolvable: group.unresolvable,
                details,
                details_left_out,
            }
        })
        .collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.nodes));
    groups
}
