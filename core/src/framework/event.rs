//! What happens in the cluster, as queueing hints see it: which kind of object, which kind of
//! change, and the object before and after as far as hints read it.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;

use crate::framework::points;
use crate::ids::{ClassId, LabelSetId, NodeId, PodUid, Symbol, TaintSetId};
use crate::input::NodeInput;
use crate::reclaim::Marks;
use crate::resources::Amounts;
use crate::storage::StorageNews;
use crate::world::World;

pub use crate::framework::points::{ActionType, ClusterEvent, EventResource};

/// Every waiting pod is tried again, whoever rejected it.
pub const WILDCARD: ClusterEvent =
    ClusterEvent { resource: EventResource::WildCard, action: ActionType::ALL };
/// A pod came that is on no node yet.
pub const UNSCHEDULED_POD_ADD: ClusterEvent =
    ClusterEvent { resource: EventResource::UnscheduledPod, action: ActionType::ADD };
/// A pod came to a node.
pub const ASSIGNED_POD_ADD: ClusterEvent =
    ClusterEvent { resource: EventResource::AssignedPod, action: ActionType::ADD };
/// A pod left its node, or gave up a place that was held for it.
pub const ASSIGNED_POD_DELETE: ClusterEvent =
    ClusterEvent { resource: EventResource::AssignedPod, action: ActionType::DELETE };

/// Kinds of objects.
pub const RESOURCE_COUNT: usize = EventResource::WildCard as usize + 1;

/// All kinds, in the order of their numbers.
pub const RESOURCES: [EventResource; RESOURCE_COUNT] = [
    EventResource::Pod,
    EventResource::AssignedPod,
    EventResource::UnscheduledPod,
    EventResource::TargetPod,
    EventResource::Node,
    EventResource::PersistentVolume,
    EventResource::PersistentVolumeClaim,
    EventResource::CsiNode,
    EventResource::CsiDriver,
    EventResource::VolumeAttachment,
    EventResource::CsiStorageCapacity,
    EventResource::StorageClass,
    EventResource::ResourceClaim,
    EventResource::ResourceSlice,
    EventResource::DeviceClass,
    EventResource::PodGroup,
    EventResource::CompositePodGroup,
    EventResource::Namespace,
    EventResource::WildCard,
];

const UPDATE_INDEX: usize = ActionType::ALL.0.trailing_ones() as usize;
/// Incoming actions: each single one, and the general update of a change that has no name.
pub const ACTION_COUNT: usize = UPDATE_INDEX + 1;

/// The number of an incoming action.
///
/// # Panics
///
/// When it is neither one kind nor the general update.
#[must_use]
pub fn action_index(action: ActionType) -> usize {
    if action == ActionType::UPDATE {
        return UPDATE_INDEX;
    }
    assert_eq!(action.0.count_ones(), 1, "an incoming event has one kind of change: {action:?}");
    action.0.trailing_zeros() as usize
}

/// All actions that an incoming event may have, in the order of their numbers.
pub fn incoming_actions() -> impl Iterator<Item = ActionType> {
    (0..UPDATE_INDEX).map(|bit| ActionType(1 << bit)).chain([ActionType::UPDATE])
}

/// A pod as hints see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodFacts {
    /// Which pod.
    pub uid: PodUid,
    /// Its spec.
    pub class: ClassId,
    /// The node it is on.
    pub node: Option<NodeId>,
    /// The node that is held for it.
    pub nominated: Option<NodeId>,
}

/// A node as hints see it, in the world's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeState {
    /// What the API says; kept only if some plugin wants to see it, because it is ten times the
    /// rest.
    pub input: Option<Arc<NodeInput>>,
    /// `metadata.name`.
    pub name: Symbol,
    /// `metadata.labels`.
    pub labels: LabelSetId,
    /// `spec.taints`.
    pub taints: TaintSetId,
    /// `spec.unschedulable`.
    pub is_unschedulable: bool,
    /// `status.allocatable`.
    pub allocatable: Amounts,
    /// `status.allocatable.pods`.
    pub allocatable_pods: i64,
    /// Tells one list of `status.declaredFeatures` from another.
    pub features: u64,
}

impl PodFacts {
    /// A pod counts where it is, or where room is held for it.
    #[must_use]
    pub fn has_place(&self) -> bool {
        self.node.is_some() || self.nominated.is_some()
    }
}

impl NodeState {
    /// A node in the words of a world that knows it.
    pub fn of(input: &NodeInput, world: &mut World) -> NodeState {
        let vocabulary = &mut world.vocabulary;
        let mut features = FxHasher::default();
        input.declared_features.hash(&mut features);
        NodeState {
            input: None,
            name: vocabulary.symbols.intern(&input.name),
            labels: vocabulary.label_set(&input.labels),
            taints: vocabulary.taint_set(&input.taints),
            is_unschedulable: input.unschedulable,
            allocatable: Amounts::from_list(&input.allocatable, vocabulary),
            allocatable_pods: input.allocatable.get("pods").map_or(0, |pods| pods.value()),
            features: features.finish(),
        }
    }

    /// Marks what the node refers to.
    pub(crate) fn mark(&self, marks: &mut Marks) {
        marks.symbol(self.name);
        marks.label_set(self.labels);
        marks.taint_set(self.taints);
        marks.amounts(&self.allocatable);
    }

    /// The value of a label.
    #[must_use]
    pub fn label(&self, key: &str, world: &World) -> Option<Symbol> {
        let key = world.vocabulary.symbols.get(key)?;
        world.vocabulary.label(self.labels, key)
    }
}

