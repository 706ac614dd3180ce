//! InterPodAffinity: a pod came, went or changed its labels, or a node its topology.
//! Upstream: interpodaffinity/plugin.go.
//! Differs: a term with a namespace selector is taken to select every namespace. Upstream matches
//! the selector against no labels at all, and so misses events in namespaces it selects by label; it does not
//! hear of namespaces whose labels change, either (kubernetes#141953)
//! (`namespace_label_change_requeues_pods_with_namespace_selector`).

use super::InterPodAffinity;
use crate::class::PodClass;
use crate::framework::event::{ActionType, Event, EventObject, EventResource, NodeState};
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::ids::Symbol;
use crate::input::{Labels, PodAffinityTermInput};
use crate::known_gaps::KnownGaps;
use crate::plugins::helper::selector::matches;
use crate::world::World;

impl EnqueueExtensions for InterPodAffinity {
    fn events_to_register(&self, gaps: KnownGaps) -> Vec<RegisteredEvent> {
        match gaps {
            KnownGaps::Mended => EVENTS.to_vec(),
            KnownGaps::Upstream => UPSTREAM_EVENTS.to_vec(),
        }
    }
}

const EVENTS: &[RegisteredEvent] = &[
    RegisteredEvent::by_class(EventResource::AssignedPod, POD_CHANGES, after_pod_change),
    RegisteredEvent::always(EventResource::TargetPod, ActionType::UPDATE_POD_LABEL),
    // Differs: upstream does not hear of nodes that are deleted. The pods of such a node are in no domain
    // any more, often long before the garbage collector deletes them
    // (`node_delete_requeues_pods_kept_out_by_anti_affinity`).
    RegisteredEvent::by_class(
        EventResource::Node,
        ActionType::ADD.or(ActionType::UPDATE_NODE_LABEL).or(ActionType::DELETE),
        after_node_change,
    ),
    RegisteredEvent::by_class(EventResource::Namespace, ActionType::ALL, after_namespace_change),
];

/// [`KnownGaps::Upstream`]: what upstream registers for.
const UPSTREAM_EVENTS: &[RegisteredEvent] = &[
    RegisteredEvent::by_class(EventResource::AssignedPod, POD_CHANGES, upstream_after_pod_change),
    RegisteredEvent::always(EventResource::TargetPod, ActionType::UPDATE_POD_LABEL),
    RegisteredEvent::by_class(
        EventResource::Node,
        ActionType::ADD.or(ActionType::UPDATE_NODE_LABEL),
        upstream_after_node_change,
    ),
];

const POD_CHANGES: ActionType = ActionType::ADD.or(ActionType::UPDATE_POD_LABEL).or(ActionType::DELETE);

/// Which namespaces a namespace selector is taken to select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// Every one: which of them it is can change at any time.
    Every,
    /// Those whose labels it selects, and none is known to have any.
    Unlabelled,
}

impl Reach {
    fn covers(self, term: &PodAffinityTermInput) -> bool {
        match self {
            Reach::Every => term.namespace_selector.is_some(),
            Reach::Unlabelled => matches(term.namespace_selector.as_ref(), &Labels::new()),
        }
    }

    /// Whether a term of `owner` selects a pod.
    fn selects(self, term: &PodAffinityTermInput, owner: &PodClass, pod: &PodClass) -> bool {
        let namespace = &pod.input.namespace;
        let has_none = term.namespaces.is_empty() && term.namespace_selector.is_none();
        let is_own = has_none && namespace == &owner.input.namespace;
        let in_namespace = is_own || term.namespaces.contains(namespace) || self.covers(term);
        in_namespace && matches(term.label_selector.as_ref(), &pod.input.labels)
    }

    /// Whether all terms of required affinity select a pod; there is at least one.
    fn joins(self, owner: &PodClass, pod: &PodClass) -> bool {
        let terms = &owner.input.pod_affinity.required;
        !terms.is_empty() && terms.iter().all(|term| self.selects(term, owner, pod))
    }

    /// Whether a term of required anti-affinity selects a pod.
    fn avoids(self, owner: &PodClass, pod: &PodClass) -> bool {
        owner.input.pod_anti_affinity.required.iter().any(|term| self.selects(term, owner, pod))
    }
}

fn after_pod_change(world: &World, class: &PodClass, event: &Event) -> bool {
    // Differs: upstream does not look for it. The first pod of a group that wants to be together may go
    // anywhere, so that the end of those it wanted to join helps one that is of the group itself
    // (`queueing_hints_answer_every_case`).
    let loses_its_group = |old: &PodClass, new: Option<&PodClass>| {
        let joins = |pod| Reach::Every.joins(class, pod);
        joins(class) && joins(old) && new.is_none_or(|new| !joins(new))
    };
    let group_is_gone = match event.pods() {
        Some((Some(old), new)) if old.has_place() => {
            loses_its_group(world.class(old.class), new.map(|pod| world.class(pod.class)))
        }
        _ => false,
    };
    group_is_gone || is_schedulable_after_pod_change(Reach::Every, world, class, event)
}

