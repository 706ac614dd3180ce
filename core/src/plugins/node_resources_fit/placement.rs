//! NodeResourcesFit over a placement: how full all its nodes together would be, the fuller the better,
//! whatever the strategy for nodes.
//!
//! Upstream: noderesources/resource_allocation.go `scorePlacement`.

use super::{NodeResourcesFit, most_allocated};
use crate::framework::points::placement::{PlacementScorePlugin, PodGroupAssignments, PodGroupRef};
use crate::resources::ResourceKind;
use crate::world::World;

impl PlacementScorePlugin for NodeResourcesFit {
    fn score_placement(
        &self,
        world: &World,
        _group: PodGroupRef<'_>,
        assignments: PodGroupAssignments<'_>,
    ) -> i64 {
        let (mut total, mut weights) = (0i64, 0i64);
        for &(kind, weight) in &self.resources {
            let asked = assignments.proposed.iter().map(|it| world.class(it.class).scored.get(kind));
            let asked = asked.fold(0i64, i64::wrapping_add);
            // Nobody in the group asks for it: it does not count.
            if asked == 0 && matches!(kind, ResourceKind::Scalar(_)) {
                continue;
            }
            let (requested, allocatable) = sum(world, assignments, kind, asked);
            if allocatable == 0 {
                continue;
            }
            total = total.wrapping_add(most_allocated(requested, allocatable).wrapping_mul(weight));
            weights += weight;
        }
        if weights == 0 { 0 } else { total / weights }
    }
}

/// What is asked of the placement's nodes and what they have.
fn sum(world: &World, assignments: PodGroupAssignments<'_>, kind: ResourceKind, asked: i64) -> (i64, i64) {
    let columns = world.nodes().columns();
    let add = |(requested, allocatable): (i64, i64), row: usize| {
        let here = columns.allocatable(kind, row);
        if here == 0 {
            // A node that has none of it does not say what its pods ask for.
            return (requested, allocatable);
        }
        let taken = columns.requested_nonzero(kind, row);
        (requested.wrapping_add(taken), allocatable.wrapping_add(here))
    };
    match &assignments.placement.nodes {
        Some(nodes) => nodes.rows().fold((asked, 0), add),
        None => (0..world.nodes().node_count()).fold((asked, 0), add),
    }
}
