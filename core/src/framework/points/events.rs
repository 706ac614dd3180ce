//! The cluster events that can make a pod schedulable which a plugin rejected.
//!
//! Upstream: `EnqueueExtensions`, `ClusterEvent`, `QueueingHintFn`; framework/types.go.

use std::ops::BitOr;

use super::handle::PodRef;
use crate::class::PodClass;
use crate::framework::event::Event;
use crate::ids::{NodeId, PodUid};
use crate::input::NodeInput;
use crate::known_gaps::KnownGaps;
use crate::world::World;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names are the API's own")]
pub enum EventResource {
    /// Any pod: covers the three below.
    Pod,
    /// A pod on a node.
    AssignedPod,
    /// A pod on no node, other than the one that waits.
    UnscheduledPod,
    /// The waiting pod itself.
    TargetPod,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    CsiNode,
    CsiDriver,
    VolumeAttachment,
    CsiStorageCapacity,
    StorageClass,
    ResourceClaim,
    ResourceSlice,
    DeviceClass,
    PodGroup,
    CompositePodGroup,
    Namespace,
    /// Everything.
    WildCard,
}

impl EventResource {
    /// A registration for `self` covers an event about `other`.
    #[must_use]
    pub fn covers(self, other: EventResource) -> bool {
        use EventResource::{AssignedPod, Pod, TargetPod, UnscheduledPod, WildCard};
        match self {
            WildCard => true,
            Pod => matches!(other, Pod | AssignedPod | UnscheduledPod | TargetPod),
            _ => self == other,
        }
    }
}

/// A set of kinds of change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionType(pub u32);

impl ActionType {
    /// The object was added.
    pub const ADD: ActionType = ActionType(1);
    /// The object was deleted.
    pub const DELETE: ActionType = ActionType(1 << 1);
    /// A node's allocatable changed.
    pub const UPDATE_NODE_ALLOCATABLE: ActionType = ActionType(1 << 2);
    /// A node's labels changed.
    pub const UPDATE_NODE_LABEL: ActionType = ActionType(1 << 3);
    /// A node's taints or `spec.unschedulable` changed.
    pub const UPDATE_NODE_TAINT: ActionType = ActionType(1 << 4);
    /// A node's conditions changed.
    pub const UPDATE_NODE_CONDITION: ActionType = ActionType(1 << 5);
    /// A node's annotations changed.
    pub const UPDATE_NODE_ANNOTATION: ActionType = ActionType(1 << 6);
    /// A node's declared features changed.
    pub const UPDATE_NODE_DECLARED_FEATURE: ActionType = ActionType(1 << 7);
    /// A node's preemption policy changed.
    pub const UPDATE_NODE_PREEMPTION_POLICY: ActionType = ActionType(1 << 8);
    /// A pod's labels changed.
    pub const UPDATE_POD_LABEL: ActionType = ActionType(1 << 9);
    /// A pod asks for less of something.
    pub const UPDATE_POD_SCALE_DOWN: ActionType = ActionType(1 << 10);
    /// A pod asks for more of something.
    pub const UPDATE_POD_SCALE_UP: ActionType = ActionType(1 << 11);
    /// A pod got a toleration.
    pub const UPDATE_POD_TOLERATION: ActionType = ActionType(1 << 12);
    /// A pod lost its last scheduling gate.
    pub const UPDATE_POD_SCHEDULING_GATES_ELIMINATED: ActionType = ActionType(1 << 13);
    /// The claims generated for a pod changed.
    pub const UPDATE_POD_GENERATED_RESOURCE_CLAIM: ActionType = ActionType(1 << 14);
    /// Everything.
    pub const ALL: ActionType = ActionType((1 << 15) - 1);
    /// Any update.
    pub const UPDATE: ActionType = ActionType(ActionType::ALL.0 & !ActionType::ADD.0 & !ActionType::DELETE.0);

    /// Either of the two; `|` where a constant is needed.
    #[must_use]
    pub const fn or(self, other: ActionType) -> ActionType {
        ActionType(self.0 | other.0)
    }

    /// The two sets share a kind.
    #[must_use]
    pub fn intersects(self, other: ActionType) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for ActionType {
    type Output = ActionType;

    fn bitor(self, other: ActionType) -> ActionType {
        ActionType(self.0 | other.0)
    }
}

/// An event, or the events a plugin wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterEvent {
    /// What it is about.
    pub resource: EventResource,
    /// What happened.
    pub action: ActionType,
}

