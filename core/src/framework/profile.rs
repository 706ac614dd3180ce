//! A profile: which plugins run at which extension point, in which order, with which weight.

use std::sync::Arc;

use crate::framework::plugin::{FilterPlugin, Plugin, QueueSortPlugin, ScorePlugin};

/// A plugin's place in a profile's list of all plugins.
pub type PluginIndex = usize;

/// The plugins of one scheduler.
#[derive(Clone, Debug)]
pub struct Profile {
    /// `spec.schedulerName` of the pods it takes.
    pub scheduler_name: String,
    /// `percentageOfNodesToScore`; 0 is adaptive.
    pub percentage_of_nodes_to_score: i32,
    plugins: Vec<Arc<dyn Plugin>>,
    filters: Vec<PluginIndex>,
    scores: Vec<(PluginIndex, i64)>,
}

impl Profile {
    /// A profile of these plugins with these weights (of plugins that score), in order.
    #[must_use]
    pub fn new(scheduler_name: &str, plugins: Vec<(Arc<dyn Plugin>, i64)>) -> Profile {
        let filters = (0..plugins.len()).filter(|&at| plugins[at].0.as_filter().is_some()).collect();
        let scores = plugins
            .iter()
            .enumerate()
            .filter(|(_, (plugin, _))| plugin.as_score().is_some())
            .map(|(at, (_, weight))| (at, *weight))
            .collect();
        Profile {
            scheduler_name: scheduler_name.to_owned(),
            percentage_of_nodes_to_score: 0,
            plugins: plugins.into_iter().map(|(plugin, _)| plugin).collect(),
            filters,
            scores,
        }
    }

    /// All plugins.
    #[must_use]
    pub fn plugins(&self) -> &[Arc<dyn Plugin>] {
        &self.plugins
    }

    /// Filter plugins in execution order.
    #[must_use]
    pub fn filters(&self) -> &[PluginIndex] {
        &self.filters
    }

    /// Score plugins in execution order, with weights.
    #[must_use]
    pub fn scores(&self) -> &[(PluginIndex, i64)] {
        &self.scores
    }

    /// A plugin's name.
    #[must_use]
    pub fn name(&self, at: PluginIndex) -> &'static str {
        self.plugins[at].name()
    }

    /// A plugin of [`Profile::filters`].
    #[inline]
    #[must_use]
    pub fn filter(&self, at: PluginIndex) -> &dyn FilterPlugin {
        self.plugins[at].as_filter().expect("an index of the filter list")
    }

    /// A plugin of [`Profile::scores`].
    #[inline]
    #[must_use]
    pub fn score(&self, at: PluginIndex) -> &dyn ScorePlugin {
        self.plugins[at].as_score().expect("an index of the score list")
    }

    /// The plugin that orders the queue.
    #[must_use]
    pub fn queue_sort(&self) -> Option<&dyn QueueSortPlugin> {
        self.plugins.iter().find_map(|plugin| plugin.as_queue_sort())
    }
}
