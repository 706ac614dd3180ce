//! From lists of plugin names to profiles: expansion of `multiPoint`, weights, and what upstream
//! refuses.
//!
//! Upstream: framework/runtime/framework.go `NewFramework`, `expandMultiPointPlugins`;
//! profile/profile.go `NewMap`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::framework::args::PluginArgs;
use crate::framework::extension_point::ExtensionPoint;
use crate::framework::plugin::Plugin;
use crate::framework::plugin_lists::{ALL_PLUGINS, PluginLists, is_upstream};
use crate::framework::profile::{PluginIndex, Profile};
use crate::framework::registry::Registry;
use crate::interner::Vocabulary;

/// A profile as configured.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileConfig {
    /// `schedulerName`.
    pub scheduler_name: String,
    /// `percentageOfNodesToScore`, of the profile or else the global one; 0 is adaptive.
    pub percentage_of_nodes_to_score: i32,
    /// `plugins`, laid over the default ones.
    pub plugins: PluginLists,
    /// `pluginConfig` by plugin. A plugin that is not here gets [`PluginArgs::default_of`].
    pub args: BTreeMap<String, PluginArgs>,
}

/// A profile that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("profile `{profile}`: {problem}")]
pub struct ProfileError {
    /// The profile's place in the list, from 0.
    pub index: usize,
    /// Its scheduler name.
    pub profile: String,
    /// What is wrong.
    pub problem: ProfileProblem,
}

/// What can be wrong with a profile. `point` is absent where the entry stands in `multiPoint`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are what the messages name")]
pub enum ProfileProblem {
    /// No factory has this name.
    #[error("there is no plugin `{plugin}`; known: {}", known.join(", "))]
    UnknownPlugin { plugin: String, point: Option<ExtensionPoint>, known: Vec<String> },
    /// Upstream has the plugin, this build does not.
    #[error("plugin `{plugin}` of kube-scheduler is not built into schedlab yet; remove it from `enabled`")]
    NotBuilt { plugin: String, point: Option<ExtensionPoint> },
    /// The plugin has nothing to say at this point.
    #[error(
        "plugin `{plugin}` does not extend {point}; it extends {}",
        extends.iter().map(|point| point.name()).collect::<Vec<_>>().join(", ")
    )]
    NotExtended { plugin: String, point: ExtensionPoint, extends: Vec<ExtensionPoint> },
    /// The same plugin twice in one list.
    #[error("plugin `{plugin}` is enabled twice at {}; remove one", place(*point))]
    EnabledTwice { plugin: String, point: Option<ExtensionPoint> },
    /// Not exactly one plugin orders the queue.
    #[error(
        "exactly one queueSort plugin is needed, {} are enabled{}; {}",
        plugins.len(),
        listed(plugins),
        if plugins.is_empty() { "enable PrioritySort" } else { "disable all but one of them at queueSort" }
    )]
    QueueSort { plugins: Vec<String> },
    /// No plugin binds.
    #[error("no bind plugin is enabled; enable DefaultBinder")]
    NoBind,
    /// A weight below 0.
    #[error("weight {weight} of plugin `{plugin}` is not allowed; write 1 or more, or disable it at score")]
    Weight { plugin: String, weight: i32, point: Option<ExtensionPoint> },
    /// The factory refused.
    #[error("plugin `{plugin}` could not be made: {message}")]
    Factory { plugin: String, message: String },
    /// A profile without a name.
    #[error("no scheduler name; give every profile a `schedulerName` of its own")]
    NoName,
    /// Two profiles with one name.
    #[error("another profile has the same scheduler name; give this one another `schedulerName`")]
    RepeatedName,
    /// The queue is shared by all profiles.
    #[error(
        "queueSort plugin `{plugin}` differs from `{first}` of the first profile; all profiles share one queue"
    )]
    QueueSortDiffers { plugin: String, first: String },
    /// The same plugin with other arguments.
    #[error(
        "arguments of queueSort plugin `{plugin}` differ from those of the first profile; all profiles share one queue"
    )]
    QueueSortArgsDiffer { plugin: String },
}

fn place(point: Option<ExtensionPoint>) -> &'static str {
    point.map_or("multiPoint", ExtensionPoint::name)
}

fn listed(plugins: &[String]) -> String {
    if plugins.is_empty() { String::new() } else { format!(" ({})", plugins.join(", ")) }
}

