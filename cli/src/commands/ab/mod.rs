//! `schedlab ab`: variants of a workload, interleaved in one run.
//!
//! A variant is a set of flags of `schedlab run`, run in this process, or a git revision, built and
//! run in a process of its own.

mod variant;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use clap::Args;
use schedlab_perf_dash::compare::{Comparison, Metric, Pairing, Row};
use schedlab_perf_dash::stats::{ROUND, abba_order};
use schedlab_workloads::assemble::{Assembly, Run, workload_results};
use schedlab_workloads::executor::{ConfigFile, Control, NoProgress};
use schedlab_workloads::lab_plugins;
use schedlab_workloads::resolve::{ResolvedWorkload, SUPPORTED_OPCODES, runnable};
use schedlab_workloads::results::{Stage, Status, WorkloadResult};

use self::variant::{Program, Variant};
pub(crate) use self::variant::{parse_flags, split_words};
use super::compare::FenceArgs;
use super::gate::workloads::run_json_unless;
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

/// What the runs of one variant measured, in the order they ran.
#[derive(Clone, Debug, Default)]
struct Samples {
    throughput: Vec<f64>,
    cycle_mean_us: Vec<f64>,
    end_to_end_p99_us: Vec<f64>,
    /// Pods bound in each run: the same for all, or the times do not count.
    scheduled: Vec<u64>,
    trouble: Option<String>,
}

pub(crate) fn ab(args: &AbArgs) -> Result<Exit> {
    let variants = variants(args)?;
    let fences = args.fence.fences()?;
    let interrupt = signals::listen();
    let mut rows: Vec<Vec<Row>> = vec![Vec::new(); variants.len()];
    for selected in select::workloads(&args.select, Some(run::DEFAULT_LABELS))? {
        let workload = selected.workload?;
        if let Err(reason) = runnable(&workload, SUPPORTED_OPCODES) {
            complain(&format!("schedlab: {} is skipped: {reason}", workload.full_name));
            continue;
        }
        let samples = measure(args, &variants, &workload, &interrupt)?;
        let fence = fences.of(&workload.full_name);
        for (head, rows) in samples.iter().zip(&mut rows).skip(1) {
            rows.extend(rows_of(&workload.full_name, &samples[0], head, fence, args.order_seed));
        }
        if interrupt.load(std::sync::atomic::Ordering::Relaxed) {
            break;
        }
    }
    let is_cut_short = interrupt.load(std::sync::atomic::Ordering::Relaxed);
    if rows[1].is_empty() && is_cut_short {
        complain("schedlab: interrupted before anything was compared");
        return Ok(Exit::Interrupted);
    }
    if rows[1].is_empty() {
        bail!("no workload could run; `schedlab list` with the same --suite or --config shows why");
    }
    let how = if args.revisions.is_empty() { "in one process" } else { "a process a run" };
    let comparisons: Vec<Comparison> = variants
        .iter()
        .zip(rows)
        .skip(1)
        .map(|(head, rows)| {
            let mut comparison =
                Comparison::new("schedlab ab", &variants[0].described(), &head.described(), rows);
            comparison.notes.push(format!(
                "interleaved, {how}: up to {} rounds of {ROUND} runs a variant, order from seed {}, {} warm-up run(s)",
                args.rounds, args.order_seed, args.warm_up
            ));
            if is_cut_short { comparison.cut_short() } else { comparison }
        })
        .collect();
    let exit = present(&comparisons, &args.output, "comparison")?;
    Ok(if is_cut_short { Exit::Interrupted } else { exit })
}

