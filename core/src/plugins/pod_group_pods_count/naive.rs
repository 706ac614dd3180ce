//! PodGroupPodsCount: one sum and one division, there is nothing to be plainer about.

use crate::naive::plugin_twin::{Fakes, PluginTwin, any_node};

/// The twin.
pub(super) const TWIN: PluginTwin =
    PluginTwin { filter: None, score: None, fakes: Fakes::NONE, bench_node: any_node };
