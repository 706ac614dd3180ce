//! DefaultBinder: binds through the API's binding subresource.
//! Upstream: plugins/defaultbinder/default_binder.go.

use crate::framework::plugin::{BindPlugin, Plugin};

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
    fn binds_through_api(&self) -> bool {
        true
    }
}
