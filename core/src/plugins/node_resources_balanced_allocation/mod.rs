//! NodeResourcesBalancedAllocation: prefers nodes whose resources would be used more evenly with
//! the pod than without it. Upstream: plugins/noderesources/balanced_allocation.go.

#[cfg(test)]
mod cases;
mod hints;
#[cfg(any(test, feature = "naive"))]
pub mod naive;

use std::sync::Arc;

use crate::class::PodClass;
use crate::framework::args::{NodeResourcesBalancedAllocationArgs, PluginArgs};
use crate::framework::descriptor::{InTreeFactored, PluginDescriptor, other_args};
use crate::framework::plugin::{
    MAX_NODE_SCORE, Plugin, PreScore, Reads, ScorePlugin, SignPod, WordScores, score_words_by_rows,
};
use crate::framework::points::EnqueueExtensions;
use crate::interner::Vocabulary;
use crate::kernels::shares::{ResourceColumns, balanced_allocation, evenness};
use crate::plugins::node_volume_limits::volume_load;
use crate::resources::{ResourceKind, resource_kind};
use crate::snapshot::NodeColumns;
use crate::snapshot::mask::WORD_BITS;
use crate::world::World;

/// Upstream's name.
pub const NAME: &str = "NodeResourcesBalancedAllocation";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(1),
    default_args: || {
        PluginArgs::NodeResourcesBalancedAllocation(NodeResourcesBalancedAllocationArgs::default())
    },
    factory,
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: cases::CASES,
};

fn factory(args: &PluginArgs, vocabulary: &mut Vocabulary) -> InTreeFactored {
    let PluginArgs::NodeResourcesBalancedAllocation(args) = args else {
        return Err(other_args("NodeResourcesBalancedAllocationArgs"));
    };
    let names: Vec<&str> = args.resources.iter().map(String::as_str).collect();
    let plugin = NodeResourcesBalancedAllocation::over(&names, vocabulary);
    Ok(Arc::new(if args.counts_volumes { plugin.counting_volumes() } else { plugin }))
}

/// Scores by evenness.
#[derive(Clone, Debug)]
pub struct NodeResourcesBalancedAllocation {
    resources: Vec<ResourceKind>,
    counts_volumes: bool,
}

impl Default for NodeResourcesBalancedAllocation {
    fn default() -> Self {
        NodeResourcesBalancedAllocation {
            resources: vec![ResourceKind::Cpu, ResourceKind::Memory],
            counts_volumes: false,
        }
    }
}

impl NodeResourcesBalancedAllocation {
    /// A plugin over these resources; names without a column score nothing.
    pub fn over(names: &[&str], vocabulary: &mut Vocabulary) -> NodeResourcesBalancedAllocation {
        let resources = names.iter().filter_map(|name| resource_kind(name, vocabulary)).collect();
        NodeResourcesBalancedAllocation { resources, counts_volumes: false }
    }

    /// Takes the share of CSI volumes that a node may attach as one more resource (the proposal
    /// "include volume count on nodes"). Nodes without a limit are balanced without it.
    #[must_use]
    pub fn counting_volumes(self) -> NodeResourcesBalancedAllocation {
        NodeResourcesBalancedAllocation { counts_volumes: true, ..self }
    }

    fn is_default(&self) -> bool {
        !self.counts_volumes && self.resources == [ResourceKind::Cpu, ResourceKind::Memory]
    }

    fn score_row(&self, world: &World, class: &PodClass, row: usize) -> i64 {
        let columns: &NodeColumns = world.nodes().columns();
        let volumes = if self.counts_volumes { volume_load(world, class, row) } else { None };
        let shares = |with_pod: i64| {
            let volumes = volumes
                .filter(|&(_, _, limit)| limit != 0)
                .map(|(attached, added, limit)| fraction(attached + with_pod * added, limit));
            let resources = self.resources.iter().filter_map(move |&kind| {
                let request = class.balanced.get(kind);
                if request == 0 && matches!(kind, ResourceKind::Scalar(_)) {
                    return None;
                }
                let allocatable = columns.allocatable(kind, row);
                let used = columns.requested(kind, row).wrapping_add(with_pod * request);
                (allocatable != 0).then(|| fraction(used, allocatable))
            });
            resources.chain(volumes)
        };
        improvement(evenness_of(shares(1)), evenness_of(shares(0)))
    }
}

/// A change for the worse moves towards 50, one for the better towards 100.
#[inline]
fn improvement(with: i64, without: i64) -> i64 {
    MAX_NODE_SCORE / 2 + (MAX_NODE_SCORE / 2 + with - without) / 2
}

