//! `schedlab profile`: where the time of a workload's measured part goes, and who allocates in it.

mod diff;
mod show;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use schedlab_lab::profile::ProfilePlan;
use schedlab_workloads::resolve::{ResolvedWorkload, runnable};

use super::{run, select};
use crate::args::RunArgs;
use crate::progress::notice;
use crate::{Exit, signals};

/// What to profile.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ProfileArgs {
    /// Regular expression that one workload's name, TestCase/Workload, matches
    #[arg(value_name = "WORKLOAD", required_unless_present = "diff")]
    workload: Option<String>,
    /// Instead of profiling, draw the difference of two profiles: directories that --out named, or
    /// folded stacks
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], conflicts_with = "workload")]
    diff: Option<Vec<PathBuf>>,
    #[command(flatten)]
    run: RunArgs,
    /// Samples a second of CPU time
    #[arg(long, value_name = "N", default_value_t = 997, value_parser = clap::value_parser!(i32).range(1..=10_000))]
    frequency: i32,
    /// Run the workload again until its measured part has been sampled for so long
    #[arg(long, value_name = "SECONDS", default_value_t = 3)]
    seconds: u64,
    /// Also show the machine's counters (instructions, cache misses, page faults ...), where it
    /// offers them
    #[arg(long)]
    counters: bool,
    /// Leave out the last run, which counts allocations by call site
    #[arg(long)]
    skip_allocations: bool,
}

const EXAMPLES: &str = "Examples:
  schedlab profile '^PlainPods/5000' --out before
  schedlab profile '^PlainPods/5000' --out after --class-cache off
  schedlab profile --diff before after --out change";

const DEFAULT_OUT: &str = "schedlab-profile";

pub(crate) fn profile(args: &ProfileArgs) -> Result<Exit> {
    let out = args.run.out.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_OUT));
    if let Some([before, after]) = args.diff.as_deref() {
        return diff::diff(before, after, &out);
    }
    let workload = the_workload(args)?;
    let interrupt = signals::listen();
    let plan = ProfilePlan {
        run: run::plan(&args.run)?,
        frequency: args.frequency,
        sampled_min: Duration::from_secs(args.seconds),
        with_counters: args.counters,
        with_allocations: !args.skip_allocations,
    };
    let found = schedlab_lab::profile::profile(&plan, &workload, interrupt, &notice)?;
    found.write_cpu(&out)?;
    show::cpu(&found.summary, args.frequency);
    if let Some((allocations, pods)) = &found.allocations {
        found.write_allocations(&out)?;
        show::allocations(allocations, *pods);
    }
    if let Some(counted) = &found.counted {
        show::counters(counted, found.summary.pods);
    }
    show::files(&out, found.allocations.is_some());
    if found.summary.partial {
        show::partial();
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::Fine)
}

fn the_workload(args: &ProfileArgs) -> Result<ResolvedWorkload> {
    let mut selection = args.run.select.clone();
    if selection.filter.is_some() {
        bail!("--filter: name the workload as WORKLOAD instead");
    }
    selection.filter.clone_from(&args.workload);
    let mut found = select::workloads(&selection, None)?;
    if 1 < found.len() {
        let names: Vec<&str> = found.iter().take(5).map(|one| one.full_name.as_str()).collect();
        bail!(
            "{:?} matches {} workloads ({}, ...); profile one at a time",
            args.workload.as_deref().unwrap_or_default(),
            found.len(),
            names.join(", ")
        );
    }
    let workload = found.remove(0).workload?;
    if let Err(reason) = runnable(&workload) {
        bail!("{}: {reason}", workload.full_name);
    }
    Ok(workload)
}
