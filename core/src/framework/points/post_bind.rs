//! PostBind: told when a pod was bound.

use super::handle::{Handle, PodRef};
use crate::ids::NodeId;

/// Cleans up after a pod that was bound.
pub trait PostBindPlugin {
    /// The API accepted the binding.
    fn post_bind(&self, handle: &mut Handle<'_>, pod: PodRef<'_>, node: NodeId);
}
