//! What happens in the cluster, as the queue hears of it: which kind of object, which kind of
//! change, and the object before and after as far as queueing hints read it.
//!
//! Upstream: kube-scheduler/framework/types.go `ClusterEvent`, framework/types.go
//! `MatchClusterEvents`.

use std::fmt;
use std::sync::Arc;

use crate::ids::{ClassId, LabelSetId, NodeId, PodUid, Symbol, TaintSetId};
use crate::resources::Amounts;

/// What kind of object an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum EventResource {
    /// Every kind; of an incoming event: every waiting pod is tried again.
    WildCard,
    /// Any pod: stands for the three below in a registration.
    Pod,
    /// A pod on a node, or assumed to be on one.
    AssignedPod,
    /// A pod on no node, other than the waiting pod itself.
    UnscheduledPod,
    /// The waiting pod itself.
    TargetPod,
    /// `nodes`.
    Node,
    /// `persistentvolumes`.
    PersistentVolume,
    /// `persistentvolumeclaims`.
    PersistentVolumeClaim,
    /// `csinodes`.
    CsiNode,
    /// `csidrivers`.
    CsiDriver,
    /// `csistoragecapacities`.
    CsiStorageCapacity,
    /// `volumeattachments`.
    VolumeAttachment,
    /// `storageclasses`.
    StorageClass,
    /// `resourceclaims`.
    ResourceClaim,
    /// `resourceslices`.
    ResourceSlice,
    /// `deviceclasses`.
    DeviceClass,
}

/// Kinds of objects, [`EventResource::WildCard`] and [`EventResource::Pod`] included.
pub const RESOURCE_COUNT: usize = EventResource::DeviceClass as usize + 1;

/// All kinds, in the order of their numbers.
pub const RESOURCES: [EventResource; RESOURCE_COUNT] = [
    EventResource::WildCard,
    EventResource::Pod,
    EventResource::AssignedPod,
    EventResource::UnscheduledPod,
    EventResource::TargetPod,
    EventResource::Node,
    EventResource::PersistentVolume,
    EventResource::PersistentVolumeClaim,
    EventResource::CsiNode,
    EventResource::CsiDriver,
    EventResource::CsiStorageCapacity,
    EventResource::VolumeAttachment,
    EventResource::StorageClass,
    EventResource::ResourceClaim,
    EventResource::ResourceSlice,
    EventResource::DeviceClass,
];

impl EventResource {
    /// Whether a registration for this kind covers an incoming event of `other`.
    #[must_use]
    pub fn covers(self, other: EventResource) -> bool {
        use EventResource::{AssignedPod, Pod, TargetPod, UnscheduledPod, WildCard};
        self == WildCard
            || self == other
            || (self == Pod && matches!(other, AssignedPod | UnscheduledPod | TargetPod))
    }
}

/// Kinds of changes, as a set. An incoming event has one kind, or [`ActionType::UPDATE`] when the
/// change is none that anybody asks for by name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionType(u16);

impl ActionType {
    /// The object is new, or a pod came to a node.
    pub const ADD: ActionType = ActionType(1);
    /// The object is gone, or a pod left its node.
    pub const DELETE: ActionType = ActionType(1 << 1);
    /// `status.allocatable` of a node.
    pub const UPDATE_NODE_ALLOCATABLE: ActionType = ActionType(1 << 2);
    /// `metadata.labels` of a node.
    pub const UPDATE_NODE_LABEL: ActionType = ActionType(1 << 3);
    /// `spec.taints` of a node, or it is no longer cordoned.
    pub const UPDATE_NODE_TAINT: ActionType = ActionType(1 << 4);
    /// `status.conditions` of a node.
    pub const UPDATE_NODE_CONDITION: ActionType = ActionType(1 << 5);
    /// `metadata.annotations` of a node.
    pub const UPDATE_NODE_ANNOTATION: ActionType = ActionType(1 << 6);
    /// `status.declaredFeatures` of a node.
    pub const UPDATE_NODE_DECLARED_FEATURE: ActionType = ActionType(1 << 7);
    /// `spec.podPreemptionPolicy` of a node.
    pub const UPDATE_NODE_PREEMPTION_POLICY: ActionType = ActionType(1 << 8);
    /// `metadata.labels` of a pod.
    pub const UPDATE_POD_LABEL: ActionType = ActionType(1 << 9);
    /// Some request of a pod became smaller.
    pub const UPDATE_POD_SCALE_DOWN: ActionType = ActionType(1 << 10);
    /// Some request of a pod became greater.
    pub const UPDATE_POD_SCALE_UP: ActionType = ActionType(1 << 11);
    /// A pod got a toleration.
    pub const UPDATE_POD_TOLERATION: ActionType = ActionType(1 << 12);
    /// A pod lost its last scheduling gate.
    pub const UPDATE_POD_SCHEDULING_GATES_ELIMINATED: ActionType = ActionType(1 << 13);
    /// `status.resourceClaimStatuses` of a pod.
    pub const UPDATE_POD_GENERATED_RESOURCE_CLAIM: ActionType = ActionType(1 << 14);
    /// Everything.
    pub const ALL: ActionType = ActionType((1 << 15) - 1);
    /// Every update.
    pub const UPDATE: ActionType = ActionType(Self::ALL.0 & !(Self::ADD.0 | Self::DELETE.0));

