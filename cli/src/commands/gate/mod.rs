//! `schedlab gate`: is this build slower than that one?
//!
//! ```text
//! BASE, HEAD --worktrees, cargo--> two builds --wall_clock--> sessions of ABBA quartets -> rows
//!                                             --counts------> callgrind's files --------> rows
//!                                             --workloads---> a process a run ----------> rows
//! ```
//!
//! Instructions are exact and judged by a fifth of a percent; wall clock needs an interval wholly
//! beyond the kernel's own fence, which [`noise`] takes from a history of builds against themselves.

pub(crate) mod build;
mod counts;
mod cpu;
mod noise;
mod server;
mod wall_clock;
pub(crate) mod workloads;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use regex::Regex;
use schedlab_perf_dash::compare::{Comparison, Row};

use super::compare::FenceArgs;
use super::verdicts::{OutputArgs, present};
use crate::Exit;
use crate::progress::{complain, say};
use build::Build;
use noise::KernelFences;
use wall_clock::{Effort, WallClock};

/// What to hold against what.
#[derive(Clone, Debug, Args)]
pub(crate) struct GateArgs {
    /// Git revision to hold against, as main or HEAD~1
    #[arg(value_name = "BASE", required_unless_present_any = ["base_kernels", "base_bin"])]
    base: Option<String>,
    /// Git revision that is judged [default: the working tree as it is]
    #[arg(long, value_name = "REVISION")]
    head: Option<String>,
    /// Kernels to measure: short gives a verdict in seconds, full looks at every plugin
    #[arg(long, value_name = "SUITE", value_enum, default_value_t = Suite::Full)]
    suite: Suite,
    /// Only kernels and workloads whose name matches
    #[arg(long, value_name = "REGEX")]
    filter: Option<String>,
    /// What to measure
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Measure::Both)]
    measure: Measure,
    /// Pairs of processes that the wall clock is measured with
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u16).range(1..=1000))]
    sessions: u16,
    /// A B B A in each of them, of about a millisecond a turn
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    quartets: u16,
    /// Start no new session or round after so many seconds, once there are enough for a verdict
    #[arg(long, value_name = "SECONDS", default_value_t = 150)]
    seconds: u64,
    /// The core that both builds take turns on [default: the one with most idle time]
    #[arg(long, value_name = "N")]
    cpu: Option<usize>,
    /// Hold BASE against itself so often, and add what that shows to the history of noise
    #[arg(long, value_name = "N")]
    calibrate: Option<u32>,
    /// The history of noise: fences are the third quartile plus three interquartile ranges of it
    /// [default: noise.jsonl in --work]
    #[arg(long, value_name = "FILE")]
    noise: Option<PathBuf>,
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
    /// Seed of the order and of the bootstrap
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Where worktrees, builds and the history of noise are kept between calls
    #[arg(long, value_name = "DIR", default_value = "target/gate")]
    work: PathBuf,
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
    fence: FenceArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Which kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// The hot path in three kernels
    Short,
    /// Every plugin and way to decide
    Full,
}

