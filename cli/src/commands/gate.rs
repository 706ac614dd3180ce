//! `schedlab gate`: is this build slower than that one?
//!
//! ```text
//! BASE, HEAD --worktrees, cargo build--> two binaries --ABBA, one process a run--> throughput rows
//!                          cargo bench --> callgrind files ----------------------> instruction rows
//! ```
//!
//! Instructions are exact and judged by a fifth of a percent; wall clock needs an interval wholly
//! beyond the workload's own fence.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use schedlab_perf_dash::compare::{Comparison, Metric, Pairing, Row};
use schedlab_perf_dash::gate::{REFERENCE_STEPS, instruction_rows, read_counts, reference_kernel, score};
use schedlab_perf_dash::stats::{SAMPLES_MIN, abba_order};
use schedlab_workloads::results::{RunResult, Stage, Status, WorkloadResult, write_atomic};
use schedlab_workloads::suites;

use super::compare::FenceArgs;
use super::gate_build::{self, Build};
use super::verdicts::{OutputArgs, present};
use crate::Exit;
use crate::progress::complain;

/// What to hold against what.
#[derive(Clone, Debug, Args)]
pub(crate) struct GateArgs {
    /// Git revision to hold against, as main or HEAD~1
    #[arg(value_name = "BASE", required_unless_present = "base_bin")]
    base: Option<String>,
    /// Git revision that is judged [default: the working tree as it is]
    #[arg(long, value_name = "REVISION")]
    head: Option<String>,
    /// Take this schedlab binary as base instead of building one
    #[arg(long, value_name = "FILE", requires = "head_bin", conflicts_with = "base")]
    base_bin: Option<PathBuf>,
    /// Take this schedlab binary as head instead of building one
    #[arg(long, value_name = "FILE", requires = "base_bin")]
    head_bin: Option<PathBuf>,
    /// Where worktrees and builds are kept between calls
    #[arg(long, value_name = "DIR", default_value = "target/gate")]
    work: PathBuf,
    /// scheduler_perf config to time instead of the gate's own
    #[arg(long, value_name = "FILE|DIR")]
    config: Option<PathBuf>,
    /// Only workloads whose name matches
    #[arg(long, value_name = "REGEX")]
    filter: Option<String>,
    /// Rounds (A B B A, a process each); fewer when the time is up
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Repeats within a process, the best of which is one sample
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Stop after so many seconds of wall-clock rounds, once there are enough for a verdict
    #[arg(long, value_name = "SECONDS", default_value_t = 25)]
    seconds: u64,
    /// What to measure
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Measure::Both)]
    measure: Measure,
    /// Seed of the order and of the bootstrap
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    fence: FenceArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Measure {
    /// Wall clock and instructions
    Both,
    /// Interleaved runs only
    WallClock,
    /// Callgrind counts only
    Instructions,
}

pub(crate) fn gate(args: &GateArgs) -> Result<Exit> {
    let (base, head) = builds(args)?;
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    if args.measure != Measure::Instructions {
        let samples = wall_clock(args, &base, &head)?;
        let fences = args.fence.fences()?;
        for (workload, [base, head]) in &samples.workloads {
            rows.extend(throughput_rows(workload, base, head, &fences, args.seed));
            notes.extend(score_note(workload, head, &samples.steps_per_s, args.seed));
        }
        notes.push(format!(
            "wall clock: {} round(s) of two processes a build, order from seed {}, a sample is the best of {} repeat(s)",
            samples.rounds, args.seed, args.repeat
        ));
    }
    if args.measure != Measure::WallClock {
        match (&base.source, &head.source) {
            (Some(base), Some(head)) => {
                let counts = |source: &gate_build::Source| -> Result<_> {
                    Ok(read_counts(&gate_build::count_instructions(source)?)?)
                };
                rows.extend(instruction_rows(&counts(base)?, &counts(head)?));
            }
            _ => notes
                .push("instructions were not counted: they need revisions to build, not binaries".to_owned()),
        }
    }
    let mut comparison = Comparison::new("schedlab gate", &base.name, &head.name, rows);
    comparison.notes = notes;
    present(&[comparison], &args.output)
}

fn builds(args: &GateArgs) -> Result<(Build, Build)> {
    if let (Some(base), Some(head)) = (&args.base_bin, &args.head_bin) {
        return Ok((Build::given(base)?, Build::given(head)?));
    }
    let base = args.base.as_deref().context("BASE is missing")?;
    let needs_binary = args.measure != Measure::Instructions;
    let head = match &args.head {
        Some(revision) => Build::of_revision(revision, &args.work, needs_binary)?,
        None => Build::of_working_tree(&args.work, needs_binary)?,
    };
    Ok((Build::of_revision(base, &args.work, needs_binary)?, head))
}

/// A change must be this unlikely to be chance, by the rank test: reached from eight rounds on.
const GATE_LEVEL: f64 = 0.01;

/// What the runs of one build measured of one workload, a value a process.
#[derive(Debug, Default)]
struct Samples {
    throughput: Vec<f64>,
    cycle_mean_us: Vec<f64>,
    scheduled: Vec<u64>,
    trouble: Option<String>,
}

