//! Traces that cannot be replayed: which file, which step, what is wrong, what to do.

use schedlab_cluster::convert::ConvertError;

/// Why there is no report. A difference is not an error.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file cannot be read.
    #[error("{path}: {source}; check the path and its permissions")]
    Read {
        /// The file.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file holds nothing.
    #[error("{path}: the file is empty; copy the trace again")]
    Empty {
        /// The file.
        path: String,
    },
    /// Larger than any trace.
    #[error(
        "{path}: more than {limit_bytes} bytes of JSON; a trace is a few hundred kilobytes, is this one?"
    )]
    TooLarge {
        /// The file.
        path: String,
        /// The limit.
        limit_bytes: u64,
    },
    /// Not a whole gzip stream.
    #[error("{path}: the gzip stream is damaged or ends early ({source}); copy the trace again")]
    Gzip {
        /// The file.
        path: String,
        /// What the decoder says.
        source: std::io::Error,
    },
    /// JSON that breaks off or is none.
    #[error("{path}: not a JSON document: {source}; a trace is one JSON document, plain or gzip-compressed")]
    Syntax {
        /// The file.
        path: String,
        /// What and where.
        source: serde_json::Error,
    },
    /// JSON without a `formatVersion`.
    #[error(
        "{path}: not a conformance trace: it has no number `formatVersion` at the top (this reads version {supported})"
    )]
    NotATrace {
        /// The file.
        path: String,
        /// The version that is read.
        supported: u64,
    },
    /// A version from elsewhere.
    #[error(
        "{path}: formatVersion is {found}, this reads version {supported}; use a schedlab that knows version {found}, or record the trace again"
    )]
    Version {
        /// The file.
        path: String,
        /// The file's version.
        found: u64,
        /// The version that is read.
        supported: u64,
    },
    /// A field has the wrong type, is missing, or is unknown.
    #[error("{path}: {source}; the fields of a trace are described in docs/trace-format.md")]
    Format {
        /// The file.
        path: String,
        /// What and where.
        source: serde_json::Error,
    },
    /// A step makes no sense by itself or after the steps before it.
    #[error("{path}: step {step}: {problem}")]
    Step {
        /// The file.
        path: String,
        /// The step, counted from 0.
        step: usize,
        /// What is wrong.
        problem: StepProblem,
    },
    /// The initial cluster makes no sense.
    #[error("{path}: cluster: {problem}")]
    Cluster {
        /// The file.
        path: String,
        /// What is wrong.
        problem: StepProblem,
    },
}

/// What is wrong with a step.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum StepProblem {
    /// An operation that version 1 does not have.
    #[error("unknown op `{op}`; version 1 knows {known}")]
    UnknownOp { op: String, known: String },
    /// A field that the operation needs.
    #[error("op `{op}` needs `{field}` to be {expected}")]
    Field { op: String, field: &'static str, expected: &'static str },
    /// An object the engine cannot read.
    #[error(transparent)]
    Convert(Box<ConvertError>),
    /// An object that is not of its kind.
    #[error("an object of kind {kind} cannot be read: {error}")]
    Malformed { kind: &'static str, error: String },
    /// A pod without a node among the bound ones.
    #[error("pod {pod} has no spec.nodeName; only bound pods stand in `cluster.pods` and `updatePod`")]
    NotBound { pod: String },
    /// A reference to nothing.
    #[error("pod {pod} is not bound at this point; was an earlier step left out?")]
    UnknownPod { pod: String },
    /// A reference to nothing.
    #[error("node {node} is not in the list at this point; was an earlier step left out?")]
    UnknownNode { node: String },
    /// A reference to nothing.
    #[error("pod {pod} is not nominated at this point; was an earlier step left out?")]
    NotNominated { pod: String },
    /// A reference to nothing.
    #[error("pod group {group} is not there at this point; was an earlier step left out?")]
    UnknownPodGroup { group: String },
    /// Gates that do not go together, or that nothing here follows.
    #[error("featureGates: {error}; record the trace with other gates")]
    Gates { error: String },
    /// The same thing twice.
    #[error("{object} exists already; was an earlier step left out?")]
    Exists { object: String },
}

impl From<ConvertError> for StepProblem {
    fn from(error: ConvertError) -> StepProblem {
        StepProblem::Convert(Box::new(error))
    }
}
