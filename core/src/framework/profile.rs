//! A profile: which plugins run at which extension point, in which order, with which weight.

use std::sync::Arc;

use crate::framework::extension_point::ExtensionPoint;
use crate::framework::plugin::{FilterPlugin, Plugin, PreEnqueuePlugin, QueueSortPlugin, ScorePlugin};

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
    points: [Vec<PluginIndex>; ExtensionPoint::COUNT],
    scores: Vec<(PluginIndex, i64)>,
}

impl Profile {
    /// A profile of these plugins with these weights (of plugins that score), each at every point
    /// it extends, in this order everywhere.
    #[must_use]
    pub fn new(scheduler_name: &str, plugins: Vec<(Arc<dyn Plugin>, i64)>) -> Profile {
        let (plugins, weights): (Vec<_>, Vec<_>) = plugins.into_iter().unzip();
        let points = ExtensionPoint::ALL.map(|point| {
            let extends = |at: &PluginIndex| point.is_extended_by(plugins[*at].as_ref());
            (0..plugins.len()).filter(extends).collect()
        });
        Profile::from_points(scheduler_name, plugins, points, |at| weights[at])
    }

    /// A profile with a list of its own for each point, by [`ExtensionPoint`]. Every plugin of a
    /// list must extend the list's point.
    pub(crate) fn from_points(
        scheduler_name: &str,
        plugins: Vec<Arc<dyn Plugin>>,
        points: [Vec<PluginIndex>; ExtensionPoint::COUNT],
        weight: impl Fn(PluginIndex) -> i64,
    ) -> Profile {
        for point in ExtensionPoint::ALL {
            let extends = |&at: &PluginIndex| point.is_extended_by(plugins[at].as_ref());
            assert!(
                points[point as usize].iter().all(extends),
                "{point} has a plugin that does not extend it"
            );
        }
        for list in &points {
            assert!(list.iter().all(|&at| at < plugins.len()), "a list names plugins of the profile");
            let twice = |(place, at): (usize, &PluginIndex)| list[..place].contains(at);
            assert!(!list.iter().enumerate().any(twice), "a plugin runs once at a point");
        }
        let scores: Vec<(PluginIndex, i64)> =
            points[ExtensionPoint::Score as usize].iter().map(|&at| (at, weight(at))).collect();
        assert!(scores.iter().all(|&(_, weight)| weight >= 0), "totals are counted from 0 up");
        Profile {
            scheduler_name: scheduler_name.to_owned(),
            percentage_of_nodes_to_score: 0,
            plugins,
            points,
            scores,
        }
    }

    /// All plugins.
    #[must_use]
    pub fn plugins(&self) -> &[Arc<dyn Plugin>] {
        &self.plugins
    }

    /// The plugins of a point in execution order.
    #[inline]
    #[must_use]
    pub fn at(&self, point: ExtensionPoint) -> &[PluginIndex] {
        &self.points[point as usize]
    }

    /// The plugins of a point themselves, in execution order.
    pub fn plugins_at(&self, point: ExtensionPoint) -> impl DoubleEndedIterator<Item = &dyn Plugin> + '_ {
        self.at(point).iter().map(|&at| self.plugins[at].as_ref())
    }

    /// PreFilter plugins in execution order.
    #[must_use]
    pub fn pre_filters(&self) -> &[PluginIndex] {
        self.at(ExtensionPoint::PreFilter)
    }

    /// Filter plugins in execution order.
    #[must_use]
    pub fn filters(&self) -> &[PluginIndex] {
        self.at(ExtensionPoint::Filter)
    }

    /// Score plugins in execution order, with weights.
    #[must_use]
    pub fn scores(&self) -> &[(PluginIndex, i64)] {
        &self.scores
    }

    /// Whether PreScore asks a plugin of [`Profile::scores`].
    #[must_use]
    pub fn asks_pre_score(&self, at: PluginIndex) -> bool {
        self.at(ExtensionPoint::PreScore).contains(&at)
    }

    /// A plugin's name.
    #[must_use]
    pub fn name(&self, at: PluginIndex) -> &'static str {
        self.plugins[at].name()
    }

    /// A plugin of [`Profile::filters`] or [`Profile::pre_filters`].
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

    /// PreEnqueue plugins in execution order.
    pub fn pre_enqueue_plugins(&self) -> impl Iterator<Item = &dyn PreEnqueuePlugin> + '_ {
        self.plugins_at(ExtensionPoint::PreEnqueue).filter_map(|plugin| plugin.as_pre_enqueue())
    }

    /// The plugin that orders the queue.
    #[must_use]
    pub fn queue_sort(&self) -> Option<&dyn QueueSortPlugin> {
        self.plugins_at(ExtensionPoint::QueueSort).find_map(|plugin| plugin.as_queue_sort())
    }
}
