//! What can keep a cluster from being reached.

use std::path::PathBuf;

use schedlab_cluster::ApiError;

/// Why there is no cluster to work with.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The kubeconfig cannot be read, or lacks something.
    #[error("{file}: {error}")]
    Kubeconfig {
        /// The file.
        file: PathBuf,
        /// Why.
        error: Box<kube::config::KubeconfigError>,
    },
    /// The kubeconfig has no such context.
    #[error("{file}: there is no context {wanted:?}; it has {known}")]
    NoContext {
        /// The file.
        file: PathBuf,
        /// What was asked for.
        wanted: String,
        /// Those that are there.
        known: String,
    },
    /// Certificates, keys or credentials do not do.
    #[error("{file}: {error}")]
    Client {
        /// The kubeconfig.
        file: PathBuf,
        /// Why.
        error: Box<kube::Error>,
    },
    /// No threads.
    #[error("cannot start the threads of the client: {0}")]
    Threads(std::io::Error),
    /// The server does not answer, or refuses.
    #[error("{server}: {error}; is the API server there, and may this user ask it?")]
    Unreachable {
        /// Its URL.
        server: String,
        /// What it said.
        error: ApiError,
    },
    /// The server does not serve what no scheduler can do without.
    #[error("{server} serves no {resource}: it is no Kubernetes API, or this user does not see it")]
    NotServed {
        /// Its URL.
        server: String,
        /// The kind's resource.
        resource: &'static str,
    },
}
