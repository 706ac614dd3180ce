//! A workload that is ready to run: every number known, every template loaded.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use schedlab_cluster::controllers::EnabledController;

use crate::digest::Digest;
use crate::ops::ResolvedOp;
use crate::results::{Content, MetricSelector};
use crate::schedulers::SchedulerSet;
use crate::schema::MetricsCollectorConfig;

/// One workload, ready to run.
#[derive(Clone, Debug)]
pub struct ResolvedWorkload {
    /// The name of the config file's directory below the suite's root, `_` for each `/`.
    pub topic: String,
    /// The config file, as it was named when the suite was loaded.
    pub file: PathBuf,
    /// The test case.
    pub test_case: String,
    /// The workload in its test case.
    pub workload: String,
    /// `TestCase/Workload`.
    pub full_name: String,
    /// Labels of the test case, then of the workload.
    pub labels: Vec<String>,
    /// Feature gates of the test case, overridden by those of the workload.
    pub feature_gates: BTreeMap<String, bool>,
    /// Controllers of the test case, then of the workload.
    pub controllers: Vec<EnabledController>,
    /// The schedulers of the workload, or else of the test case.
    pub schedulers: SchedulerSet,
    /// The bound on the result, if there is one.
    pub threshold: WorkloadThreshold,
    /// Which metrics it collects, unless the default ones.
    pub metrics_collector_config: Option<MetricsCollectorConfig>,
    /// The scheduler configuration to run with; the default one if absent.
    pub scheduler_config: Option<SchedulerConfigFile>,
    /// How many features upstream's Go code registers for every node, in the one suite that asks
    /// for it (param `numNodeDeclaredFeatures`).
    pub node_declared_features: Option<i64>,
    /// What to do. The position of an op is the number upstream uses in its names: `namespace-<n>`
    /// for pods and churn, `node-<n>-` for nodes.
    pub ops: Vec<Arc<dyn ResolvedOp>>,
    /// The test case as written, with the comment above it, for the record.
    pub source_text: String,
    /// Of everything above that decides the work; see [`crate::digest`].
    pub digest: String,
}

impl ResolvedWorkload {
    /// What is run, in digests.
    #[must_use]
    pub fn content(&self) -> Content {
        Content {
            workload: self.digest.clone(),
            scheduler_config: self.scheduler_config.as_ref().map(|file| Digest::of(&file.text)),
        }
    }
}

/// The bound a workload must keep, and on what.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadThreshold {
    /// The bound; 0 means that there is none.
    pub value: f64,
    /// What it is compared with.
    pub selector: MetricSelector,
}

/// A KubeSchedulerConfiguration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerConfigFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}
