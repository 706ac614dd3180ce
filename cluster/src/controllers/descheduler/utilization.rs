//! Nodes that are used too much beside others that are used too little, and nodes that could be spared.
//!
//! Upstream: kubernetes-sigs/descheduler pkg/framework/plugins/nodeutilization, lownodeutilization.go,
//! highnodeutilization.go.

use std::collections::BTreeMap;

use super::cycle::DescheduleCycle;
use super::policy::{Strategy, Utilization};

/// Percentages by resource.
type Percentages = BTreeMap<String, f64>;

pub(super) fn run(strategy: &Strategy, cycle: &mut DescheduleCycle<'_, '_>) {
    match strategy {
        Strategy::LowUtilization(args) => relieve(args, cycle),
        Strategy::HighUtilization(args) => empty(args, cycle),
        _ => {}
    }
}

/// Pods leave nodes above their target while nodes below the threshold have room.
fn relieve(args: &Utilization, cycle: &mut DescheduleCycle<'_, '_>) {
    let (low, high) = bounds(args, cycle);
    let all = 0..cycle.view.nodes.len();
    let is_open = |node: usize| !cycle.view.nodes[node].input.unschedulable;
    let under: Vec<usize> =
        all.clone().filter(|&node| is_open(node) && is_below(node, &low, cycle)).collect();
    let over: Vec<usize> = all.filter(|&node| is_above(node, &high, cycle)).collect();
    let is_enough = args.number_of_nodes < under.len() as u64 && under.len() < cycle.view.nodes.len();
    if !is_enough || over.is_empty() {
        return;
    }
    let mut room = room_of(&under, &high, cycle);
    for node in by_usage(over, Direction::FullestFirst, cycle) {
        let goes_on = |cycle: &DescheduleCycle<'_, '_>, room: &Room| {
            is_above(node, &high, cycle) && room.values().all(|left| 0.0 < *left)
        };
        evict_from(node, args, &mut room, cycle, goes_on);
    }
}

/// Pods leave nodes that are used little, so that these can be removed.
fn empty(args: &Utilization, cycle: &mut DescheduleCycle<'_, '_>) {
    let all = 0..cycle.view.nodes.len();
    let (under, others): (Vec<usize>, Vec<usize>) =
        all.partition(|&node| is_below(node, &args.thresholds, cycle));
    let targets: Vec<usize> =
        others.into_iter().filter(|&node| !cycle.view.nodes[node].input.unschedulable).collect();
    if under.len() as u64 <= args.number_of_nodes || targets.is_empty() {
        return;
    }
    let mut room = room_of(&targets, &args.targets, cycle);
    for node in by_usage(under, Direction::EmptiestFirst, cycle) {
        evict_from(node, args, &mut room, cycle, |_, room| room.values().all(|left| 0.0 < *left));
    }
}

/// The bounds of little and much; with deviations around the mean of all nodes.
#[allow(clippy::cast_precision_loss, reason = "a share")]
fn bounds(args: &Utilization, cycle: &DescheduleCycle<'_, '_>) -> (Percentages, Percentages) {
    if !args.by_deviation {
        return (args.thresholds.clone(), args.targets.clone());
    }
    let nodes = &cycle.view.nodes;
    let mean = |name: &String| {
        nodes.iter().map(|node| node.percent_used(name)).sum::<f64>() / nodes.len().max(1) as f64
    };
    let low = args.thresholds.iter().map(|(name, by)| (name.clone(), (mean(name) - by).max(0.0)));
    let high = args.targets.iter().map(|(name, by)| (name.clone(), (mean(name) + by).min(100.0)));
    (low.collect(), high.collect())
}

fn is_below(node: usize, bounds: &Percentages, cycle: &DescheduleCycle<'_, '_>) -> bool {
    bounds.iter().all(|(name, bound)| cycle.view.nodes[node].percent_used(name) <= *bound)
}

fn is_above(node: usize, bounds: &Percentages, cycle: &DescheduleCycle<'_, '_>) -> bool {
    bounds.iter().any(|(name, bound)| *bound < cycle.view.nodes[node].percent_used(name))
}

/// What nodes can take in, in thousandths, by resource.
type Room = BTreeMap<String, f64>;

#[allow(clippy::cast_precision_loss, reason = "a share")]
fn milli(of: &crate::quota::Amounts, name: &str) -> f64 {
    of.get(name).map_or(0, |amount| amount.milli()) as f64
}

fn room_of(nodes: &[usize], up_to: &Percentages, cycle: &DescheduleCycle<'_, '_>) -> Room {
    let of = |name: &String, bound: &f64| {
        let rooms = nodes.iter().map(|&node| {
            let node = &cycle.view.nodes[node];
            milli(&node.has, name) * bound / 100.0 - milli(&node.used, name)
        });
        rooms.sum::<f64>()
    };
    up_to.iter().map(|(name, bound)| (name.clone(), of(name, bound))).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    FullestFirst,
    EmptiestFirst,
}

fn by_usage(mut nodes: Vec<usize>, direction: Direction, cycle: &DescheduleCycle<'_, '_>) -> Vec<usize> {
    let usage = |node: usize| {
        let node = &cycle.view.nodes[node];
        node.has.keys().map(|name| node.percent_used(name)).sum::<f64>()
    };
    nodes.sort_by(|&one, &other| usage(one).total_cmp(&usage(other)));
    if direction == Direction::FullestFirst {
        nodes.reverse();
    }
    nodes
}

/// Evicts pods of a node, the least important first, while that is wanted.
fn evict_from(
    node: usize,
    args: &Utilization,
    room: &mut Room,
    cycle: &mut DescheduleCycle<'_, '_>,
    goes_on: impl Fn(&DescheduleCycle<'_, '_>, &Room) -> bool,
) {
    let mut pods = cycle.view.pods_on(node);
    pods.retain(|&pod| cycle.is_within(&args.scope, pod));
    pods.sort_by_key(|&pod| cycle.view.pods[pod].eviction_order());
    for pod in pods {
        if !goes_on(cycle, room) {
            return;
        }
        if cycle.may_evict(pod) && cycle.evict(pod) {
            let asks = &cycle.view.pods[pod].asks;
            for (name, left) in room.iter_mut() {
                *left -= milli(asks, name);
            }
        }
    }
}
