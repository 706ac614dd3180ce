//! `schedlab bench`: what `cargo bench` at the root runs.
//!
//! ```text
//! working tree --cargo--> kernels (head)
//! --baseline, or `last` -> kernels that were kept (base)      none: head is timed, and kept
//!                          both, side by side ------------------> a verdict a row, exit code
//! ```
//!
//! Times of another day cannot be compared with times of today: the machine was another one then.
//! So what a baseline keeps is the program, not its times, and both programs run interleaved, as
//! `schedlab gate` runs them.

mod baseline;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use schedlab_perf_dash::compare::Row;
use schedlab_perf_dash::stats::Verdict;

use super::gate::build::{Build, given};
use super::gate::{Filter, MeasureArgs, Report};
use super::verdicts::{OutputArgs, present};
use crate::Exit;
use crate::progress::say;
use baseline::{Baseline, Baselines, LAST};

/// What to bench.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchArgs {
    /// Only kernels whose name matches, as cycle or '^life/'
    #[arg(value_name = "REGEX")]
    filter: Option<String>,
    /// Keep this build under a name, without comparing it with anything
    #[arg(long, value_name = "NAME", conflicts_with = "baseline")]
    save_baseline: Option<String>,
    /// Compare with a build that --save-baseline kept, or else with this git revision [default: the
    /// last build that was benched whole and was not worse]
    #[arg(long, value_name = "NAME|REVISION")]
    baseline: Option<String>,
    /// Where baselines are kept
    #[arg(long, value_name = "DIR", default_value = "target/bench-baselines")]
    baselines: PathBuf,
    /// Take these gate-kernels instead of building the working tree's
    #[arg(long, value_name = "FILE", conflicts_with = "features")]
    kernels: Option<PathBuf>,
    /// Features of schedlab-benches that the working tree is built with, as planted
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    features: Vec<String>,
    #[command(flatten)]
    how: MeasureArgs,
    #[command(flatten)]
    output: OutputArgs,
}

const EXAMPLES: &str = "Examples:
  cargo bench                               compare with the last build that was benched
  cargo bench -- --save-baseline main       keep this build as main
  cargo bench -- --baseline main            compare with it, or with the git revision main
  cargo bench -- cycle                      only kernels with cycle in their names

Ends with 3 when a row is worse, with 0 when none is (rows that stay open are named), with 2 when it could not run.";

/// A build and what to call it.
struct Head {
    name: String,
    kernels: PathBuf,
}

pub(crate) fn bench(args: &BenchArgs) -> Result<Exit> {
    let filter = Filter::new(args.filter.as_deref(), "the pattern of names")?;
    let baselines = Baselines::new(&args.baselines);
    for name in [&args.save_baseline, &args.baseline].into_iter().flatten() {
        baseline::check_name(name)?;
    }
    let base = base(args, &baselines)?;
    let head = head(args)?;
    // After the builds: they want all cores.
    let pinned = args.how.stay_on_core()?;
    let started = Instant::now();
    let same =
        base.as_ref().map(|base| baseline::is_same_program(&base.kernels, &head.kernels)).transpose()?;
    let mut report = match (&base, same) {
        (Some(base), Some(false)) => {
            let mut report = Report::default();
            args.how.judge(&[base.kernels.clone(), head.kernels.clone()], &filter, &mut report)?;
            report
        }
        _ => held_against_itself(args, &head, &filter, base.is_some())?,
    };
    report.notes.push(format!("{pinned}; measured in {:.1} s", started.elapsed().as_secs_f64()));
    let base_name = base.as_ref().map_or_else(|| head.name.clone(), |base| base.name.clone());
    let comparison = report.comparison("cargo bench", &[base_name, head.name.clone()]);
    let verdict = comparison.verdict;
    present(&[comparison], &args.output, "bench")?;
    let told = keep(args, &baselines, &head, base.as_ref(), verdict)?;
    if !args.output.json {
        say(&told);
    }
    Ok(if verdict == Verdict::Worse { Exit::Regression } else { Exit::Fine })
}

/// What to compare with, if anything.
fn base(args: &BenchArgs, baselines: &Baselines) -> Result<Option<Baseline>> {
    let Some(name) = &args.baseline else {
        return if args.save_baseline.is_some() { Ok(None) } else { baselines.read(LAST) };
    };
    if let Some(kept) = baselines.read(name)? {
        return Ok(Some(kept));
    }
    let build = Build::of_revision(name, &args.how.work).with_context(|| {
        format!(
            "there is no baseline {name:?}; `cargo bench -- --save-baseline {name}` keeps one, and a git \
             revision is built"
        )
    })?;
    Ok(Some(Baseline { name: build.name.clone(), kernels: build.kernels()? }))
}

/// The build that is judged.
fn head(args: &BenchArgs) -> Result<Head> {
    if let Some(kernels) = &args.kernels {
        return Ok(Head { name: kernels.display().to_string(), kernels: given(kernels)? });
    }
    let mut features = args.features.clone();
    if cfg!(feature = "planted") && !features.iter().any(|feature| feature == "planted") {
        features.push("planted".to_owned());
    }
    let build = Build::of_working_tree(&args.how.work)?.with_features(&features);
    Ok(Head { name: build.name.clone(), kernels: build.kernels()? })
}

/// The times of a build without another to hold against, or with its own twin. What differs is
/// noise, and is kept as such.
fn held_against_itself(args: &BenchArgs, head: &Head, filter: &Filter, has_base: bool) -> Result<Report> {
    let (measured, fences) = args.how.hold_against_itself(&head.kernels, filter, args.how.seed)?;
    let unchanged = |row: Row| Row { verdict: Verdict::Unchanged, more_needed: None, ..row };
    let why = if has_base {
        "base and head are the same program, byte for byte: nothing has changed, and what differs is noise"
    } else {
        "there is nothing to compare with: head ran against itself, and what differs is noise"
    };
    Ok(Report {
        rows: measured.rows(&fences).into_iter().map(unchanged).collect(),
        notes: vec![why.to_owned()],
        unmatched: Vec::new(),
    })
}

/// Keeps head as the rules say, and says so.
fn keep(
    args: &BenchArgs,
    baselines: &Baselines,
    head: &Head,
    base: Option<&Baseline>,
    verdict: Verdict,
) -> Result<String> {
    let kept = |name: &str| -> Result<()> { baselines.save(name, &head.name, &head.kernels) };
    if let Some(name) = &args.save_baseline {
        kept(name)?;
        return Ok(format!("Baseline {name} saved; compare with it by `cargo bench -- --baseline {name}`"));
    }
    if args.baseline.is_some() {
        return Ok("Baselines are left as they are".to_owned());
    }
    let Some(base) = base else {
        kept(LAST)?;
        return Ok("Baseline saved; the next `cargo bench` compares with this build".to_owned());
    };
    match verdict {
        Verdict::Worse => Ok(format!(
            "A regression is not kept: the next `cargo bench` compares with {} again; `cargo bench -- \
             --save-baseline {LAST}` accepts it",
            base.name
        )),
        Verdict::Inconclusive => {
            Ok(format!("Open rows: the next `cargo bench` compares with {} again", base.name))
        }
        _ if args.filter.is_some() => {
            Ok(format!("Not all kernels ran: the next `cargo bench` compares with {} again", base.name))
        }
        Verdict::Better | Verdict::Unchanged => {
            kept(LAST)?;
            Ok("Baseline saved; the next `cargo bench` compares with this build".to_owned())
        }
    }
}
