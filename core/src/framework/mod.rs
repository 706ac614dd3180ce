//! The scheduling framework: extension points as batch traits, statuses, profiles, diagnosis.

pub mod diagnosis;
pub mod extend;
pub mod extender;
pub mod plugin;
pub mod profile;
pub mod registry;
pub mod status;
