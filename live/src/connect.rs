//! From a kubeconfig to a client.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use http::header::USER_AGENT;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde::Deserialize;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::LiveError;
use crate::requests::{CallLimit, Requests};

/// Work that waits for answers, at once. As many calls as the scheduler has under way may be such work.
const BLOCKING_THREADS_MAX: usize = 64;
/// Threads of a client that ends stop at their next rest.
const END_WITHIN: Duration = Duration::from_secs(2);

/// Which kubeconfig, and what of it.
#[derive(Clone, Debug)]
pub struct KubeconfigChoice {
    /// The file.
    pub file: PathBuf,
    /// The context; the current one if absent.
    pub context: Option<String>,
    /// What the API server sees of us.
    pub user_agent: String,
}

/// A way to an API server. Dropping the last one ends its threads.
pub struct Connection {
    pub(crate) client: Client,
    pub(crate) server: String,
    context: String,
    version: String,
    runtime: Option<Runtime>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Connection {
    /// Reads the kubeconfig, makes the client and asks the server for its version.
    pub fn open(choice: &KubeconfigChoice, threads: usize) -> Result<Arc<Connection>, LiveError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads.max(1))
            .max_blocking_threads(BLOCKING_THREADS_MAX)
            .thread_name("live")
            .enable_all()
            .build()
            .map_err(LiveError::Threads)?;
        let (config, context) = runtime.block_on(config_of(choice))?;
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let client = {
            // The client spawns tasks where it is made.
            let _inside = runtime.enter();
            Client::try_from(config)
                .map_err(|error| LiveError::Client { file: choice.file.clone(), error: Box::new(error) })?
        };
        let asked = runtime.block_on(Requests::new(client.clone(), CallLimit::None).get("/version"));
        let version = asked.map_err(|error| LiveError::Unreachable { server: server.clone(), error })?;
        let version = serde_json::from_slice::<Version>(&version).unwrap_or_default().git_version;
        Ok(Arc::new(Connection { client, server, context, version, runtime: Some(runtime) }))
    }

    /// The server's URL.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The context that leads there.
    #[must_use]
    pub fn context(&self) -> &str {
        &self.context
    }

    /// What the server says it is.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    pub(crate) fn handle(&self) -> &Handle {
        self.runtime.as_ref().expect("it is there until it is dropped").handle()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(END_WITHIN);
        }
    }
}

#[derive(Default, Deserialize)]
struct Version {
    #[serde(rename = "gitVersion", default)]
    git_version: String,
}

async fn config_of(choice: &KubeconfigChoice) -> Result<(Config, String), LiveError> {
    let at_file = |error| LiveError::Kubeconfig { file: choice.file.clone(), error: Box::new(error) };
    let kubeconfig = Kubeconfig::read_from(&choice.file).map_err(at_file)?;
    if let Some(wanted) = &choice.context
        && !kubeconfig.contexts.iter().any(|context| context.name == *wanted)
    {
        let names: Vec<&str> = kubeconfig.contexts.iter().map(|context| context.name.as_str()).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(LiveError::NoContext { file: choice.file.clone(), wanted: wanted.clone(), known });
    }
    let context = choice.context.clone().or_else(|| kubeconfig.current_context.clone()).unwrap_or_default();
    let options = KubeConfigOptions { context: choice.context.clone(), ..KubeConfigOptions::default() };
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(at_file)?;
    // Watches are silent for as long as nothing happens; other requests have a time of their own.
    config.read_timeout = None;
    if let Ok(agent) = HeaderValue::from_str(&choice.user_agent) {
        config.headers.push((USER_AGENT, agent));
    }
    Ok((config, context))
}