impl Suite {
    fn name(self) -> &'static str {
        match self {
            Suite::Short => "short",
            Suite::Full => "full",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Measure {
    /// Wall clock and instructions
    Both,
    /// Times only
    WallClock,
    /// Callgrind counts only
    Instructions,
}

/// Which names.
struct Filter(Option<Regex>);

impl Filter {
    fn takes(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|regex| regex.is_match(name))
    }
}

/// The two sides.
struct Sides {
    names: [String; 2],
    kernels: Option<[PathBuf; 2]>,
    binaries: Option<[PathBuf; 2]>,
}

/// What the parts of the gate put together.
#[derive(Default)]
struct Report {
    rows: Vec<Row>,
    notes: Vec<String>,
    unmatched: Vec<String>,
}

pub(crate) fn gate(args: &GateArgs) -> Result<Exit> {
    let filter = args.filter.as_deref().map(Regex::new).transpose().context("--filter")?;
    let filter = Filter(filter);
    let sides = sides(args)?;
    if let Some([base, head]) = sides.kernels.as_ref().filter(|_| args.build_only) {
        say(&format!("base: {}\nhead: {}", base.display(), head.display()));
        return Ok(Exit::Fine);
    }
    // After the builds: they want all cores.
    let pinned = cpu::stay_on(args.cpu)?;
    let started = Instant::now();
    let mut report = Report::default();
    if let Some(kernels) = &sides.kernels {
        let places = Places::copy(&args.work, kernels)?;
        if let Some(count) = args.calibrate {
            return calibrate(args, &places, &filter, count);
        }
        if args.measure != Measure::WallClock {
            count(args, &places, &filter, &mut report)?;
        }
        if args.measure != Measure::Instructions {
            time(args, &places, &filter, &mut report)?;
        }
    }
    if let Some([base, head]) = &sides.binaries {
        run_workloads(args, base, head, &mut report)?;
    }
    let [base, head] = &sides.names;
    let mut comparison = Comparison::new("schedlab gate", base, head, report.rows);
    comparison.notes = report.notes;
    comparison.notes.push(format!("{pinned}; measured in {:.1} s", started.elapsed().as_secs_f64()));
    comparison.unmatched = report.unmatched;
    present(&[comparison], &args.output, "gate")
}

fn sides(args: &GateArgs) -> Result<Sides> {
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
    let base = Build::of_revision(args.base.as_deref().context("BASE is missing")?, &args.work)?;
    if args.calibrate.is_some() {
        let kernels = base.kernels()?;
        return Ok(Sides {
            names: [base.name.clone(), base.name],
            kernels: Some([kernels.clone(), kernels]),
            binaries: None,
        });
    }
    let head = match &args.head {
        Some(revision) => Build::of_revision(revision, &args.work)?,
        None => Build::of_working_tree(&args.work)?,
    };
    let head = head.with_features(&args.head_features);
    let kernels = Some([base.kernels()?, head.kernels()?]);
    let binaries = if args.workloads { Some([base.schedlab()?, head.schedlab()?]) } else { None };
    Ok(Sides { names: [base.name, head.name], kernels, binaries })
}

/// Copies of the binaries under paths of one length: a program's own path lies on its stack, and
/// where the stack lies changes times and even counts.
struct Places {
    home: PathBuf,
    base: PathBuf,
    head: PathBuf,
}

impl Places {
    fn copy(work: &Path, [base, head]: &[PathBuf; 2]) -> Result<Places> {
        let home = std::path::absolute(work.join(format!("run-{:07}", std::process::id())))?;
        let place = |side: &str, binary: &Path| -> Result<PathBuf> {
            let folder = home.join(side);
            std::fs::create_dir_all(&folder)
                .with_context(|| format!("{}: cannot be made", folder.display()))?;
            let file = folder.join("gate-kernels");
            std::fs::copy(binary, &file)
                .with_context(|| format!("{}: cannot be copied", binary.display()))?;
            Ok(file)
        };
        Ok(Places { base: place("base", base)?, head: place("head", head)?, home })
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

fn count(args: &GateArgs, places: &Places, filter: &Filter, report: &mut Report) -> Result<()> {
    let Some(valgrind) = counts::valgrind() else {
        if args.measure == Measure::Instructions {
            bail!(
                "valgrind is not in PATH, so instructions cannot be counted; `apt-get install valgrind` has it"
            );
        }
        report.notes.push("instructions were not counted: valgrind is not in PATH".to_owned());
        return Ok(());
    };
    let counted = counts::count(&valgrind, (&places.base, &places.head), args.suite, filter, &places.home)?;
    let is_same = |row: &&Row| row.base == row.head;
    report.notes.push(format!(
        "instructions: {} of {} counts are equal to the instruction",
        counted.rows.iter().filter(is_same).count(),
        counted.rows.len()
    ));
    report.rows.extend(counted.rows);
    report.unmatched.extend(counted.unmatched);
    Ok(())
}

fn time(args: &GateArgs, places: &Places, filter: &Filter, report: &mut Report) -> Result<()> {
    let measured = wall_clock::measure(&places.base, &places.head, effort(args, args.seed), filter)?;
    let fences = kernel_fences(args, &measured)?;
    report.rows.extend(measured.rows(&fences, args.seed));
    report.notes.extend(measured.score_notes(args.seed));
    report.notes.push(format!(
        "wall clock: {} sessions of {} quartets, order from seed {}",
        measured.session_count(),
        args.quartets,
        args.seed
    ));
    if measured.kernels.iter().any(|kernel| !fences.knows(&kernel.path)) {
        report.notes.push(format!(
            "fences of {} % are a guess: `schedlab gate BASE --calibrate 20` measures this machine's own",
            args.fence.fence
        ));
    }
    report.unmatched.extend(measured.unmatched);
    Ok(())
}

fn effort(args: &GateArgs, seed: u64) -> Effort {
    Effort {
        suite: args.suite,
        sessions: usize::from(args.sessions),
        quartets: usize::from(args.quartets),
        seconds_max: args.seconds,
        seed,
    }
}

fn noise_file(args: &GateArgs) -> PathBuf {
    args.noise.clone().unwrap_or_else(|| args.work.join("noise.jsonl"))
}

fn kernel_fences(args: &GateArgs, measured: &WallClock) -> Result<KernelFences> {
    let key = measured.noise_key(usize::from(args.quartets));
    KernelFences::read(&noise_file(args), &key, args.fence.checked()?)
}

fn calibrate(args: &GateArgs, places: &Places, filter: &Filter, count: u32) -> Result<Exit> {
    let file = noise_file(args);
    let mut last = None;
    for at in 0..count {
        let effort = effort(args, args.seed.wrapping_add(u64::from(at)));
        let measured = wall_clock::measure(&places.base, &places.base, effort, filter)?;
        noise::remember(&file, &measured.noise_key(effort.quartets), &measured.kernels)?;
        complain(&format!("schedlab: calibration {} of {count}", at + 1));
        last = Some(measured);
    }
    let Some(measured) = last else { bail!("--calibrate 0 measures nothing; give at least 8") };
    let fences = kernel_fences(args, &measured)?;
    for kernel in &measured.kernels {
        let fence = fences.of(&kernel.path);
        let from = if fences.knows(&kernel.path) { "its history" } else { "a guess: too few measurements" };
        say(&format!("{}: fence ±{:.2} %, {from}", kernel.path, fence.relative * 100.0));
    }
    say(&format!("Written: {}", file.display()));
    Ok(Exit::Fine)
}

fn run_workloads(args: &GateArgs, base: &Path, head: &Path, report: &mut Report) -> Result<()> {
    let config = match &args.config {
        Some(config) => config.clone(),
        None => workloads::write_suite(&args.work)?,
    };
    let plan = workloads::Rounds {
        config,
        filter: args.filter.clone(),
        rounds: args.rounds as usize,
        repeat: args.repeat,
        seconds_max: args.seconds,
        seed: args.seed,
    };
    let ran = workloads::run(base, head, &plan)?;
    report.rows.extend(ran.rows(&args.fence.fences()?, args.seed));
    report.notes.extend(ran.score_notes(args.seed));
    report.notes.push(format!(
        "workloads: {} round(s) of two processes a build, order from seed {}, a sample is the best of {} repeat(s)",
        ran.round_count(),
        args.seed,
        args.repeat
    ));
    Ok(())
}
