//! `schedlab ab`: variants of a workload, interleaved in one run.
//!
//! A variant is a set of flags of `schedlab run`, run in this process, or a git revision, built and
//! run in a process of its own.

mod variant;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use schedlab_lab::LabError;
use schedlab_lab::ab::{AbPlan, AbSession, Variant};
use schedlab_perf_dash::compare::Comparison;
use schedlab_workloads::resolve::runnable;

use self::variant::{Named, of_flags, of_revision};
pub(crate) use self::variant::{parse_flags, split_words};
use super::compare::FenceArgs;
use super::verdicts::{OutputArgs, present};
use super::{run, select};
use crate::args::SelectArgs;
use crate::progress::complain;
use crate::{Exit, signals};

/// What to interleave.
#[derive(Clone, Debug, Args)]
pub(crate) struct AbArgs {
    /// A variant as 'NAME: FLAGS', with the flags of `schedlab run`; the first one is the base of
    /// every ratio. At least two
    #[arg(long = "variant", value_name = "NAME: FLAGS", required_unless_present = "revisions")]
    variants: Vec<String>,
    /// A git revision as a variant, 'REVISION' or 'REVISION: FLAGS'; the first one is the base of
    /// every ratio. At least two
    #[arg(long = "rev", value_name = "REVISION", conflicts_with = "variants")]
    revisions: Vec<String>,
    /// Where worktrees and builds of revisions are kept between calls
    #[arg(long, value_name = "DIR", default_value = "target/gate", requires = "revisions")]
    work: PathBuf,
    /// Flags that all variants have, before their own
    #[arg(long, value_name = "FLAGS", default_value = "", allow_hyphen_values = true)]
    all: String,
    #[command(flatten)]
    select: SelectArgs,
    /// Rounds; in a round every variant runs twice, there and back (A B B A)
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Runs of each variant before the first round that are not counted
    #[arg(long, value_name = "N", default_value_t = 2)]
    warm_up: u32,
    /// Seed of the order and of the bootstrap
    #[arg(long, value_name = "N", default_value_t = 0)]
    order_seed: u64,
    #[command(flatten)]
    fence: FenceArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn ab(args: &AbArgs) -> Result<Exit> {
    let fences = args.fence.fences()?;
    let interrupt = signals::listen();
    let variants = variants(args)?;
    let mut failure = None;
    let mut session = AbSession::new(plan(args), variants);
    for selected in select::workloads(&args.select, Some(run::DEFAULT_LABELS))? {
        let workload = selected.workload?;
        if let Err(reason) = runnable(&workload) {
            complain(&format!("schedlab: {} is skipped: {reason}", workload.full_name));
            continue;
        }
        failure = session.compare(&workload, fences.of(&workload.full_name), interrupt).err();
        if signals::is_interrupted() || failure.is_some() {
            break;
        }
    }
    let is_interrupted = signals::is_interrupted();
    let is_cut_short = is_interrupted || failure.is_some();
    if is_cut_short && !session.has_samples() {
        return Err(failure.filter(|_| !is_interrupted).unwrap_or(LabError::Interrupted).into());
    }
    if session.is_empty() {
        bail!("no workload could run; `schedlab list` with the same --suite or --config shows why");
    }
    let mut comparisons = session.comparisons();
    if is_cut_short {
        comparisons = comparisons.into_iter().map(Comparison::cut_short).collect();
    }
    let exit = present(&comparisons, &args.output, "comparison")?;
    match failure {
        _ if is_interrupted => Ok(Exit::Interrupted),
        Some(failure) => Err(failure.into()),
        None => Ok(exit),
    }
}

fn plan(args: &AbArgs) -> AbPlan {
    let suite = args.select.suite.iter().flat_map(|suite| ["--suite".to_owned(), suite.clone()]);
    let configs = args.select.config.iter();
    let configs = configs.flat_map(|path| ["--config".to_owned(), path.display().to_string()]);
    AbPlan {
        suite_flags: suite.chain(configs).collect(),
        rounds: args.rounds as usize,
        warm_up: args.warm_up,
        order_seed: args.order_seed,
    }
}

fn variants(args: &AbArgs) -> Result<Vec<Variant>> {
    let read = |text: &String| of_flags(text, &args.all);
    let built = |text: &String| of_revision(text, &args.all, &args.work);
    let variants: Vec<Named> = match args.revisions.as_slice() {
        [] => args.variants.iter().map(read).collect::<Result<_>>()?,
        revisions => revisions.iter().map(built).collect::<Result<_>>()?,
    };
    if variants.len() < 2 {
        bail!("one variant has nothing to be compared with; give --variant, or --rev, twice or more");
    }
    if let Some(twin) =
        variants.iter().enumerate().find(|(at, v)| variants[..*at].iter().any(|w| w.name == v.name))
    {
        bail!("two variants are called {:?}; their names must differ", twin.1.name);
    }
    Ok(variants.into_iter().map(|named| named.variant).collect())
}
