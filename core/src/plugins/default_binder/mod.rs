//! DefaultBinder: binds through the API's binding subresource.
//! Upstream: plugins/defaultbinder/default_binder.go.

mod hints;

use crate::framework::plugin::Plugin;
use crate::framework::points::{Bind, BindPlugin, EnqueueExtensions, Handle, PodRef};
use crate::ids::NodeId;
use crate::scheduler::ApiCall;

/// Upstream's name.
pub const NAME: &str = "DefaultBinder";

/// The default Bind plugin.
#[derive(Clone, Copy, Debug)]
pub struct DefaultBinder;

impl Plugin for DefaultBinder {
    fn name(&self) -> &'static str {
        NAME
    }

    fn as_bind(&self) -> Option<&dyn BindPlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl BindPlugin for DefaultBinder {
    fn bind(&self, _: &mut Handle<'_>, pod: PodRef<'_>, node: NodeId) -> Bind {
        Bind::Call(ApiCall::Bind { pod: pod.uid, node })
    }
}
