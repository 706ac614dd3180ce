//! PodGroupPodsCount: the placement that more members fit into is better.
//! Upstream: plugins/podgrouppodscount/pod_group_pods_count.go.

mod hints;
#[cfg(any(test, feature = "naive"))]
pub mod naive;

use std::sync::Arc;

use crate::framework::descriptor::{PluginDescriptor, no_args};
use crate::framework::plugin::{MAX_NODE_SCORE, Plugin};
use crate::framework::points::EnqueueExtensions;
use crate::framework::points::placement::{PlacementScorePlugin, PodGroupAssignments, PodGroupRef};
#[cfg(test)]
use crate::naive::cases::Cases;
use crate::world::World;

/// Upstream's name.
pub const NAME: &str = "PodGroupPodsCount";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: None,
    default_args: no_args,
    factory: |_, _| Ok(Arc::new(PodGroupPodsCount)),
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: Cases::NONE,
};

/// Counts members that are or would be on nodes.
#[derive(Clone, Copy, Debug)]
pub struct PodGroupPodsCount;

impl Plugin for PodGroupPodsCount {
    fn name(&self) -> &'static str {
        NAME
    }

    fn as_placement_score(&self) -> Option<&dyn PlacementScorePlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl PlacementScorePlugin for PodGroupPodsCount {
    fn score_placement(
        &self,
        world: &World,
        group: PodGroupRef<'_>,
        assignments: PodGroupAssignments<'_>,
    ) -> i64 {
        let scheduled = world.pod_groups().get(group.id).scheduled_pods_count();
        i64::try_from(scheduled + assignments.proposed.len()).unwrap_or(i64::MAX)
    }

    fn normalize_placement_scores(&self, scores: &mut [i64]) -> Result<(), String> {
        let most = scores.iter().copied().max().unwrap_or(0);
        if most == 0 {
            return Err("no pods from pod group are assigned to any of the candidate placements".to_owned());
        }
        scores.iter_mut().for_each(|score| *score = *score * MAX_NODE_SCORE / most);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placement_scores_are_relative_to_the_best_placement() {
        let mut scores = [2, 3, 0];
        PodGroupPodsCount.normalize_placement_scores(&mut scores).unwrap();
        assert_eq!(scores, [66, 100, 0]);
        assert!(PodGroupPodsCount.normalize_placement_scores(&mut [0, 0]).is_err());
    }
}
