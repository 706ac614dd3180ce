//! A configuration that cannot be used, and where it says so.

use std::path::PathBuf;

use schedlab_cluster::extender::ExtenderConfigError;
use schedlab_core::framework::build::ProfileError;

use crate::schema::SchemaError;

/// What can be wrong with a KubeSchedulerConfiguration file.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("scheduler configuration {} cannot be read: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// It does not say what upstream's schema and rules allow.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// Its profiles cannot be built.
    #[error("{file}:{line}:{column}: {error}")]
    Profile {
        /// The file.
        file: String,
        /// Line of the entry or profile, from 1.
        line: u64,
        /// Column of it, from 1.
        column: u64,
        /// What is wrong.
        error: Box<ProfileError>,
    },
    /// Its extenders cannot be built.
    #[error("{file}: {error}")]
    Extenders {
        /// The file.
        file: String,
        /// What is wrong with them.
        error: ExtenderConfigError,
    },
    /// Extenders of a running scheduler are fixed.
    #[error("{file}: `extenders` cannot change while the scheduler runs; start it again")]
    ExtendersChanged {
        /// The file.
        file: String,
    },
}
