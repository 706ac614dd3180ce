//! `schedlab run`: runs workloads, prints the table, writes the results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use schedlab_cluster::latency::RateLimit;
use schedlab_cluster::link::LinkSettings;
use schedlab_core::cycle::engine::ClassCache;
use schedlab_core::interner::Vocabulary;
use schedlab_core::known_gaps::KnownGaps;
use schedlab_core::scheduler::{EventLevel, NominatedNodeNameMiss, WriteNominatedNodeName};
use schedlab_core::topology::PodCounting;
use schedlab_lab::LabError;
use schedlab_lab::profile::{SPAN_FREQUENCY, SpanProfiler};
use schedlab_lab::run::RunPlan;
use schedlab_lab::study::Studies;
use schedlab_workloads::assemble::{Assembly, Run, workload_results};
use schedlab_workloads::controllers;
use schedlab_workloads::executor::{
    ConfigFile, Control, NoProfiler, Profiler, Progress, RunSettings, TimeMode,
};
use schedlab_workloads::files::{self, Durability};
use schedlab_workloads::gates::{GatesError, scheduler_gates};
use schedlab_workloads::lab_plugins;
use schedlab_workloads::placements::PlacementLog;
use schedlab_workloads::protocol::{Narrow, Protocol};
use schedlab_workloads::resolve::{ResolvedWorkload, SchedulerConfigFile, Selected, runnable};
use schedlab_workloads::results::{
    RunResult, RunStatus, SCHEMA, Skipped, WorkloadResult, write_bench_text, write_data_items,
    write_result_json,
};
use schedlab_workloads::scheduler_config::{API_VERSION, SchedulerConfig};

use super::keep::{Kept, keep, write_or_keep};
use super::run_history::Memory;
use super::run_placements::Placed;
use super::{run_shards, run_text, run_virtual, select, study, study_text};
use crate::announce::Announcer;
use crate::args::{
    ApiArgs, CacheMode, CountingMode, EventMode, GapMode, NominatedNodeNameMissMode, NominatedNodeNameMode,
    RunArgs, TimeChoice,
};
use crate::metrics::Metrics;
use crate::progress::{Bar, complain, say};
use crate::{Exit, host, progress, signals};

/// Without filters the built-in suite runs its measured sizes, not the small ones for tests.
pub(super) const DEFAULT_LABELS: &str = "performance";
pub(super) const DEFAULT_OUT: &str = "schedlab-report";
const COVERAGE: &str = "core + queue + embedded API";
const COVERAGE_UNDER_TEST: &str = "a scheduler as a process + the embedded API over HTTP";

