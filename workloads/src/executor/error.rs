//! What can go wrong while a workload runs.

use std::path::PathBuf;

use schedlab_cluster::ApiError;
use schedlab_cluster::runtime::RuntimeError;

use crate::ops::Opcode;
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
        opcode: Opcode,
        /// What went wrong.
        source: Box<OpError>,
    },
    /// The scheduler's configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The scheduler's threads could not start or died.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}

impl ExecuteError {
    pub(super) fn at(
        workload: &ResolvedWorkload,
        index: usize,
        opcode: Opcode,
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
    /// A barrier names a namespace that no op made.
    #[error("namespace {name:?} is unknown here; name one that an earlier op creates")]
    UnknownNamespace {
        /// The name.
        name: String,
    },
    /// The op cannot be run yet; whoever selects workloads checks that before.
    #[error("{opcode} is not implemented yet")]
    Unsupported {
        /// The opcode.
        opcode: Opcode,
    },
    /// The scheduler's threads died.
    #[error("the scheduler stopped by itself")]
    Died,
}
