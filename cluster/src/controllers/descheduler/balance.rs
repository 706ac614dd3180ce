//! Pods that are spread worse than they could be.
//!
//! Upstream: kubernetes-sigs/descheduler pkg/framework/plugins/removeduplicates,
//! removepodsviolatingtopologyspreadconstraint.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schedlab_core::input::SpreadConstraintInput;

use super::super::node_rules::Verdict;
use super::cycle::DescheduleCycle;
use super::policy::{Scope, Strategy};
use crate::selector;

pub(super) fn run(strategy: &Strategy, cycle: &mut DescheduleCycle<'_, '_>) {
    match strategy {
        Strategy::Duplicates { scope, excluded_kinds } => remove_duplicates(scope, excluded_kinds, cycle),
        Strategy::Spread { scope, do_not_schedule, schedule_anyway, node_fit } => {
            let is_meant = |it: &SpreadConstraintInput| {
                if it.schedule_anyway { *schedule_anyway } else { *do_not_schedule }
            };
            for (namespace, constraint) in constraints(scope, is_meant, cycle) {
                let mut domains = domains_of(&namespace, &constraint, cycle);
                order_domains(&mut domains, cycle);
                balance(domains, constraint.max_skew, *node_fit, cycle);
            }
        }
        _ => {}
    }
}

/// Pods of one owner with the same images count as copies.
type CopyOf = (String, String, Vec<String>);

fn remove_duplicates(scope: &Scope, excluded_kinds: &[String], cycle: &mut DescheduleCycle<'_, '_>) {
    let mut copies: BTreeMap<CopyOf, BTreeMap<usize, Vec<usize>>> = BTreeMap::new();
    for pod in cycle.evictable(scope) {
        let view = &cycle.view.pods[pod];
        let Some(owner) = &view.input().controller else { continue };
        if excluded_kinds.contains(&owner.kind) {
            continue;
        }
        let mut images: Vec<String> = view.input().containers.iter().map(|it| it.image.clone()).collect();
        images.sort();
        let key = (view.input().namespace.clone(), owner.uid.clone(), images);
        copies.entry(key).or_default().entry(view.node).or_default().push(pod);
    }
    for by_node in copies.into_values() {
        thin_out(&by_node, cycle);
    }
}

/// No node keeps more copies than an even share of those that they may be on.
fn thin_out(by_node: &BTreeMap<usize, Vec<usize>>, cycle: &mut DescheduleCycle<'_, '_>) {
    let Some(&first) = by_node.values().flatten().next() else { return };
    let spec = cycle.view.pods[first].row.spec;
    let targets = (0..cycle.view.nodes.len()).filter(|&node| cycle.view.may_come(spec, node)).count();
    if targets < 2 {
        return;
    }
    let copies: usize = by_node.values().map(Vec::len).sum();
    let share = copies.div_ceil(targets);
    for pods in by_node.values() {
        for &pod in pods.iter().skip(share) {
            cycle.evict(pod);
        }
    }
}

/// The constraints that pods of a namespace have, each once.
fn constraints(
    scope: &Scope,
    is_meant: impl Fn(&SpreadConstraintInput) -> bool,
    cycle: &DescheduleCycle<'_, '_>,
) -> Vec<(String, SpreadConstraintInput)> {
    let mut found: Vec<(String, SpreadConstraintInput)> = Vec::new();
    let mut seen = BTreeSet::new();
    for (at, pod) in cycle.view.pods.iter().enumerate() {
        let input = pod.input();
        if !pod.is_there() || input.spread_constraints.is_empty() || !cycle.is_within(scope, at) {
            continue;
        }
        // Pods of a body have the same constraints.
        if !seen.insert(pod.row.spec) {
            continue;
        }
        for constraint in input.spread_constraints.iter().filter(|it| is_meant(it)) {
            let entry = (input.namespace.clone(), constraint.clone());
            if !found.contains(&entry) {
                found.push(entry);
            }
        }
    }
    found
}

/// The pods that a constraint counts, by the value of its key; values without pods are there as well.
fn domains_of(
    namespace: &str,
    constraint: &SpreadConstraintInput,
    cycle: &mut DescheduleCycle<'_, '_>,
) -> Vec<Vec<usize>> {
    let is_counted = |pod: &super::super::cluster_view::PodView| {
        let is_selected = |it| selector::matches(it, &pod.input().labels);
        pod.is_there()
            && pod.input().namespace == namespace
            && constraint.label_selector.as_ref().is_some_and(is_selected)
    };
    let pods = cycle.view.pods.iter().enumerate().filter(|(_, pod)| is_counted(pod));
    let pods: Vec<(usize, usize)> = pods.map(|(at, pod)| (at, pod.node)).collect();
    let Some(&(first, _)) = pods.first() else { return Vec::new() };
    let spec = cycle.view.pods[first].row.spec;
    let mut domains: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for node in 0..cycle.view.nodes.len() {
        let input = Arc::clone(&cycle.view.nodes[node].input);
        let is_eligible = constraint.ignore_node_affinity || cycle.view.rules(spec).is_selected(&input);
        let is_tolerated =
            !constraint.honor_node_taints || cycle.view.rules(spec).verdict(&input) == Verdict::Runs;
        if let Some(value) =
            input.labels.get(&constraint.topology_key).filter(|_| is_eligible && is_tolerated)
        {
            let domain = domains.entry(value.clone()).or_default();
            domain.extend(pods.iter().filter(|(_, of)| *of == node).map(|(at, _)| *at));
        }
    }
    domains.into_values().collect()
}

/// Small domains first; in each those that go first come last.
fn order_domains(domains: &mut [Vec<usize>], cycle: &mut DescheduleCycle<'_, '_>) {
    for domain in domains.iter_mut() {
        domain.sort_by_cached_key(|&pod| {
            (cycle.may_evict(pod), std::cmp::Reverse(cycle.view.pods[pod].eviction_order()))
        });
    }
    domains.sort_by_key(Vec::len);
}

/// Pods go from large domains as if they came to small ones, until no two differ by more than the skew.
/// Upstream: topologyspreadconstraint.go `balanceDomains`.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "few pods"
)]
fn balance(mut domains: Vec<Vec<usize>>, max_skew: i32, node_fit: bool, cycle: &mut DescheduleCycle<'_, '_>) {
    let max_skew = usize::try_from(max_skew).unwrap_or(1).max(1);
    let count: usize = domains.iter().map(Vec::len).sum();
    let ideal = count as f64 / domains.len().max(1) as f64;
    let (mut small, mut large) = (0, domains.len().saturating_sub(1));
    while small < large {
        let (few, many) = (domains[small].len(), domains[large].len());
        if many as f64 <= ideal {
            large -= 1;
            continue;
        }
        let skew = many.saturating_sub(few);
        if skew <= max_skew {
            small += 1;
            continue;
        }
        let above = (many as f64 - ideal).ceil() as usize;
        let below = (ideal - few as f64).ceil().max(0.0) as usize;
        let moves = above.min(below).min((skew - max_skew).div_ceil(2));
        if moves == 0 {
            small += 1;
            continue;
        }
        let going = domains[large].split_off(many - moves);
        for &pod in &going {
            let has_place = !node_fit || cycle.view.other_place(pod).is_some();
            if has_place && cycle.may_evict(pod) {
                cycle.evict(pod);
            }
        }
        domains[small].extend(going);
    }
}
