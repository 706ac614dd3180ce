//! `schedlab profile`: where the time of a workload's measured part goes, and who allocates in it.

mod allocations;
mod counters;
mod diff;
mod draw;
mod sampler;
mod show;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use pprof::Report;
use pprof::protos::Message as _;
use schedlab_perf_dash::folded::{self, Stacks};
use schedlab_perf_dash::history::ProfileSummary;
use schedlab_perf_dash::profile::{frame_name, shares};
use schedlab_workloads::executor::{ConfigFile, Control, Ending};
use schedlab_workloads::lab_plugins;
use schedlab_workloads::resolve::{ResolvedWorkload, SUPPORTED_OPCODES, runnable};
use schedlab_workloads::results::write_atomic;

use super::{run, select};
use crate::args::RunArgs;
use crate::progress::complain;
use crate::{Exit, alloc, signals};

use allocations::Allocations;
use counters::Counters;
use draw::Drawing;
use sampler::{Look, Sampler};

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
    let counters = args.counters.then(Counters::open);
    let sampler = Sampler::new(&workload, Look::Cpu { frequency: args.frequency, counters })?;
    let pods = sample(args, &workload, &sampler, &interrupt)?;
    let mut state = sampler.lock();
    let seconds = state.sampled.as_secs_f64();
    let report =
        state.report.take().context("no sample was taken; give a larger workload or more --seconds")?;
    let stacks = stacks_of(&report);
    let samples: u64 = stacks.values().sum();
    if samples == 0 {
        bail!("no sample was taken in {seconds:.3} s; give a larger workload or more --seconds");
    }
    let found = if args.skip_allocations || interrupt.load(Ordering::Relaxed) {
        None
    } else {
        Some(count_allocations(args, &workload, &interrupt)?)
    };
    let drawing = Drawing { title: &workload.full_name, subtitle: None, unit: "samples" };
    let summary = ProfileSummary {
        workload: workload.full_name.clone(),
        samples,
        pods,
        seconds,
        shares: shares(&stacks),
        flamegraph_svg: Some(draw::flamegraph(&drawing, &folded::lines(&stacks))?),
        allocations: found
            .iter()
            .flat_map(|(found, _)| found.sites.iter().take(SITES_KEPT).cloned())
            .collect(),
    };
    write_cpu(&out, &summary, &stacks, &report)?;
    show::cpu(&summary, args.frequency);
    if let Some((found, pods)) = &found {
        write_allocations(&out, &workload, found)?;
        show::allocations(found, *pods);
    }
    if let Some(counters) = state.counters() {
        show::counters(&counters.text(pods));
    }
    show::files(&out, found.is_some());
    Ok(if interrupt.load(Ordering::Relaxed) { Exit::Interrupted } else { Exit::Fine })
}

/// Call sites that a recorded profile keeps.
const SITES_KEPT: usize = 40;

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
    if let Err(reason) = runnable(&workload, SUPPORTED_OPCODES) {
        bail!("{}: {reason}", workload.full_name);
    }
    Ok(workload)
}

/// Runs the workload until its measured part was sampled for long enough. Pods scheduled meanwhile.
fn sample(
    args: &ProfileArgs,
    workload: &ResolvedWorkload,
    sampler: &Sampler<'_>,
    interrupt: &AtomicBool,
) -> Result<u64> {
    let mut pods = 0;
    loop {
        pods += run_sampled(args, workload, sampler, interrupt)?;
        let sampled = sampler.lock().sampled;
        if Duration::from_secs(args.seconds) <= sampled || interrupt.load(Ordering::Relaxed) {
            return Ok(pods);
        }
        if sampled.is_zero() {
            bail!(
                "{}: it has no measured part (collectMetrics), so there is nothing to profile",
                workload.full_name
            );
        }
    }
}

fn run_sampled(
    args: &ProfileArgs,
    workload: &ResolvedWorkload,
    sampler: &Sampler<'_>,
    interrupt: &AtomicBool,
) -> Result<u64> {
    let registry = lab_plugins::registry();
    let control =
        Control { interrupt, progress: sampler, registry: &registry, config_file: ConfigFile::Fixed };
    let outcome = run::run_once(&args.run, workload, control)?;
    sampler.pause()?;
    if let Ending::Stuck(why) = &outcome.ending {
        complain(&format!("schedlab: {}: the run ended early: {why}", workload.full_name));
    }
    Ok(outcome.collected.iter().map(|part| part.scheduled).sum())
}

fn count_allocations(
    args: &ProfileArgs,
    workload: &ResolvedWorkload,
    interrupt: &AtomicBool,
) -> Result<(Allocations, u64)> {
    let sampler = Sampler::new(workload, Look::Allocations)?;
    let pods = run_sampled(args, workload, &sampler, interrupt)?;
    Ok((allocations::resolve(&alloc::take_counted()), pods))
}

/// Stacks by function names, outermost first, inlined functions as frames of their own.
fn stacks_of(report: &Report) -> Stacks {
    let mut stacks: Stacks = BTreeMap::new();
    for (frames, &count) in &report.data {
        let names = frames.frames.iter().rev().flat_map(|inlined| inlined.iter().rev());
        let mut stack = vec![frames.thread_name_or_id()];
        stack.extend(names.map(|symbol| frame_name(&symbol.name(), &symbol.filename())));
        *stacks.entry(stack).or_default() += u64::try_from(count).unwrap_or(0);
    }
    stacks
}

fn write_cpu(dir: &Path, summary: &ProfileSummary, stacks: &Stacks, report: &Report) -> Result<()> {
    let svg = summary.flamegraph_svg.as_deref().unwrap_or_default();
    write_atomic(&dir.join("flamegraph.svg"), svg.as_bytes())?;
    write_atomic(&dir.join("stacks.folded"), (folded::lines(stacks).join("\n") + "\n").as_bytes())?;
    let protobuf = report.pprof().context("the profile could not be written as protobuf")?;
    write_atomic(&dir.join("profile.pb"), &protobuf.encode_to_vec())?;
    let json = serde_json::to_vec(summary).context("the profile could not be written as JSON")?;
    write_atomic(&dir.join("profile.json"), &json)?;
    Ok(())
}

fn write_allocations(dir: &Path, workload: &ResolvedWorkload, found: &Allocations) -> Result<()> {
    if found.stacks.is_empty() {
        return Ok(());
    }
    let lines = folded::lines(&found.stacks);
    let title = format!("{}, bytes allocated", workload.full_name);
    let svg = draw::flamegraph(&Drawing { title: &title, subtitle: None, unit: "bytes" }, &lines)?;
    write_atomic(&dir.join("allocations.svg"), svg.as_bytes())?;
    write_atomic(&dir.join("allocations.folded"), (lines.join("\n") + "\n").as_bytes())?;
    let json =
        serde_json::to_vec_pretty(&found.sites).context("the allocations could not be written as JSON")?;
    write_atomic(&dir.join("allocations.json"), &json)?;
    Ok(())
}
