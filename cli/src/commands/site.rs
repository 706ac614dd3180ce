//! `schedlab site`: a history as static pages.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Args;
use schedlab_perf_dash::history;
use schedlab_perf_dash::site::{self, Audience};

use schedlab_workloads::results::read_experiments;

use super::experiment::DEFAULT_CLAIMS;
use super::run_history::DEFAULT_HISTORY;
use crate::Exit;
use crate::progress::{complain, say};

/// Where from and where to.
#[derive(Clone, Debug, Args)]
pub(crate) struct SiteArgs {
    /// The history's directory
    #[arg(long, value_name = "DIR", default_value = DEFAULT_HISTORY)]
    pub(crate) history: PathBuf,
    /// Where to write the site; opens from disk, and any static host can serve it
    #[arg(long, value_name = "DIR", default_value = "schedlab-site")]
    pub(crate) out: PathBuf,
    /// Where `schedlab experiment` wrote what it measured; the site has a page of the claims
    #[arg(long, value_name = "DIR", default_value = DEFAULT_CLAIMS)]
    pub(crate) claims: PathBuf,
}

pub(crate) fn site(args: &SiteArgs) -> Result<Exit> {
    let started = Instant::now();
    let history = history::read(&args.history)?;
    for warning in &history.warnings {
        complain(&format!("schedlab: {warning}"));
    }
    let experiments = if args.claims.is_dir() { read_experiments(&args.claims)? } else { Vec::new() };
    let counts = site::write_site(&args.out, &history.records, &experiments, Audience::Anybody)?;
    let index = args.out.join("index.html");
    say(&format!(
        "{} page(s) of {} run(s) and {} workload(s) in {:.1} s\nSite: {}",
        counts.pages,
        counts.runs,
        counts.workloads,
        started.elapsed().as_secs_f64(),
        std::path::absolute(&index).unwrap_or(index).display()
    ));
    Ok(Exit::Fine)
}
