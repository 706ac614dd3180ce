//! Bind: how the pod gets onto its node.

use super::handle::{Handle, PodRef};
use super::status::Status;
use crate::api_call::ApiCall;
use crate::ids::NodeId;

/// A Bind plugin's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bind {
    /// Not this pod: the next plugin is asked.
    Skip,
    /// This call binds the pod; the plugins after this one are not asked.
    Call(ApiCall),
    /// The pod cannot be bound.
    Reject(Status),
}

/// Binds a pod.
pub trait BindPlugin {
    /// Asked when all PreBind plugins are done.
    fn bind(&self, handle: &mut Handle<'_>, pod: PodRef<'_>, node: NodeId) -> Bind;
}
