//! Which plugins are enabled and disabled at which extension point, as configuration files say it,
//! and how a user's lists are laid over the default ones.
//!
//! Upstream: apis/config/v1/default_plugins.go.

use crate::framework::extension_point::ExtensionPoint;
use crate::plugins::{IN_TREE, gang_scheduling, pod_group_pods_count, topology_placement_generator};

/// Stands for all default plugins in a `disabled` list.
pub const ALL_PLUGINS: &str = "*";

/// An entry of an `enabled` list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnabledPlugin {
    /// The plugin.
    pub name: String,
    /// Its weight as written; 0 when it is not written. Only Score reads it.
    pub weight: i32,
}

impl EnabledPlugin {
    /// A plugin with a weight.
    #[must_use]
    pub fn new(name: &str, weight: i32) -> EnabledPlugin {
        EnabledPlugin { name: name.to_owned(), weight }
    }
}

/// `enabled` and `disabled` of one extension point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginSet {
    /// `enabled`, in order.
    pub enabled: Vec<EnabledPlugin>,
    /// `disabled`.
    pub disabled: Vec<String>,
}

impl PluginSet {
    pub(crate) fn disables(&self, name: &str) -> bool {
        self.disabled.iter().any(|disabled| disabled == name)
    }

    /// The set with a user's entries laid over it: disabled plugins leave, re-configured ones keep
    /// their place, new ones come last.
    #[must_use]
    pub fn overlaid_with(&self, user: &PluginSet) -> PluginSet {
        let disabled: Vec<String> = user.disabled.iter().chain(&self.disabled).cloned().collect();
        let is_disabled = |name: &str| disabled.iter().any(|one| one == name || one == ALL_PLUGINS);
        let mut taken = vec![false; user.enabled.len()];
        let mut enabled = Vec::new();
        for default in self.enabled.iter().filter(|plugin| !is_disabled(&plugin.name)) {
            // The last entry of a name replaces the default one; an earlier one stays a second
            // entry, which is refused when the profile is built.
            match user.enabled.iter().rposition(|plugin| plugin.name == default.name) {
                Some(at) => {
                    taken[at] = true;
                    enabled.push(user.enabled[at].clone());
                }
                None => enabled.push(default.clone()),
            }
        }
        enabled
            .extend(user.enabled.iter().zip(taken).filter(|(_, taken)| !taken).map(|(new, _)| new.clone()));
        PluginSet { enabled, disabled }
    }
}

/// `plugins` of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginLists {
    /// `multiPoint`: plugins for every point they extend.
    pub multi_point: PluginSet,
    points: [PluginSet; ExtensionPoint::COUNT],
}

impl PluginLists {
    /// The default plugins, upstream's order and weights, of a registry that has `is_built`.
    #[must_use]
    pub fn defaults(is_built: impl Fn(&str) -> bool) -> PluginLists {
        PluginLists::defaults_with(is_built, &[])
    }

    /// The default plugins with those that feature gates append, in this order.
    #[must_use]
    pub fn defaults_with(is_built: impl Fn(&str) -> bool, gated: &[(&'static str, i32)]) -> PluginLists {
        let all = default_plugins().into_iter().chain(gated.iter().copied());
        let built = all.filter(|(name, _)| is_built(name));
        let enabled = built.map(|(name, weight)| EnabledPlugin::new(name, weight)).collect();
        let multi_point = PluginSet { enabled, disabled: Vec::new() };
        PluginLists { multi_point, ..PluginLists::default() }
    }

    /// The lists of one point.
    #[must_use]
    pub fn at(&self, point: ExtensionPoint) -> &PluginSet {
        &self.points[point as usize]
    }

    /// The lists of one point, to be filled.
    pub fn at_mut(&mut self, point: ExtensionPoint) -> &mut PluginSet {
        &mut self.points[point as usize]
    }

    /// Takes plugins out of every list: there are no such plugins in this scheduler.
    pub fn remove(&mut self, names: &[&str]) {
        let clean = |set: &mut PluginSet| set.enabled.retain(|plugin| !names.contains(&plugin.name.as_str()));
        clean(&mut self.multi_point);
        self.points.iter_mut().for_each(clean);
    }

    /// The lists with a user's laid over them.
    #[must_use]
    pub fn overlaid_with(&self, user: &PluginLists) -> PluginLists {
        let mut merged = PluginLists {
            multi_point: self.multi_point.overlaid_with(&user.multi_point),
            ..PluginLists::default()
        };
        for point in ExtensionPoint::ALL {
            *merged.at_mut(point) = self.at(point).overlaid_with(user.at(point));
        }
        merged
    }
}

/// The plugins of the default profile with their weights, 0 for those that do not score. Those
/// behind gates that are off by default are not here.
fn default_plugins() -> Vec<(&'static str, i32)> {
    IN_TREE.iter().filter_map(|descriptor| Some((descriptor.name, descriptor.default_weight?))).collect()
}

/// Upstream's plugins behind gates that are off by default.
const GATED_PLUGINS: [&str; 4] = [
    "DeferredPodScheduling",
    gang_scheduling::NAME,
    pod_group_pods_count::NAME,
    topology_placement_generator::NAME,
];

/// Whether upstream has a plugin of this name.
#[must_use]
pub fn is_upstream(name: &str) -> bool {
    default_plugins().iter().any(|(known, _)| *known == name) || GATED_PLUGINS.contains(&name)
}
