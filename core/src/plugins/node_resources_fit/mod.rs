//! NodeResourcesFit: a node must have room for what the pod requests; the score follows how full
//! it would be. Upstream: plugins/noderesources/{fit,least_allocated,most_allocated,
//! requested_to_capacity_ratio}.go.
//!
//! Cost of Filter: one compare per node and requested resource, two `i64` columns read: 16 B a
//! node and resource, 64 nodes a mask word.

#[cfg(test)]
mod cases;
#[cfg(test)]
mod hint_cases;
mod hints;
#[cfg(any(test, feature = "naive"))]
pub mod naive;
mod placement;

use std::sync::Arc;

use crate::class::PodClass;
use crate::framework::args::{NodeResourcesFitArgs, PluginArgs};
use crate::framework::descriptor::{InTreeFactored, PluginDescriptor, other_args};
use crate::framework::detail::Detail;
use crate::framework::plugin::{
    FilterPlugin, MAX_NODE_SCORE, Plugin, PreFilter, PreScore, Reads, ScorePlugin, SignPod, WordScores,
    retain_rows, score_words_by_rows,
};
use crate::framework::points::EnqueueExtensions;
use crate::framework::points::placement::PlacementScorePlugin;
use crate::framework::status::{Code, Reason};
use crate::interner::Vocabulary;
use crate::kernels::shares::{ResourceColumns, least_allocated as least_allocated_of_rows};
use crate::kernels::{Level, room};
use crate::resources::{ResourceKind, ScalarId, is_extended_resource, resource_kind};
use crate::snapshot::NodeColumns;
use crate::snapshot::mask::WORD_BITS;
use crate::world::World;

/// Upstream's name.
pub const NAME: &str = "NodeResourcesFit";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(1),
    default_args: || PluginArgs::NodeResourcesFit(NodeResourcesFitArgs::default()),
    factory,
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: cases::CASES,
};

fn factory(args: &PluginArgs, vocabulary: &mut Vocabulary) -> InTreeFactored {
    let PluginArgs::NodeResourcesFit(args) = args else { return Err(other_args("NodeResourcesFitArgs")) };
    let names: Vec<&str> = args.ignored_resources.iter().map(String::as_str).collect();
    let groups: Vec<&str> = args.ignored_resource_groups.iter().map(String::as_str).collect();
    Ok(Arc::new(
        NodeResourcesFit::new(args.scoring_strategy.clone(), vocabulary)
            .ignoring(&names, vocabulary)
            .ignoring_groups(&groups),
    ))
}

const TOO_MANY_PODS: Reason = Reason::Text("Too many pods");

/// How fullness becomes a score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScoringStrategyType {
    /// The emptier, the better.
    LeastAllocated,
    /// The fuller, the better.
    MostAllocated,
    /// A broken line from utilisation (percent) to score (0 to 100).
    RequestedToCapacityRatio(Vec<(i64, i64)>),
}

/// `scoringStrategy` of the plugin's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoringStrategy {
    /// The function.
    pub strategy: ScoringStrategyType,
    /// Resource names and weights.
    pub resources: Vec<(String, i64)>,
}

impl ScoringStrategy {
    /// The default: LeastAllocated over cpu and memory, equal weights.
    #[must_use]
    pub fn least_allocated() -> ScoringStrategy {
        let resources = vec![("cpu".to_owned(), 1), ("memory".to_owned(), 1)];
        ScoringStrategy { strategy: ScoringStrategyType::LeastAllocated, resources }
    }
}

/// Filters by free amounts and scores by fullness.
#[derive(Clone, Debug)]
pub struct NodeResourcesFit {
    strategy: ScoringStrategyType,
    resources: Vec<(ResourceKind, i64)>,
    /// Columns of `ignoredResources`.
    ignored: Vec<ScalarId>,
    /// `ignoredResourceGroups`.
    ignored_groups: Vec<String>,
}

impl NodeResourcesFit {
    /// A plugin with this strategy. A resource that no column can hold scores nothing.
    pub fn new(strategy: ScoringStrategy, vocabulary: &mut Vocabulary) -> NodeResourcesFit {
        let resources = strategy
            .resources
            .iter()
            .filter_map(|(name, weight)| Some((resource_kind(name, vocabulary)?, *weight)))
            .collect();
        NodeResourcesFit {
            strategy: strategy.strategy,
            resources,
            ignored: Vec::new(),
            ignored_groups: Vec::new(),
        }
    }

