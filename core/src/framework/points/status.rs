//! Why a plugin stops a pod after a node was chosen for it.

use crate::framework::status::Reason;

/// What kind of refusal it is, and with it how the pod is brought back.
/// Upstream: kube-scheduler/framework/interface.go `Code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatusCode {
    /// The plugin expects the pod not to fit for now; events it registered for bring it back.
    Unschedulable,
    /// The same, and evicting pods would not help.
    UnschedulableAndUnresolvable,
    /// The plugin waits for something outside; the pod comes back without backoff.
    Pending,
    /// Something went wrong; the pod is tried again after backoff, whatever happens.
    Error,
}

/// A plugin's no, and its reason.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Status {
    /// The kind.
    pub code: StatusCode,
    /// Why.
    pub reason: Reason,
}

impl Status {
    /// The pod does not fit for now.
    #[must_use]
    pub fn unschedulable(reason: Reason) -> Status {
        Status { code: StatusCode::Unschedulable, reason }
    }

    /// Something went wrong.
    #[must_use]
    pub fn error(message: &str) -> Status {
        Status { code: StatusCode::Error, reason: Reason::Owned(message.into()) }
    }
}
