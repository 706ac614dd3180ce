//! `schedlab compare`: two files or directories, of ours or of upstream's scheduler_perf.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use schedlab_perf_dash::compare::{FENCE_DEFAULT, Fences, Missing, compare_sides, load_side};
use schedlab_perf_dash::history;
use schedlab_perf_dash::stats::Fence;

use super::verdicts::{OutputArgs, present};
use crate::Exit;
use crate::progress::complain;

/// Two sides.
#[derive(Clone, Debug, Args)]
pub(crate) struct CompareArgs {
    /// What to hold against: a result.json, perf-dash JSON (BenchmarkPerfScheduling_*.json) or
    /// `go test -bench` text of scheduler_perf, or a directory with some
    #[arg(value_name = "BASE")]
    base: PathBuf,
    /// What is judged
    #[arg(value_name = "HEAD")]
    head: PathBuf,
    #[command(flatten)]
    fence: FenceArgs,
    /// Judge only the workloads that both sides have; without it, one that a side lacks keeps the
    /// verdict from being unchanged or better
    #[arg(long)]
    ignore_missing: bool,
    /// Seed of the bootstrap
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    output: OutputArgs,
}

/// Up to where a difference is noise.
#[derive(Clone, Debug, Args)]
pub(crate) struct FenceArgs {
    /// Percent up to which a difference is noise, where the history says nothing
    #[arg(long, value_name = "PERCENT", default_value_t = FENCE_DEFAULT * 100.0)]
    pub(crate) fence: f64,
    /// History to take each workload's own fence from: Q3 + 3 IQR of the changes between runs of
    /// one revision
    #[arg(long, value_name = "DIR")]
    pub(crate) history: Option<PathBuf>,
}

impl FenceArgs {
    /// The percentage, if it is one.
    pub(crate) fn checked(&self) -> Result<f64> {
        if !(0.0..=100.0).contains(&self.fence) {
            bail!("--fence {}: a percentage between 0 and 100 is needed", self.fence);
        }
        Ok(self.fence)
    }

    /// The fences, read from the history when one is given.
    pub(crate) fn fences(&self) -> Result<Fences> {
        let default = Fence::given(self.checked()? / 100.0);
        let mut fences = Fences { default, ..Fences::default() };
        if let Some(dir) = &self.history {
            let history = history::read(dir)?;
            for warning in &history.warnings {
                complain(&format!("schedlab: {warning}"));
            }
            fences.by_workload = history::fences(&history.records, FENCE_FLOOR);
        }
        Ok(fences)
    }
}

/// Half a percent: code layout alone moves a hot loop by that much.
const FENCE_FLOOR: f64 = 0.005;

pub(crate) fn compare(args: &CompareArgs) -> Result<Exit> {
    let (base, head) = (load_side(&args.base)?, load_side(&args.head)?);
    let missing = if args.ignore_missing { Missing::Ignored } else { Missing::Open };
    let comparison = compare_sides(&base, &head, &args.fence.fences()?, missing, args.seed);
    if comparison.rows.is_empty() {
        bail!(
            "{} and {} have no workload in common: {}",
            base.name,
            head.name,
            comparison.unmatched.join(", ")
        );
    }
    present(&[comparison], &args.output, "comparison")
}
