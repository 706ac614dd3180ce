//! NodeResourcesFit: a node must have room for what the pod requests; scores say how full it gets.
//!
//! Upstream: plugins/noderesources/fit.go, resource_allocation.go, least_allocated.go,
//! most_allocated.go, requested_to_capacity_ratio.go.

use std::collections::BTreeSet;

use super::NAME;
use super::ScoringStrategy;
use crate::fake::{self, Rng};
use crate::framework::args::{NodeResourcesFitArgs, PluginArgs};
use crate::input::PodInput;
use crate::naive::bench::{BenchPod, plain, requesting};
use crate::naive::names::{is_extended_resource, is_scalar_resource};
use crate::naive::plugin_twin::{
    Asked, Fakes, FilterTwin, PluginTwin, ScoreTwin, all_nodes, always_score, any_node, as_it_is, no_counts,
};
use crate::naive::requests::{Resources, fit_request, fit_score_request, occupied};
use crate::naive::{NODE_SCORE_MAX, NaiveCode, NaiveNode, NaiveVerdict};

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

/// The twin.
pub(super) const TWIN: PluginTwin = PluginTwin {
    filter: Some(FilterTwin {
        pre_filter: all_nodes,
        count: no_counts,
        filter: |asked, _, node| filter(asked.pod, &FitArgs::of(asked), node),
        benches: || vec![BenchPod::new("resources_fit", requesting("6", "4Gi"))],
    }),
    score: Some(ScoreTwin {
        pre_score: always_score,
        score: |asked, _, node| score(asked.pod, &FitArgs::of(asked), node),
        normalize: as_it_is,
        benches: bench_scores,
    }),
    fakes: Fakes { node: |_, _| {}, pod: |_, _| {}, pending_pod: |_, _| {}, args: fake_args },
    bench_node: any_node,
};

fn bench_scores() -> Vec<BenchPod> {
    let with = |path, strategy| {
        let scoring_strategy = ScoringStrategy { strategy, ..ScoringStrategy::least_allocated() };
        let args = NodeResourcesFitArgs { scoring_strategy, ..NodeResourcesFitArgs::default() };
        BenchPod::new(path, plain()).with_args(PluginArgs::NodeResourcesFit(args))
    };
    let shape = vec![(0, 0), (70, 100), (100, 30)];
    vec![
        with("resources_fit/least_allocated", super::ScoringStrategyType::LeastAllocated),
        with("resources_fit/most_allocated", super::ScoringStrategyType::MostAllocated),
        with(
            "resources_fit/requested_to_capacity_ratio",
            super::ScoringStrategyType::RequestedToCapacityRatio(shape),
        ),
    ]
}

fn fake_args(rng: &mut Rng) -> PluginArgs {
    let strategy = match rng.range(0..=3) {
        0 => super::ScoringStrategyType::LeastAllocated,
        1 => super::ScoringStrategyType::MostAllocated,
        _ => super::ScoringStrategyType::RequestedToCapacityRatio(fake::shape(rng)),
    };
    let mut args = NodeResourcesFitArgs {
        scoring_strategy: ScoringStrategy { strategy, resources: fake::resource_weights(rng) },
        ..NodeResourcesFitArgs::default()
    };
    if rng.chance(30) {
        args.ignored_resources.push(fake::extended_resource(rng));
    }
    if rng.chance(20) {
        args.ignored_resource_groups.push("example.com".to_owned());
    }
    PluginArgs::NodeResourcesFit(args)
}

/// Scores of shape points go from 0 to this.
const SHAPE_SCORE_MAX: i64 = 10;

/// The plugin's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FitArgs {
    /// Extended resources that Filter does not look at.
    pub ignored_resources: BTreeSet<String>,
    /// Prefixes (before the `/`) of extended resources that Filter does not look at.
    pub ignored_resource_groups: BTreeSet<String>,
    /// How to score.
    pub strategy: NaiveScoringStrategyType,
    /// What to score.
    pub resources: Vec<ResourceSpec>,
}

/// What is a good node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NaiveScoringStrategyType {
    /// The emptier, the better.
    LeastAllocated,
    /// The fuller, the better.
    MostAllocated,
    /// The score is a function of the fullness, given by its corners.
    RequestedToCapacityRatio(Vec<ShapePoint>),
}

/// A corner of a broken line from fullness to score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapePoint {
    /// Fullness in percent, ascending from point to point.
    pub utilization: i64,
    /// Score from 0 to 10.
    pub score: i64,
}

/// A resource that counts in a score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceSpec {
    /// The resource.
    pub name: String,
    /// How much it counts.
    pub weight: i64,
}

