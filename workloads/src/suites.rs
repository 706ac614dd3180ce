//! The suites inside the binary, so that `schedlab run` works from any directory.
//!
//! The files are those of `workloads/suites/`, which can be run from disk as well.

use std::path::Path;
use std::sync::Arc;

use crate::resolve::{Suite, WorkloadError};
use crate::source::EmbeddedSource;

/// The suite that runs when none is named.
pub const DEFAULT_SUITE: &str = "quick";

/// The names of the built-in suites.
pub const NAMES: &[&str] = &["quick", "affinity", "spreading", "preemption", "execution-affinity"];

macro_rules! embedded {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../suites/", $path)))),*]
    };
}

/// Every file below `workloads/suites/`.
pub const EMBEDDED: EmbeddedSource = EmbeddedSource {
    files: embedded![
        "quick/performance-config.yaml",
        "affinity/performance-config.yaml",
        "spreading/performance-config.yaml",
        "preemption/performance-config.yaml",
        "execution-affinity/performance-config.yaml",
        "templates/node-plain.yaml",
        "templates/node-reserved.yaml",
        "templates/node-draining.yaml",
        "templates/pod-plain.yaml",
        "templates/pod-host-port.yaml",
        "templates/pod-large.yaml",
        "templates/pod-prefers-zone.yaml",
        "templates/pod-requires-zone.yaml",
        "templates/pod-tolerant.yaml",
        "templates/pod-apart.yaml",
        "templates/pod-together.yaml",
        "templates/pod-near.yaml",
        "templates/pod-spread-hard.yaml",
        "templates/pod-spread-soft.yaml",
        "templates/pod-low-priority.yaml",
        "templates/pod-high-priority.yaml",
        "templates/service-soft.yaml",
        "templates/node-cache.yaml",
        "templates/node-relabelled.yaml",
        "templates/node-no-execute.yaml",
        "templates/pod-execution-affinity.yaml",
    ],
};

/// Loads a built-in suite by its name.
pub fn load(name: &str) -> Result<Suite, WorkloadError> {
    Suite::load(Arc::new(EMBEDDED), Path::new(name))
}

#[cfg(test)]
mod tests;
