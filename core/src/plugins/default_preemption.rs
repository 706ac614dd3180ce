//! DefaultPreemption: a pod that fits nowhere may push out pods of lower priority. The work is the
//! engine's, see [`crate::preemption`]; this names it in a profile.
//! Upstream: plugins/defaultpreemption/default_preemption.go.

use crate::framework::args::PreemptionArgs;
use crate::framework::plugin::Plugin;

/// PostFilter by preemption.
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultPreemption {
    /// How many candidates to look for.
    pub args: PreemptionArgs,
}

impl Plugin for DefaultPreemption {
    fn name(&self) -> &'static str {
        "DefaultPreemption"
    }

    fn preemption(&self) -> Option<PreemptionArgs> {
        Some(self.args)
    }
}
