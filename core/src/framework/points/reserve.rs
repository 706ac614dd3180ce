//! Reserve and Unreserve: a plugin's own books follow the assumed pod.

use super::handle::{Handle, PodRef};
use super::status::Status;
use crate::ids::NodeId;

/// Keeps state that must agree with what was assumed.
pub trait ReservePlugin {
    /// A node was chosen and the pod assumed on it. If any plugin refuses, Unreserve is called on
    /// all of them.
    fn reserve(&self, handle: &mut Handle<'_>, pod: PodRef<'_>, node: NodeId) -> Result<(), Status>;

    /// The pod leaves the node unbound. Called in the reverse order of Reserve. Must allow being
    /// called twice, and without a Reserve before it.
    fn unreserve(&self, handle: &mut Handle<'_>, pod: PodRef<'_>, node: NodeId);
}
