//! Permit: lets a pod go on to be bound, stops it, or holds it back for a while.

use super::handle::{Handle, PodRef};
use super::status::Status;
use crate::ids::NodeId;

/// The longest a plugin can make a pod wait; a longer timeout is cut to this.
/// Upstream: framework/runtime/framework.go `maxTimeout`.
pub const PERMIT_TIMEOUT_NS_MAX: u64 = 15 * 60 * 1_000_000_000;

/// A Permit plugin's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permit {
    /// The pod may go on.
    Approve,
    /// The pod may not.
    Deny(Status),
    /// The pod waits for [`Handle::allow`] by this plugin, at most so long. The other plugins are
    /// still asked; one that denies ends the wait before it begins.
    Wait {
        /// After how long the pod is rejected, counted from now.
        timeout_ns: u64,
    },
}

/// Prevents or delays the binding of a pod.
pub trait PermitPlugin {
    /// Asked once per chosen node, after all Reserve plugins agreed.
    fn permit(&self, handle: &mut Handle<'_>, pod: PodRef<'_>, node: NodeId) -> Permit;
}
