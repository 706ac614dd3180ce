//! What can go wrong while a workload runs.

use std::path::PathBuf;
use std::time::Duration;

use schedlab_cluster::ApiError;
use schedlab_cluster::runtime::RuntimeError;

use super::under_test::UnderTestError;
use crate::gates::GatesError;
use crate::resolve::ResolvedWorkload;
use crate::scheduler_config::ConfigError;
use crate::template::TemplateError;

/// A workload that could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// An op failed.
    #[error("{file}: {workload}: op {index} ({opcode}): {source}")]
    Op {
        /// The workload's file.
        file: PathBuf,
        /// `TestCase/Workload`.
        workload: String,
        /// Which op.
        index: usize,
        /// Its opcode.
        opcode: &'static str,
        /// What went wrong.
        source: Box<OpError>,
    },
    /// Its feature gates cannot be set.
    #[error("{file}: {workload}: {source}")]
    Gates {
        /// The workload's file.
        file: PathBuf,
        /// `TestCase/Workload`.
        workload: String,
        /// What is wrong with them.
        source: GatesError,
    },
    /// The scheduler's configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The scheduler under test cannot be run.
    #[error(transparent)]
    UnderTest(#[from] UnderTestError),
    /// Each name is a scheduler with one profile.
    #[error("`schedulers` names schedulers, and the scheduler configuration has several profiles; keep one")]
    NamedSchedulers,
    /// One process stands for the scheduler.
    #[error(
        "`schedulers` asks for several schedulers of this process; run this workload without --scheduler"
    )]
    SeveralUnderTest,
    /// An extender answers when it answers.
    #[error("extenders answer in real time; run this workload with --time wall")]
    VirtualExtender,
    /// The scheduler's threads could not start or died.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}

impl ExecuteError {
    pub(super) fn at(
        workload: &ResolvedWorkload,
        index: usize,
        opcode: &'static str,
        source: OpError,
    ) -> ExecuteError {
        let (file, workload) = (workload.file.clone(), workload.full_name.clone());
        ExecuteError::Op { file, workload, index, opcode, source: Box::new(source) }
    }
}

/// What went wrong in an op.
#[derive(Debug, thiserror::Error)]
pub enum OpError {
    /// The API refused a call.
    #[error("the API refused: {0}")]
    Api(#[from] ApiError),
    /// A template did not evaluate.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A template made something else than the kind the op creates.
    #[error("{path}: {message}; correct the template")]
    Object {
        /// The template's file.
        path: PathBuf,
        /// What is wrong with the object.
        message: String,
    },
    /// The API server serves no pod groups.
    #[error(
        "pod groups need the feature gate GenericWorkload; set `GenericWorkload: true` in `featureGates` of the \
         test case, or pass --feature-gates GenericWorkload=true"
    )]
    NoPodGroups,
    /// A barrier names a namespace that no op made.
    #[error("namespace {name:?} is unknown here; name one that an earlier op creates")]
    UnknownNamespace {
        /// The name.
        name: String,
    },
    /// A kind that lives in namespaces, and none is named.
    #[error("{path}: a {kind} lives in a namespace; set `namespace` of this op")]
    NoNamespace {
        /// The template's file.
        path: PathBuf,
        /// The kind.
        kind: String,
    },
    /// A kind without namespaces, and one is named.
    #[error("{path}: a {kind} has no namespace; remove `namespace: {name}` from this op")]
    NeedlessNamespace {
        /// The template's file.
        path: PathBuf,
        /// The kind.
        kind: String,
        /// The namespace.
        name: String,
    },
    /// Template and op name different namespaces.
    #[error("{path}: the object says namespace {own:?}, the op {name:?}; remove it from the template")]
    OtherNamespace {
        /// The template's file.
        path: PathBuf,
        /// What the object says.
        own: String,
        /// What the op says.
        name: String,
    },
    /// A subresource that is not served.
    #[error("subresource {names:?} cannot be updated here; use resize, status, or none")]
    Subresource {
        /// Its name.
        names: String,
    },
    /// Only pods can be resized.
    #[error("a {kind} has no subresource resize; only a Pod has")]
    NoResize {
        /// The kind.
        kind: String,
    },
    /// Two measured parts overlap.
    #[error("metrics are already collected ({name:?}); stop that with stopCollectingMetrics first")]
    AlreadyCollecting {
        /// What is measured.
        name: String,
    },
    /// Nothing is measured.
    #[error("no metrics are collected; put startCollectingMetrics before this op")]
    NotCollecting,
    /// Two profiles overlap.
    #[error("a CPU profile is already under way ({file_path}); stop that with stopCollectingProfile first")]
    AlreadyProfiling {
        /// Its file.
        file_path: String,
    },
    /// Nothing is profiled.
    #[error("no CPU profile is under way; put startCollectingProfile before this op")]
    NotProfiling,
    /// The profile could not be taken or written.
    #[error("CPU profile: {why}")]
    Profiler {
        /// Why not.
        why: String,
    },
    /// A steady state without a scheduled pod.
    #[error("no pod at all was scheduled in {duration:?}; make `duration` longer, or see why none fits")]
    NoSteadyState {
        /// How long it was tried.
        duration: Duration,
    },
    /// Nobody can be nominated.
    #[error("no node has the labels {labels:?}; create one before, or correct `nodeSelector`")]
    NoNode {
        /// The labels.
        labels: String,
    },
    /// The scheduler that was to begin could not be made.
    #[error("the scheduler could not be started again: {source}")]
    Restart {
        /// Why not.
        source: Box<ExecuteError>,
    },
    /// An earlier op failed in the background.
    #[error("op {index} ({opcode}), in the background: {source}")]
    Background {
        /// Which op.
        index: usize,
        /// Its opcode.
        opcode: &'static str,
        /// What went wrong.
        source: Box<OpError>,
    },
    /// The op cannot be run yet; whoever selects workloads checks that before.
    #[error("{opcode} is not implemented yet")]
    Unsupported {
        /// The opcode.
        opcode: &'static str,
    },
    /// The scheduler's threads died.
    #[error("the scheduler stopped by itself")]
    Died,
    /// The scheduler under test ended.
    #[error(transparent)]
    UnderTest(UnderTestError),
    /// The threads of a controller died.
    #[error("{name} stopped by itself")]
    ControllerDied {
        /// The controller.
        name: &'static str,
    },
}
