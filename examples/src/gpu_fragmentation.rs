//! GpuFragmentation: prefers the node on which the pod strands the fewest GPUs.
//!
//! A node with 3 free GPUs is of no use to a pod that wants 4, and a pod that wants 2 leaves one of
//! the three over. For each size in which pods come, `free mod size` GPUs are stranded; the plugin
//! adds that up over all sizes, before and after the pod, and scores the difference: the less is
//! added, or the more is taken away, the better.
//!
//! ```text
//! sizes 1 2 4, a pod of 1:   free 4 -> 3: stranded 0 -> 0+1+3 = 4     worst
//!                            free 3 -> 2: stranded 4 -> 0+0+2 = 2
//!                            free 1 -> 0: stranded 0+1+1 -> 0         best (with 3 -> 2)
//! ```
//!
//! Arguments, both optional:
//!
//! ```yaml
//! - name: GpuFragmentation
//!   args: {resource: nvidia.com/gpu, sizes: [1, 2, 4, 8]}
//! ```

use std::sync::Arc;

use schedlab_core::class::PodClass;
use schedlab_core::framework::args::{ArgValue, PluginArgs};
use schedlab_core::framework::plugin::{Normalization, Plugin, PreScore, Reads, ScorePlugin};
use schedlab_core::framework::points::EnqueueExtensions;
use schedlab_core::framework::registry::Factored;
use schedlab_core::interner::Vocabulary;
use schedlab_core::resources::{ResourceKind, resource_kind};
use schedlab_core::world::World;

/// The plugin's name in configuration files.
pub const NAME: &str = "GpuFragmentation";

const DEFAULT_RESOURCE: &str = "nvidia.com/gpu";
const DEFAULT_SIZES: [i64; 4] = [1, 2, 4, 8];

/// Scores by stranded GPUs.
#[derive(Clone, Debug)]
pub struct GpuFragmentation {
    resource: ResourceKind,
    sizes: Vec<i64>,
    /// No pod strands more than this, so scores start at 0.
    stranded_max: i64,
}

/// Makes the plugin from its arguments.
pub fn factory(args: &PluginArgs, vocabulary: &mut Vocabulary) -> Factored {
    let resource = match args.field("resource") {
        None => DEFAULT_RESOURCE,
        Some(value) => value.as_text().ok_or("`resource` is no text; write a resource's name")?,
    };
    let kind = resource_kind(resource, vocabulary).ok_or_else(|| {
        format!("`resource: {resource}` is not counted per node; write an extended resource")
    })?;
    let sizes = match args.field("sizes") {
        None => DEFAULT_SIZES.to_vec(),
        Some(ArgValue::List(items)) => items
            .iter()
            .map(|item| item.as_integer().filter(|&size| 0 < size))
            .collect::<Option<Vec<i64>>>()
            .filter(|sizes| !sizes.is_empty())
            .ok_or("`sizes` holds something else than positive integers; write such as [1, 2, 4, 8]")?,
        Some(_) => return Err("`sizes` is no list; write such as [1, 2, 4, 8]".to_owned()),
    };
    Ok(Arc::new(GpuFragmentation::new(kind, sizes)))
}

impl GpuFragmentation {
    /// A plugin for a resource that pods ask for in these sizes.
    #[must_use]
    pub fn new(resource: ResourceKind, sizes: Vec<i64>) -> GpuFragmentation {
        let stranded_max = sizes.iter().map(|size| size - 1).sum();
        GpuFragmentation { resource, sizes, stranded_max }
    }

    /// GPUs of `free` that pods of each size would leave over, added up.
    fn stranded(&self, free: i64) -> i64 {
        self.sizes.iter().map(|size| free.max(0) % size).sum()
    }

    /// What a pod that takes `wanted` of `free` adds to the stranded ones, moved up to start at 0.
    fn penalty(&self, free: i64, wanted: i64) -> i64 {
        self.stranded(free - wanted) - self.stranded(free) + self.stranded_max
    }
}

impl Plugin for GpuFragmentation {
    fn name(&self) -> &'static str {
        NAME
    }

    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        None
    }
}

impl ScorePlugin for GpuFragmentation {
    fn reads(&self) -> Reads {
        Reads::NodeLocal
    }

    fn pre_score(&self, _: &World, class: &PodClass) -> PreScore {
        if class.pending.get(self.resource) == 0 { PreScore::Skip } else { PreScore::Run }
    }

    fn score(&self, world: &World, class: &PodClass, rows: &[u32], scores: &mut [i64]) {
        let columns = world.nodes().columns();
        let wanted = class.pending.get(self.resource);
        for (&row, score) in rows.iter().zip(scores) {
            let row = row as usize;
            let free = columns.allocatable(self.resource, row) - columns.requested(self.resource, row);
            *score = self.penalty(free, wanted);
        }
    }

    /// The highest penalty becomes 0, no penalty becomes 100.
    fn normalization(&self) -> Normalization {
        Normalization::Lowest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stranded_gpus_are_counted_for_every_size() {
        let plugin = GpuFragmentation::new(ResourceKind::Cpu, vec![1, 2, 4]);
        let cases = [
            ("a whole node is of use to all", 8, 0),
            ("one is of use to pods of one only", 1, 2),
            ("three", 3, 4),
            ("nothing is free", 0, 0),
            ("overcommitted", -2, 0),
        ];
        for (name, free, stranded) in cases {
            assert_eq!(plugin.stranded(free), stranded, "case: {name}");
        }
    }

    #[test]
    fn fragmentation_penalty_is_never_negative_and_orders_nodes_as_documented() {
        let plugin = GpuFragmentation::new(ResourceKind::Cpu, vec![1, 2, 4]);
        for free in 0..20 {
            for wanted in 0..=free {
                assert!(0 <= plugin.penalty(free, wanted), "{wanted} of {free}");
            }
        }
        // The drawing above.
        assert!(plugin.penalty(3, 1) < plugin.penalty(4, 1));
        assert_eq!(plugin.penalty(1, 1), plugin.penalty(3, 1));
    }

    #[test]
    fn bad_arguments_say_what_to_write() {
        let map = |name: &str, value| PluginArgs::Other(ArgValue::Map([(name.to_owned(), value)].into()));
        let cases = [
            (map("resource", ArgValue::Integer(1)), "`resource` is no text; write a resource's name"),
            (
                map("resource", ArgValue::Text("gpu".to_owned())),
                "`resource: gpu` is not counted per node; write an extended resource",
            ),
            (map("sizes", ArgValue::Bool(true)), "`sizes` is no list; write such as [1, 2, 4, 8]"),
            (
                map("sizes", ArgValue::List(vec![ArgValue::Integer(0)])),
                "`sizes` holds something else than positive integers; write such as [1, 2, 4, 8]",
            ),
        ];
        for (args, message) in cases {
            let refused = factory(&args, &mut Vocabulary::default()).expect_err(message);
            assert_eq!(refused, message);
        }
        assert!(factory(&PluginArgs::Other(ArgValue::Null), &mut Vocabulary::default()).is_ok());
    }
}
