//! `schedlab run --time virtual`: each workload once, in virtual time. Nothing here was measured, so nothing
//! of it goes where measured figures go: its table, its file and its JSON are its own.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use schedlab_lab::run::RunPlan;
use schedlab_workloads::controllers;
use schedlab_workloads::executor::{
    Collected, ConfigFile, Control, Ending, NoProfiler, NoProgress, Outcome, RunSettings, TimeMode,
};
use schedlab_workloads::files::{self, Durability};
use schedlab_workloads::lab_plugins;
use schedlab_workloads::resolve::ResolvedWorkload;
use schedlab_workloads::results::Skipped;
use serde::Serialize;

use super::run_placements::Placed;
use super::{run, select};
use crate::args::RunArgs;
use crate::progress::{complain, say};
use crate::table::{Align, render};
use crate::{Exit, signals};

/// Its file's format.
const SCHEMA: &str = "schedlab-virtual/v1";
const NS_PER_S: f64 = 1e9;

/// A run in virtual time.
#[derive(Debug, Serialize)]
struct VirtualRun {
    schema: &'static str,
    /// What the figures are: never a measurement.
    figures: &'static str,
    seed: u64,
    cycle_ns: u64,
    api_latency: String,
    partial: bool,
    workloads: Vec<VirtualWorkload>,
    skipped: Vec<Skipped>,
}

/// A workload in virtual time.
#[derive(Debug, Serialize)]
struct VirtualWorkload {
    name: String,
    /// `completed`, `stuck` or `interrupted`.
    ending: &'static str,
    message: Option<String>,
    nodes: u64,
    pods: u64,
    failed_calls: u64,
    parts: Vec<VirtualPart>,
}

/// A measured part.
#[derive(Debug, Serialize)]
struct VirtualPart {
    collector: String,
    created: u64,
    scheduled: u64,
    pending: u64,
    attempts: u64,
    virtual_s: f64,
    /// By the model of time, not by a clock.
    modelled_pods_per_s: f64,
    api_calls: BTreeMap<String, u64>,
}

pub(super) fn run(args: &RunArgs) -> Result<Exit> {
    refuse_what_is_measured(args)?;
    let scheduler_config = args.scheduler_config.as_deref().map(run::read_scheduler_config).transpose()?;
    let workloads = select::workloads(&args.select, Some(run::DEFAULT_LABELS))?;
    let feature_gates = run::parse_gates(&args.feature_gates)?;
    run::check_gates(&feature_gates)?;
    if let Some(dir) = &args.out {
        run::make_writable(dir)?;
    }
    let (mut to_run, skipped, broken) = run::split(workloads);
    if to_run.is_empty() && skipped.len() == broken.len() {
        bail!("{}", broken.join("\n"));
    }
    if let Some((file, _)) = &scheduler_config {
        to_run.iter_mut().for_each(|workload| workload.scheduler_config = Some(file.clone()));
    }
    let cycle_ns = u64::try_from(args.time.virtual_cycle.as_nanos()).unwrap_or(u64::MAX);
    let settings = RunSettings { time: TimeMode::Virtual { cycle_ns }, ..run::settings(args) };
    let controllers = controllers::parse_list(&args.controllers)?;
    let plan = RunPlan { settings, feature_gates, controllers, under_test: None };
    let mut result = VirtualRun {
        schema: SCHEMA,
        figures: "modelled: virtual time, nothing was measured",
        seed: args.seed,
        cycle_ns,
        api_latency: args.api.api_latency.to_string(),
        partial: false,
        workloads: Vec::new(),
        skipped,
    };
    let mut placed = Placed::open(args)?;
    let (interrupt, started) = (signals::listen(), Instant::now());
    for workload in &to_run {
        let log = placed.begin();
        let outcome = run_one(&plan, workload, interrupt, log.as_ref())?;
        placed.end(workload, log.as_ref());
        result.workloads.push(described(workload, &outcome));
        if interrupt.load(Ordering::Relaxed) {
            result.partial = true;
            break;
        }
    }
    placed.write()?;
    show(args, &result, started.elapsed())?;
    if !broken.is_empty() {
        bail!("{} workload(s) are broken and were not run:\n{}", broken.len(), broken.join("\n"));
    }
    let is_stuck = |workload: &VirtualWorkload| workload.ending == "stuck";
    Ok(match (result.partial, result.workloads.iter().any(is_stuck)) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::CheckFailed,
        (false, false) => Exit::Fine,
    })
}

/// Flags that say how to measure, or where to remember a measurement.
fn refuse_what_is_measured(args: &RunArgs) -> Result<()> {
    let refused = [
        ("--repeat", args.repeat.is_some()),
        ("--scheduler", args.under_test.scheduler.is_some()),
        ("--rounds", args.rounds.is_some()),
        ("--threads", args.threads.is_some()),
        ("--enforce-thresholds", args.enforce_thresholds),
        ("--history", args.history.is_some()),
        ("--baseline", args.baseline.is_some()),
        ("--save-baseline", args.save_baseline.is_some()),
        ("--metrics", args.metrics.is_some()),
        ("--shard", args.shards.shard()?.is_some()),
    ];
    match refused.into_iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => {
            bail!("{flag}: nothing is measured in virtual time; leave it out, or use --time wall")
        }
        None => Ok(()),
    }
}

