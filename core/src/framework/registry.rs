//! Plugin factories by name, and the default profile made of those that ship with the engine.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::framework::args::PluginArgs;
use crate::framework::build::{ProfileConfig, build_profile};
use crate::framework::plugin::Plugin;
use crate::framework::plugin_lists::PluginLists;
use crate::framework::profile::Profile;
use crate::interner::Vocabulary;
use crate::plugins::IN_TREE;

/// The name of the scheduler that takes pods which name none.
pub const DEFAULT_SCHEDULER_NAME: &str = "default-scheduler";

/// What a factory returns: the plugin, or why it cannot be made.
pub type Factored = Result<Arc<dyn Plugin>, String>;

/// Makes a plugin from its arguments and the world's vocabulary.
pub type Factory = Arc<dyn Fn(&PluginArgs, &mut Vocabulary) -> Factored + Send + Sync>;

/// Plugin factories by name.
#[derive(Clone, Default)]
pub struct Registry {
    factories: BTreeMap<String, Factory>,
    /// Plugins that feature gates append to the default ones.
    gated: Vec<(&'static str, i32)>,
}

/// A name that is taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a plugin named `{0}` is registered already; give this one another name")]
pub struct AlreadyRegistered(pub String);

impl Registry {
    /// The plugins that ship with the engine.
    #[must_use]
    pub fn new_in_tree() -> Registry {
        let mut registry = Registry::default();
        for descriptor in IN_TREE {
            let factory = descriptor.factory;
            let make = move |args: &PluginArgs, vocabulary: &mut Vocabulary| -> Factored {
                Ok(factory(args, vocabulary)?)
            };
            registry.factories.insert(descriptor.name.to_owned(), Arc::new(make));
        }
        registry
    }

    /// Adds a plugin. Its [`Plugin::name`] must be the name it is registered under.
    pub fn register(
        &mut self,
        name: &str,
        factory: impl Fn(&PluginArgs, &mut Vocabulary) -> Factored + Send + Sync + 'static,
    ) -> Result<(), AlreadyRegistered> {
        if self.contains(name) {
            return Err(AlreadyRegistered(name.to_owned()));
        }
        self.factories.insert(name.to_owned(), Arc::new(factory));
        Ok(())
    }

    /// Whether there is a plugin of this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.factories.contains_key(name)
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> + '_ {
        self.factories.keys().map(String::as_str)
    }

    /// The factory of a plugin.
    #[must_use]
    pub fn factory(&self, name: &str) -> Option<&Factory> {
        self.factories.get(name)
    }

    /// The default plugin lists, of those plugins that are registered.
    #[must_use]
    pub fn default_plugins(&self) -> PluginLists {
        PluginLists::defaults_with(|name| self.contains(name), &self.gated)
    }

    /// With plugins that feature gates append to the default ones, and their weights.
    #[must_use]
    pub fn with_gated(mut self, gated: &[(&'static str, i32)]) -> Registry {
        self.gated = gated.to_vec();
        self
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.factories.keys()).finish()
    }
}

/// The default profile, in upstream's order and with upstream's weights.
/// Upstream: apis/config/v1/default_plugins.go.
#[must_use]
pub fn default_profile(vocabulary: &mut Vocabulary) -> Profile {
    default_profile_with(vocabulary, &[])
}

/// The default profile with plugins that feature gates append.
#[must_use]
pub fn default_profile_with(vocabulary: &mut Vocabulary, gated: &[(&'static str, i32)]) -> Profile {
    let registry = Registry::new_in_tree().with_gated(gated);
    let config = ProfileConfig {
        scheduler_name: DEFAULT_SCHEDULER_NAME.to_owned(),
        percentage_of_nodes_to_score: 0,
        plugins: registry.default_plugins(),
        args: BTreeMap::new(),
    };
    build_profile(&registry, &config, vocabulary).expect("the default plugins are registered")
}
