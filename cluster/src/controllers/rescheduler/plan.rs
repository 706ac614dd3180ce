//! Which pods would have to move so that another one fits, and where they could go.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::amounts::{covers, subtract};
use super::super::cluster_view::ClusterView;
use super::super::evictable::{Evictor, Surroundings};
use crate::api::SpecId;
use crate::quota::Amounts;

/// What is to be done so that a pod fits on a node.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) node: usize,
    /// Pods that go, and where each would find room; nowhere if that was not asked for.
    pub(super) moves: Vec<(usize, Option<usize>)>,
}

/// Whether those that go must have a place to go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Elsewhere {
    Needed,
    NotNeeded,
}

/// Whether a pod of this body would find room as things are.
pub(super) fn fits_somewhere(view: &mut ClusterView<'_>, spec: SpecId, asks: &Amounts) -> bool {
    (0..view.nodes.len()).any(|node| view.fits(spec, asks, node))
}

/// The node where the fewest pods have to go, and those pods; of two such nodes the first.
pub(super) fn make_room(
    view: &mut ClusterView<'_>,
    (spec, asks): (SpecId, &Amounts),
    (evictor, around): (&Evictor, &Surroundings<'_>),
    elsewhere: Elsewhere,
) -> Option<Plan> {
    let mut best: Option<Plan> = None;
    for node in 0..view.nodes.len() {
        if !view.may_come(spec, node) || !covers(&view.nodes[node].has, asks) {
            continue;
        }
        let Some(moves) = moves_from(node, view, asks, (evictor, around), elsewhere) else { continue };
        if best.as_ref().is_none_or(|best| moves.len() < best.moves.len()) {
            best = Some(Plan { node, moves });
        }
    }
    best
}

/// Pods of a node that go, so that there is as much left as is asked for.
fn moves_from(
    node: usize,
    view: &mut ClusterView<'_>,
    asks: &Amounts,
    (evictor, around): (&Evictor, &Surroundings<'_>),
    elsewhere: Elsewhere,
) -> Option<Vec<(usize, Option<usize>)>> {
    let mut left = view.nodes[node].left.clone();
    let mut arrivals: BTreeMap<usize, Amounts> = BTreeMap::new();
    let mut moves = Vec::new();
    let mut pods = view.pods_on(node);
    pods.sort_by_key(|&pod| view.pods[pod].eviction_order());
    for pod in pods {
        if covers(&left, asks) {
            break;
        }
        if !evictor.may_evict(pod, view, around) {
            continue;
        }
        let place = match elsewhere {
            Elsewhere::NotNeeded => None,
            Elsewhere::Needed => match place_for(pod, &arrivals, view) {
                Some(place) => Some(place),
                None => continue,
            },
        };
        let gone = Arc::clone(&view.pods[pod].asks);
        add(&mut left, &gone);
        if let Some(place) = place {
            add(arrivals.entry(place).or_default(), &gone);
        }
        moves.push((pod, place));
    }
    if !covers(&left, asks) {
        return None;
    }
    // Who went before a larger one may not have had to go.
    moves.retain(|(pod, _)| {
        let stays = Arc::clone(&view.pods[*pod].asks);
        let mut without = left.clone();
        subtract(&mut without, &stays);
        let is_needed = !covers(&without, asks);
        if !is_needed {
            left = without;
        }
        is_needed
    });
    Some(moves)
}

/// Another node where a pod finds room beside those that are to come there.
fn place_for(pod: usize, arrivals: &BTreeMap<usize, Amounts>, view: &mut ClusterView<'_>) -> Option<usize> {
    let (spec, node) = (view.pods[pod].row.spec, view.pods[pod].node);
    let asks = Arc::clone(&view.pods[pod].asks);
    (0..view.nodes.len()).filter(|&other| other != node).find(|other| {
        let mut with = (*asks).clone();
        add(&mut with, arrivals.get(other).unwrap_or(&Amounts::new()));
        covers(&view.nodes[*other].left, &with) && view.may_come(spec, *other)
    })
}

fn add(to: &mut Amounts, amounts: &Amounts) {
    for (name, &amount) in amounts {
        let sum = to.entry(name.clone()).or_default();
        *sum = sum.plus(amount);
    }
}
