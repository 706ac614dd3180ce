//! Pods that would not be scheduled where they are today, or have been there for too long.
//!
//! Upstream: kubernetes-sigs/descheduler pkg/framework/plugins/removepodsviolatingnodeaffinity,
//! removepodsviolatingnodetaints, removepodsviolatinginterpodantiaffinity, removepodshavingtoomanyrestarts,
//! podlifetime.

use std::sync::Arc;

use schedlab_core::input::{PodAffinityTermInput, TaintInput};

use super::super::cluster_view::PodView;
use super::cycle::DescheduleCycle;
use super::policy::{Scope, Strategy};
use crate::selector;

pub(super) fn run(strategy: &Strategy, cycle: &mut DescheduleCycle<'_, '_>) {
    match strategy {
        Strategy::NodeAffinity { scope, required, preferred } => {
            for pod in cycle.evictable(scope) {
                if (*required && is_misplaced(pod, cycle)) || (*preferred && prefers_another(pod, cycle)) {
                    cycle.evict(pod);
                }
            }
        }
        Strategy::Taints { scope, prefer_no_schedule, excluded, included } => {
            let counts = |taint: &TaintInput| {
                let is_effect = taint.effect == "NoSchedule"
                    || (*prefer_no_schedule && taint.effect == "PreferNoSchedule");
                let is_included = included.is_empty() || is_listed(taint, included);
                is_effect && is_included && !is_listed(taint, excluded)
            };
            for pod in cycle.evictable(scope) {
                if !tolerates(pod, cycle, counts) {
                    cycle.evict(pod);
                }
            }
        }
        Strategy::AntiAffinity { scope } => anti_affinity(scope, cycle),
        Strategy::Restarts { scope, threshold, init_containers, states } => {
            for pod in cycle.evictable(scope) {
                let view = &cycle.view.pods[pod];
                let is_in = states.is_empty() || states.iter().any(|state| is_in_state(view, state));
                if is_in && *threshold <= restarts(view, *init_containers) {
                    cycle.evict(pod);
                }
            }
        }
        Strategy::LifeTime { scope, max_ns, states } => life_time(scope, *max_ns, states, cycle),
        _ => {}
    }
}

/// Its node no longer has what it requires, and another one does.
fn is_misplaced(pod: usize, cycle: &mut DescheduleCycle<'_, '_>) -> bool {
    let (spec, node) = (cycle.view.pods[pod].row.spec, cycle.view.pods[pod].node);
    let input = Arc::clone(&cycle.view.nodes[node].input);
    let affinity = cycle.view.pods[pod].input().node_affinity.as_ref();
    let requires = affinity.is_some_and(|affinity| affinity.required.is_some());
    requires && !cycle.view.rules(spec).is_selected(&input) && cycle.view.other_place(pod).is_some()
}

/// Another node that it may come to suits its preferences better.
fn prefers_another(pod: usize, cycle: &mut DescheduleCycle<'_, '_>) -> bool {
    let (spec, node) = (cycle.view.pods[pod].row.spec, cycle.view.pods[pod].node);
    let asks = Arc::clone(&cycle.view.pods[pod].asks);
    let weight = |cycle: &mut DescheduleCycle<'_, '_>, node: usize| {
        let input = Arc::clone(&cycle.view.nodes[node].input);
        cycle.view.rules(spec).preference(&input)
    };
    let is = weight(cycle, node);
    let others: Vec<usize> = (0..cycle.view.nodes.len()).filter(|&other| other != node).collect();
    others.into_iter().any(|other| is < weight(cycle, other) && cycle.view.fits(spec, &asks, other))
}

/// By its key, or by key and value. Upstream: `utils.TaintsMatch`.
fn is_listed(taint: &TaintInput, list: &[String]) -> bool {
    let with_value = format!("{}={}", taint.key, taint.value);
    list.iter().any(|listed| *listed == taint.key || *listed == with_value)
}