    /// Leaves extended resources out of Filter (`ignoredResources`).
    #[must_use]
    pub fn ignoring(mut self, names: &[&str], vocabulary: &mut Vocabulary) -> NodeResourcesFit {
        for name in names.iter().filter(|name| is_extended_resource(name)) {
            let symbol = vocabulary.symbols.intern(name);
            self.ignored.push(vocabulary.scalars.intern(symbol));
        }
        self
    }

    /// Leaves all extended resources with these prefixes (the part before the `/`) out of Filter
    /// (`ignoredResourceGroups`).
    #[must_use]
    pub fn ignoring_groups(mut self, groups: &[&str]) -> NodeResourcesFit {
        self.ignored_groups.extend(groups.iter().map(|&group| group.to_owned()));
        self
    }

    fn wanted_scalars<'a>(
        &'a self,
        world: &'a World,
        class: &'a PodClass,
    ) -> impl Iterator<Item = (ScalarId, i64)> + 'a {
        let is_wanted = |id: ScalarId| !self.ignored.contains(&id) && !self.is_in_ignored_group(id, world);
        class.pending.scalars.iter().copied().filter(move |&(id, amount)| amount > 0 && is_wanted(id))
    }

    /// Everything the pod asks for that Filter compares, beside its place among the pods.
    fn wanted<'a>(
        &'a self,
        world: &'a World,
        class: &'a PodClass,
    ) -> impl Iterator<Item = (ResourceKind, i64)> + 'a {
        let want = &class.pending;
        let fixed = [
            (ResourceKind::Cpu, want.cpu_milli),
            (ResourceKind::Memory, want.memory_bytes),
            (ResourceKind::EphemeralStorage, want.ephemeral_bytes),
        ];
        let scalars =
            self.wanted_scalars(world, class).map(|(id, amount)| (ResourceKind::Scalar(id), amount));
        fixed.into_iter().filter(|&(_, amount)| amount > 0).chain(scalars)
    }

    /// Compares names, because a resource of the group may turn up later than the plugin.
    fn is_in_ignored_group(&self, id: ScalarId, world: &World) -> bool {
        if self.ignored_groups.is_empty() {
            return false;
        }
        let name = world.vocabulary.scalar_name(id);
        let group = name.split_once('/').map_or(name, |(group, _)| group);
        self.ignored_groups.iter().any(|ignored| ignored == group) && is_extended_resource(name)
    }

    fn score_row(&self, columns: &NodeColumns, class: &PodClass, row: usize) -> i64 {
        let (mut total, mut weights) = (0, 0);
        for &(kind, weight) in &self.resources {
            let request = class.scored.get(kind);
            if request == 0 && matches!(kind, ResourceKind::Scalar(_)) {
                continue;
            }
            let allocatable = columns.allocatable(kind, row);
            if allocatable == 0 {
                continue;
            }
            let requested = columns.requested_nonzero(kind, row).wrapping_add(request);
            let score = match &self.strategy {
                ScoringStrategyType::LeastAllocated => least_allocated(requested, allocatable),
                ScoringStrategyType::MostAllocated => most_allocated(requested, allocatable),
                ScoringStrategyType::RequestedToCapacityRatio(shape) => {
                    let score = broken_line(shape, utilization(requested, allocatable));
                    if score <= 0 {
                        continue;
                    }
                    score
                }
            };
            total += score * weight;
            weights += weight;
        }
        match (&self.strategy, weights) {
            (_, 0) => 0,
            (ScoringStrategyType::RequestedToCapacityRatio(_), _) => round_half_away(total, weights),
            _ => total / weights,
        }
    }

    /// What Filter says of one row.
    #[inline]
    fn has_room(&self, world: &World, class: &PodClass, row: usize) -> bool {
        let columns = world.nodes().columns();
        let want = &class.pending;
        let fits = |amount: i64, allocatable: &[i64], requested: &[i64]| {
            amount <= 0 || amount <= free(allocatable[row], requested[row])
        };
        fits(1, &columns.allocatable_pods, &columns.pod_count)
            && (class.asks_for_nothing()
                || fits(want.cpu_milli, &columns.allocatable_cpu_milli, &columns.requested_cpu_milli)
                    && fits(
                        want.memory_bytes,
                        &columns.allocatable_memory_bytes,
                        &columns.requested_memory_bytes,
                    )
                    && fits(
                        want.ephemeral_bytes,
                        &columns.allocatable_ephemeral_bytes,
                        &columns.requested_ephemeral_bytes,
                    )
                    && self.wanted_scalars(world, class).all(|(id, amount)| {
                        let room = |(allocatable, requested)| fits(amount, allocatable, requested);
                        columns.scalar_slices(id).is_some_and(room)
                            || columns.allocatable(ResourceKind::Scalar(id), row) <= 0
                                && Self::is_device(world, id)
                    }))
    }

    /// A device class stands for a resource: nodes that have none of it have devices, or
    /// DynamicResources rejects them.
    /// Upstream: fit.go `shouldDelegateResourceToDRA`.
    fn is_device(world: &World, id: ScalarId) -> bool {
        let store = world.dra();
        store.has_classes() && store.class_of_extended_resource(world.vocabulary.scalar_name(id)).is_some()
    }

    fn is_default_strategy(&self) -> bool {
        self.strategy == ScoringStrategyType::LeastAllocated
            && self.resources == [(ResourceKind::Cpu, 1), (ResourceKind::Memory, 1)]
    }
}

