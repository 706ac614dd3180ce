//! The suites inside the binary, so that `schedlab run` works from any directory.
//!
//! The files are those of `workloads/suites/`, which can be run from disk as well.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::experiment::{EXPERIMENT_FILE_NAME, Experiment, parse_experiment};
use crate::resolve::{Suite, WorkloadError};
use crate::schema::SchemaError;
use crate::source::{EmbeddedSource, Source};
use crate::study::{STUDY_FILE_NAME, Study, parse_studies};

/// The suite that runs when none is named.
pub const DEFAULT_SUITE: &str = "quick";

/// The names of the built-in suites.
pub const NAMES: &[&str] = &["quick", "affinity", "spreading", "preemption", "execution-affinity", "gangs"];

/// Built-in suites that are run in variants; see [`crate::study`].
pub const STUDIES: &[&str] = &["nominated", "stories", "delayed-binding", "classic"];

/// The experiments inside the binary, each a folder of `workloads/suites/experiments`, by proposal.
pub const EXPERIMENTS: &[&str] = &[
    "nnn-first-gain",
    "execution-affinity",
    "nnn-first-cost",
    "nnn-patch-overhead",
    "nnn-restart",
    "nnn-autoscaler",
    "nnn-leak",
    "preenqueue-status",
    "async-calls",
    "equivalence-classes",
    "predicate-order",
    "affinity-precompute",
];

/// The folder of a built-in experiment.
#[must_use]
pub fn experiment_folder(name: &str) -> PathBuf {
    Path::new("experiments").join(name)
}

/// A built-in experiment.
pub fn experiment(name: &str) -> Result<Experiment, SchemaError> {
    let path = experiment_folder(name).join(EXPERIMENT_FILE_NAME);
    let text = EMBEDDED.read(&path).unwrap_or_default();
    parse_experiment(&path.display().to_string(), &text)
}

/// The names of all built-in suites.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().chain(STUDIES).copied()
}

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
        "gangs/performance-config.yaml",
        "gangs/pod-group.yaml",
        "gangs/pod-member.yaml",
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
        "stories/performance-config.yaml",
        "stories/variants.yaml",
        "stories/node-of-caches.yaml",
        "stories/node-of-disks.yaml",
        "stories/node-of-new-caches.yaml",
        "stories/node-of-tenants.yaml",
        "stories/node-of-user-b.yaml",
        "stories/node-pool.yaml",
        "stories/node-rack.yaml",
        "stories/pod-kueue.yaml",
        "stories/pod-of-a-rack-node.yaml",
        "stories/pod-small.yaml",
        "stories/pod-whole-node.yaml",
        "stories/replicaset-caches.yaml",
        "stories/replicaset-disk-10.yaml",
        "stories/replicaset-disk-20.yaml",
        "stories/replicaset-user-a.yaml",
        "stories/replicaset-user-b.yaml",
        "stories/scheduler-claim-gate.yaml",
        "stories/scheduler-gang-gate.yaml",
        "stories/pod-of-a-gang.yaml",
        "stories/scheduler-quick-backoff.yaml",
        "stories/scheduler-quota-gate.yaml",
        "stories/scheduler-slow-binding.yaml",
        "classic/daemonset.yaml",
        "classic/gang.yaml",
        "classic/node-evicting.yaml",
        "classic/node.yaml",
        "classic/performance-config.yaml",
        "classic/persistent-volume-claim.yaml",
        "classic/persistent-volume.yaml",
        "classic/pod.yaml",
        "classic/policy-low-node-utilization.yaml",
        "classic/priority-class.yaml",
        "classic/quota-of-a-priority.yaml",
        "classic/replicaset.yaml",
        "classic/scheduler-extender.yaml",
        "classic/scheduler-filters-by-cost.yaml",
        "classic/scheduler-most-allocated.yaml",
        "classic/scheduler-own-plugins.yaml",
        "classic/scheduler-quick-backoff.yaml",
        "classic/variants.yaml",
        "delayed-binding/bound-claim.yaml",
        "delayed-binding/bound-volume.yaml",
        "delayed-binding/claim.yaml",
        "delayed-binding/performance-config.yaml",
        "delayed-binding/pod-plain.yaml",
        "delayed-binding/pod.yaml",
        "delayed-binding/storage-class.yaml",
        "delayed-binding/variants.yaml",
        "delayed-binding/volume.yaml",
        "nominated/performance-config.yaml",
        "nominated/scheduler.yaml",
        "nominated/variants.yaml",
        "templates/node-open.yaml",
        "templates/node-closed.yaml",
        "templates/pod-nominated-open.yaml",
        "templates/pod-nominated-closed.yaml",
        "templates/pod-pre-bind-work.yaml",
        "templates/pod-waiting-for-claim.yaml",
        "templates/claim-unrelated.yaml",
        "experiments/nnn-first-gain/experiment.yaml",
        "experiments/nnn-first-gain/performance-config.yaml",
        "experiments/execution-affinity/experiment.yaml",
        "experiments/execution-affinity/node-roomy.yaml",
        "experiments/execution-affinity/performance-config.yaml",
        "experiments/execution-affinity/pod-cache.yaml",
        "experiments/execution-affinity/pod-pinned-cache.yaml",
        "experiments/nnn-first-cost/experiment.yaml",
        "experiments/nnn-patch-overhead/experiment.yaml",
        "experiments/nnn-restart/experiment.yaml",
        "experiments/nnn-autoscaler/experiment.yaml",
        "experiments/nnn-leak/experiment.yaml",
        "experiments/nnn-leak/performance-config.yaml",
        "experiments/nnn-leak/pod-nominated-nowhere.yaml",
        "experiments/preenqueue-status/experiment.yaml",
        "experiments/async-calls/experiment.yaml",
        "experiments/async-calls/performance-config.yaml",
        "experiments/async-calls/pod-too-large.yaml",
        "experiments/equivalence-classes/experiment.yaml",
        "experiments/equivalence-classes/performance-config.yaml",
        "experiments/equivalence-classes/pod-of-a-class.yaml",
        "experiments/predicate-order/experiment.yaml",
        "experiments/predicate-order/performance-config.yaml",
        "experiments/predicate-order/scheduler-taints-first.yaml",
        "experiments/predicate-order/scheduler-taints-last.yaml",
        "experiments/affinity-precompute/experiment.yaml",
        "experiments/affinity-precompute/performance-config.yaml",
        "experiments/affinity-precompute/pod-together-anywhere.yaml",
    ],
};

/// Loads a built-in suite by its name.
pub fn load(name: &str) -> Result<Suite, WorkloadError> {
    Suite::load(Arc::new(EMBEDDED), Path::new(name))
}

/// The studies of a built-in suite; none if it is run as it is.
pub fn studies(name: &str) -> Result<Vec<Study>, SchemaError> {
    let path = Path::new(name).join(STUDY_FILE_NAME);
    match EMBEDDED.read(&path) {
        Ok(text) => parse_studies(&path.display().to_string(), &text),
        Err(_) => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests;