fn tolerates(pod: usize, cycle: &mut DescheduleCycle<'_, '_>, counts: impl Fn(&TaintInput) -> bool) -> bool {
    let (spec, node) = (cycle.view.pods[pod].row.spec, cycle.view.pods[pod].node);
    let taints = cycle.view.nodes[node].input.taints.iter().filter(|taint| counts(taint));
    let taints: Vec<TaintInput> = taints.cloned().collect();
    cycle.view.rules(spec).tolerates(&taints)
}

/// Of pods that cannot stand each other the least important go, until those that are left can.
fn anti_affinity(scope: &Scope, cycle: &mut DescheduleCycle<'_, '_>) {
    let mut pods = cycle.evictable(scope);
    pods.sort_by_key(|&pod| cycle.view.pods[pod].eviction_order());
    for pod in pods {
        if has_unwanted_neighbour(pod, cycle) {
            cycle.evict(pod);
        }
    }
}

fn has_unwanted_neighbour(pod: usize, cycle: &DescheduleCycle<'_, '_>) -> bool {
    let own = &cycle.view.pods[pod];
    let terms = &own.input().pod_anti_affinity.required;
    terms.iter().any(|term| {
        let others = cycle.view.pods.iter().enumerate().filter(|(at, other)| *at != pod && other.is_there());
        let mut matching = others.filter(|(_, other)| is_selected(term, own, other));
        matching.any(|(_, other)| is_same_domain(&term.topology_key, own.node, other.node, cycle))
    })
}

fn is_selected(term: &PodAffinityTermInput, own: &PodView, other: &PodView) -> bool {
    let namespace = &other.input().namespace;
    let is_named = match (&term.namespaces[..], &term.namespace_selector) {
        ([], None) => *namespace == own.input().namespace,
        (names, _) => names.contains(namespace),
    };
    is_named && term.label_selector.as_ref().is_some_and(|it| selector::matches(it, &other.input().labels))
}

fn is_same_domain(key: &str, one: usize, other: usize, cycle: &DescheduleCycle<'_, '_>) -> bool {
    let value = |node: usize| cycle.view.nodes[node].input.labels.get(key);
    value(one).is_some() && value(one) == value(other)
}

/// How often its containers have been started again.
fn restarts(pod: &PodView, with_init_containers: bool) -> i64 {
    let Some(status) = &pod.object().status else { return 0 };
    let init = status.init_container_statuses.iter().flatten().filter(|_| with_init_containers);
    let all = status.container_statuses.iter().flatten().chain(init);
    all.map(|container| i64::from(container.restart_count)).sum()
}

/// It is in this phase, or a container waits for this reason.
fn is_in_state(pod: &PodView, state: &str) -> bool {
    let status = pod.object().status.as_ref();
    let is_reason = status.and_then(|status| status.reason.as_deref()) == Some(state);
    let mut containers = status.iter().flat_map(|status| {
        let init = status.init_container_statuses.iter().flatten();
        init.chain(status.container_statuses.iter().flatten())
    });
    let waits_for = |of: &k8s_openapi::api::core::v1::ContainerStatus| {
        let waiting = of.state.as_ref().and_then(|it| it.waiting.as_ref());
        waiting.and_then(|waiting| waiting.reason.as_deref()) == Some(state)
    };
    pod.row.phase.as_str() == state || is_reason || containers.any(waits_for)
}

/// The oldest first. Those that have ended count if the states say so.
fn life_time(scope: &Scope, max_ns: u64, states: &[String], cycle: &mut DescheduleCycle<'_, '_>) {
    let is_old = |pod: &PodView| max_ns < cycle.around.now_ns.saturating_sub(pod.row.created_ns);
    let is_meant = |pod: &PodView| match states {
        [] => pod.is_there(),
        states => !pod.is_taken && states.iter().any(|state| is_in_state(pod, state)),
    };
    let all = cycle.view.pods.iter().enumerate();
    let mut old: Vec<usize> = all.filter(|(_, pod)| is_old(pod) && is_meant(pod)).map(|(at, _)| at).collect();
    old.retain(|&pod| cycle.is_within(scope, pod));
    old.sort_by_key(|&pod| cycle.view.pods[pod].row.created_ns);
    for pod in old {
        if cycle.may_evict(pod) {
            cycle.evict(pod);
        }
    }
}
