//! The best of the candidates. Upstream: framework/preemption/preemption.go
//! `pickOneNodeForPreemption`.

use std::cmp::Reverse;

use crate::ids::PodId;
use crate::preemption::Candidate;
use crate::world::World;

/// What candidates are compared by: the greater the better.
type Merit = (Reverse<usize>, Reverse<i32>, Reverse<i64>, Reverse<usize>, i64);

fn merit(world: &World, candidate: &Candidate) -> Merit {
    let priority = |pod: &PodId| world.class(world.pods().get(*pod).class).priority;
    let highest = candidate.victims.first().map_or(i32::MIN, priority);
    // Every victim counts, even one of negative priority.
    let sum = candidate.victims.iter().map(|pod| i64::from(priority(pod)) + (1 << 31)).sum();
    let earliest = candidate
        .victims
        .iter()
        .filter(|pod| priority(pod) == highest)
        .map(|pod| world.pods().get(*pod).started_s)
        .min()
        .unwrap_or(i64::MAX);
    (
        Reverse(candidate.violations),
        Reverse(highest),
        Reverse(sum),
        Reverse(candidate.victims.len()),
        earliest,
    )
}

/// The best candidates, by row.
pub(crate) fn pick_one_node_for_preemption(world: &World, candidates: &[Candidate]) -> Vec<usize> {
    let merits: Vec<Merit> = candidates.iter().map(|candidate| merit(world, candidate)).collect();
    let Some(highest) = merits.iter().max() else { return Vec::new() };
    let mut best: Vec<usize> = (0..candidates.len()).filter(|&at| merits[at] == *highest).collect();
    best.sort_unstable_by_key(|&at| candidates[at].row);
    debug_assert!(!best.is_empty(), "the best merit is some candidate's");
    debug_assert!(best.iter().all(|&at| !candidates[at].victims.is_empty()), "a candidate has victims");
    best
}