fn upstream_after_pod_change(world: &World, class: &PodClass, event: &Event) -> bool {
    is_schedulable_after_pod_change(Reach::Unlabelled, world, class, event)
}

fn is_schedulable_after_pod_change(reach: Reach, world: &World, class: &PodClass, event: &Event) -> bool {
    let joins = |pod| reach.joins(class, pod);
    let avoids = |pod| reach.avoids(class, pod);
    let Some((old, new)) = event.pods() else { return true };
    if [old, new].into_iter().flatten().any(|pod| !pod.has_place()) {
        return false;
    }
    match (old.map(|pod| world.class(pod.class)), new.map(|pod| world.class(pod.class))) {
        (Some(old), Some(new)) => (!joins(old) && joins(new)) || (avoids(old) && !avoids(new)),
        (None, Some(new)) => joins(new),
        (Some(old), None) => avoids(old) || reach.avoids(old, class),
        (None, None) => true,
    }
}

/// A node before and after, as terms see it.
struct Move<'a> {
    world: &'a World,
    old: Option<&'a NodeState>,
    new: Option<&'a NodeState>,
}

impl Move<'_> {
    /// The node is in a domain of the term that it was not in before.
    fn joins_domain(&self, term: &PodAffinityTermInput) -> bool {
        let (before, after) = self.domains(term);
        after.is_some() && after != before
    }

    /// The node is no longer in the domain of the term that it was in, and its pods are not either.
    fn leaves_domain(&self, term: &PodAffinityTermInput) -> bool {
        let (before, after) = self.domains(term);
        before.is_some() && after != before
    }

    fn domains(&self, term: &PodAffinityTermInput) -> (Option<Symbol>, Option<Symbol>) {
        let label =
            |node: Option<&NodeState>| node.and_then(|node| node.label(&term.topology_key, self.world));
        (label(self.old), label(self.new))
    }

    /// A new node takes pods whose topology key it lacks, and may be the first of its domain.
    fn helps_anti_affinity(&self, term: &PodAffinityTermInput) -> bool {
        self.old.is_none() || self.leaves_domain(term)
    }
}

/// Differs: upstream looks at the waiting pod's own terms only, at affinity only when the node joins a
/// domain, and not at all when the node is deleted. A pod would wait for ever that could lead its group
/// once the node of the others has left its domain, or that existing pods kept away
/// (`node_leaving_its_topology_domain_requeues_pods_kept_out_by_anti_affinity`).
fn after_node_change(world: &World, class: &PodClass, event: &Event) -> bool {
    let Some((old, new)) = event.nodes() else { return true };
    let node = Move { world, old, new };
    let affinity = &class.input.pod_affinity.required;
    let anti_affinity = &class.input.pod_anti_affinity.required;
    affinity.iter().any(|term| node.joins_domain(term))
        || (affinity.iter().any(|term| node.leaves_domain(term)) && Reach::Every.joins(class, class))
        || anti_affinity.iter().any(|term| node.helps_anti_affinity(term))
        || is_avoided(world, class, |term| node.helps_anti_affinity(term))
}

fn upstream_after_node_change(world: &World, class: &PodClass, event: &Event) -> bool {
    let Some((old, new)) = event.nodes() else { return true };
    let node = Move { world, old, new };
    class.input.pod_affinity.required.iter().any(|term| node.joins_domain(term))
        || class.input.pod_anti_affinity.required.iter().any(|term| node.helps_anti_affinity(term))
}

/// Pods of a namespace may be selected from now on, or no longer.
fn after_namespace_change(world: &World, class: &PodClass, event: &Event) -> bool {
    let has_selector = |term: &PodAffinityTermInput| term.namespace_selector.is_some();
    let mut terms = class.input.pod_affinity.required.iter().chain(&class.input.pod_anti_affinity.required);
    let is_in_it = match event.object {
        EventObject::Named { name, .. } => name == class.namespace,
        _ => true,
    };
    terms.any(has_selector) || (is_in_it && is_avoided(world, class, has_selector))
}

/// Whether the anti-affinity of some pod on a node, or nominated to one, speaks of the class, in a term
/// that `is_meant`. Classes are few, pods many: pods are looked at only for a class that has such a term.
fn is_avoided(world: &World, class: &PodClass, is_meant: impl Fn(&PodAffinityTermInput) -> bool) -> bool {
    world.live_classes().any(|other| {
        let mut terms = other.input.pod_anti_affinity.required.iter();
        let counts = |pod| {
            let row = world.pods().get(pod);
            row.class == other.id && (row.node().is_some() || row.nominated().is_some())
        };
        terms.any(|term| is_meant(term) && Reach::Every.selects(term, other, class))
            && world.pods().ids().any(counts)
    })
}
