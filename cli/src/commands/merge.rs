//! `schedlab merge`: shards become what one machine would have written.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;

use super::{replay, run_shards, simulate};
use crate::Exit;
use crate::progress::complain;
use crate::shards::gather;

/// What may be typed.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  schedlab simulate --seeds 0..4000 --shard 0/2 --out seeds      on one machine
  schedlab simulate --seeds 0..4000 --shard 1/2 --out seeds      on another
  schedlab merge seeds --out all                                 where both folders are

Shards that do not belong together, that are missing, given twice, unfinished or damaged are named, and nothing is
written (exit code 2). Otherwise the exit code is that of the command itself. docs/shards.md has a Kubernetes Job, a
Slurm array and a CI matrix.")]
pub(crate) struct MergeArgs {
    /// Folders of shards, or folders right above them
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Where to write the whole
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn merge(args: &MergeArgs) -> Result<Exit> {
    let merged = gather(&args.folders)?;
    let is_input = |folder: &PathBuf| folder.canonicalize().ok() == args.out.canonicalize().ok();
    if args.out.exists() && args.folders.iter().any(is_input) {
        bail!("--out {} is one of the folders that are merged; choose another", args.out.display());
    }
    let how = || format!("cannot write to {}; choose another folder with --out", args.out.display());
    std::fs::create_dir_all(&args.out).with_context(how)?;
    merged.write(&args.out)?;
    complain(&format!("schedlab: merged {} shard(s) of {}", merged.shard_count, merged.identity.command));
    match merged.identity.command.as_str() {
        "simulate" => simulate::merged(&args.out, &merged.units),
        "replay" => replay::merged(&args.out, &merged.units),
        "run" => run_shards::merged(&args.out, &merged),
        other => bail!("this version knows no shards of {other:?}"),
    }
}