impl FitArgs {
    /// What the profile says, on the API's own scale.
    fn of(asked: Asked<'_>) -> FitArgs {
        let PluginArgs::NodeResourcesFit(args) = asked.args(NAME) else { return FitArgs::default() };
        let point =
            |&(utilization, score): &(i64, i64)| ShapePoint { utilization, score: score / SHAPE_SCORE_MAX };
        let ScoringStrategy { strategy, resources } = &args.scoring_strategy;
        FitArgs {
            ignored_resources: args.ignored_resources.iter().cloned().collect(),
            ignored_resource_groups: args.ignored_resource_groups.iter().cloned().collect(),
            strategy: match strategy {
                super::ScoringStrategyType::LeastAllocated => NaiveScoringStrategyType::LeastAllocated,
                super::ScoringStrategyType::MostAllocated => NaiveScoringStrategyType::MostAllocated,
                super::ScoringStrategyType::RequestedToCapacityRatio(shape) => {
                    NaiveScoringStrategyType::RequestedToCapacityRatio(shape.iter().map(point).collect())
                }
            },
            resources: resources
                .iter()
                .map(|(name, weight)| ResourceSpec { name: name.clone(), weight: *weight })
                .collect(),
        }
    }
}

impl Default for FitArgs {
    fn default() -> FitArgs {
        FitArgs {
            ignored_resources: BTreeSet::new(),
            ignored_resource_groups: BTreeSet::new(),
            strategy: NaiveScoringStrategyType::LeastAllocated,
            resources: default_resources(),
        }
    }
}

/// Cpu and memory, of equal weight.
#[must_use]
pub fn default_resources() -> Vec<ResourceSpec> {
    ["cpu", "memory"].map(|name| ResourceSpec { name: name.to_owned(), weight: 1 }).to_vec()
}

/// Rejects a node without room, with a reason for each resource that is short.
#[must_use]
pub fn filter(pod: &PodInput, args: &FitArgs, node: &NaiveNode) -> Option<NaiveVerdict> {
    let request = fit_request(pod);
    let allocatable = Resources::from_list(&node.input.allocatable);
    let used = requested(node);
    let mut reasons = Vec::new();
    let mut code = NaiveCode::Unschedulable;
    if node.pods.len() as i64 + 1 > allocatable.pods {
        reasons.push("Too many pods".to_owned());
    }
    let mut check = |name: &str, request: i64, allocatable: i64, used: i64| {
        if request > 0 && request > allocatable.wrapping_sub(used) {
            reasons.push(format!("Insufficient {name}"));
            if request > allocatable {
                code = NaiveCode::UnschedulableAndUnresolvable;
            }
        }
    };
    check("cpu", request.cpu_milli, allocatable.cpu_milli, used.cpu_milli);
    check("memory", request.memory_bytes, allocatable.memory_bytes, used.memory_bytes);
    check(
        "ephemeral-storage",
        request.ephemeral_storage_bytes,
        allocatable.ephemeral_storage_bytes,
        used.ephemeral_storage_bytes,
    );
    for (name, amount) in &request.scalars {
        if !is_ignored(name, args) {
            check(name, *amount, allocatable.scalar(name), used.scalar(name));
        }
    }
    if reasons.is_empty() {
        return None;
    }
    Some(NaiveVerdict { plugin: NAME, code, reasons })
}

/// How good the node is by the strategy, with the pod on it.
#[must_use]
pub fn score(pod: &PodInput, args: &FitArgs, node: &NaiveNode) -> i64 {
    let counted: Vec<(&ResourceSpec, Usage)> = args
        .resources
        .iter()
        .filter_map(|spec| {
            let request = fit_score_request(pod, &spec.name);
            let usage = usage(&spec.name, request, node, nonzero_requested(node))?;
            Some((spec, usage))
        })
        .collect();
    match &args.strategy {
        NaiveScoringStrategyType::LeastAllocated => weighted_mean(&counted, least_allocated),
        NaiveScoringStrategyType::MostAllocated => weighted_mean(&counted, most_allocated),
        NaiveScoringStrategyType::RequestedToCapacityRatio(shape) => ratio_mean(&counted, shape),
    }
}

/// How full all these nodes together would be with all these pods on them.
///
/// Upstream: resource_allocation.go `scorePlacement`.
pub(crate) fn placement_score(asked: Asked<'_>, pods: &[&PodInput], nodes: &[&NaiveNode]) -> i64 {
    let args = FitArgs::of(asked);
    let mut counted: Vec<(&ResourceSpec, Usage)> = Vec::new();
    for spec in &args.resources {
        let request: i64 = pods.iter().map(|pod| fit_score_request(pod, &spec.name)).sum();
        let usages =
            nodes.iter().filter_map(|node| usage(&spec.name, request, node, nonzero_requested(node)));
        let (mut used, mut allocatable) = (0, 0);
        for usage in usages {
            (used, allocatable) = (used + usage.used, allocatable + usage.allocatable);
        }
        if allocatable > 0 {
            counted.push((spec, Usage { allocatable, used, requested: used + request }));
        }
    }
    weighted_mean(&counted, most_allocated)
}

