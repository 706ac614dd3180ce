//! `schedlab gate`: is this build slower than that one?
//!
//! ```text
//! BASE, HEAD --worktrees, cargo--> two builds --schedlab_lab::gate--> rows --> a table, an exit code
//! ```

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use schedlab_lab::build::{self, Build};
use schedlab_lab::gate::{
    Filter, KernelPlan, KernelReport, WorkloadPlan, judge_workloads, stay_on_core, write_suite,
};

use super::measure::MeasureArgs;
use super::verdicts::{OutputArgs, present};
use crate::progress::{notice, say};
use crate::{Exit, signals};

/// What to hold against what.
#[derive(Clone, Debug, Args)]
pub(crate) struct GateArgs {
    /// Git revision to hold against, as main or HEAD~1
    #[arg(value_name = "BASE", required_unless_present_any = ["base_kernels", "base_bin"])]
    base: Option<String>,
    /// Git revision that is judged [default: the working tree as it is]
    #[arg(long, value_name = "REVISION")]
    head: Option<String>,
    /// Only kernels and workloads whose name matches
    #[arg(long, value_name = "REGEX")]
    filter: Option<String>,
    /// Hold BASE against itself so often, and add what that shows to the history of noise
    #[arg(long, value_name = "N")]
    calibrate: Option<u32>,
    /// Also run whole workloads end to end (builds the whole program of both revisions)
    #[arg(long)]
    workloads: bool,
    /// scheduler_perf config of those workloads, instead of the gate's own
    #[arg(long, value_name = "FILE|DIR")]
    config: Option<PathBuf>,
    /// Rounds of the workloads (A B B A, a process each); fewer when the time is up
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Repeats within such a process, the best of which is one sample
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Take these gate-kernels as base instead of building them
    #[arg(long, value_name = "FILE", requires = "head_kernels", conflicts_with = "base")]
    base_kernels: Option<PathBuf>,
    /// Take these gate-kernels as head instead of building them
    #[arg(long, value_name = "FILE", requires = "base_kernels")]
    head_kernels: Option<PathBuf>,
    /// Take this schedlab binary as base of the workloads instead of building one
    #[arg(long, value_name = "FILE", requires = "head_bin", conflicts_with = "base")]
    base_bin: Option<PathBuf>,
    /// Take this schedlab binary as head of the workloads instead of building one
    #[arg(long, value_name = "FILE", requires = "base_bin")]
    head_bin: Option<PathBuf>,
    /// Build both, say where the kernels are, and measure nothing
    #[arg(long, conflicts_with_all = ["calibrate", "base_kernels", "base_bin"])]
    build_only: bool,
    /// Features of schedlab-benches that head is built with, for scripts/gate-proof
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide = true)]
    head_features: Vec<String>,
    #[command(flatten)]
    how: MeasureArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// The two sides.
struct Sides {
    names: [String; 2],
    kernels: Option<[PathBuf; 2]>,
    binaries: Option<[PathBuf; 2]>,
}

pub(crate) fn gate(args: &GateArgs) -> Result<Exit> {
    let filter = Filter::new(args.filter.as_deref()).context("--filter")?;
    let interrupt = signals::listen();
    let sides = sides(args, interrupt)?;
    if let Some([base, head]) = sides.kernels.as_ref().filter(|_| args.build_only) {
        say(&format!("base: {}\nhead: {}", base.display(), head.display()));
        return Ok(Exit::Fine);
    }
    // After the builds: they want all cores.
    let pinned = stay_on_core(args.how.cpu)?;
    let plan = args.how.plan()?;
    let started = Instant::now();
    let mut report = KernelReport::default();
    if let Some(kernels) = &sides.kernels {
        if let Some(count) = args.calibrate {
            return calibrate(&plan, &kernels[0], &filter, count);
        }
        plan.judge(kernels, &filter, &mut report, interrupt)?;
    }
    if let Some(binaries) = sides.binaries.as_ref().filter(|_| !report.is_partial) {
        run_workloads(args, binaries, &mut report)?;
    }
    report.notes.push(format!("{pinned}; measured in {:.1} s", started.elapsed().as_secs_f64()));
    let is_partial = report.is_partial;
    let exit = present(&[report.comparison("schedlab gate", &sides.names)?], &args.output, "gate")?;
    Ok(if is_partial { Exit::Interrupted } else { exit })
}

fn calibrate(plan: &KernelPlan, kernels: &Path, filter: &Filter, count: u32) -> Result<Exit> {
    if count == 0 {
        bail!("--calibrate 0 measures nothing; give at least 8");
    }
    let calibrated = plan.calibrate(kernels, filter, count, (&notice, signals::flag()))?;
    if signals::is_interrupted() {
        return Ok(Exit::Interrupted);
    }
    for calibrated in calibrated {
        let from = if calibrated.is_known { "its history" } else { "a guess: too few measurements" };
        say(&format!("{}: fence ±{:.2} %, {from}", calibrated.kernel, calibrated.fence * 100.0));
    }
    say(&format!("Written: {}", plan.noise_file.display()));
    Ok(Exit::Fine)
}

fn sides(args: &GateArgs, interrupt: &AtomicBool) -> Result<Sides> {
    let pair = |one: &Option<PathBuf>, other: &Option<PathBuf>| match (one, other) {
        (Some(one), Some(other)) => Ok(Some([build::given(one)?, build::given(other)?])),
        _ => anyhow::Ok(None),
    };
    let kernels = pair(&args.base_kernels, &args.head_kernels)?;
    let binaries = pair(&args.base_bin, &args.head_bin)?;
    if let Some([base, head]) = kernels.as_ref().or(binaries.as_ref()) {
        let names = [base, head].map(|path| path.display().to_string());
        return Ok(Sides { names, kernels, binaries });
    }
    let base = Build::of_revision(args.base.as_deref().context("BASE is missing")?, &args.how.work)?;
    if args.calibrate.is_some() {
        let kernels = base.kernels(&notice, interrupt)?;
        return Ok(Sides {
            names: [base.name.clone(), base.name],
            kernels: Some([kernels.clone(), kernels]),
            binaries: None,
        });
    }
    let head = match &args.head {
        Some(revision) => Build::of_revision(revision, &args.how.work)?,
        None => Build::of_working_tree(&args.how.work)?,
    };
    let head = head.with_features(&args.head_features);
    let kernels = Some([base.kernels(&notice, interrupt)?, head.kernels(&notice, interrupt)?]);
    let binaries = if args.workloads {
        Some([base.schedlab(&notice, interrupt)?, head.schedlab(&notice, interrupt)?])
    } else {
        None
    };
    Ok(Sides { names: [base.name, head.name], kernels, binaries })
}

fn run_workloads(args: &GateArgs, binaries: &[PathBuf; 2], report: &mut KernelReport) -> Result<()> {
    let config = match &args.config {
        Some(config) => config.clone(),
        None => write_suite(&args.how.work)?,
    };
    let plan = WorkloadPlan {
        config,
        filter: args.filter.clone(),
        rounds: args.rounds as usize,
        repeat: args.repeat,
        seconds_max: args.how.seconds,
        seed: args.how.seed,
    };
    let fences = args.how.fence.fences()?;
    Ok(judge_workloads(binaries, &plan, &fences, report, (&notice, signals::flag()))?)
}