#[derive(Debug, Default)]
struct WallClock {
    workloads: BTreeMap<String, [Samples; 2]>,
    steps_per_s: Vec<f64>,
    rounds: usize,
}

fn wall_clock(args: &GateArgs, base: &Build, head: &Build) -> Result<WallClock> {
    let config = match &args.config {
        Some(config) => config.clone(),
        None => write_suite(&args.work)?,
    };
    let run = |build: &Build, repeat: u32| child(&build.binary, &config, args, repeat);
    // Once each, uncounted: pages of the binary come from disk the first time.
    run(base, 1)?;
    run(head, 1)?;
    let mut all = WallClock::default();
    let started = Instant::now();
    for round in abba_order(2, args.rounds as usize, args.seed) {
        if SAMPLES_MIN <= all.rounds && Duration::from_secs(args.seconds) < started.elapsed() {
            break;
        }
        all.steps_per_s.push(reference_rate());
        for at in round {
            let result = run([base, head][at], args.repeat)?;
            for workload in &result.workloads {
                let samples = all.workloads.entry(workload.name.clone()).or_default();
                samples[at].take(workload);
            }
        }
        all.rounds += 1;
    }
    Ok(all)
}

/// The gate's own suite, written out because the base binary may not know it.
fn write_suite(work: &Path) -> Result<PathBuf> {
    let dir = work.join("suites");
    let config = dir.join("gate/performance-config.yaml");
    write_atomic(&config, include_bytes!("../../suites/gate/performance-config.yaml"))?;
    for (name, content) in suites::EMBEDDED.files.iter().filter(|(name, _)| name.starts_with("templates/")) {
        write_atomic(&dir.join(name), content.as_bytes())?;
    }
    Ok(config)
}

fn child(binary: &Path, config: &Path, args: &GateArgs, repeat: u32) -> Result<RunResult> {
    let mut command = Command::new(binary);
    command
        .args(["run", "--json", "--threads", "1", "--repeat", &repeat.to_string(), "--config"])
        .arg(config);
    if let Some(filter) = &args.filter {
        command.args(["--filter", filter]);
    }
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{}: cannot be started", binary.display()))?;
    if !output.status.success() {
        bail!(
            "{} run ended with {}: {}",
            binary.display(),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{}: `run --json` did not print a result", binary.display()))
}

fn reference_rate() -> f64 {
    let started = Instant::now();
    std::hint::black_box(reference_kernel(std::hint::black_box(1)));
    REFERENCE_STEPS as f64 / started.elapsed().as_secs_f64()
}

impl Samples {
    fn take(&mut self, workload: &WorkloadResult) {
        // The best repeat, not the middle one: other programs only ever make a run slower.
        let repeats = workload.repeats.iter().flat_map(|repeats| &repeats.runs);
        let best = repeats.map(|run| run.throughput.total).fold(workload.throughput.total, f64::max);
        self.throughput.push(best);
        self.scheduled.push(workload.pods.scheduled);
        if let Some(latency) = workload.latency_us.get(&Stage::SchedulingCycle) {
            self.cycle_mean_us.push(latency.mean);
        }
        if workload.status != Status::Completed {
            self.trouble = workload.message.clone();
        }
    }
}

fn throughput_rows(
    workload: &str,
    base: &Samples,
    head: &Samples,
    fences: &schedlab_perf_dash::compare::Fences,
    seed: u64,
) -> Vec<Row> {
    let row = |metric, base: &[f64], head: &[f64]| {
        Row::from_samples(workload, metric, (base, head), Pairing::Rounds, fences.of(workload), seed)
    };
    let mut throughput =
        row(Metric::throughput(), &base.throughput, &head.throughput).needing_p_below(GATE_LEVEL);
    if let Some(trouble) = base.trouble.as_ref().or(head.trouble.as_ref()) {
        throughput = throughput.not_comparable(format!("not comparable: {trouble}"));
    } else if base.scheduled != head.scheduled {
        throughput = throughput
            .not_comparable("not comparable: the builds bound different numbers of pods".to_owned());
    }
    let cycle = row(Metric::cost("cycle mean", "µs"), &base.cycle_mean_us, &head.cycle_mean_us).shown();
    vec![throughput, cycle]
}

/// Head's throughput in units of this machine's yardstick.
fn score_note(workload: &str, head: &Samples, steps_per_s: &[f64], seed: u64) -> Option<String> {
    let is_positive = |values: &[f64]| !values.is_empty() && values.iter().all(|&value| 0.0 < value);
    if !is_positive(&head.throughput) || !is_positive(steps_per_s) {
        complain(&format!("schedlab: {workload} has no throughput, so no score"));
        return None;
    }
    let score = score(&head.throughput, steps_per_s, seed);
    Some(format!(
        "score of {workload}: {:.1} pods per million reference steps ({:.1} … {:.1}), comparable between machines",
        score.score, score.low, score.high
    ))
}