impl EventResource {
    /// The kind with its group, as upstream writes it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            EventResource::Pod => "Pod",
            EventResource::AssignedPod => "AssignedPod",
            EventResource::UnscheduledPod => "UnscheduledPod",
            EventResource::TargetPod => "TargetPod",
            EventResource::Node => "Node",
            EventResource::PersistentVolume => "PersistentVolume",
            EventResource::PersistentVolumeClaim => "PersistentVolumeClaim",
            EventResource::CsiNode => "storage.k8s.io/CSINode",
            EventResource::CsiDriver => "storage.k8s.io/CSIDriver",
            EventResource::VolumeAttachment => "storage.k8s.io/VolumeAttachment",
            EventResource::CsiStorageCapacity => "storage.k8s.io/CSIStorageCapacity",
            EventResource::StorageClass => "storage.k8s.io/StorageClass",
            EventResource::ResourceClaim => "resource.k8s.io/ResourceClaim",
            EventResource::ResourceSlice => "resource.k8s.io/ResourceSlice",
            EventResource::DeviceClass => "resource.k8s.io/DeviceClass",
            EventResource::PodGroup => "scheduling.k8s.io/PodGroup",
            EventResource::CompositePodGroup => "scheduling.k8s.io/CompositePodGroup",
            EventResource::Namespace => "Namespace",
            EventResource::WildCard => "*",
        }
    }
}

impl ActionType {
    /// The name of one kind of change; of several, `Update` or `All`.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            ActionType::ADD => "Add",
            ActionType::DELETE => "Delete",
            ActionType::UPDATE_NODE_ALLOCATABLE => "UpdateNodeAllocatable",
            ActionType::UPDATE_NODE_LABEL => "UpdateNodeLabel",
            ActionType::UPDATE_NODE_TAINT => "UpdateNodeTaint",
            ActionType::UPDATE_NODE_CONDITION => "UpdateNodeCondition",
            ActionType::UPDATE_NODE_ANNOTATION => "UpdateNodeAnnotation",
            ActionType::UPDATE_NODE_DECLARED_FEATURE => "UpdateNodeDeclaredFeature",
            ActionType::UPDATE_NODE_PREEMPTION_POLICY => "UpdateNodePreemptionPolicy",
            ActionType::UPDATE_POD_LABEL => "UpdatePodLabel",
            ActionType::UPDATE_POD_SCALE_DOWN => "UpdatePodScaleDown",
            ActionType::UPDATE_POD_SCALE_UP => "UpdatePodScaleUp",
            ActionType::UPDATE_POD_TOLERATION => "UpdatePodToleration",
            ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED => "UpdatePodSchedulingGatesEliminated",
            ActionType::UPDATE_POD_GENERATED_RESOURCE_CLAIM => "UpdatePodGeneratedResourceClaim",
            ActionType::ALL => "All",
            _ => "Update",
        }
    }
}

impl ClusterEvent {
    /// A registration for `self` covers the event `other`.
    /// Upstream: framework/types.go `MatchClusterEvents`.
    #[must_use]
    pub fn covers(self, other: ClusterEvent) -> bool {
        // The comparison keeps a registration for one kind from covering an event of all kinds.
        self.resource.covers(other.resource)
            && self.action.intersects(other.action)
            && other.action <= self.action
    }

    /// The name of an event in metrics, as `AssignedPodDelete`. Upstream: framework/types.go `Label`.
    #[must_use]
    pub fn label(self) -> String {
        format!("{}{}", self.resource.label(), self.action.label())
    }
}

/// Whether an event may help pods of a class that the plugin rejected.
pub type ClassHint = fn(&World, &PodClass, &Event) -> bool;

/// Who says whether a registered event helps a pod. Upstream: `QueueingHintFn`.
#[derive(Clone, Copy, Debug)]
pub enum Hint {
    /// Nobody: the event always brings the pod back.
    Always,
    /// A function that reads of the pod its class and nothing else, so that it is asked once for all
    /// pods of a class. Where the event does not say enough it says yes: a needless attempt costs a
    /// microsecond, a missed one leaves a pod waiting.
    ByClass(ClassHint),
    /// [`EnqueueExtensions::queueing_hint`], which is asked about each pod.
    ByPod,
}

/// An event that a plugin registers for, with its hint. Upstream: `ClusterEventWithHint`.
#[derive(Clone, Copy, Debug)]
pub struct RegisteredEvent {
    /// The event.
    pub event: ClusterEvent,
    /// Whether it helps.
    pub hint: Hint,
}