pub(crate) fn run(args: &RunArgs) -> Result<Exit> {
    if args.time.time == TimeChoice::Virtual {
        return run_virtual::run(args);
    }
    if let Some(shard) = args.shards.shard()? {
        if args.time.placements.is_some() {
            bail!("--placements: the shards of a run write none; leave out --shard");
        }
        return run_shards::run(args, shard);
    }
    let scheduler_config = scheduler_config_of(args)?;
    if let Some(found) = study::of(&args.select)? {
        if args.time.placements.is_some() {
            bail!("--placements: a suite that is run in variants writes none; name a suite without variants");
        }
        return run_studies(args, scheduler_config.as_ref(), &found);
    }
    let workloads = select::workloads(&args.select, Some(DEFAULT_LABELS))?;
    let gates = parse_gates(&args.feature_gates)?;
    check_gates(&gates)?;
    let out = out_of(args);
    if let Some(dir) = &out {
        make_writable(dir)?;
    }
    let memory = Memory::open(args)?;
    let metrics =
        args.metrics.map(|address| Metrics::serve(address, &args.metrics_allow_host)).transpose()?;
    let interrupt = signals::listen();
    let started = Instant::now();
    let mut result = run_header(args, scheduler_config.as_ref(), &gates);
    let announcer = announcer(args, &result.started_at);
    let watchers = Watchers { metrics: metrics.as_ref(), announcer: announcer.as_ref() };
    let (mut to_run, skipped, broken) = split(workloads);
    let mut placed = Placed::open(args)?;
    if let Some((file, _)) = &scheduler_config {
        to_run.iter_mut().for_each(|workload| workload.scheduler_config = Some(file.clone()));
    }
    to_run.iter_mut().for_each(|workload| workload.feature_gates.extend(gates.clone()));
    result.skipped = skipped;
    if to_run.is_empty() && result.skipped.len() == broken.len() {
        bail!("{}", broken.join("\n"));
    }
    let mut failure = None;
    for (at, workload) in to_run.iter().enumerate() {
        let log = placed.begin();
        let (runs, error) = repeat(args, workload, (at, to_run.len()), interrupt, watchers, log.as_ref());
        placed.end(workload, log.as_ref());
        let assembly = Assembly {
            workload,
            settings: settings(args),
            peak_rss_bytes: host::peak_rss_bytes(),
            cores: result.machine.cores,
            precision: args.precision,
        };
        result.workloads.extend(workload_results(&assembly, &runs));
        failure = error;
        let is_interrupted = interrupt.load(Ordering::Relaxed);
        if is_interrupted || failure.is_some() {
            result.partial = true;
            let reason =
                if is_interrupted { "not run: interrupted" } else { "not run: one before it failed" };
            let skip =
                |left: &ResolvedWorkload| Skipped { name: left.full_name.clone(), reason: reason.to_owned() };
            result.skipped.extend(to_run[at + 1..].iter().map(skip));
            break;
        }
    }
    result.duration_s = started.elapsed().as_secs_f64();
    if let Some(memory) = &memory {
        memory.remember(&mut result);
    }
    let written = write_out(out.as_deref(), &result);
    placed.write()?;
    drop(announcer);
    let report = written.as_ref().ok().and_then(|kept| kept.written.as_deref());
    if args.json {
        say_json(&result, out.is_some())?;
        complain_of(args, &result);
    } else if !result.workloads.is_empty() || failure.is_none() {
        run_text::print(&result, report);
    }
    if metrics.is_some() {
        signals::sleep(Duration::from_secs(args.metrics_linger), interrupt);
    }
    if let Some(trouble) = written?.trouble {
        return Err(trouble);
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    if !broken.is_empty() {
        let text =
            format!("{} workload(s) are broken and were not run:\n{}", broken.len(), broken.join("\n"));
        if !interrupt.load(Ordering::Relaxed) {
            bail!("{text}");
        }
        complain(&format!("schedlab: {text}"));
    }
    Ok(verdict(args, &result))
}

/// Where a run's files go; nowhere with `--json` alone.
fn out_of(args: &RunArgs) -> Option<PathBuf> {
    args.out.clone().or_else(|| (!args.json).then(|| PathBuf::from(DEFAULT_OUT)))
}

/// Writes a run's files where they should be, or elsewhere; the report's path.
fn write_out(out: Option<&Path>, result: &RunResult) -> Result<Kept<Option<PathBuf>>> {
    let Some(dir) = out else { return Ok(Kept { written: None, trouble: None }) };
    let Kept { written, trouble } = write_or_keep(dir, |dir| write_all(dir, result))?;
    Ok(Kept { written: Some(written), trouble })
}

/// Prints a result as JSON. One that standard output did not take and that is in no file is kept.
fn say_json(result: &RunResult, is_written: bool) -> Result<()> {
    say(&serde_json::to_string_pretty(result).context("could not write the result as JSON")?);
    match progress::lost() {
        Some(error) if !is_written => {
            let error = anyhow::anyhow!("standard output: {error}");
            match keep(error, |dir| write_all(dir, result))?.trouble {
                Some(trouble) => Err(trouble),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// Says why a run whose result is JSON ends with a failed check.
fn complain_of(args: &RunArgs, result: &RunResult) {
    for workload in &result.workloads {
        let name = &workload.name;
        let message = workload.message.as_deref().unwrap_or("there is no diagnosis");
        match workload.status {
            RunStatus::Stuck => complain(&format!("schedlab: {name} is stuck: {message}")),
            RunStatus::Failed => complain(&format!("schedlab: {name} failed: {message}")),
            RunStatus::Partial => complain(&format!("schedlab: {name} is partial: {message}")),
            RunStatus::Completed if has_measured_nothing(workload) => {
                complain(&format!("schedlab: {name}: none of the measured pods was scheduled"));
            }
            RunStatus::Completed => {}
        }
        if args.enforce_thresholds
            && let Some(threshold) = workload.threshold.as_ref().filter(|it| it.pass != Some(true))
        {
            let value = threshold.value;
            complain(&format!("schedlab: {name} misses the threshold {value} of its file"));
        }
    }
}

/// Runs studies instead of workloads: variants in turns, and a figure of each.
fn run_studies(
    args: &RunArgs,
    scheduler_config: Option<&(SchedulerConfigFile, SchedulerConfig)>,
    found: &Studies,
) -> Result<Exit> {
    let gates = parse_gates(&args.feature_gates)?;
    let out = out_of(args);
    if let Some(dir) = &out {
        make_writable(dir)?;
    }
    let interrupt = signals::listen();
    let started = Instant::now();
    let mut result = run_header(args, scheduler_config, &gates);
    let (figures, failure) = study::run(args, found, interrupt)?;
    let is_interrupted = interrupt.load(Ordering::Relaxed);
    if figures.iter().all(|figure| figure.rows.is_empty()) {
        match failure {
            _ if is_interrupted => return Err(LabError::Interrupted.into()),
            Some(failure) => return Err(failure),
            None => {}
        }
    }
    result.figures = figures;
    result.partial = is_interrupted || failure.is_some();
    result.duration_s = started.elapsed().as_secs_f64();
    let written = write_out(out.as_deref(), &result);
    if args.json {
        say_json(&result, out.is_some())?;
    } else {
        study_text::print(&result.figures);
        if result.partial {
            say(
                "\nPARTIAL: the run did not come to its end; the figures cover what was measured until then.",
            );
        }
        say(&format!("\n{} figure(s) in {:.1} s", result.figures.len(), result.duration_s));
        if let Some(report) = written.as_ref().ok().and_then(|kept| kept.written.as_deref()) {
            say(&format!("Report: {}", report.display()));
        }
    }
    if let Some(trouble) = written?.trouble {
        return Err(trouble);
    }
    match failure {
        _ if is_interrupted => Ok(Exit::Interrupted),
        Some(failure) => Err(failure),
        None => Ok(Exit::Fine),
    }
}

pub(super) fn settings(args: &RunArgs) -> RunSettings {
    RunSettings {
        threads: args.threads.unwrap_or_else(|| host::machine().cores) as usize,
        parallelism: args.parallelism.map(|ways| ways as usize),
        percentage_of_nodes_to_score: args
            .percentage_of_nodes_to_score
            .map(|percent| i32::try_from(percent).unwrap_or(100)),
        seed: args.seed,
        class_cache: match args.class_cache {
            CacheMode::On => ClassCache::On,
            CacheMode::Off => ClassCache::Off,
        },
        pod_counting: match args.pod_counting {
            CountingMode::Kept => PodCounting::Kept,
            CountingMode::Scanned => PodCounting::Scanned,
        },
        link: link(&args.api, args.seed),
        nominated_node_name: match args.api.nominated_node_name {
            NominatedNodeNameMode::Never => WriteNominatedNodeName::Never,
            NominatedNodeNameMode::WhenNeeded => WriteNominatedNodeName::WhenNeeded,
            NominatedNodeNameMode::Always => WriteNominatedNodeName::Always,
        },
        nominated_node_name_miss: match args.nominated_node_name_miss {
            NominatedNodeNameMissMode::FallThrough => NominatedNodeNameMiss::FallThrough,
            NominatedNodeNameMissMode::Requeue => NominatedNodeNameMiss::Requeue,
        },
        known_gaps: match args.known_gaps {
            GapMode::Mended => KnownGaps::Mended,
            GapMode::Upstream => KnownGaps::Upstream,
        },
        events: event_level(args.api.events),
        time: TimeMode::Wall,
    }
}

pub(super) fn event_level(mode: EventMode) -> EventLevel {
    match mode {
        EventMode::Off => EventLevel::Off,
        EventMode::Problems => EventLevel::Problems,
        EventMode::All => EventLevel::All,
    }
}

fn link(args: &ApiArgs, seed: u64) -> LinkSettings {
    // kube-scheduler's own ratio: 50 calls a second, 100 at once.
    let twice = |qps: f64| (qps * 2.0).clamp(1.0, f64::from(u32::MAX)) as u32;
    let limit = |qps| RateLimit { qps, burst: args.api_burst.unwrap_or_else(|| twice(qps)) };
    LinkSettings { latency: args.api_latency, limit: args.api_qps.map(limit), seed }
}

/// Reads the file and builds its profiles once, so that what is wrong with it is said before the
/// first workload runs.
pub(super) fn read_scheduler_config(path: &Path) -> Result<(SchedulerConfigFile, SchedulerConfig)> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("--scheduler-config: cannot read {}", path.display()))?;
    let config = SchedulerConfig::parse(&path.display().to_string(), &text)?;
    config.build(&lab_plugins::registry(), &mut Vocabulary::default())?;
    Ok((SchedulerConfigFile { path: path.to_owned(), text }, config))
}

/// The file of `--scheduler-config`. A scheduler under test says itself what it cannot use: it may have plugins
/// that nobody knows here.
pub(super) fn scheduler_config_of(args: &RunArgs) -> Result<Option<(SchedulerConfigFile, SchedulerConfig)>> {
    let Some(path) = args.scheduler_config.as_deref() else { return Ok(None) };
    if args.under_test.scheduler.is_none() {
        return read_scheduler_config(path).map(Some);
    }
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("--scheduler-config: cannot read {}", path.display()))?;
    let name = path.display().to_string();
    let minimal = format!("apiVersion: {API_VERSION}\nkind: KubeSchedulerConfiguration\n");
    let config = SchedulerConfig::parse(&name, &text).or_else(|_| SchedulerConfig::parse(&name, &minimal))?;
    Ok(Some((SchedulerConfigFile { path: path.to_owned(), text }, config)))
}

pub(super) fn run_header(
    args: &RunArgs,
    scheduler_config: Option<&(SchedulerConfigFile, SchedulerConfig)>,
    gates: &BTreeMap<String, bool>,
) -> RunResult {
    let machine = host::machine();
    let config = scheduler_config.map(|(_, config)| config);
    let parallelism = config.and_then(|config| u32::try_from(config.parallelism).ok());
    let percentage = config.and_then(|config| u32::try_from(config.percentage_of_nodes_to_score).ok());
    RunResult {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        git_revision: host::git_revision(),
        threads: args.threads.unwrap_or(machine.cores),
        machine,
        parallelism: args.parallelism.or(parallelism).unwrap_or(16),
        seed: args.seed,
        percentage_of_nodes_to_score: args.percentage_of_nodes_to_score.or(percentage).unwrap_or(0),
        repeat: args.repeat.unwrap_or(0),
        feature_gates: gates.clone(),
        options: options(args),
        started_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        duration_s: 0.0,
        partial: false,
        coverage: coverage(args).to_owned(),
        skipped: Vec::new(),
        workloads: Vec::new(),
        figures: Vec::new(),
    }
}

fn coverage(args: &RunArgs) -> &'static str {
    if args.under_test.scheduler.is_some() { COVERAGE_UNDER_TEST } else { COVERAGE }
}

/// The settings that a result has no field of its own for. Every flag that decides what is measured is
/// here or has a field: results are compared only where all of them agree.
pub(super) fn options(args: &RunArgs) -> BTreeMap<String, String> {
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    let limit = link(&args.api, args.seed).limit;
    let limit = limit.map_or_else(|| "none".to_owned(), |it| format!("{} qps, burst {}", it.qps, it.burst));
    let options = [
        ("class cache", typed(args.class_cache)),
        ("pod counting", typed(args.pod_counting)),
        ("API latency", args.api.api_latency.to_string()),
        ("API rate limit", limit),
        ("nominate", typed(args.api.nominated_node_name)),
        ("nominated node miss", typed(args.nominated_node_name_miss)),
        ("events", typed(args.api.events)),
        ("build", build.to_owned()),
    ];
    // Left out where nothing is chosen: records of versions without the choice stay comparable.
    let gaps = (args.known_gaps != GapMode::Mended).then(|| ("known gaps", typed(args.known_gaps)));
    let controllers = controller_names(args).map(|names| ("controllers", names));
    let scheduler = args.under_test.scheduler.clone().map(|command| ("scheduler", command));
    let chosen = gaps.into_iter().chain(controllers).chain(scheduler);
    options.into_iter().chain(chosen).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The controllers that the flag switches on, in the order of their names.
fn controller_names(args: &RunArgs) -> Option<String> {
    let asked = controllers::parse_list(&args.controllers).unwrap_or_default();
    let mut names: Vec<&str> = asked.iter().map(|controller| controller.descriptor.name).collect();
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then(|| names.join(","))
}

/// A choice as it is typed.
fn typed(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// `A=true,B=false`.
pub(super) fn parse_gates(text: &str) -> Result<BTreeMap<String, bool>> {
    let mut gates = BTreeMap::new();
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let Some((name, value)) = item.split_once('=') else {
            bail!("--feature-gates: {item:?} has no value; write {item}=true or {item}=false");
        };
        let value = match value.trim() {
            "true" => true,
            "false" => false,
            other => bail!("--feature-gates: {name}={other:?} is neither true nor false"),
        };
        let is_name = |name: &str| {
            name.starts_with(|first: char| first.is_ascii_uppercase())
                && name.chars().all(|letter| letter.is_ascii_alphanumeric())
        };
        if !is_name(name.trim()) {
            bail!(
                "--feature-gates: {name:?} is not the name of a gate; they look like SchedulerAsyncAPICalls"
            );
        }
        gates.insert(name.trim().to_owned(), value);
    }
    Ok(gates)
}

/// Names that nobody knows are found out before the first workload runs. Whether gates go together
/// is not: a workload may set what one of these needs.
pub(super) fn check_gates(gates: &BTreeMap<String, bool>) -> Result<()> {
    for (name, &is_on) in gates {
        let alone = BTreeMap::from([(name.clone(), is_on)]);
        if let Err(error @ GatesError::Unknown { .. }) = scheduler_gates(&alone) {
            bail!("--feature-gates: {error}");
        }
    }
    Ok(())
}

/// Finds out before the run, not after it, that results cannot be written.
pub(super) fn make_writable(dir: &Path) -> Result<()> {
    let how = || format!("cannot write to {}; choose another folder with --out", dir.display());
    std::fs::create_dir_all(dir).with_context(how)?;
    let probe = dir.join(".schedlab-probe");
    files::write(&probe, b"", Durability::Rebuildable).with_context(how)?;
    std::fs::remove_file(&probe).with_context(how)
}

/// What can run, what is skipped and why, and what is wrong with workloads that are broken.
pub(super) fn split(selected: Vec<Selected>) -> (Vec<ResolvedWorkload>, Vec<Skipped>, Vec<String>) {
    let (mut to_run, mut skipped, mut broken) = (Vec::new(), Vec::new(), Vec::new());
    for Selected { full_name: name, workload, .. } in selected {
        match workload.map_err(|error| error.to_string()) {
            Ok(workload) => match runnable(&workload) {
                Ok(()) => to_run.push(workload),
                Err(reason) => skipped.push(Skipped { name, reason: reason.to_string() }),
            },
            Err(error) => {
                skipped.push(Skipped { name, reason: error.clone() });
                broken.push(error);
            }
        }
    }
    (to_run, skipped, broken)
}

/// Who else wants to know how far a run is.
#[derive(Clone, Copy)]
pub(super) struct Watchers<'a> {
    pub(super) metrics: Option<&'a Metrics>,
    pub(super) announcer: Option<&'a Announcer>,
}

/// Tells a server beside a history that was named how far the run is. Nobody else is told: the thread
/// that tells wakes up while pods are measured.
fn announcer(args: &RunArgs, started_at: &str) -> Option<Announcer> {
    match Announcer::start(args.history.as_deref()?, started_at) {
        Ok(announcer) => Some(announcer),
        Err(error) => {
            complain(&format!("schedlab: warning: the run's progress is not announced: {error:#}"));
            None
        }
    }
}

pub(super) fn repeat(
    args: &RunArgs,
    workload: &ResolvedWorkload,
    (at, count): (usize, usize),
    interrupt: &AtomicBool,
    watchers: Watchers<'_>,
    placements: Option<&PlacementLog>,
) -> (Vec<Run>, Option<anyhow::Error>) {
    let bar = Bar::new(&workload.full_name, at, count);
    let watched = watchers.metrics.map(|metrics| metrics.watch(&bar));
    let progress: &dyn Progress = watched.as_ref().map_or(&bar, |watched| watched);
    let announced = watchers.announcer.map(|announcer| {
        announcer.workload(&workload.full_name, at, count);
        announcer.watch(progress)
    });
    let progress: &dyn Progress = announced.as_ref().map_or(progress, |announced| announced);
    let registry = lab_plugins::registry();
    let config_file = match args.scheduler_config {
        Some(_) if args.under_test.scheduler.is_none() => ConfigFile::Watched,
        _ => ConfigFile::Fixed,
    };
    let spans = out_of(args).map(|dir| SpanProfiler::new(dir, SPAN_FREQUENCY));
    let profiler: &dyn Profiler = spans.as_ref().map_or(&NoProfiler, |spans| spans);
    let control = Control {
        interrupt,
        progress,
        registry: &registry,
        config_file,
        profiler,
        placements: None,
        under_test: None,
    };
    let protocol = match args.repeat {
        Some(count) => Protocol::Exactly(count),
        None => Protocol::UntilNarrow(Narrow { precision: args.precision, budget: args.budget }),
    };
    let plan = match plan(args) {
        Ok(plan) => plan,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut first = placements;
    let measured = protocol.measure(|| {
        let control = Control { placements: first.take(), ..control };
        Ok(plan.run(workload, control)?)
    });
    bar.clear();
    measured
}

/// How a workload runs as the flags say. `ab`, studies and `profile` run their workloads by it too, so
/// a new flag works for them by itself.
pub(super) fn plan(args: &RunArgs) -> Result<RunPlan> {
    if args.time.time == TimeChoice::Virtual {
        bail!("--time virtual is of `schedlab run` alone: what this command measures takes real time");
    }
    Ok(RunPlan {
        settings: settings(args),
        feature_gates: parse_gates(&args.feature_gates)?,
        controllers: controllers::parse_list(&args.controllers)?,
        under_test: args.under_test.scheduler()?,
    })
}

/// Writes all files of a run and returns the report's path.
pub(super) fn write_all(dir: &Path, result: &RunResult) -> Result<PathBuf> {
    write_result_json(&dir.join("result.json"), result)?;
    write_data_items(dir, result)?;
    write_bench_text(&dir.join("bench.txt"), result)?;
    let report = dir.join("report.html");
    schedlab_perf_dash::write_html(&report, result)?;
    Ok(std::path::absolute(&report).unwrap_or(report))
}

pub(super) fn verdict(args: &RunArgs, result: &RunResult) -> Exit {
    let has_failed = |w: &WorkloadResult| {
        matches!(w.status, RunStatus::Stuck | RunStatus::Failed) || has_measured_nothing(w)
    };
    let misses =
        |w: &WorkloadResult| w.threshold.as_ref().is_some_and(|threshold| threshold.pass != Some(true));
    if result.partial {
        Exit::Interrupted
    } else if result.workloads.iter().any(|w| has_failed(w) || (args.enforce_thresholds && misses(w))) {
        Exit::CheckFailed
    } else {
        Exit::Fine
    }
}

/// A workload has a measured part in which no pod was scheduled: its number is of nothing.
pub(super) fn has_measured_nothing(workload: &WorkloadResult) -> bool {
    workload.status == RunStatus::Completed && workload.collector.is_some() && workload.pods.scheduled == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feature_gates_are_parsed_or_refused_by_name() {
        let gates = parse_gates("A=true, B=false").expect("two gates");
        assert_eq!(gates, BTreeMap::from([("A".to_owned(), true), ("B".to_owned(), false)]));
        assert!(parse_gates("").expect("none").is_empty());
        let cases = [
            ("A", "--feature-gates: \"A\" has no value; write A=true or A=false"),
            ("A=yes", "--feature-gates: A=\"yes\" is neither true nor false"),
            (
                "a-b=true",
                "--feature-gates: \"a-b\" is not the name of a gate; they look like SchedulerAsyncAPICalls",
            ),
        ];
        for (text, message) in cases {
            assert_eq!(parse_gates(text).expect_err("must be refused").to_string(), message);
        }
    }
}
