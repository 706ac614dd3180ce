//! A plugin that ships with the engine, in one value.
//!
//! ```text
//! plugins/<name>/mod.rs    the plugin, DESCRIPTOR ─┐
//! plugins/<name>/hints.rs  EnqueueExtensions       ├─▶ plugins::IN_TREE ─▶ registry, default profile,
//! plugins/<name>/naive.rs  TWIN: the plain twin    │                       hints, twins, random inputs,
//! plugins/<name>/cases.rs  its case tables         ┘                       case tables, plugin benches
//! ```
//!
//! Every field is required, here and in the twin: a plugin that lacks a part does not compile.

use std::fmt;
use std::sync::Arc;

use crate::framework::args::PluginArgs;
use crate::framework::plugin::Plugin;
use crate::framework::points::EnqueueExtensions;
use crate::interner::Vocabulary;
#[cfg(test)]
use crate::naive::cases::Cases;
#[cfg(any(test, feature = "naive"))]
use crate::naive::plugin_twin::PluginTwin;

/// A plugin that says which events bring back the pods it rejected; those that ship with the engine
/// have to. One that does not is no plugin in the tree:
///
/// ```compile_fail,E0277
/// use std::sync::Arc;
/// use schedlab_core::framework::descriptor::InTreeFactored;
/// use schedlab_core::framework::plugin::Plugin;
/// use schedlab_core::framework::points::EnqueueExtensions;
///
/// #[derive(Debug)]
/// struct Rack;
///
/// impl Plugin for Rack {
///     fn name(&self) -> &'static str {
///         "Rack"
///     }
///
///     fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
///         None
///     }
/// }
///
/// fn factory() -> InTreeFactored {
///     Ok(Arc::new(Rack))
/// }
/// ```
///
/// And one that forgets to say whether it registers for events is no plugin at all:
///
/// ```compile_fail,E0046
/// use schedlab_core::framework::plugin::Plugin;
///
/// #[derive(Debug)]
/// struct Rack;
///
/// impl Plugin for Rack {
///     fn name(&self) -> &'static str {
///         "Rack"
///     }
/// }
/// ```
pub trait InTreePlugin: Plugin + EnqueueExtensions {}

impl<T: Plugin + EnqueueExtensions> InTreePlugin for T {}

/// What a factory of a plugin in the tree returns: the plugin, or why it cannot be made.
pub type InTreeFactored = Result<Arc<dyn InTreePlugin>, String>;

/// All that is to be known of a plugin that ships with the engine.
pub struct PluginDescriptor {
    /// Upstream's name.
    pub name: &'static str,
    /// The weight in the default profile, 0 of a plugin that does not score or has no weight of its own;
    /// `None` leaves the plugin out of the default profile.
    pub default_weight: Option<i32>,
    /// What the factory is told when the configuration has no arguments for the plugin.
    pub default_args: fn() -> PluginArgs,
    /// Makes the plugin.
    pub factory: fn(&PluginArgs, &mut Vocabulary) -> InTreeFactored,
    /// Its plain twin, for tests and benches.
    #[cfg(any(test, feature = "naive"))]
    pub twin: PluginTwin,
    /// The cases that the plugin and its twin are held to.
    #[cfg(test)]
    pub(crate) cases: Cases,
}

impl fmt::Debug for PluginDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginDescriptor").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The arguments of a plugin that takes none.
#[must_use]
pub fn no_args() -> PluginArgs {
    PluginArgs::none()
}

/// What a factory answers when it gets the arguments of another plugin.
pub(crate) fn other_args(wanted: &str) -> String {
    format!("its arguments are those of another plugin; {wanted} are needed")
}
