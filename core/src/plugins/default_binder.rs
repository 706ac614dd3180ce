//! DefaultBinder: binds through the API's binding subresource.
//! Upstream: plugins/defaultbinder/default_binder.go.

use crate::api_call::ApiCall;
use crate::framework::plugin::Plugin;
use crate::framework::points::{Bind, BindPlugin, Handle, PodRef};
use crate::ids::NodeId;

/// The default Bind plugin.
#[derive(Clone, Copy, Debug)]
pub struct DefaultBinder;

impl Plugin for DefaultBinder {
    fn name(&self) -> &'static str {
        "DefaultBinder"
    }

    fn as_bind(&self) -> Option<&dyn BindPlugin> {
        Some(self)
    }
}

impl BindPlugin for DefaultBinder {
    fn bind(&self, _: &mut Handle<'_>, pod: PodRef<'_>, node: NodeId) -> Bind {
        Bind::Call(ApiCall::Bind { pod: pod.uid, node })
    }
}