    /// Both.
    #[must_use]
    pub const fn or(self, other: ActionType) -> ActionType {
        ActionType(self.0 | other.0)
    }

    /// The number of an incoming action in an interest table.
    ///
    /// # Panics
    ///
    /// When it is neither one kind nor [`ActionType::UPDATE`].
    #[must_use]
    pub fn index(self) -> usize {
        if self == ActionType::UPDATE {
            return UPDATE_INDEX;
        }
        assert_eq!(self.0.count_ones(), 1, "an incoming event has one kind of change: {self:?}");
        self.0.trailing_zeros() as usize
    }

    /// All actions that an incoming event may have.
    pub fn incoming() -> impl Iterator<Item = ActionType> {
        (0..UPDATE_INDEX).map(|bit| ActionType(1 << bit)).chain([ActionType::UPDATE])
    }
}

const UPDATE_INDEX: usize = 15;
/// Incoming actions: each single one and the general update.
pub const ACTION_COUNT: usize = UPDATE_INDEX + 1;

impl fmt::Debug for ActionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; UPDATE_INDEX] = [
            "Add",
            "Delete",
            "UpdateNodeAllocatable",
            "UpdateNodeLabel",
            "UpdateNodeTaint",
            "UpdateNodeCondition",
            "UpdateNodeAnnotation",
            "UpdateNodeDeclaredFeature",
            "UpdateNodePreemptionPolicy",
            "UpdatePodLabel",
            "UpdatePodScaleDown",
            "UpdatePodScaleUp",
            "UpdatePodToleration",
            "UpdatePodSchedulingGatesEliminated",
            "UpdatePodGeneratedResourceClaim",
        ];
        match *self {
            ActionType::ALL => return f.write_str("All"),
            ActionType::UPDATE => return f.write_str("Update"),
            _ => {}
        }
        let set = NAMES.iter().enumerate().filter(|(bit, _)| self.0 & (1 << bit) != 0);
        let names: Vec<&str> = set.map(|(_, name)| *name).collect();
        f.write_str(&names.join("|"))
    }
}

/// A kind of change of a kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClusterEvent {
    /// What changed.
    pub resource: EventResource,
    /// How.
    pub action: ActionType,
}

impl ClusterEvent {
    /// Every waiting pod is tried again, whoever rejected it.
    pub const WILDCARD: ClusterEvent =
        ClusterEvent { resource: EventResource::WildCard, action: ActionType::ALL };
    /// A pod came to a node.
    pub const ASSIGNED_POD_ADD: ClusterEvent =
        ClusterEvent { resource: EventResource::AssignedPod, action: ActionType::ADD };
    /// A pod left its node, or gave up a place that was held for it.
    pub const ASSIGNED_POD_DELETE: ClusterEvent =
        ClusterEvent { resource: EventResource::AssignedPod, action: ActionType::DELETE };

    /// This action on this kind.
    #[must_use]
    pub const fn new(resource: EventResource, action: ActionType) -> ClusterEvent {
        ClusterEvent { resource, action }
    }

