//! DefaultPreemption: a pod that fits nowhere may push out pods of lower priority. The work is the
//! engine's, see [`crate::preemption`]; this names it in a profile.
//! Upstream: plugins/defaultpreemption/default_preemption.go.

mod hints;

use crate::framework::plugin::Plugin;
use crate::framework::points::EnqueueExtensions;
use crate::preemption::PreemptionArgs;

/// Upstream's name.
pub const NAME: &str = "DefaultPreemption";

/// PostFilter by preemption.
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultPreemption {
    /// How many candidates to look for.
    pub args: PreemptionArgs,
}

impl Plugin for DefaultPreemption {
    fn name(&self) -> &'static str {
        NAME
    }

    fn preemption(&self) -> Option<PreemptionArgs> {
        Some(self.args)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}
