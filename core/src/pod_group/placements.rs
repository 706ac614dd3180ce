//! Which placements there are, and which is the best.
//!
//! Upstream: framework/runtime/framework.go `RunPlacementGeneratePlugins`, `RunPlacementScorePlugins`.
//! Not built: `placementGenerate` and `placementScore` of a configuration file are not read. A plugin takes
//! part if the profile has it, with the weight it has for nodes, else 1.

use std::sync::Arc;

use super::{PassResult, PlacementScore, PodGroupCode, PodGroupInfo, PodGroupStatus};
use crate::framework::points::placement::{
    Placement, PlacementScorePlugin, PodGroupAssignments, PodGroupRef, TopologyDomains,
};
use crate::framework::profile::Profile;
use crate::world::World;

fn group_ref(info: &PodGroupInfo) -> PodGroupRef<'_> {
    PodGroupRef { id: info.id, object: &info.object }
}

/// The placements, by name; at least one.
pub(super) fn generate(
    world: &World,
    profile: &Profile,
    info: &PodGroupInfo,
    domains: &mut TopologyDomains,
) -> Result<Arc<[Placement]>, PodGroupStatus> {
    let plugin = profile.plugins().iter().find_map(|plugin| plugin.as_placement_generate());
    let Some(plugin) = plugin else { return Ok(Arc::new([Placement::everywhere()])) };
    let placements =
        plugin.generate_placements(world, group_ref(info), domains).map_err(PodGroupStatus::failed)?;
    if placements.is_empty() {
        return Err(PodGroupStatus::new(PodGroupCode::Unschedulable, "no feasible placements found"));
    }
    Ok(placements)
}

/// The scores of the passes that are feasible, in their order.
pub(super) fn score(
    world: &World,
    profile: &Profile,
    info: &PodGroupInfo,
    passes: &[PassResult],
    feasible: &[usize],
) -> Result<Vec<PlacementScore>, PodGroupStatus> {
    let mut scores: Vec<PlacementScore> = feasible
        .iter()
        .map(|&at| PlacementScore {
            placement: Arc::clone(&passes[at].placement.name),
            scores: Vec::new(),
            total: 0,
        })
        .collect();
    let proposed: Vec<_> = feasible.iter().map(|&at| passes[at].proposed()).collect();
    for (at, name, plugin) in scorers(profile) {
        let one = |(&pass, proposed): (&usize, &Vec<_>)| {
            let assignments = PodGroupAssignments { placement: &passes[pass].placement, proposed };
            plugin.score_placement(world, group_ref(info), assignments)
        };
        let mut raw: Vec<i64> = feasible.iter().zip(&proposed).map(one).collect();
        plugin.normalize_placement_scores(&mut raw).map_err(|error| {
            PodGroupStatus::failed(format!(
                "running NormalizePlacementScore on PlacementScore plugins: {error}"
            ))
        })?;
        let weight =
            profile.scores().iter().find(|(scorer, _)| *scorer == at).map_or(1, |&(_, weight)| weight);
        for (score, raw) in scores.iter_mut().zip(raw) {
            score.scores.push((name, weight * raw));
            score.total += weight * raw;
        }
    }
    Ok(scores)
}

fn scorers(profile: &Profile) -> impl Iterator<Item = (usize, &'static str, &dyn PlacementScorePlugin)> + '_ {
    let plugins = profile.plugins().iter().enumerate();
    plugins.filter_map(|(at, plugin)| Some((at, plugin.name(), plugin.as_placement_score()?)))
}
