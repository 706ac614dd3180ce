//! DefaultPreemption has its plain twin in [`crate::naive::preemption`]: the work is the engine's, not the
//! plugin's.

use crate::framework::args::{DefaultPreemptionArgs, PluginArgs};
use crate::naive::plugin_twin::{Fakes, PluginTwin, any_node};

/// The twin.
pub(super) const TWIN: PluginTwin = PluginTwin {
    filter: None,
    score: None,
    fakes: Fakes { args: |_| PluginArgs::DefaultPreemption(DefaultPreemptionArgs::default()), ..Fakes::NONE },
    bench_node: any_node,
};
