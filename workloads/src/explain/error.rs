//! What can be wrong with the question.

use std::path::PathBuf;

use schedlab_cluster::ApiError;

use crate::executor::ExecuteError;

/// A question that has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// A file or folder cannot be read.
    #[error("{}: cannot read it: {source}; --cluster and --pod-file take YAML or JSON files", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The text is neither YAML nor JSON.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// From 1.
        column: u64,
        /// What the parser says.
        message: String,
    },
    /// An object is not what its kind says.
    #[error("{}: {place}: {message}", path.display())]
    Object {
        /// The file.
        path: PathBuf,
        /// Which object.
        place: String,
        /// What is wrong.
        message: String,
    },
    /// A folder without manifests.
    #[error("{}: no .yaml, .yml or .json file in this folder", path.display())]
    EmptyFolder {
        /// The folder.
        path: PathBuf,
    },
    /// There is no node to look at.
    #[error("{from}: there is no node; export them too, as in `kubectl get nodes,pods -A -o yaml`")]
    NoNodes {
        /// Where nodes were looked for.
        from: String,
    },
    /// The pod is not among the manifests.
    #[error("no pod {wanted:?} among {count} pods{}", hint(suggestions))]
    PodNotFound {
        /// What was asked for.
        wanted: String,
        /// How many pods there are.
        count: usize,
        /// Names that come near.
        suggestions: Vec<String>,
    },
    /// A pod file holds something else.
    #[error("{}: holds {found}, but --pod-file wants one Pod (or an object with a pod template)", path.display())]
    NotOnePod {
        /// The file.
        path: PathBuf,
        /// What it holds.
        found: String,
    },
    /// The API's rules refuse an object.
    #[error("{}: {object}: {source}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// The object.
        object: String,
        /// Why.
        source: ApiError,
    },
    /// A plugin that is not in the profile.
    #[error("no plugin {name:?}{}; the profile has {}", hint(suggestions), known.join(", "))]
    UnknownPlugin {
        /// What was asked for.
        name: String,
        /// Names that come near.
        suggestions: Vec<String>,
        /// The plugins there are.
        known: Vec<String>,
    },
    /// The regular expression for node names is none.
    #[error("--nodes: {0}")]
    NodePattern(#[from] regex::Error),
    /// No op creates pods, or not the one that was named.
    #[error("{workload}: {message}")]
    Op {
        /// `TestCase/Workload`.
        workload: String,
        /// What is wrong.
        message: String,
    },
    /// The workload did not come as far as the chosen op.
    #[error("{workload}: did not come as far as op {op}: {why}")]
    Stuck {
        /// `TestCase/Workload`.
        workload: String,
        /// The op.
        op: usize,
        /// Why not.
        why: String,
    },
    /// The scheduler's configuration cannot be used.
    #[error(transparent)]
    Config(#[from] crate::scheduler_config::ConfigError),
    /// An op failed.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// An op of the workload failed while its pod was made.
    #[error(transparent)]
    Made(#[from] crate::executor::OpError),
    /// The embedded API failed.
    #[error("the embedded API: {0}")]
    Api(#[from] ApiError),
}

fn hint(suggestions: &[String]) -> String {
    match suggestions {
        [] => String::new(),
        some => format!("; did you mean {}?", some.join(" or ")),
    }
}