impl Plugin for NodeResourcesFit {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sign_pod(&self, _: &PodClass) -> SignPod {
        SignPod::Spec
    }

    /// Device classes stand for extended resources.
    fn plan_version(&self, world: &World, class: &PodClass) -> Option<u64> {
        (!class.pending.scalars.is_empty()).then(|| world.dra().classes_version())
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }

    fn as_placement_score(&self) -> Option<&dyn PlacementScorePlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl FilterPlugin for NodeResourcesFit {
    fn reads(&self) -> Reads {
        Reads::NodeLocal
    }

    fn pre_filter<'a>(&self, _: &'a World, _: &'a PodClass) -> PreFilter<'a> {
        PreFilter::Run
    }

    fn filter(&self, world: &World, class: &PodClass, first_word: usize, words: &mut [u64]) {
        let columns = world.nodes().columns();
        // One row that changed, as in most cycles.
        if let [word] = words
            && *word != 0
            && *word & (*word - 1) == 0
        {
            let row = first_word * WORD_BITS + word.trailing_zeros() as usize;
            if !self.has_room(world, class, row) {
                *word = 0;
            }
            return;
        }
        let level = columns.level;
        let pods = (&columns.allocatable_pods, &columns.pod_count);
        keep_with_room(level, pods.0, pods.1, 1, (first_word, words));
        if class.asks_for_nothing() {
            return;
        }
        let want = &class.pending;
        for (allocatable, requested, amount) in [
            (&columns.allocatable_cpu_milli, &columns.requested_cpu_milli, want.cpu_milli),
            (&columns.allocatable_memory_bytes, &columns.requested_memory_bytes, want.memory_bytes),
            (&columns.allocatable_ephemeral_bytes, &columns.requested_ephemeral_bytes, want.ephemeral_bytes),
        ] {
            if amount > 0 {
                keep_with_room(level, allocatable, requested, amount, (first_word, words));
            }
        }
        for (id, amount) in self.wanted_scalars(world, class) {
            if Self::is_device(world, id) {
                let (columns, kind) = (world.nodes().columns(), ResourceKind::Scalar(id));
                retain_rows(first_word, words, |row| {
                    let allocatable = columns.allocatable(kind, row);
                    allocatable <= 0 || amount <= free(allocatable, columns.requested(kind, row))
                });
                continue;
            }
            match columns.scalar_slices(id) {
                Some((allocatable, requested)) => {
                    keep_with_room(level, allocatable, requested, amount, (first_word, words))
                }
                None => words.fill(0),
            }
        }
    }

    fn verdict(&self, world: &World, class: &PodClass, row: usize, reasons: &mut Vec<Reason>) -> Code {
        let columns = world.nodes().columns();
        let mut code = Code::Success;
        if columns.pod_count[row] + 1 > columns.allocatable_pods[row] {
            reasons.push(TOO_MANY_PODS);
            code = Code::Unschedulable;
        }
        if class.asks_for_nothing() {
            return code;
        }
        for (kind, amount) in self.wanted(world, class) {
            let allocatable = columns.allocatable(kind, row);
            if let ResourceKind::Scalar(id) = kind
                && allocatable <= 0
                && Self::is_device(world, id)
            {
                continue;
            }
            if amount > free(allocatable, columns.requested(kind, row)) {
                reasons.push(Reason::Insufficient(kind));
                // More than the whole node holds: no eviction helps.
                code = code.max(if amount > allocatable {
                    Code::UnschedulableAndUnresolvable
                } else {
                    Code::Unschedulable
                });
            }
        }
        code
    }

    fn details(&self, world: &World, class: &PodClass, row: usize, details: &mut Vec<Detail>) {
        let columns = world.nodes().columns();
        let (used, allocatable) = (columns.pod_count[row], columns.allocatable_pods[row]);
        if used + 1 > allocatable {
            details.push(Detail::Resource { kind: None, requested: 1, used, allocatable });
        }
        if class.asks_for_nothing() {
            return;
        }
        for (kind, requested) in self.wanted(world, class) {
            let (used, allocatable) = (columns.requested(kind, row), columns.allocatable(kind, row));
            if requested > free(allocatable, used) {
                details.push(Detail::Resource { kind: Some(kind), requested, used, allocatable });
            }
        }
    }
}

/// What is left of a node. Pods that were bound by somebody else may ask for more than 2^63 together.
/// Upstream: `fitsRequest` subtracts Go's int64, which wraps.
#[inline]
fn free(allocatable: i64, requested: i64) -> i64 {
    allocatable.wrapping_sub(requested)
}

/// Clears the bit of every node whose free amount is below `amount`.
fn keep_with_room(
    level: Level,
    allocatable: &[i64],
    requested: &[i64],
    amount: i64,
    (first_word, words): (usize, &mut [u64]),
) {
    let first = first_word * WORD_BITS;
    room::keep_with_room(level, words, &allocatable[first..], &requested[first..], amount);
}

impl ScorePlugin for NodeResourcesFit {
    fn reads(&self) -> Reads {
        Reads::NodeLocal
    }

