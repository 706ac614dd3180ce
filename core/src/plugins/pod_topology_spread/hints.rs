//! PodTopologySpread: a counted pod came or went, or a node joined, left or changed its domain.
//! Upstream: podtopologyspread/plugin.go.
//! Differs: a pod without hard constraints of its own was rejected by the profile's defaults, which
//! a class does not know: every event helps it (`queueing_hints_answer_every_case`).

use super::PodTopologySpread;
use crate::class::PodClass;
use crate::framework::event::{ActionType, Event, EventResource, NodeState, PodFacts};
use crate::framework::points::{ClassHint, EnqueueExtensions, RegisteredEvent};
use crate::input::SpreadConstraintInput;
use crate::known_gaps::KnownGaps;
use crate::plugins::helper::selector::matches;
use crate::world::World;

impl EnqueueExtensions for PodTopologySpread {
    fn events_to_register(&self, gaps: KnownGaps) -> Vec<RegisteredEvent> {
        match gaps {
            KnownGaps::Mended => EVENTS.to_vec(),
            KnownGaps::Upstream => UPSTREAM_EVENTS.to_vec(),
        }
    }
}

const EVENTS: &[RegisteredEvent] = &events(after_node_change);

/// [`KnownGaps::Upstream`]: what upstream registers for.
const UPSTREAM_EVENTS: &[RegisteredEvent] = &events(upstream_after_node_change);

const fn events(after_node_change: ClassHint) -> [RegisteredEvent; 3] {
    let pod_changes = ActionType::ADD.or(ActionType::UPDATE_POD_LABEL).or(ActionType::DELETE);
    let own_changes = ActionType::UPDATE_POD_TOLERATION.or(ActionType::UPDATE_POD_LABEL);
    let node_changes = ActionType::ADD
        .or(ActionType::DELETE)
        .or(ActionType::UPDATE_NODE_LABEL.or(ActionType::UPDATE_NODE_TAINT));
    [
        RegisteredEvent::by_class(EventResource::AssignedPod, pod_changes, after_pod_change),
        RegisteredEvent::by_class(EventResource::TargetPod, own_changes, after_own_change),
        RegisteredEvent::by_class(EventResource::Node, node_changes, after_node_change),
    ]
}

fn hard(class: &PodClass) -> Vec<&SpreadConstraintInput> {
    class.input.spread_constraints.iter().filter(|constraint| !constraint.schedule_anyway).collect()
}

fn counts_otherwise(constraints: &[&SpreadConstraintInput], old: &PodClass, new: &PodClass) -> bool {
    let (before, after) = (&old.input.labels, &new.input.labels);
    before != after
        && constraints.iter().any(|constraint| {
            let selector = constraint.label_selector.as_ref();
            !constraint.match_label_keys.is_empty() || matches(selector, before) != matches(selector, after)
        })
}

fn after_own_change(world: &World, class: &PodClass, event: &Event) -> bool {
    let constraints = hard(class);
    let Some((Some(old), Some(new))) = event.pods() else { return true };
    let (old, new) = (world.class(old.class), world.class(new.class));
    let honors = constraints.iter().any(|constraint| constraint.honor_node_taints);
    constraints.is_empty()
        || (honors && old.input.tolerations != new.input.tolerations)
        || counts_otherwise(&constraints, old, new)
}

fn after_pod_change(world: &World, class: &PodClass, event: &Event) -> bool {
    let Some((old, new)) = event.pods() else { return true };
    let is_involved = |pod: &PodFacts| pod.has_place() && world.class(pod.class).namespace == class.namespace;
    if [old, new].iter().flatten().any(|pod| !is_involved(pod)) {
        return false;
    }
    let constraints = hard(class);
    if constraints.is_empty() {
        return true;
    }
    let counts = |pod: &PodClass| {
        constraints.iter().any(|constraint| matches(constraint.label_selector.as_ref(), &pod.input.labels))
    };
    match (old.map(|pod| world.class(pod.class)), new.map(|pod| world.class(pod.class))) {
        (Some(old), Some(new)) => counts_otherwise(&constraints, old, new),
        (Some(one), None) | (None, Some(one)) => counts(one),
        (None, None) => true,
    }
}

/// Differs: upstream looks at the topology keys and at taints only. Nodes that the pod's node selector or
/// affinity rules out are not counted (`nodeAffinityPolicy: Honor`): when another label of a node changes,
/// the domain with the fewest pods may be one no longer (`queueing_hints_answer_every_case`).
fn after_node_change(world: &World, class: &PodClass, event: &Event) -> bool {
    let may_count_other_nodes = match event.nodes() {
        Some((Some(old), Some(new))) if old.labels != new.labels => {
            let selects_nodes = class.input.node_selector.is_some() || class.input.node_affinity.is_some();
            selects_nodes && hard(class).iter().any(|constraint| !constraint.ignore_node_affinity)
        }
        _ => false,
    };
    may_count_other_nodes || upstream_after_node_change(world, class, event)
}

fn upstream_after_node_change(world: &World, class: &PodClass, event: &Event) -> bool {
    let Some((old, new)) = event.nodes() else { return true };
    let constraints = hard(class);
    if constraints.is_empty() {
        return true;
    }
    let has_keys = |node: &NodeState| {
        constraints.iter().all(|constraint| node.label(&constraint.topology_key, world).is_some())
    };
    match (old, new) {
        (Some(old), Some(new)) if has_keys(old) == has_keys(new) => {
            let moved = |constraint: &&SpreadConstraintInput| {
                old.label(&constraint.topology_key, world) != new.label(&constraint.topology_key, world)
            };
            has_keys(new) && (constraints.iter().any(moved) || old.taints != new.taints)
        }
        (Some(_), Some(_)) | (None, None) => true,
        (Some(one), None) | (None, Some(one)) => has_keys(one),
    }
}