/// Goes over the shares several times rather than keep them: a node is scored without allocating.
#[allow(clippy::cast_precision_loss, reason = "upstream's own float arithmetic")]
fn evenness_of(shares: impl Iterator<Item = f64> + Clone) -> i64 {
    let mut first = shares.clone();
    match (first.next(), first.next(), first.next()) {
        (Some(one), Some(other), None) => evenness_of_two(one, other),
        (_, _, Some(_)) => {
            let count = shares.clone().count() as f64;
            let mean = shares.clone().sum::<f64>() / count;
            let squares = shares.fold(0.0, |sum, share| sum + (share - mean) * (share - mean));
            scaled((squares / count).sqrt())
        }
        _ => MAX_NODE_SCORE,
    }
}

#[inline]
#[allow(clippy::cast_precision_loss, reason = "upstream's own float arithmetic")]
fn fraction(used: i64, allocatable: i64) -> f64 {
    let share = used as f64 / allocatable as f64;
    if share > 1.0 { 1.0 } else { share }
}

#[inline]
fn evenness_of_two(one: f64, other: f64) -> i64 {
    scaled(((one - other) / 2.0).abs())
}

#[inline]
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "upstream's own float arithmetic"
)]
fn scaled(deviation: f64) -> i64 {
    ((1.0 - deviation) * MAX_NODE_SCORE as f64) as i64
}

impl Plugin for NodeResourcesBalancedAllocation {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sign_pod(&self, _: &PodClass) -> SignPod {
        SignPod::Spec
    }

    fn plan_version(&self, world: &World, _: &PodClass) -> Option<u64> {
        self.counts_volumes.then(|| world.storage().version())
    }

    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl ScorePlugin for NodeResourcesBalancedAllocation {
    fn reads(&self) -> Reads {
        Reads::NodeLocal
    }

    /// A pod that requests none of the resources changes no balance.
    fn pre_score(&self, _: &World, class: &PodClass) -> PreScore {
        let asks_for_volumes = self.counts_volumes && class.volumes.may_count;
        if !asks_for_volumes && self.resources.iter().all(|&kind| class.balanced.get(kind) == 0) {
            PreScore::Skip
        } else {
            PreScore::Run
        }
    }

    fn score(&self, world: &World, class: &PodClass, rows: &[u32], scores: &mut [i64]) {
        if !self.is_default() {
            for (&row, score) in rows.iter().zip(scores) {
                *score = self.score_row(world, class, row as usize);
            }
            return;
        }
        let columns = world.nodes().columns();
        let resources = default_resources(columns, class);
        for (&row, score) in rows.iter().zip(scores) {
            *score = default_score(resources, &columns.evenness, row as usize);
        }
    }

    fn score_words(
        &self,
        world: &World,
        class: &PodClass,
        (first_word, words): (usize, &[u64]),
        scores: &mut [i64],
    ) -> WordScores {
        if !self.is_default() {
            let by_rows = |rows: &[u32], scores: &mut [i64]| self.score(world, class, rows, scores);
            score_words_by_rows(first_word, words, scores, by_rows);
            return WordScores::Written;
        }
        let columns = world.nodes().columns();
        let [cpu, memory] = default_resources(columns, class);
        for (word, scores) in (first_word..first_word + words.len()).zip(scores.chunks_mut(WORD_BITS)) {
            let rows = columns.rows_of(word);
            let scores = &mut scores[..rows.len()];
            let of_rows = [cpu, memory].map(|resource| resource.rows(rows.clone()));
            let without = &columns.evenness[rows.clone()];
            if !balanced_allocation(columns.level, scores, of_rows[0], of_rows[1], without) {
                for (row, score) in rows.zip(scores) {
                    *score = default_score([cpu, memory], &columns.evenness, row);
                }
            }
        }
        WordScores::Written
    }
}

/// What the plugin reads by default.
fn default_resources<'a>(columns: &'a NodeColumns, class: &PodClass) -> [ResourceColumns<'a>; 2] {
    [
        ResourceColumns {
            requested: &columns.requested_cpu_milli,
            allocatable: &columns.allocatable_cpu_milli,
            amount: class.balanced.cpu_milli,
        },
        ResourceColumns {
            requested: &columns.requested_memory_bytes,
            allocatable: &columns.allocatable_memory_bytes,
            amount: class.balanced.memory_bytes,
        },
    ]
}

/// The score of one row, over the default resources.
#[inline]
fn default_score(resources: [ResourceColumns<'_>; 2], without: &[i64], row: usize) -> i64 {
    let [cpu, memory] = resources
        .map(|resource| (resource.requested[row].wrapping_add(resource.amount), resource.allocatable[row]));
    improvement(evenness(cpu, memory), without[row])
}
