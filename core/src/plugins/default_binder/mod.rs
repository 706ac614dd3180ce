//! DefaultBinder: binds through the API's binding subresource.
//! Upstream: plugins/defaultbinder/default_binder.go.

mod hints;
#[cfg(any(test, feature = "naive"))]
pub mod naive;

use std::sync::Arc;

use crate::api_call::ApiCall;
use crate::framework::descriptor::{PluginDescriptor, no_args};
use crate::framework::plugin::Plugin;
use crate::framework::points::{Bind, BindPlugin, EnqueueExtensions, Handle, PodRef};
use crate::ids::NodeId;
#[cfg(test)]
use crate::naive::cases::Cases;

/// Upstream's name.
pub const NAME: &str = "DefaultBinder";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(0),
    default_args: no_args,
    factory: |_, _| Ok(Arc::new(DefaultBinder)),
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: Cases::NONE,
};

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
