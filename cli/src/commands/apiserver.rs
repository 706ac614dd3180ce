//! `schedlab apiserver`: the embedded cluster as a Kubernetes API.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use schedlab_apiserver::{ApiServer, AuditCounts, ServeOptions, load, load_fake_nodes};
use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::clock::unix_ns;
use schedlab_workloads::explain::read_manifests;
use schedlab_workloads::files::{self, Durability};

use crate::progress::{self, say};
use crate::table::{self, Align};
use crate::{Exit, signals};

/// What to serve where.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ApiserverArgs {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8001")]
    listen: SocketAddr,
    /// Listen on an address that other machines reach. There is no TLS and everybody may do everything:
    /// for closed networks only, with --token
    #[arg(long)]
    allow_remote: bool,
    /// Clients must send this bearer token
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// Start with the objects of these manifests, as `kubectl get nodes,pods,... -A -o yaml` (or json)
    /// prints them: a file, a folder, or - for standard input; may be given several times
    #[arg(long, value_name = "FILE|DIR", num_args = 1..)]
    load: Vec<PathBuf>,
    /// Also start with so many nodes that stand for machines of 4 CPUs, 32Gi and 110 pods
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    nodes: u32,
    /// Write a kubeconfig that leads to this server
    #[arg(long, value_name = "FILE")]
    kubeconfig_out: Option<PathBuf>,
    /// Threads that answer
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: u32,
}

const EXAMPLES: &str = "Examples:
  schedlab apiserver --nodes 100 --kubeconfig-out kubeconfig
  kubectl --kubeconfig kubeconfig get nodes
  kube-scheduler --config config.yaml     (its clientConnection: kubeconfig, contentType: application/json)";

/// How soon the end is noticed.
const LOOK_EVERY: Duration = Duration::from_secs(3600);

pub(crate) fn apiserver(args: &ApiserverArgs) -> Result<Exit> {
    if !args.listen.ip().is_loopback() && !args.allow_remote {
        bail!(
            "--listen {}: other machines reach this address; say --allow-remote if that is meant",
            args.listen
        );
    }
    let cluster = EmbeddedCluster::new(Arc::new(unix_ns));
    load_fake_nodes(&cluster, args.nodes).context("--nodes")?;
    if !args.load.is_empty() {
        let manifests = read_manifests(&args.load)?;
        let loaded = load(&cluster, manifests.into_iter().map(|manifest| manifest.object).collect());
        let loaded = loaded.context("--load")?;
        say(&format!(
            "Loaded {} objects; {} pods that have ended were left out",
            loaded.objects, loaded.finished_pods
        ));
    }
    let options = ServeOptions {
        listen: args.listen,
        token: args.token.clone(),
        threads: args.threads as usize,
        ..ServeOptions::default()
    };
    let interrupt = signals::listen();
    let server = ApiServer::start(cluster, options).context("--listen")?;
    if let Some(path) = &args.kubeconfig_out {
        files::write(path, server.kubeconfig().as_bytes(), Durability::Rebuildable)
            .context("--kubeconfig-out")?;
    }
    say(&format!("Serving the Kubernetes API on {} (Ctrl-C ends it)", server.url()));
    if progress::lost().is_some() {
        bail!("nobody can be told where it serves");
    }
    while !signals::is_interrupted() {
        signals::sleep(LOOK_EVERY, interrupt);
    }
    say(&calls_table(&server.audit()));
    Ok(Exit::Interrupted)
}

/// Calls by verb, resource and program.
fn calls_table(counts: &AuditCounts) -> String {
    let names = ["agent", "verb", "resource"].map(|name| (name, Align::Left));
    let numbers = ["calls", "failed", "bytes in", "bytes out"].map(|name| (name, Align::Right));
    let columns: Vec<_> = names.into_iter().chain(numbers).collect();
    let mut rows: Vec<Vec<String>> = counts
        .iter()
        .map(|(key, count)| {
            let numbers = [count.calls, count.failed, count.received_bytes, count.sent_bytes];
            let names = [key.agent.clone(), key.verb.to_owned(), key.resource.clone()];
            names.into_iter().chain(numbers.map(|number| number.to_string())).collect()
        })
        .collect();
    rows.sort();
    table::render(&columns, &rows)
}
