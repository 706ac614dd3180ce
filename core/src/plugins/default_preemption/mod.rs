//! DefaultPreemption: a pod that fits nowhere may push out pods of lower priority. The work is the
//! engine's, see [`crate::preemption`]; this names it in a profile.
//! Upstream: plugins/defaultpreemption/default_preemption.go.

#[cfg(test)]
mod cases;
#[cfg(test)]
mod hint_cases;
mod hints;
#[cfg(any(test, feature = "naive"))]
pub mod naive;

use std::sync::Arc;

use crate::framework::args::PreemptionArgs;
use crate::framework::args::{DefaultPreemptionArgs, PluginArgs};
use crate::framework::descriptor::{InTreeFactored, PluginDescriptor, other_args};
use crate::framework::plugin::Plugin;
use crate::framework::points::EnqueueExtensions;
use crate::interner::Vocabulary;

/// Upstream's name.
pub const NAME: &str = "DefaultPreemption";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(0),
    default_args: || PluginArgs::DefaultPreemption(DefaultPreemptionArgs::default()),
    factory,
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: cases::CASES,
};

fn factory(args: &PluginArgs, _: &mut Vocabulary) -> InTreeFactored {
    let PluginArgs::DefaultPreemption(args) = args else { return Err(other_args("DefaultPreemptionArgs")) };
    let count = |value: i32| usize::try_from(value).map_err(|_| format!("{value} is negative"));
    Ok(Arc::new(DefaultPreemption {
        args: PreemptionArgs {
            candidates_min_percent: count(args.min_candidate_nodes_percentage)?,
            candidates_min: count(args.min_candidate_nodes_absolute)?,
        },
    }))
}

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
