//! Which scheduler a lab runs: plugins, profiles, gates, extenders.

use std::collections::BTreeMap;
use std::sync::Arc;

use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::cycle::select::TieBreak;
use schedlab_core::framework::build::{ProfileConfig, build_profiles};
use schedlab_core::framework::extend::Extender;
use schedlab_core::framework::plugin::Plugin;
use schedlab_core::framework::plugin_lists::{EnabledPlugin, PluginLists, PluginSet};
use schedlab_core::framework::registry::{DEFAULT_SCHEDULER_NAME, Registry};
use schedlab_core::scheduler::{FeatureGates, Scheduler, SchedulerSettings};
use schedlab_core::world::World;

use crate::lab::Lab;

/// A scheduler to be started.
#[derive(Clone)]
pub struct Setup {
    settings: SchedulerSettings,
    /// Instead of the default plugins.
    only: Option<Vec<&'static str>>,
    without: Vec<&'static str>,
    /// Behind the extra plugins.
    also: Vec<&'static str>,
    extra: Vec<Arc<dyn Plugin>>,
    /// Scheduler names and the extra plugins that only this profile leaves out.
    profiles: Vec<(String, Vec<&'static str>)>,
    extenders: Vec<Arc<dyn Extender>>,
    percentage: i32,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            // The flush would bring back what an event should have brought back.
            settings: SchedulerSettings { flush_after_ns: None, ..SchedulerSettings::default() },
            only: None,
            without: Vec::new(),
            also: Vec::new(),
            extra: Vec::new(),
            profiles: vec![(DEFAULT_SCHEDULER_NAME.to_owned(), Vec::new())],
            extenders: Vec::new(),
            percentage: 100,
        }
    }
}

impl Setup {
    /// These plugins, and those that no profile can do without.
    pub fn only(mut self, plugins: &[&'static str]) -> Setup {
        self.only = Some([&["PrioritySort", "DefaultBinder"], plugins].concat());
        self
    }

    /// Without a default plugin.
    pub fn without(mut self, plugin: &'static str) -> Setup {
        self.without.push(plugin);
        self
    }

    /// With another plugin, behind the others.
    pub fn plugin(mut self, plugin: &(impl Plugin + Clone + 'static)) -> Setup {
        self.extra.push(Arc::new(plugin.clone()));
        self
    }

    /// With a plugin that ships with the engine, behind the extra ones.
    pub fn also(mut self, plugin: &'static str) -> Setup {
        self.also.push(plugin);
        self
    }

    /// With these names of profiles, the default one gone.
    pub fn named(mut self, names: &[&str]) -> Setup {
        self.profiles = names.iter().map(|name| ((*name).to_owned(), Vec::new())).collect();
        self
    }

    /// With another profile that leaves some of the extra plugins out.
    pub fn profile_without(mut self, name: &str, plugins: &[&'static str]) -> Setup {
        self.profiles.push((name.to_owned(), plugins.to_vec()));
        self
    }

    /// With a feature gate on or off.
    pub fn gate(mut self, name: &str, is_on: bool) -> Setup {
        self.settings.gates.set(name, is_on).expect("a gate of ours");
        self
    }

    /// The feature gates, the API server's among them.
    pub fn gates(&self) -> FeatureGates {
        self.settings.gates
    }

    /// Pods are tried again at once.
    pub fn without_backoff(mut self) -> Setup {
        self.settings.initial_backoff_ns = 0;
        self.settings.max_backoff_ns = 0;
        self
    }

    /// Other settings.
    pub fn settings(mut self, change: impl FnOnce(&mut SchedulerSettings)) -> Setup {
        change(&mut self.settings);
        self
    }

    /// With an extender.
    pub fn extender(mut self, extender: Arc<dyn Extender>) -> Setup {
        self.extenders.push(extender);
        self
    }

    /// A lab with this scheduler.
    pub fn start(&self) -> Lab {
        Lab::new(self)
    }

    fn lists(&self, registry: &Registry, left_out: &[&'static str]) -> PluginLists {
        let mut lists = match &self.only {
            None => registry.default_plugins(),
            Some(names) => {
                let enabled = names.iter().map(|name| EnabledPlugin::new(name, 1)).collect();
                let mut lists = PluginLists::default();
                lists.multi_point = PluginSet { enabled, disabled: Vec::new() };
                lists
            }
        };
        let names = self.extra.iter().map(|plugin| plugin.name()).filter(|name| !left_out.contains(name));
        lists.multi_point.enabled.extend(names.map(|name| EnabledPlugin::new(name, 1)));
        lists.multi_point.enabled.retain(|enabled| !self.without.contains(&enabled.name.as_str()));
        lists.multi_point.enabled.extend(self.also.iter().map(|name| EnabledPlugin::new(name, 1)));
        lists
    }

    /// The scheduler, before it has seen anything.
    pub fn build(&self) -> Scheduler {
        let mut registry = Registry::new_in_tree().with_gated(&self.settings.gates.plugins());
        for plugin in &self.extra {
            let made = Arc::clone(plugin);
            registry
                .register(plugin.name(), move |_, _| Ok(Arc::clone(&made)))
                .expect("plugins of a lab have names of their own");
        }
        let mut world = World::default();
        let config = |(name, left_out): &(String, Vec<&'static str>)| ProfileConfig {
            scheduler_name: name.clone(),
            percentage_of_nodes_to_score: self.percentage,
            plugins: self.lists(&registry, left_out),
            args: BTreeMap::new(),
        };
        let configs: Vec<ProfileConfig> = self.profiles.iter().map(config).collect();
        let profiles =
            build_profiles(&registry, &configs, &mut world.vocabulary).expect("a profile that can be built");
        let engine = EngineSettings { tie_break: TieBreak::First, ..EngineSettings::default() };
        let mut scheduler =
            Scheduler::with_settings(world, profiles, engine, self.settings).expect("gates that go together");
        scheduler.set_extenders(self.extenders.clone());
        scheduler
    }
}
