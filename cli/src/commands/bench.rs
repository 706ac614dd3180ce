//! `schedlab bench`: what `cargo bench` at the root runs.
//!
//! ```text
//! working tree --cargo--> kernels (head)
//! --baseline, or `last` -> kernels that were kept (base)      none: head is timed, and kept
//!                          both, side by side ------------------> a verdict a row, exit code
//! ```

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use schedlab_lab::bench::{Baseline, Baselines, BenchPlan, Kept, LAST, check_name, judge};
use schedlab_lab::build::{Build, given};
use schedlab_lab::gate::{Filter, stay_on_core};
use schedlab_perf_dash::stats::Verdict;

use super::measure::MeasureArgs;
use super::verdicts::{OutputArgs, present};
use crate::progress::{notice, say};
use crate::{Exit, signals};

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

pub(crate) fn bench(args: &BenchArgs) -> Result<Exit> {
    let filter = Filter::new(args.filter.as_deref()).context("the pattern of names")?;
    let baselines = Baselines::new(&args.baselines);
    for name in [&args.save_baseline, &args.baseline].into_iter().flatten() {
        check_name(name)?;
    }
    let plan = BenchPlan {
        save_baseline: args.save_baseline.clone(),
        baseline: args.baseline.clone(),
        is_filtered: args.filter.is_some(),
    };
    let interrupt = signals::listen();
    let base = plan.base(&baselines, &args.how.work, (&notice, interrupt))?;
    let head = head(args)?;
    // After the builds: they want all cores.
    let pinned = stay_on_core(args.how.cpu)?;
    let started = Instant::now();
    let mut report = judge(&args.how.plan()?, &head, base.as_ref(), &filter, interrupt)?;
    report.notes.push(format!("{pinned}; measured in {:.1} s", started.elapsed().as_secs_f64()));
    let base_name = base.as_ref().map_or_else(|| head.name.clone(), |base| base.name.clone());
    let is_partial = report.is_partial;
    let comparison = report.comparison("cargo bench", &[base_name, head.name.clone()])?;
    let verdict = comparison.verdict;
    present(&[comparison], &args.output, "bench")?;
    if is_partial {
        return Ok(Exit::Interrupted);
    }
    let kept = plan.keep(&baselines, &head, base.as_ref(), verdict)?;
    if !args.output.json {
        say(&kept_text(&kept));
    }
    Ok(if verdict == Verdict::Worse { Exit::Regression } else { Exit::Fine })
}

/// The build that is judged.
fn head(args: &BenchArgs) -> Result<Baseline> {
    if let Some(kernels) = &args.kernels {
        return Ok(Baseline { name: kernels.display().to_string(), kernels: given(kernels)? });
    }
    let mut features = args.features.clone();
    if cfg!(feature = "planted") && !features.iter().any(|feature| feature == "planted") {
        features.push("planted".to_owned());
    }
    let build = Build::of_working_tree(&args.how.work)?.with_features(&features);
    Ok(Baseline { name: build.name.clone(), kernels: build.kernels(&notice, signals::flag())? })
}

/// What became of head, and what to do about it.
fn kept_text(kept: &Kept) -> String {
    match kept {
        Kept::As(name) => {
            format!("Baseline {name} saved; compare with it by `cargo bench -- --baseline {name}`")
        }
        Kept::AsLast => "Baseline saved; the next `cargo bench` compares with this build".to_owned(),
        Kept::LeftAlone => "Baselines are left as they are".to_owned(),
        Kept::NotWorse { base } => format!(
            "A regression is not kept: the next `cargo bench` compares with {base} again; `cargo bench -- \
             --save-baseline {LAST}` accepts it"
        ),
        Kept::NotOpen { base } => format!("Open rows: the next `cargo bench` compares with {base} again"),
        Kept::NotFiltered { base } => {
            format!("Not all kernels ran: the next `cargo bench` compares with {base} again")
        }
    }
}