/// The sum of what the node's pods request.
#[must_use]
pub fn requested(node: &NaiveNode) -> Resources {
    let mut sum = Resources::default();
    for pod in &node.pods {
        sum.add(&occupied(pod).requested);
    }
    sum
}

/// The same, but cpu and memory with the defaults for containers that request none.
fn nonzero_requested(node: &NaiveNode) -> Resources {
    let mut sum = requested(node);
    sum.cpu_milli = 0;
    sum.memory_bytes = 0;
    for pod in &node.pods {
        sum.cpu_milli = sum.cpu_milli.wrapping_add(occupied(pod).nonzero_cpu_milli);
        sum.memory_bytes = sum.memory_bytes.wrapping_add(occupied(pod).nonzero_memory_bytes);
    }
    sum
}

/// How much of a resource a node has, and how much of it is spoken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) allocatable: i64,
    pub(crate) used: i64,
    /// With the pod.
    pub(crate) requested: i64,
}

/// None when the resource does not count on this node: the node has none of it, or it is scalar
/// and the pod wants none.
///
/// Upstream: resource_allocation.go `calculateNodeAllocatableRequest`.
pub(crate) fn usage(name: &str, request: i64, node: &NaiveNode, used: Resources) -> Option<Usage> {
    let allocatable = Resources::from_list(&node.input.allocatable);
    let (allocatable, used) = match name {
        "cpu" => (allocatable.cpu_milli, used.cpu_milli),
        "memory" => (allocatable.memory_bytes, used.memory_bytes),
        "ephemeral-storage" => (allocatable.ephemeral_storage_bytes, used.ephemeral_storage_bytes),
        _ => (allocatable.scalar(name), used.scalar(name)),
    };
    if allocatable == 0 || (request == 0 && is_scalar_resource(name)) {
        return None;
    }
    Some(Usage { allocatable, used, requested: used.wrapping_add(request) })
}

fn is_ignored(name: &str, args: &FitArgs) -> bool {
    let group = name.split('/').next().unwrap_or_default();
    is_extended_resource(name)
        && (args.ignored_resources.contains(name) || args.ignored_resource_groups.contains(group))
}

fn weighted_mean(counted: &[(&ResourceSpec, Usage)], score: fn(Usage) -> i64) -> i64 {
    let weights: i64 = counted.iter().map(|(spec, _)| spec.weight).sum();
    if weights == 0 {
        return 0;
    }
    let scores: i64 = counted.iter().map(|(spec, usage)| score(*usage) * spec.weight).sum();
    scores / weights
}

fn least_allocated(usage: Usage) -> i64 {
    if usage.requested > usage.allocatable {
        return 0;
    }
    // Go's integers wrap.
    let free = usage.allocatable.wrapping_sub(usage.requested);
    free.wrapping_mul(NODE_SCORE_MAX).wrapping_div(usage.allocatable)
}

fn most_allocated(usage: Usage) -> i64 {
    usage.requested.min(usage.allocatable).wrapping_mul(NODE_SCORE_MAX).wrapping_div(usage.allocatable)
}

/// As the weighted mean, but resources that score 0 do not count, and the result is rounded.
fn ratio_mean(counted: &[(&ResourceSpec, Usage)], shape: &[ShapePoint]) -> i64 {
    let (mut scores, mut weights) = (0, 0);
    for (spec, usage) in counted {
        let score = shape_score(shape, utilization(*usage));
        if score > 0 {
            scores += score * spec.weight;
            weights += spec.weight;
        }
    }
    if weights == 0 {
        return 0;
    }
    (scores as f64 / weights as f64).round() as i64
}

fn utilization(usage: Usage) -> i64 {
    if usage.requested > usage.allocatable {
        return 100;
    }
    usage.requested.wrapping_mul(100).wrapping_div(usage.allocatable)
}

/// The broken line through the shape's points, level before the first and after the last.
///
/// Upstream: plugins/helper/shape_score.go `BuildBrokenLinearFunction`.
fn shape_score(shape: &[ShapePoint], utilization: i64) -> i64 {
    let score_of = |point: &ShapePoint| point.score * (NODE_SCORE_MAX / SHAPE_SCORE_MAX);
    let Some(end) = shape.iter().position(|p| utilization <= p.utilization) else {
        return shape.last().map_or(0, score_of);
    };
    if end == 0 {
        return score_of(&shape[0]);
    }
    let (left, right) = (&shape[end - 1], &shape[end]);
    let rise = score_of(right) - score_of(left);
    let run = right.utilization - left.utilization;
    score_of(left) + rise * (utilization - left.utilization) / run
}