    /// Whether it is [`ClusterEvent::WILDCARD`].
    #[must_use]
    pub fn is_wildcard(self) -> bool {
        self == ClusterEvent::WILDCARD
    }

    /// Whether a registration for this event covers an incoming one: the same or a narrower one.
    /// The comparison of numbers is upstream's: a general update is covered by no set of single
    /// updates but the full one.
    #[must_use]
    pub fn covers(self, incoming: ClusterEvent) -> bool {
        self.is_wildcard()
            || (self.resource.covers(incoming.resource)
                && self.action.0 & incoming.action.0 != 0
                && incoming.action.0 <= self.action.0)
    }
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

/// A node as hints see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its name.
    pub name: Symbol,
    /// `metadata.labels`.
    pub labels: LabelSetId,
    /// `spec.taints`.
    pub taints: TaintSetId,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// `status.allocatable`.
    pub allocatable: Amounts,
    /// `status.allocatable.pods`.
    pub allocatable_pods: i64,
}

/// An object before and after: the old state is absent of a new object, the new one of a deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change<T> {
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
    Pod(Change<PodFacts>),
    /// A node. Shared, because events are kept while pods are in flight.
    Node(Arc<Change<NodeFacts>>),
    /// A claim, volume, storage class or the like, by name; the namespace is empty for kinds that
    /// have none.
    Named {
        /// `metadata.namespace`.
        namespace: Symbol,
        /// `metadata.name`.
        name: Symbol,
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
        Event { what, object: EventObject::Pod(Change { old, new }) }
    }

    /// The pod that is meant, when the event is meant for one pod alone.
    #[must_use]
    pub fn target(&self) -> Option<PodUid> {
        let EventObject::Pod(change) = &self.object else { return None };
        let alone = self.what.is_wildcard() || self.what.resource == EventResource::TargetPod;
        change.new.filter(|_| alone).map(|pod| pod.uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ActionType as A;
    use EventResource as R;

    #[test]
    fn a_registration_covers_what_is_the_same_or_narrower() {
        let event = ClusterEvent::new;
        let cases = [
            ("the same", event(R::Node, A::ADD), event(R::Node, A::ADD), true),
            ("one of several", event(R::Node, A::ADD.or(A::DELETE)), event(R::Node, A::DELETE), true),
            ("another action", event(R::Node, A::ADD), event(R::Node, A::DELETE), false),
            ("another kind", event(R::Node, A::ADD), event(R::AssignedPod, A::ADD), false),
            ("narrower update", event(R::Node, A::UPDATE), event(R::Node, A::UPDATE_NODE_LABEL), true),
            ("broader update", event(R::Node, A::UPDATE_NODE_LABEL), event(R::Node, A::UPDATE), false),
            ("any pod", event(R::Pod, A::DELETE), event(R::AssignedPod, A::DELETE), true),
            ("the pod itself", event(R::Pod, A::UPDATE), event(R::TargetPod, A::UPDATE_POD_LABEL), true),
            ("not the other way", event(R::AssignedPod, A::ADD), event(R::Pod, A::ADD), false),
            ("any kind", event(R::WildCard, A::ADD), event(R::Node, A::ADD), true),
            ("any kind, another action", event(R::WildCard, A::ADD), event(R::Node, A::DELETE), false),
            ("everything", ClusterEvent::WILDCARD, event(R::CsiNode, A::UPDATE), true),
            ("everything came, one is asked for", event(R::Node, A::ADD), ClusterEvent::WILDCARD, false),
        ];
        for (name, registered, incoming, expected) in cases {
            assert_eq!(registered.covers(incoming), expected, "case: {name}");
        }
    }

    #[test]
    fn resources_are_numbered_in_order() {
        for (at, resource) in RESOURCES.iter().enumerate() {
            assert_eq!(*resource as usize, at);
        }
        let indices: Vec<usize> = A::incoming().map(A::index).collect();
        assert_eq!(indices, (0..ACTION_COUNT).collect::<Vec<_>>());
    }

    #[test]
    fn sets_are_shown_by_name() {
        assert_eq!(format!("{:?}", A::ADD.or(A::UPDATE_NODE_LABEL)), "Add|UpdateNodeLabel");
        assert_eq!(format!("{:?}", A::UPDATE), "Update");
    }
}
