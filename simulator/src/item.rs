//! What is on the agenda.

use schedlab_core::ids::PodUid;

/// What is on the agenda.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    /// The next event of the script.
    Script,
    /// The next event of a watch arrives.
    Deliver { actor: u8, stream: u8, epoch: u32 },
    /// A scheduler, or a controller, lists again. Controllers have the numbers behind schedulers.
    Relist { actor: u8, stream: u8, epoch: u32 },
    /// A call reaches the API.
    Arrive { actor: u8, incarnation: u32, flight: u32 },
    /// The answer to a call reaches the scheduler.
    Answer { actor: u8, incarnation: u32, flight: u32 },
    /// A scheduler wanted to be woken.
    Wake { actor: u8, incarnation: u32 },
    /// A scheduler tries its next pod.
    Step { actor: u8, incarnation: u32 },
    /// A pod has terminated.
    EndPod(PodUid),
    /// A pod of a lost node is collected.
    CollectPod(PodUid),
    /// The Permit plugin makes up its mind.
    Permit { actor: u8, incarnation: u32, pod: PodUid },
    /// A Permit plugin rejects a pod, if it is still the same wait.
    Reject { actor: u8, incarnation: u32, pod: PodUid, plugin: &'static str, wait: u32 },
    /// A plugin wants a pod to be tried again.
    Activate { actor: u8, incarnation: u32, pod: PodUid },
}

impl Item {
    /// A number for the log.
    pub(super) fn code(self) -> (u64, u64, u64) {
        match self {
            Item::Script => (0, 0, 0),
            Item::Deliver { actor, stream, epoch } => {
                (1, u64::from(actor) << 8 | u64::from(stream), u64::from(epoch))
            }
            Item::Relist { actor, stream, epoch } => {
                (2, u64::from(actor) << 8 | u64::from(stream), u64::from(epoch))
            }
            Item::Arrive { actor, flight, .. } => (3, u64::from(actor), u64::from(flight)),
            Item::Answer { actor, flight, .. } => (4, u64::from(actor), u64::from(flight)),
            Item::Wake { actor, .. } => (5, u64::from(actor), 0),
            Item::Step { actor, .. } => (6, u64::from(actor), 0),
            Item::EndPod(pod) => (7, pod.0, 0),
            Item::CollectPod(pod) => (8, pod.0, 0),
            Item::Permit { actor, pod, .. } => (9, u64::from(actor), pod.0),
            Item::Activate { actor, pod, .. } => (10, u64::from(actor), pod.0),
            Item::Reject { actor, pod, .. } => (12, u64::from(actor), pod.0),
        }
    }

    pub(super) fn is_wake(self) -> bool {
        matches!(self, Item::Wake { .. })
    }
}
