//! The scheduling framework: extension points as batch traits, statuses, profiles, diagnosis.
//!
//! ```text
//! PluginLists (defaults, user's laid over) ─┐
//! PluginArgs ───────────────────────────────┼─▶ build ─▶ Profile: a list of plugins per point
//! Registry (factories by name) ─────────────┘
//! ```

pub mod args;
pub mod build;
pub mod descriptor;
pub mod detail;
pub mod diagnosis;
pub mod event;
pub mod extend;
pub mod extender;
pub mod extension_point;
pub mod plugin;
pub mod plugin_lists;
pub mod points;
pub mod profile;
pub mod registry;
pub mod status;