fn variants(args: &AbArgs) -> Result<Vec<Variant>> {
    let read = |text: &String| Variant::of_flags(text, &args.all);
    let built = |text: &String| Variant::of_revision(text, &args.all, &args.work);
    let variants: Vec<Variant> = match args.revisions.as_slice() {
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
    Ok(variants)
}

fn measure(
    args: &AbArgs,
    variants: &[Variant],
    workload: &ResolvedWorkload,
    interrupt: &AtomicBool,
) -> Result<Vec<Samples>> {
    let registry = lab_plugins::registry();
    let control =
        Control { interrupt, progress: &NoProgress, registry: &registry, config_file: ConfigFile::Fixed };
    let mut samples = vec![Samples::default(); variants.len()];
    let run_once = |variant: &Variant| -> Result<Option<WorkloadResult>> {
        match &variant.program {
            Program::Here(flags) => {
                let outcome = run::run_once(flags, workload, control)?;
                let assembly = Assembly::without_warnings(workload, run::settings(flags));
                // The last measured part: earlier ones, where a workload has several, set the stage.
                Ok(workload_results(&assembly, &[Run { outcome, machine_speed: None }]).pop())
            }
            Program::Built { binary, flags } => run_built((binary, flags), &args.select, workload, interrupt),
        }
    };
    for _ in 0..args.warm_up {
        for variant in variants {
            run_once(variant)?;
        }
    }
    for round in abba_order(variants.len(), args.rounds as usize, args.order_seed) {
        for at in round {
            let result = run_once(&variants[at])?;
            if interrupt.load(std::sync::atomic::Ordering::Relaxed) {
                return Ok(samples);
            }
            if let Some(result) = result {
                samples[at].take(&result);
            }
        }
    }
    Ok(samples)
}

/// The workload, by another build.
fn run_built(
    (binary, flags): (&Path, &[String]),
    select: &SelectArgs,
    workload: &ResolvedWorkload,
    interrupt: &AtomicBool,
) -> Result<Option<WorkloadResult>> {
    let only = format!("^{}$", regex::escape(&workload.full_name));
    let mut args = vec!["--filter", only.as_str()];
    if let Some(suite) = &select.suite {
        args.extend(["--suite", suite]);
    }
    let configs: Vec<String> = select.config.iter().map(|path| path.display().to_string()).collect();
    args.extend(configs.iter().flat_map(|config| ["--config", config]));
    args.extend(flags.iter().map(String::as_str));
    Ok(run_json_unless(interrupt, binary, &args)?.and_then(|mut result| result.workloads.pop()))
}

impl Samples {
    fn take(&mut self, result: &WorkloadResult) {
        self.throughput.push(result.throughput.total);
        self.scheduled.push(result.pods.scheduled);
        if let Some(latency) = result.latency_us.get(&Stage::SchedulingCycle) {
            self.cycle_mean_us.push(latency.mean);
        }
        if let Some(latency) = result.latency_us.get(&Stage::EndToEnd) {
            self.end_to_end_p99_us.push(latency.p99);
        }
        if result.status != Status::Completed {
            self.trouble = result.message.clone();
        }
    }
}

fn rows_of(
    workload: &str,
    base: &Samples,
    head: &Samples,
    fence: schedlab_perf_dash::stats::Fence,
    seed: u64,
) -> Vec<Row> {
    let row = |metric, base: &[f64], head: &[f64]| {
        Row::from_samples(workload, metric, (base, head), Pairing::Rounds, fence, seed)
    };
    let mut throughput = row(Metric::throughput(), &base.throughput, &head.throughput);
    let (mut counts, trouble) =
        (base.scheduled.iter().chain(&head.scheduled), base.trouble.as_ref().or(head.trouble.as_ref()));
    let first = counts.next().copied();
    if let Some(trouble) = trouble {
        throughput = throughput.not_comparable(format!("not comparable: {trouble}"));
    } else if let Some(other) = counts.find(|count| Some(**count) != first) {
        let first = first.unwrap_or(0);
        throughput = throughput.not_comparable(format!(
            "not comparable: {first} pods were bound in one run and {other} in another"
        ));
    }
    let mut rows = vec![throughput];
    let latencies = [
        ("cycle mean", &base.cycle_mean_us, &head.cycle_mean_us),
        ("end to end p99", &base.end_to_end_p99_us, &head.end_to_end_p99_us),
    ];
    for (name, base, head) in latencies {
        if !base.is_empty() && !head.is_empty() {
            rows.push(row(Metric::cost(name, "µs"), base, head).shown());
        }
    }
    rows
}
