//! `schedlab scheduler`: our core as the scheduler of a cluster over the network.

#[cfg(feature = "live")]
mod endpoints;
#[cfg(feature = "live")]
mod live;

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::Exit;
use crate::args::EventMode;

/// Which cluster, and how to schedule its pods.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SchedulerArgs {
    /// The kubeconfig that leads to the API server: certificates, tokens and exec credentials
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,
    /// The context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// KubeSchedulerConfiguration file (kubescheduler.config.k8s.io/v1): profiles, backoff, parallelism,
    /// clientConnection.qps and burst, leaderElection
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Schedule only while holding the lease, so that of several schedulers one schedules
    /// [default: as --config says, false without one]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    leader_elect: Option<bool>,
    /// Serve /healthz, /livez, /readyz and /metrics on this loopback address; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    bind_address: Option<SocketAddr>,
    /// Feature gates, as A=true,B=false
    #[arg(long, value_name = "LIST", default_value = "")]
    feature_gates: String,
    /// Calls a second at most; -1 is no limit; wins over the configuration [default: 50, as kube-scheduler]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    kube_api_qps: Option<f64>,
    /// Calls at once after a rest; wins over the configuration [default: 100, as kube-scheduler]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    kube_api_burst: Option<u32>,
    /// Which events about pods are written
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = EventMode::All)]
    events: EventMode,
    /// Threads for Filter and Score [default: the cores of this machine]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Option<u32>,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

const EXAMPLES: &str = "Examples:
  schedlab apiserver --nodes 100 --kubeconfig-out kubeconfig
  schedlab scheduler --kubeconfig kubeconfig --kube-api-qps -1
  schedlab scheduler --kubeconfig ~/.kube/config --config config.yaml --leader-elect --bind-address 127.0.0.1:10259";

#[cfg(feature = "live")]
pub(crate) fn scheduler(args: &SchedulerArgs) -> Result<Exit> {
    live::scheduler(args)
}

/// This build has no client of clusters.
#[cfg(not(feature = "live"))]
pub(crate) fn scheduler(args: &SchedulerArgs) -> Result<Exit> {
    let SchedulerArgs {
        kubeconfig,
        context: _,
        config: _,
        leader_elect: _,
        bind_address: _,
        feature_gates: _,
        kube_api_qps: _,
        kube_api_burst: _,
        events: _,
        threads: _,
        seed: _,
    } = args;
    let file = kubeconfig.display();
    anyhow::bail!(
        "--kubeconfig {file}: this build has no client of clusters; build one with `cargo build --release --features live`"
    )
}