impl ProfileProblem {
    /// The plugin and the list that the problem is about, where it is about one.
    #[must_use]
    pub fn entry(&self) -> Option<(&str, Option<ExtensionPoint>)> {
        match self {
            ProfileProblem::UnknownPlugin { plugin, point, .. }
            | ProfileProblem::NotBuilt { plugin, point }
            | ProfileProblem::EnabledTwice { plugin, point }
            | ProfileProblem::Weight { plugin, point, .. } => Some((plugin, *point)),
            ProfileProblem::NotExtended { plugin, point, .. } => Some((plugin, Some(*point))),
            ProfileProblem::QueueSort { plugins } => {
                plugins.last().map(|plugin| (plugin.as_str(), Some(ExtensionPoint::QueueSort)))
            }
            _ => None,
        }
    }
}

/// Builds all profiles of a configuration and checks them against each other.
pub fn build_profiles(
    registry: &Registry,
    configs: &[ProfileConfig],
    vocabulary: &mut Vocabulary,
) -> Result<Vec<Profile>, ProfileError> {
    let mut profiles: Vec<Profile> = Vec::new();
    for (index, config) in configs.iter().enumerate() {
        let fail = |problem| ProfileError { index, profile: config.scheduler_name.clone(), problem };
        if config.scheduler_name.is_empty() {
            return Err(fail(ProfileProblem::NoName));
        }
        if profiles.iter().any(|other| other.scheduler_name == config.scheduler_name) {
            return Err(fail(ProfileProblem::RepeatedName));
        }
        let profile = build_profile(registry, config, vocabulary).map_err(fail)?;
        if let Some(first) = profiles.first() {
            same_queue_sort((first, &configs[0]), (&profile, config)).map_err(fail)?;
        }
        profiles.push(profile);
    }
    Ok(profiles)
}

fn same_queue_sort(
    (first, first_config): (&Profile, &ProfileConfig),
    (profile, config): (&Profile, &ProfileConfig),
) -> Result<(), ProfileProblem> {
    let name = |profile: &Profile| profile.name(profile.at(ExtensionPoint::QueueSort)[0]).to_owned();
    let (first_name, plugin) = (name(first), name(profile));
    if plugin != first_name {
        return Err(ProfileProblem::QueueSortDiffers { plugin, first: first_name });
    }
    if config.args.get(&plugin) != first_config.args.get(&plugin) {
        return Err(ProfileProblem::QueueSortArgsDiffer { plugin });
    }
    Ok(())
}

/// Builds one profile.
pub fn build_profile(
    registry: &Registry,
    config: &ProfileConfig,
    vocabulary: &mut Vocabulary,
) -> Result<Profile, ProfileProblem> {
    let queue_sorts = &config.plugins.at(ExtensionPoint::QueueSort).enabled;
    if 1 < queue_sorts.len() {
        // Upstream: validation.go `validateCommonQueueSort`, before it looks for the plugins.
        let plugins = queue_sorts.iter().map(|plugin| plugin.name.clone()).collect();
        return Err(ProfileProblem::QueueSort { plugins });
    }
    let made = Made::all(registry, config, vocabulary)?;
    let mut points: [Vec<PluginIndex>; ExtensionPoint::COUNT] = Default::default();
    for point in ExtensionPoint::ALL {
        points[point as usize] = made.expand(&config.plugins, point)?;
    }
    let names = |point: ExtensionPoint| points[point as usize].iter().map(|&at| made.names[at].clone());
    if points[ExtensionPoint::QueueSort as usize].len() != 1 {
        return Err(ProfileProblem::QueueSort { plugins: names(ExtensionPoint::QueueSort).collect() });
    }
    if points[ExtensionPoint::Bind as usize].is_empty() {
        return Err(ProfileProblem::NoBind);
    }
    let weights = made.weights(&config.plugins)?;
    let mut profile = Profile::from_points(&config.scheduler_name, made.plugins, points, |at| weights[at]);
    profile.percentage_of_nodes_to_score = config.percentage_of_nodes_to_score;
    Ok(profile)
}

/// Every plugin that some list enables, made once.
struct Made {
    names: Vec<String>,
    plugins: Vec<Arc<dyn Plugin>>,
}