    fn pre_score(&self, _: &World, _: &PodClass) -> PreScore {
        PreScore::Run
    }

    fn score(&self, world: &World, class: &PodClass, rows: &[u32], scores: &mut [i64]) {
        let columns = world.nodes().columns();
        if !self.is_default_strategy() {
            for (&row, score) in rows.iter().zip(scores) {
                *score = self.score_row(columns, class, row as usize);
            }
            return;
        }
        let resources = default_resources(columns, class);
        for (&row, score) in rows.iter().zip(scores) {
            *score = default_score(resources, row as usize);
        }
    }

    fn score_words(
        &self,
        world: &World,
        class: &PodClass,
        (first_word, words): (usize, &[u64]),
        scores: &mut [i64],
    ) -> WordScores {
        if !self.is_default_strategy() {
            let by_rows = |rows: &[u32], scores: &mut [i64]| self.score(world, class, rows, scores);
            score_words_by_rows(first_word, words, scores, by_rows);
            return WordScores::Written;
        }
        let columns = world.nodes().columns();
        let [cpu, memory] = default_resources(columns, class);
        for (word, scores) in (first_word..first_word + words.len()).zip(scores.chunks_mut(WORD_BITS)) {
            let rows = columns.rows_of(word);
            let scores = &mut scores[..rows.len()];
            if !least_allocated_of_rows(
                columns.level,
                scores,
                cpu.rows(rows.clone()),
                memory.rows(rows.clone()),
            ) {
                for (row, score) in rows.zip(scores) {
                    *score = default_score([cpu, memory], row);
                }
            }
        }
        WordScores::Written
    }
}

/// What the default strategy reads: CPU and memory, with defaults for containers that ask for none.
fn default_resources<'a>(columns: &'a NodeColumns, class: &PodClass) -> [ResourceColumns<'a>; 2] {
    [
        ResourceColumns {
            requested: &columns.nonzero_cpu_milli,
            allocatable: &columns.allocatable_cpu_milli,
            amount: class.scored.cpu_milli,
        },
        ResourceColumns {
            requested: &columns.nonzero_memory_bytes,
            allocatable: &columns.allocatable_memory_bytes,
            amount: class.scored.memory_bytes,
        },
    ]
}

/// The default strategy's score of one row.
#[inline]
fn default_score(resources: [ResourceColumns<'_>; 2], row: usize) -> i64 {
    let share = |resource: ResourceColumns<'_>| {
        default_share(resource.requested[row].wrapping_add(resource.amount), resource.allocatable[row])
    };
    let [(cpu_score, has_cpu), (memory_score, has_memory)] = resources.map(share);
    match has_cpu + has_memory {
        2 => (cpu_score + memory_score) / 2,
        _ => cpu_score + memory_score,
    }
}

