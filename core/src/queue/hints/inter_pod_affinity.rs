//! InterPodAffinity: a pod came, went or changed its labels, or a node its topology.
//! Upstream: interpodaffinity/plugin.go.
//! Differs: a term with a namespace selector is taken to select every namespace. Upstream matches
//! the selector against no labels at all, and so misses events in namespaces it selects by label.

use super::selector::matches;
use super::{Action, EventResource, NodeState, Registration, either, has_place, nodes, pods};
use crate::class::PodClass;
use crate::input::PodAffinityTermInput;
use crate::queue::event::Event;
use crate::world::World;

pub(super) const EVENTS: &[Registration] = &[
    Registration::hinted(
        EventResource::AssignedPod,
        either(either(Action::ADD, Action::UPDATE_POD_LABEL), Action::DELETE),
        after_pod_change,
    ),
    Registration::always(EventResource::TargetPod, Action::UPDATE_POD_LABEL),
    Registration::hinted(
        EventResource::Node,
        either(Action::ADD, Action::UPDATE_NODE_LABEL),
        after_node_change,
    ),
];

/// Whether a term of `owner` selects a pod.
fn selects(term: &PodAffinityTermInput, owner: &PodClass, pod: &PodClass) -> bool {
    let namespace = &pod.input.namespace;
    let is_own = term.namespaces.is_empty() && namespace == &owner.input.namespace;
    let in_namespace = term.namespace_selector.is_some() || is_own || term.namespaces.contains(namespace);
    in_namespace && matches(term.label_selector.as_ref(), &pod.input.labels)
}

fn after_pod_change(world: &World, class: &PodClass, event: &Event) -> bool {
    let Some((old, new)) = pods(event) else { return true };
    if [old, new].into_iter().flatten().any(|pod| !has_place(&pod)) {
        return false;
    }
    let (old, new) = (old.map(|pod| world.class(pod.class)), new.map(|pod| world.class(pod.class)));
    let terms = &class.input.pod_affinity.required;
    let anti_terms = &class.input.pod_anti_affinity.required;
    let by_all = |pod: &PodClass| !terms.is_empty() && terms.iter().all(|term| selects(term, class, pod));
    let by_any = |pod: &PodClass| anti_terms.iter().any(|term| selects(term, class, pod));
    // Differs: upstream does not look for it. The first pod of a group that wants to be together may go
    // anywhere, so that the end of those it wanted to join helps one that is of the group itself.
    let may_lead = |gone: &PodClass| by_all(gone) && by_all(class);
    match (old, new) {
        (Some(old), Some(new)) => {
            (!by_all(old) && by_all(new)) || (by_any(old) && !by_any(new)) || (may_lead(old) && !by_all(new))
        }
        (None, Some(new)) => by_all(new),
        (Some(old), None) => {
            let theirs = &old.input.pod_anti_affinity.required;
            by_any(old) || may_lead(old) || theirs.iter().any(|term| selects(term, old, class))
        }
        (None, None) => true,
    }
}

fn after_node_change(world: &World, class: &PodClass, event: &Event) -> bool {
    let Some((old, Some(new))) = nodes(event) else { return true };
    let label = |node: &NodeState, term: &PodAffinityTermInput| node.label(&term.topology_key, world);
    let helps_affinity = |term: &PodAffinityTermInput| {
        let after = label(new, term);
        after.is_some() && after != old.and_then(|old| label(old, term))
    };
    let helps_anti_affinity = |term: &PodAffinityTermInput| {
        let Some(old) = old else { return true };
        let before = label(old, term);
        before.is_some() && label(new, term) != before
    };
    class.input.pod_affinity.required.iter().any(helps_affinity)
        || class.input.pod_anti_affinity.required.iter().any(helps_anti_affinity)
        || is_avoided(world, class, helps_anti_affinity)
}

/// Whether the anti-affinity of some pod on a node speaks of the class, in a term that `is_meant`.
/// Classes are few, pods many: pods are looked at only for a class that has such a term.
///
/// Differs: upstream looks at the waiting pod's own terms only. A pod that existing pods keep away
/// would wait for ever when a node comes, or moves, where none of them is.
fn is_avoided(world: &World, class: &PodClass, is_meant: impl Fn(&PodAffinityTermInput) -> bool) -> bool {
    world.live_classes().any(|other| {
        let mut terms = other.input.pod_anti_affinity.required.iter();
        let is_placed = |pod| {
            let row = world.pods().get(pod);
            row.class == other.id && row.node().is_some()
        };
        terms.any(|term| is_meant(term) && selects(term, other, class)) && world.pods().ids().any(is_placed)
    })
}