impl Made {
    fn all(
        registry: &Registry,
        config: &ProfileConfig,
        vocabulary: &mut Vocabulary,
    ) -> Result<Made, ProfileProblem> {
        let mut made = Made { names: Vec::new(), plugins: Vec::new() };
        let lists = &config.plugins;
        let of_points = ExtensionPoint::ALL
            .iter()
            .flat_map(|&point| lists.at(point).enabled.iter().map(move |plugin| (plugin, Some(point))));
        let of_multi_point = lists.multi_point.enabled.iter().map(|plugin| (plugin, None));
        for (plugin, point) in of_multi_point.chain(of_points) {
            if made.find(&plugin.name).is_some() {
                continue;
            }
            let name = plugin.name.clone();
            let Some(factory) = registry.factory(&name) else {
                return Err(if is_upstream(&name) {
                    ProfileProblem::NotBuilt { plugin: name, point }
                } else {
                    let known = registry.names().map(str::to_owned).collect();
                    ProfileProblem::UnknownPlugin { plugin: name, point, known }
                });
            };
            let args = config.args.get(&name).cloned().unwrap_or_else(|| PluginArgs::default_of(&name));
            let plugin = factory(&args, vocabulary)
                .map_err(|message| ProfileProblem::Factory { plugin: name.clone(), message })?;
            made.names.push(name);
            made.plugins.push(plugin);
        }
        Ok(made)
    }

    fn find(&self, name: &str) -> Option<PluginIndex> {
        self.names.iter().position(|known| known == name)
    }

    fn index(&self, name: &str) -> PluginIndex {
        self.find(name).expect("every enabled plugin was made")
    }

    /// The plugins of one point: those of its own list that `multiPoint` has too, in the list's
    /// order; then those of `multiPoint` alone; then those of the list alone.
    fn expand(&self, lists: &PluginLists, point: ExtensionPoint) -> Result<Vec<PluginIndex>, ProfileProblem> {
        let set = lists.at(point);
        let mut own: Vec<PluginIndex> = Vec::new();
        for plugin in &set.enabled {
            let at = self.index(&plugin.name);
            if !point.is_extended_by(self.plugins[at].as_ref()) {
                return Err(self.not_extended(at, point));
            }
            if own.contains(&at) {
                return Err(ProfileProblem::EnabledTwice { plugin: plugin.name.clone(), point: Some(point) });
            }
            own.push(at);
        }
        if set.disables(ALL_PLUGINS) {
            return Ok(own);
        }
        let (mut overridden, mut expanded) = (Vec::new(), Vec::new());
        for plugin in &lists.multi_point.enabled {
            let at = self.index(&plugin.name);
            if !point.is_extended_by(self.plugins[at].as_ref()) || set.disables(&plugin.name) {
                continue;
            }
            if own.contains(&at) {
                overridden.push(at);
            } else if expanded.contains(&at) {
                return Err(ProfileProblem::EnabledTwice { plugin: plugin.name.clone(), point: None });
            } else {
                expanded.push(at);
            }
        }
        let (first, last): (Vec<_>, Vec<_>) = own.into_iter().partition(|at| overridden.contains(at));
        Ok(first.into_iter().chain(expanded).chain(last).collect())
    }

    fn not_extended(&self, at: PluginIndex, point: ExtensionPoint) -> ProfileProblem {
        let plugin = self.plugins[at].as_ref();
        let extends = ExtensionPoint::ALL.into_iter().filter(|point| point.is_extended_by(plugin)).collect();
        ProfileProblem::NotExtended { plugin: self.names[at].clone(), point, extends }
    }

    /// Weights by plugin. The score list wins over `multiPoint`; 0 means 1.
    /// Differs: upstream takes a negative weight and prefers the worst nodes; here it is refused,
    /// because it is most likely a slip and the search for the best total counts on totals from 0 up
    /// (`invalid_plugin_lists_are_refused`).
    fn weights(&self, lists: &PluginLists) -> Result<Vec<i64>, ProfileProblem> {
        let mut weights: Vec<Option<i64>> = vec![None; self.plugins.len()];
        let scores = lists.at(ExtensionPoint::Score).enabled.iter();
        let entries = scores
            .map(|plugin| (plugin, Some(ExtensionPoint::Score)))
            .chain(lists.multi_point.enabled.iter().map(|plugin| (plugin, None)));
        for (plugin, point) in entries {
            let at = self.index(&plugin.name);
            if weights[at].is_some() || self.plugins[at].as_score().is_none() {
                continue;
            }
            if plugin.weight < 0 {
                let (plugin, weight) = (plugin.name.clone(), plugin.weight);
                return Err(ProfileProblem::Weight { plugin, weight, point });
            }
            // Totals fit: a weight has 31 bits and a score 7, so 2^25 plugins would be needed.
            weights[at] = Some(i64::from(plugin.weight).max(1));
        }
        Ok(weights.into_iter().map(|weight| weight.unwrap_or(1)).collect())
    }
}

#[cfg(test)]
mod tests;
