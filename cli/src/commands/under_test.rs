//! `--scheduler`: which scheduler runs instead of ours, and what is told of it.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use schedlab_external::{CommandTemplate, FetchText, UnderTest};
use schedlab_workloads::executor::SchedulerUnderTest;
use schedlab_workloads::results::{AgentCalls, UnderTestUsage, WorkloadResult};

use super::ab::split_words;
use crate::table::{self, Align};

/// A scheduler as a process of its own.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Scheduler under test")]
pub(crate) struct UnderTestArgs {
    /// Run this scheduler instead of ours, as a child process against an API server in this process, and
    /// measure it from outside: 'kube-scheduler --config {config}'. {config} is a
    /// KubeSchedulerConfiguration that leads to the API server, --scheduler-config or the workload's one
    /// with that put in; {kubeconfig} leads there too, {gates} is A=true,B=false, {port} a free port
    #[arg(long, value_name = "CMD")]
    pub(crate) scheduler: Option<String>,
    /// Where it serves kube-scheduler's metrics, as https://127.0.0.1:{port}/metrics; its durations are in
    /// the report then. https needs a build with the feature live
    #[arg(long, value_name = "URL", requires = "scheduler")]
    pub(crate) scheduler_metrics: Option<String>,
    /// How long it may take until it watches pods and nodes [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = crate::args::time, requires = "scheduler")]
    pub(crate) scheduler_ready_within: Option<Duration>,
}

/// An answer with metrics comes at once.
const METRICS_WITHIN: Duration = Duration::from_secs(10);

impl UnderTestArgs {
    /// The scheduler that is to run instead of ours.
    pub(crate) fn scheduler(&self) -> Result<Option<Arc<dyn SchedulerUnderTest>>> {
        Ok(self.under_test()?.map(|under_test| Arc::new(under_test) as Arc<dyn SchedulerUnderTest>))
    }

    /// The same.
    pub(crate) fn under_test(&self) -> Result<Option<UnderTest>> {
        let Some(command) = &self.scheduler else { return Ok(None) };
        let words = split_words(command).context("--scheduler")?;
        let mut under_test = UnderTest::new(CommandTemplate::new(words).context("--scheduler")?);
        if let Some(url) = &self.scheduler_metrics {
            let is_https = url.starts_with("https://");
            if !is_https && !url.starts_with("http://") {
                bail!(
                    "--scheduler-metrics: {url:?} is no URL; write it as https://127.0.0.1:{{port}}/metrics"
                );
            }
            under_test.fetch = if is_https { secure()? } else { plain() };
            under_test.metrics_url = Some(url.clone());
        }
        if let Some(within) = self.scheduler_ready_within {
            under_test.ready_within = within;
        }
        Ok(Some(under_test))
    }
}

fn plain() -> FetchText {
    Arc::new(|url| schedlab_cluster::fetch::get_text(url, METRICS_WITHIN))
}

#[cfg(feature = "live")]
#[allow(clippy::unnecessary_wraps, reason = "a build without the feature has none")]
fn secure() -> Result<FetchText> {
    Ok(Arc::new(|url| schedlab_live::get_text_insecurely(url, METRICS_WITHIN)))
}

#[cfg(not(feature = "live"))]
fn secure() -> Result<FetchText> {
    bail!(
        "--scheduler-metrics: this build speaks no https; build one with `cargo build --release --features live`, \
         or leave the flag out"
    )
}

/// What the run says of its scheduler; nothing of ours.
pub(super) fn text(workload: &WorkloadResult) -> Option<String> {
    let usage = workload.under_test.as_ref()?;
    let mut text = format!("{}: {}", workload.name, usage.command);
    let per_pod = |ms: f64| {
        let pods = workload.pods.scheduled;
        #[allow(clippy::cast_precision_loss, reason = "pods are far fewer than 2^53")]
        let us = ms * 1e3 / pods.max(1) as f64;
        format!("{ms:.0} ms of processor time ({us:.0} us a pod)")
    };
    if let Some(ms) = usage.cpu_ms {
        let _ = write!(text, "\n  the scheduler took {}", per_pod(ms));
    }
    if let Some(bytes) = usage.peak_rss_bytes {
        let _ = write!(text, " and at most {} MiB of memory", bytes >> 20);
    }
    if let Some(ms) = usage.server_cpu_ms {
        let _ = write!(text, "\n  the API server took {}", per_pod(ms));
    }
    let _ = write!(text, "\n{}", calls_table(usage));
    Some(text)
}

/// Calls that are shown; the rest is in result.json.
const ROWS_MAX: usize = 12;

fn calls_table(usage: &UnderTestUsage) -> String {
    let names = ["agent", "verb", "resource"].map(|name| (name, Align::Left));
    let numbers = ["calls", "failed", "sent bytes", "got bytes"].map(|name| (name, Align::Right));
    let columns: Vec<_> = names.into_iter().chain(numbers).collect();
    let mut calls: Vec<&AgentCalls> = usage.calls.iter().collect();
    calls.sort_by_key(|calls| std::cmp::Reverse((calls.calls, calls.received_bytes)));
    let row = |calls: &&AgentCalls| {
        let names = [calls.agent.clone(), calls.verb.clone(), calls.resource.clone()];
        let numbers = [calls.calls, calls.failed, calls.sent_bytes, calls.received_bytes];
        names.into_iter().chain(numbers.map(|number| number.to_string())).collect::<Vec<String>>()
    };
    let rows: Vec<Vec<String>> = calls.iter().take(ROWS_MAX).map(row).collect();
    table::render(&columns, &rows)
}