fn run_one(
    plan: &RunPlan,
    workload: &ResolvedWorkload,
    interrupt: &AtomicBool,
    placements: Option<&schedlab_workloads::placements::PlacementLog>,
) -> Result<Outcome> {
    let registry = lab_plugins::registry();
    let control = Control {
        interrupt,
        progress: &NoProgress,
        registry: &registry,
        config_file: ConfigFile::Fixed,
        profiler: &NoProfiler,
        placements,
        under_test: None,
    };
    plan.run(workload, control).with_context(|| format!("{} in virtual time", workload.full_name))
}

fn described(workload: &ResolvedWorkload, outcome: &Outcome) -> VirtualWorkload {
    let (ending, message) = match &outcome.ending {
        Ending::Completed => ("completed", None),
        Ending::Interrupted => ("interrupted", None),
        Ending::Stuck(why) => ("stuck", Some(why.clone())),
    };
    VirtualWorkload {
        name: workload.full_name.clone(),
        ending,
        message,
        nodes: outcome.node_count,
        pods: outcome.pod_count,
        failed_calls: outcome.failed_calls,
        parts: outcome.collected.iter().map(part).collect(),
    }
}

#[allow(clippy::cast_precision_loss, reason = "counts and times of a run are far below 2^53")]
fn part(collected: &Collected) -> VirtualPart {
    let virtual_s = collected.end_ns.saturating_sub(collected.start_ns) as f64 / NS_PER_S;
    let rate = if 0.0 < virtual_s { collected.scheduled as f64 / virtual_s } else { 0.0 };
    VirtualPart {
        collector: collected.collector.clone(),
        created: collected.created,
        scheduled: collected.scheduled,
        pending: collected.pending,
        attempts: collected.attempts,
        virtual_s,
        modelled_pods_per_s: rate,
        api_calls: collected.calls.clone(),
    }
}

fn show(args: &RunArgs, result: &VirtualRun, took: Duration) -> Result<()> {
    let json = serde_json::to_string_pretty(result).context("could not write the result as JSON")?;
    if let Some(dir) = &args.out {
        let path = dir.join("virtual.json");
        files::write(&path, json.as_bytes(), Durability::Rebuildable)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.json {
        say(&json);
        let stuck = result.workloads.iter().filter_map(|it| Some((&it.name, it.message.as_ref()?)));
        stuck.for_each(|(name, message)| complain(&format!("schedlab: {name} is stuck: {message}")));
        return Ok(());
    }
    say(&render(&COLUMNS, &result.workloads.iter().flat_map(rows).collect::<Vec<_>>()));
    for workload in &result.workloads {
        if let Some(message) = &workload.message {
            say(&format!("{}: {message}", workload.name));
        }
    }
    if !result.skipped.is_empty() {
        say(&format!("{} workload(s) skipped: `schedlab list` says why", result.skipped.len()));
    }
    if result.partial {
        say("PARTIAL: the run was interrupted.");
    }
    let count = result.workloads.len();
    say(&format!(
        "\n{count} workload(s) in virtual time, {:.1} s of real time, seed {}. A cycle takes {:?}, a call {}.\n\
         Throughput is modelled from these, not measured.",
        took.as_secs_f64(),
        result.seed,
        args.time.virtual_cycle,
        result.api_latency
    ));
    Ok(())
}

const COLUMNS: [(&str, Align); 8] = [
    ("workload", Align::Left),
    ("nodes", Align::Right),
    ("created", Align::Right),
    ("scheduled", Align::Right),
    ("attempts", Align::Right),
    ("virtual s", Align::Right),
    ("modelled pods/s", Align::Right),
    ("ending", Align::Left),
];

/// A row a part; a workload without one has its own.
fn rows(workload: &VirtualWorkload) -> Vec<Vec<String>> {
    let row = |part: Option<&VirtualPart>| {
        let figure = |of: fn(&VirtualPart) -> String| part.map_or_else(|| "-".to_owned(), of);
        vec![
            workload.name.clone(),
            workload.nodes.to_string(),
            figure(|part| part.created.to_string()),
            figure(|part| part.scheduled.to_string()),
            figure(|part| part.attempts.to_string()),
            figure(|part| format!("{:.3}", part.virtual_s)),
            figure(|part| format!("{:.0}", part.modelled_pods_per_s)),
            workload.ending.to_owned(),
        ]
    };
    match workload.parts.as_slice() {
        [] => vec![row(None)],
        parts => parts.iter().map(|part| row(Some(part))).collect(),
    }
}