/// An object before and after: the old state is absent of a new object, the new one of a deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diff<T> {
    /// Before.
    pub old: Option<T>,
    /// After.
    pub new: Option<T>,
}

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventObject {
    /// Not said.
    Unknown,
    /// A pod.
    Pod(Diff<PodFacts>),
    /// A node. Shared, because events are kept while pods are in flight.
    Node(Diff<Arc<NodeState>>),
    /// An object of another kind.
    Named {
        /// `metadata.namespace`; empty for kinds that have none.
        namespace: Symbol,
        /// `metadata.name`.
        name: Symbol,
        /// What is new about it.
        news: StorageNews,
    },
}

/// Something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Which kind.
    pub what: ClusterEvent,
    /// To which object.
    pub object: EventObject,
}

impl Event {
    /// An event whose object nobody needs to see.
    #[must_use]
    pub fn bare(what: ClusterEvent) -> Event {
        Event { what, object: EventObject::Unknown }
    }

    /// An event about a pod.
    #[must_use]
    pub fn pod(what: ClusterEvent, old: Option<PodFacts>, new: Option<PodFacts>) -> Event {
        Event { what, object: EventObject::Pod(Diff { old, new }) }
    }

    /// An event about a node.
    #[must_use]
    pub fn node(action: ActionType, old: Option<Arc<NodeState>>, new: Option<Arc<NodeState>>) -> Event {
        let what = ClusterEvent { resource: EventResource::Node, action };
        Event { what, object: EventObject::Node(Diff { old, new }) }
    }

    /// The node of an event before and after; `None` when it is not known.
    #[must_use]
    pub fn nodes(&self) -> Option<(Option<&NodeState>, Option<&NodeState>)> {
        match &self.object {
            EventObject::Node(diff) => Some((diff.old.as_deref(), diff.new.as_deref())),
            _ => None,
        }
    }

    /// The pod of an event before and after; `None` when it is not known.
    #[must_use]
    pub fn pods(&self) -> Option<(Option<PodFacts>, Option<PodFacts>)> {
        match &self.object {
            EventObject::Pod(diff) => Some((diff.old, diff.new)),
            _ => None,
        }
    }

    /// Marks what the event refers to.
    pub(crate) fn mark(&self, marks: &mut Marks) {
        match &self.object {
            EventObject::Unknown => {}
            EventObject::Pod(diff) => {
                for pod in diff.old.iter().chain(&diff.new) {
                    marks.class(pod.class);
                    pod.node.into_iter().chain(pod.nominated).for_each(|node| marks.node(node));
                }
            }
            EventObject::Node(diff) => diff.old.iter().chain(&diff.new).for_each(|node| node.mark(marks)),
            EventObject::Named { namespace, name, news } => {
                marks.symbol(*namespace);
                marks.symbol(*name);
                if let StorageNews::Detached { attacher } = news {
                    marks.symbol(*attacher);
                }
            }
        }
    }

    /// It concerns everybody, whoever rejected them.
    #[inline]
    #[must_use]
    pub fn is_wildcard(&self) -> bool {
        self.what == WILDCARD
    }

    /// The pod that is meant, when the event is meant for one pod alone.
    #[must_use]
    pub fn target(&self) -> Option<PodUid> {
        let EventObject::Pod(diff) = &self.object else { return None };
        let alone = self.is_wildcard() || self.what.resource == EventResource::TargetPod;
        diff.new.filter(|_| alone).map(|pod| pod.uid)
    }

    /// The object as plugins are shown it; `None` when it is not known.
    #[must_use]
    pub fn change<'a>(&'a self, world: &'a World) -> Option<points::ObjectChange<'a>> {
        match &self.object {
            EventObject::Unknown => None,
            EventObject::Pod(diff) => {
                let pod = diff.new.or(diff.old)?;
                let class = |pod: Option<PodFacts>| pod.map(|pod| world.class(pod.class));
                let (uid, node) = (pod.uid, pod.node.or(pod.nominated));
                Some(points::ObjectChange::Pod { uid, node, old: class(diff.old), new: class(diff.new) })
            }
            EventObject::Node(diff) => {
                let input = |node: &'a Option<Arc<NodeState>>| match node {
                    None => Some(None),
                    Some(node) => node.input.as_deref().map(Some),
                };
                Some(points::ObjectChange::Node { old: input(&diff.old)?, new: input(&diff.new)? })
            }
            EventObject::Named { namespace, name, .. } => {
                let text = |symbol| world.vocabulary.symbols.text(symbol);
                Some(points::ObjectChange::Object { namespace: text(*namespace), name: text(*name) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_actions_are_numbered_in_order() {
        for (at, resource) in RESOURCES.iter().enumerate() {
            assert_eq!(*resource as usize, at);
        }
        let indices: Vec<usize> = incoming_actions().map(action_index).collect();
        assert_eq!(indices, (0..ACTION_COUNT).collect::<Vec<_>>());
    }

    #[test]
    fn unnamed_update_is_covered_by_update_all_only() {
        let on_node = |action| ClusterEvent { resource: EventResource::Node, action };
        let general = on_node(ActionType::UPDATE);
        assert!(on_node(ActionType::UPDATE).covers(general));
        assert!(!on_node(ActionType::UPDATE_NODE_LABEL).covers(general));
        assert!(WILDCARD.covers(general));
    }
}