impl RegisteredEvent {
    /// The event always brings the pod back.
    #[must_use]
    pub const fn always(resource: EventResource, action: ActionType) -> RegisteredEvent {
        RegisteredEvent { event: ClusterEvent { resource, action }, hint: Hint::Always }
    }

    /// The plugin's [`EnqueueExtensions::queueing_hint`] decides about each pod.
    #[must_use]
    pub const fn hinted(resource: EventResource, action: ActionType) -> RegisteredEvent {
        RegisteredEvent { event: ClusterEvent { resource, action }, hint: Hint::ByPod }
    }

    /// A function decides about all pods of a class at once.
    #[must_use]
    pub const fn by_class(resource: EventResource, action: ActionType, hint: ClassHint) -> RegisteredEvent {
        RegisteredEvent { event: ClusterEvent { resource, action }, hint: Hint::ByClass(hint) }
    }
}

/// The object of an event before and after. `old` is absent for an addition, `new` for a deletion;
/// both are absent when a deletion was learnt of late and the object is not known any more.
#[derive(Clone, Copy, Debug)]
pub enum ObjectChange<'a> {
    /// A pod.
    Pod {
        /// Its identity.
        uid: PodUid,
        /// The node it is or was on.
        node: Option<NodeId>,
        /// Its spec before.
        old: Option<&'a PodClass>,
        /// Its spec after.
        new: Option<&'a PodClass>,
    },
    /// A node.
    Node {
        /// Before.
        old: Option<&'a NodeInput>,
        /// After.
        new: Option<&'a NodeInput>,
    },
    /// An object of another kind; the world knows its new state.
    Object {
        /// `metadata.namespace`, empty for cluster-wide kinds.
        namespace: &'a str,
        /// `metadata.name`.
        name: &'a str,
    },
}

/// What a plugin says about an event and a pod it rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueingHint {
    /// The pod may fit now.
    Queue,
    /// The event changes nothing for the pod.
    Skip,
}

/// Which events bring back the pods that a plugin rejected, for plugins that ship with the engine and
/// for those of users alike.
pub trait EnqueueExtensions {
    /// The events, with or without those that upstream lacks. Asked once, when the profile is built.
    fn events_to_register(&self, gaps: KnownGaps) -> Vec<RegisteredEvent>;

    /// Whether the event may make the pod schedulable. Asked only for events registered as
    /// [`Hint::ByPod`], and only about pods that this plugin rejected.
    fn queueing_hint(
        &self,
        _world: &World,
        _pod: PodRef<'_>,
        _event: ClusterEvent,
        _change: &ObjectChange<'_>,
    ) -> QueueingHint {
        QueueingHint::Queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_event_registration_covers_matching_events() {
        use EventResource::{AssignedPod, Node, Pod, TargetPod, WildCard};
        let cases = [
            ("same", (Node, ActionType::ADD), (Node, ActionType::ADD), true),
            ("another action", (Node, ActionType::ADD), (Node, ActionType::DELETE), false),
            ("another resource", (Node, ActionType::ADD), (Pod, ActionType::ADD), false),
            ("any update", (Node, ActionType::UPDATE), (Node, ActionType::UPDATE_NODE_TAINT), true),
            ("an update is no addition", (Node, ActionType::UPDATE), (Node, ActionType::ADD), false),
            (
                "one of several",
                (Node, ActionType::ADD | ActionType::UPDATE_NODE_LABEL),
                (Node, ActionType::ADD),
                true,
            ),
            ("a pod of any kind", (Pod, ActionType::DELETE), (AssignedPod, ActionType::DELETE), true),
            (
                "one kind of pod is not all",
                (AssignedPod, ActionType::DELETE),
                (Pod, ActionType::DELETE),
                false,
            ),
            ("nor another", (AssignedPod, ActionType::ALL), (TargetPod, ActionType::UPDATE_POD_LABEL), false),
            ("all kinds at once", (Node, ActionType::ADD), (Node, ActionType::ALL), false),
            ("everything", (WildCard, ActionType::ALL), (Node, ActionType::UPDATE_NODE_CONDITION), true),
        ];
        for (name, (resource, action), (about, happened), expected) in cases {
            let registered = ClusterEvent { resource, action };
            let event = ClusterEvent { resource: about, action: happened };
            assert_eq!(registered.covers(event), expected, "case: {name}");
        }
    }
}
