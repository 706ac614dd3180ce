//! What a watch delivers.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use schedlab_core::input::NodeInput;

use super::{ApiError, GenericObject, NodeNameId, PodEventRef, StoredPodRow};

/// What happened to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// It is new.
    Added,
    /// It has changed.
    Modified,
    /// It is gone; the event carries its last state.
    Deleted,
}

/// A node as it is stored: shared by the store, its events and their readers.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeEntry {
    /// The node's name as an id.
    pub name: NodeNameId,
    /// The version this state was written at.
    pub resource_version: u64,
    /// What scheduling reads from the node.
    pub input: Arc<NodeInput>,
    /// The API object.
    pub object: Arc<Node>,
}

/// The object an event is about, in the state it has after the event.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchedObject {
    /// A pod, by value.
    Pod(StoredPodRow),
    /// A node.
    Node(Arc<NodeEntry>),
    /// An event about a pod; nobody but its reader needs the object.
    PodEvent(PodEventRef),
    /// Any other kind.
    Other(Arc<GenericObject>),
}

/// One entry of the stream.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchEvent {
    /// What happened.
    pub kind: EventKind,
    /// To which object.
    pub object: WatchedObject,
}

// A row fits one cache line and the tag is found in its unused values: the log is 72 bytes an event.
const _: () = assert!(size_of::<WatchEvent>() == 72);

impl WatchEvent {
    /// The version at which it happened.
    #[must_use]
    pub fn resource_version(&self) -> u64 {
        match &self.object {
            WatchedObject::Pod(row) => row.resource_version,
            WatchedObject::Node(node) => node.resource_version,
            WatchedObject::PodEvent(event) => event.resource_version,
            WatchedObject::Other(object) => object.resource_version,
        }
    }
}

/// A reader of the stream. Each event is delivered once, in the order of resource versions.
pub trait Watch: Send {
    /// Appends all events that have happened since the last call and says how many they were.
    /// A reader that fell too far behind gets [`Gone`](super::StatusReason::Gone) and must list again.
    fn drain_into(&mut self, events: &mut Vec<WatchEvent>) -> Result<usize, ApiError>;

    /// Sleeps until there are events to drain or `timeout` is over, and says which. May return
    /// `false` early, as after a [`nudge`](super::Api::nudge).
    fn wait(&mut self, timeout: Duration) -> bool;
}

/// A reader that most pods do not concern: it gets all nodes, and of the pods on a node those that
/// ask something of it while they run ([`PodFlags::EXECUTION_TERMS`](super::PodFlags::EXECUTION_TERMS)).
/// What it does not get does not wake it either.
pub trait RunningWatch: Watch {
    /// From now on all pods on nodes are delivered. Appends what has not been drained yet, and then
    /// those that were left out so far, as they are now: as `Added`, in the order of their creation.
    fn follow_all(&mut self, events: &mut Vec<WatchEvent>) -> Result<(), ApiError>;

    /// All up to this version has been drained, or was no news.
    fn seen_version(&self) -> u64;
}
