//! PreBindPreFlight and PreBind: what must be done before the pod can be bound.
//!
//! PreBind is asked again and again until it is done: calls and waiting happen in between, outside.
//!
//! ```text
//! Begin ──▶ pre_bind ──▶ Perform(calls) ──▶ Performed or CallFailed ──▶ pre_bind ...
//!                   ├──▶ Wait(deadline) ──▶ Event or TimedOut ──▶ pre_bind ...
//!                   ├──▶ Done
//!                   └──▶ Refuse
//! ```

use std::sync::Arc;

use super::handle::{Handle, PodRef};
use super::status::Status;
use crate::api_call::ApiCall;
use crate::ids::NodeId;

/// What PreBindPreFlight says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreFlight {
    /// PreBind has nothing to do for this pod and is not called.
    Skip {
        /// Neighbours may still run beside each other.
        allow_parallel: bool,
    },
    /// PreBind has work. The scheduler announces the node in `nominatedNodeName` (KEP-5278).
    Run {
        /// The work may run beside that of neighbouring plugins that say the same.
        allow_parallel: bool,
    },
    /// The pod cannot be bound.
    Reject(Status),
}

/// What happened since PreBind was asked last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreBindProgress {
    /// Nothing: this is the first time.
    Begin,
    /// All calls of the last step succeeded.
    Performed,
    /// A call of the last step failed for good.
    CallFailed(Arc<str>),
    /// An event that the plugin registered for came while it waited.
    Event,
    /// The deadline of the wait has passed.
    TimedOut,
}

/// What PreBind wants next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreBindStep {
    /// Nothing more: the pod can be bound as far as this plugin is concerned.
    Done,
    /// These calls, then ask again.
    Perform(Vec<ApiCall>),
    /// Ask again when an event came that the plugin registered for, or at the deadline.
    Wait {
        /// When the wait ends.
        deadline_ns: u64,
    },
    /// The pod cannot be bound.
    Reject(Status),
}

/// Prepares the node or the pod's volumes before the pod is bound.
pub trait PreBindPlugin {
    /// Whether there is anything to do. Cheap, and changes nothing.
    fn pre_bind_pre_flight(&self, handle: &mut Handle<'_>, pod: PodRef<'_>, node: NodeId) -> PreFlight;

    /// The next step.
    fn pre_bind(
        &self,
        handle: &mut Handle<'_>,
        pod: PodRef<'_>,
        node: NodeId,
        progress: &PreBindProgress,
    ) -> PreBindStep;
}
