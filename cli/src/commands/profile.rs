//! `schedlab profile`: where the time of a workload's measured part goes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use pprof::protos::Message as _;
use pprof::{ProfilerGuard, Report};
use schedlab_perf_dash::format;
use schedlab_perf_dash::history::{ProfileSummary, Share};
use schedlab_perf_dash::profile::{KINDS, frame_name, shares};
use schedlab_workloads::executor::{ConfigFile, Control, Progress};
use schedlab_workloads::lab_plugins;
use schedlab_workloads::ops::ResolvedOp;
use schedlab_workloads::resolve::{ResolvedWorkload, SUPPORTED_OPCODES, runnable};
use schedlab_workloads::results::write_atomic;

use super::{run, select};
use crate::Exit;
use crate::args::RunArgs;
use crate::progress::say;
use crate::table::{Align, render};

/// What to profile.
#[derive(Clone, Debug, Args)]
pub(crate) struct ProfileArgs {
    /// Regular expression that one workload's name, TestCase/Workload, matches
    #[arg(value_name = "WORKLOAD")]
    workload: String,
    #[command(flatten)]
    run: RunArgs,
    /// Samples a second of CPU time
    #[arg(long, value_name = "N", default_value_t = 997, value_parser = clap::value_parser!(i32).range(1..=10_000))]
    frequency: i32,
    /// Run the workload again until its measured part has been sampled for so long
    #[arg(long, value_name = "SECONDS", default_value_t = 3)]
    seconds: u64,
}

const DEFAULT_OUT: &str = "schedlab-profile";

pub(crate) fn profile(args: &ProfileArgs) -> Result<Exit> {
    let workload = the_workload(args)?;
    let out = args.run.out.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_OUT));
    let sampler = Sampler::new(&workload, args.frequency)?;
    let interrupt = run::listen_for_interrupt();
    let mut pods = 0;
    loop {
        let registry = lab_plugins::registry();
        let control = Control {
            interrupt: &interrupt,
            progress: &sampler,
            registry: &registry,
            config_file: ConfigFile::Fixed,
        };
        let outcome = run::run_once(&args.run, &workload, control)?;
        sampler.pause()?;
        pods += outcome.collected.iter().map(|part| part.scheduled).sum::<u64>();
        let is_over = Duration::from_secs(args.seconds) <= sampler.lock().sampled;
        if is_over || interrupt.load(std::sync::atomic::Ordering::Relaxed) {
            break;
        }
        if sampler.lock().sampled.is_zero() {
            bail!(
                "{}: it has no measured part (collectMetrics), so there is nothing to profile",
                workload.full_name
            );
        }
    }
    let mut state = sampler.lock();
    let seconds = state.sampled.as_secs_f64();
    let report =
        state.report.take().context("no sample was taken; give a larger workload or more --seconds")?;
    let stacks = stacks_of(&report);
    let samples: u64 = stacks.values().sum();
    if samples == 0 {
        bail!("no sample was taken in {seconds:.3} s; give a larger workload or more --seconds");
    }
    let summary = ProfileSummary {
        workload: workload.full_name.clone(),
        samples,
        pods,
        seconds,
        shares: shares(&stacks),
        flamegraph_svg: Some(flamegraph(&workload.full_name, &stacks)?),
    };
    write_files(&out, &summary, &stacks, &report)?;
    print_summary(&summary, &out);
    Ok(Exit::Fine)
}