/// The score of one resource and whether it counts.
#[inline]
fn default_share(requested: i64, allocatable: i64) -> (i64, i64) {
    if allocatable == 0 { (0, 0) } else { (least_allocated(requested, allocatable), 1) }
}

/// Upstream: `leastRequestedScore`. Go's integers wrap: a node of more than 2^63 / 100 bytes has the
/// score that falls out of it.
#[inline]
fn least_allocated(requested: i64, capacity: i64) -> i64 {
    if requested > capacity {
        return 0;
    }
    quotient(capacity.wrapping_sub(requested).wrapping_mul(MAX_NODE_SCORE), capacity)
}

/// Upstream: `mostRequestedScore`.
fn most_allocated(requested: i64, capacity: i64) -> i64 {
    quotient(requested.min(capacity).wrapping_mul(MAX_NODE_SCORE), capacity)
}

/// Integer division by way of `f64`, which is several times faster than a 64-bit `idiv`.
///
/// Exact: with 0 <= a < 2^53 and b >= 1 both are exact doubles, and a true quotient below an
/// integer k is at most k - 1/b, which is further from k than half a unit in the last place of k
/// (k <= a < 2^53 / b), so rounding never reaches k.
#[inline]
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "proven exact in this range")]
fn quotient(a: i64, b: i64) -> i64 {
    const EXACT: u64 = 1 << 53;
    if a.cast_unsigned() < EXACT && b.cast_unsigned() < EXACT {
        (a as f64 / b as f64) as i64
    } else {
        a.wrapping_div(b)
    }
}

fn utilization(requested: i64, capacity: i64) -> i64 {
    const MAX_UTILIZATION: i64 = 100;
    if requested > capacity {
        MAX_UTILIZATION
    } else {
        requested.wrapping_mul(MAX_UTILIZATION).wrapping_div(capacity)
    }
}

/// Upstream: plugins/helper/shape_score.go `BuildBrokenLinearFunction`.
pub(crate) fn broken_line(shape: &[(i64, i64)], at: i64) -> i64 {
    let Some(next) = shape.iter().position(|&(utilization, _)| at <= utilization) else {
        return shape.last().map_or(0, |&(_, score)| score);
    };
    let (x1, y1) = shape[next];
    match next.checked_sub(1) {
        None => y1,
        Some(previous) => {
            let (x0, y0) = shape[previous];
            y0 + (y1 - y0) * (at - x0) / (x1 - x0)
        }
    }
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "upstream's own float arithmetic"
)]
fn round_half_away(total: i64, weights: i64) -> i64 {
    (total as f64 / weights as f64).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_of_capacities_beyond_int64_wrap_as_in_go() {
        // In Go: (1<<63 - 1) * 100 is -100, and so on.
        let max = i64::MAX;
        assert_eq!(least_allocated(0, max), 0);
        assert_eq!(least_allocated(1, max / 50), (max / 50 - 1).wrapping_mul(100) / (max / 50));
        assert_eq!((most_allocated(max, max), utilization(max, max)), (0, 0));
        assert_eq!(least_allocated(i64::MIN, 1), (1i64.wrapping_sub(i64::MIN)).wrapping_mul(100));
    }

    #[test]
    fn quotient_equals_integer_division_at_the_edges() {
        let edges =
            [0i64, 1, 2, 3, 99, 100, 101, 4000, (1 << 53) - 1, 1 << 53, (1 << 53) + 1, i64::MAX / 100];
        for &a in &edges {
            for &b in &edges[1..] {
                assert_eq!(quotient(a, b), a / b, "{a} / {b}");
            }
        }
        let mut state = 1u64;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let b = i64::try_from(state >> 24).expect("40 bits") + 1;
            let k = i64::try_from(state >> 57).expect("7 bits");
            for a in [k * b - 1, k * b, k * b + 1] {
                if a >= 0 {
                    assert_eq!(quotient(a, b), a / b, "{a} / {b}");
                }
            }
        }
    }

    #[test]
    fn broken_linear_function_interpolates_between_shape_points() {
        let shape = [(10, 100), (50, 20), (90, 60)];
        let cases = [(0, 100), (10, 100), (30, 60), (50, 20), (70, 40), (90, 60), (100, 60)];
        for (at, score) in cases {
            assert_eq!(broken_line(&shape, at), score, "at {at}");
        }
    }
}