fn the_workload(args: &ProfileArgs) -> Result<ResolvedWorkload> {
    let mut selection = args.run.select.clone();
    if selection.filter.is_some() {
        bail!("--filter: name the workload as WORKLOAD instead");
    }
    selection.filter = Some(args.workload.clone());
    let mut found = select::workloads(&selection, None)?;
    if 1 < found.len() {
        let names: Vec<&str> = found.iter().take(5).map(|one| one.full_name.as_str()).collect();
        bail!(
            "{:?} matches {} workloads ({}, ...); profile one at a time",
            args.workload,
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

/// Samples while an op that is measured runs, and only then.
struct Sampler<'a> {
    workload: &'a ResolvedWorkload,
    frequency: i32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: Option<(ProfilerGuard<'static>, Instant)>,
    report: Option<Report>,
    sampled: Duration,
    failed: Option<String>,
}

impl<'a> Sampler<'a> {
    fn new(workload: &'a ResolvedWorkload, frequency: i32) -> Result<Sampler<'a>> {
        // The first guard loads the unwinder's tables; better now than inside the measured part.
        drop(ProfilerGuard::new(frequency).context("the profiler cannot be started on this system")?);
        Ok(Sampler { workload, frequency, state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends sampling, if it is on, and keeps what was sampled.
    fn pause(&self) -> Result<()> {
        let mut state = self.lock();
        state.pause();
        match state.failed.take() {
            Some(why) => bail!("the profiler failed: {why}"),
            None => Ok(()),
        }
    }
}

impl State {
    fn pause(&mut self) {
        let Some((guard, started)) = self.running.take() else { return };
        self.sampled += started.elapsed();
        match guard.report().build() {
            Err(error) => self.failed = Some(error.to_string()),
            Ok(report) => match &mut self.report {
                None => self.report = Some(report),
                Some(all) => {
                    for (frames, count) in report.data {
                        *all.data.entry(frames).or_default() += count;
                    }
                    all.timing.duration += report.timing.duration;
                }
            },
        }
    }
}

impl Progress for Sampler<'_> {
    fn op_begins(&self, index: usize, _: usize, _: &str) {
        let is_measured =
            matches!(self.workload.ops.get(index), Some(ResolvedOp::CreatePods(op)) if op.collect_metrics);
        let mut state = self.lock();
        state.pause();
        if is_measured {
            match ProfilerGuard::new(self.frequency) {
                Ok(guard) => state.running = Some((guard, Instant::now())),
                Err(error) => state.failed = Some(error.to_string()),
            }
        }
    }

    fn pods(&self, _: u64, _: u64) {}

    fn notice(&self, _: &str) {}
}

/// Stacks by function names, outermost first, inlined functions as frames of their own.
fn stacks_of(report: &Report) -> BTreeMap<Vec<String>, u64> {
    let mut stacks: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    for (frames, &count) in &report.data {
        let names = frames.frames.iter().rev().flat_map(|inlined| inlined.iter().rev());
        let mut stack = vec![frames.thread_name_or_id()];
        stack.extend(names.map(|symbol| frame_name(&symbol.name(), &symbol.filename())));
        *stacks.entry(stack).or_default() += u64::try_from(count).unwrap_or(0);
    }
    stacks
}

fn folded(stacks: &BTreeMap<Vec<String>, u64>) -> Vec<String> {
    stacks.iter().map(|(stack, count)| format!("{} {count}", stack.join(";").replace('\n', " "))).collect()
}

fn flamegraph(title: &str, stacks: &BTreeMap<Vec<String>, u64>) -> Result<String> {
    let mut options = pprof::flamegraph::Options::default();
    options.title = title.to_owned();
    let lines = folded(stacks);
    let mut svg = Vec::new();
    pprof::flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut svg)
        .context("the flamegraph could not be drawn")?;
    String::from_utf8(svg).context("the flamegraph is not UTF-8")
}

fn write_files(
    dir: &Path,
    summary: &ProfileSummary,
    stacks: &BTreeMap<Vec<String>, u64>,
    report: &Report,
) -> Result<()> {
    let svg = summary.flamegraph_svg.as_deref().unwrap_or_default();
    write_atomic(&dir.join("flamegraph.svg"), svg.as_bytes())?;
    write_atomic(&dir.join("stacks.folded"), (folded(stacks).join("\n") + "\n").as_bytes())?;
    let protobuf = report.pprof().context("the profile could not be written as protobuf")?;
    write_atomic(&dir.join("profile.pb"), &protobuf.encode_to_vec())?;
    let json = serde_json::to_vec(summary).context("the profile could not be written as JSON")?;
    write_atomic(&dir.join("profile.json"), &json)?;
    Ok(())
}

fn print_summary(summary: &ProfileSummary, out: &Path) {
    let columns =
        [("", Align::Left), ("self", Align::Right), ("total", Align::Right), ("total/pod", Align::Right)];
    let percent = |samples: u64| format!("{:.1} %", samples as f64 / summary.samples as f64 * 100.0);
    // CPU time, which is what SIGPROF counts: samples over samples a second.
    let per_pod = |share: &Share| {
        let of_all = share.total_samples as f64 / summary.samples as f64;
        format::micros(of_all * summary.seconds * 1e6 / summary.pods.max(1) as f64)
    };
    say(&format!(
        "{}: {} samples in {:.1} s of measured time, {} pods",
        summary.workload,
        format::thousands(summary.samples),
        summary.seconds,
        format::thousands(summary.pods)
    ));
    for kind in KINDS {
        let of_kind: Vec<&Share> = summary.shares.iter().filter(|share| share.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        let row = |share: &&Share| {
            vec![
                share.name.clone(),
                percent(share.self_samples),
                percent(share.total_samples),
                per_pod(share),
            ]
        };
        let mut columns = columns;
        columns[0].0 = kind;
        say(&format!("\n{}", render(&columns, &of_kind.iter().map(row).collect::<Vec<_>>())));
    }
    say(&format!(
        "\nWritten to {}: flamegraph.svg, profile.pb (go tool pprof, speedscope), stacks.folded, profile.json (schedlab record --profile)",
        out.display()
    ));
}
