//! `schedlab run --shard`: workloads, or points of studies, that machines share. Each unit is measured on one
//! machine; shards that were put together say that they ran on several.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use schedlab_lab::study::{Studies, Wanted};
use schedlab_workloads::assemble::{Assembly, workload_results};
use schedlab_workloads::digest::Digest;
use schedlab_workloads::resolve::{ResolvedWorkload, SchedulerConfigFile};
use schedlab_workloads::results::{Figure, Machine, RunResult, Skipped};
use schedlab_workloads::scheduler_config::SchedulerConfig;

use super::run::{self, Watchers};
use super::{run_text, select, study, study_text};
use crate::args::{RunArgs, SelectArgs};
use crate::progress::{complain, say};
use crate::shards::{Merged, Shard, UnitLog, identity};
use crate::{Exit, host};

/// The setting that says whether a missed threshold is a failure.
const ENFORCE: &str = "enforce thresholds";

/// What is cut into shards.
enum Work {
    Workloads(Vec<ResolvedWorkload>, Vec<Skipped>),
    /// All variants of a point are one unit: they are compared with each other.
    Points(Studies, Vec<Wanted>),
}

impl Work {
    fn unit_names(&self) -> Vec<String> {
        let point = |(study, points): &Wanted| {
            let cells = points.first().and_then(|cells| cells.first());
            let point = cells.map(|cell| cell.point.join("/")).unwrap_or_default();
            format!("{}/{point}", study.name)
        };
        match self {
            Work::Workloads(workloads, _) => workloads.iter().map(|it| it.full_name.clone()).collect(),
            Work::Points(_, points) => points.iter().map(point).collect(),
        }
    }

    /// Measures one unit.
    fn measure(
        &self,
        args: &RunArgs,
        at: usize,
        interrupt: &AtomicBool,
        result: &mut RunResult,
    ) -> Result<()> {
        match self {
            Work::Workloads(workloads, skipped) => {
                let watchers = Watchers { metrics: None, announcer: None };
                let workload = &workloads[at];
                let place = (at, workloads.len());
                let (runs, error) = run::repeat(args, workload, place, interrupt, watchers, None);
                error.map_or(Ok(()), Err)?;
                let assembly = Assembly {
                    workload,
                    settings: run::settings(args),
                    peak_rss_bytes: host::peak_rss_bytes(),
                    cores: result.machine.cores,
                    precision: args.precision,
                };
                result.workloads = workload_results(&assembly, &runs);
                result.skipped.clone_from(skipped);
            }
            Work::Points(found, points) => {
                let place = (at, points.len());
                let (figure, failure) = study::run_study(args, found, &points[at], place, interrupt)?;
                failure.map_or(Ok(()), Err)?;
                result.figures = vec![figure];
            }
        }
        Ok(())
    }

    /// Differs where machines have different files under the same names.
    fn digest(&self) -> String {
        let mut digest = Digest::default();
        match self {
            Work::Workloads(workloads, _) => workloads.iter().for_each(|it| {
                digest.add(&it.full_name);
                digest.add(&it.digest);
            }),
            Work::Points(_, points) => points.iter().for_each(|it| digest.add(&format!("{it:?}"))),
        }
        digest.hex()
    }
}

pub(super) fn run(args: &RunArgs, shard: Shard) -> Result<Exit> {
    if args.history.is_some() || args.baseline.is_some() || args.save_baseline.is_some() {
        bail!(
            "a shard is not recorded; merge the shards and record the whole: schedlab record DIR/result.json"
        );
    }
    if args.metrics.is_some() {
        bail!("--metrics is for a run of all workloads; leave it out, or leave out --shard");
    }
    let scheduler_config = run::scheduler_config_of(args)?;
    let work = work(args, scheduler_config.as_ref())?;
    let names = work.unit_names();
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(run::DEFAULT_OUT));
    let settings = settings(args, scheduler_config.as_ref(), work.digest());
    let settings: Vec<(&str, String)> =
        settings.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let mut log = UnitLog::open(&out, identity("run", &settings, names.len() as u64, shard))?;
    let interrupt = crate::signals::listen();
    for unit in log.left() {
        let at = usize::try_from(unit).context("a unit is one of the workloads")?;
        let started = Instant::now();
        let gates = run::parse_gates(&args.feature_gates)?;
        let mut result = run::run_header(args, scheduler_config.as_ref(), &gates);
        work.measure(args, at, interrupt, &mut result)?;
        if interrupt.load(Ordering::Relaxed) {
            complain(&format!(
                "schedlab: {shard} stopped; run the same command again to go on with {}",
                names[at]
            ));
            return Ok(Exit::Interrupted);
        }
        result.duration_s = started.elapsed().as_secs_f64();
        log.push(unit, &result)?;
    }
    let (dir, units) = log.finish()?;
    let Some(result) = together(units.bodies()?, 1) else {
        say(&format!("no unit falls to {shard}: there are {} units", names.len()));
        return Ok(Exit::Fine);
    };
    if args.json {
        run::write_all(&dir, &result)?;
        say(&serde_json::to_string_pretty(&result).context("could not write the result as JSON")?);
    } else {
        report(&dir, &result)?;
    }
    Ok(run::verdict(args, &result))
}

/// The units, in the order in which one machine would run them.
fn work(args: &RunArgs, scheduler_config: Option<&(SchedulerConfigFile, SchedulerConfig)>) -> Result<Work> {
    if let Some(found) = study::of(&args.select)? {
        let points = study::wanted(args, &found)?
            .into_iter()
            .flat_map(|(study, points)| points.into_iter().map(move |point| (study.clone(), vec![point])))
            .collect();
        return Ok(Work::Points(found, points));
    }
    let gates = run::parse_gates(&args.feature_gates)?;
    run::check_gates(&gates)?;
    let (mut to_run, skipped, broken) =
        run::split(select::workloads(&args.select, Some(run::DEFAULT_LABELS))?);
    if !broken.is_empty() {
        bail!("{} workload(s) are broken:\n{}", broken.len(), broken.join("\n"));
    }
    if to_run.is_empty() {
        let names: Vec<&str> = skipped.iter().map(|skipped| skipped.name.as_str()).collect();
        bail!("no workload can be run; skipped: {}", names.join(", "));
    }
    for workload in &mut to_run {
        if let Some((file, _)) = scheduler_config {
            workload.scheduler_config = Some(file.clone());
        }
        workload.feature_gates.extend(gates.clone());
    }
    Ok(Work::Workloads(to_run, skipped))
}

/// Every setting in which shards must agree. Not the threads, unless they were typed: machines differ.
fn settings(
    args: &RunArgs,
    scheduler_config: Option<&(SchedulerConfigFile, SchedulerConfig)>,
    units_digest: String,
) -> Vec<(String, String)> {
    let typed = |number: Option<u32>| number.map_or_else(|| "default".to_owned(), |it| it.to_string());
    let SelectArgs { suite, filter, labels, .. } = &args.select;
    let config = scheduler_config.map_or("none".to_owned(), |(file, _)| Digest::of(&file.text));
    let mut settings = vec![
        ("suite", suite.clone().unwrap_or_default()),
        ("filter", filter.clone().unwrap_or_default()),
        ("labels", labels.clone().unwrap_or_default()),
        ("workloads", units_digest),
        ("scheduler configuration", config),
        ("threads", typed(args.threads)),
        ("parallelism", typed(args.parallelism)),
        ("percentage of nodes to score", typed(args.percentage_of_nodes_to_score)),
        ("seed", args.seed.to_string()),
        ("repeat", typed(args.repeat)),
        ("precision", args.precision.to_string()),
        ("budget", format!("{:?}", args.budget)),
        ("rounds", typed(args.rounds)),
        ("feature gates", args.feature_gates.clone()),
        ("known gaps", format!("{:?}", args.known_gaps)),
        (ENFORCE, args.enforce_thresholds.to_string()),
    ];
    let options = run::options(args);
    settings.extend(options.iter().map(|(name, value)| (name.as_str(), value.clone())));
    settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// What shards came to that were put together.
pub(crate) fn merged(out: &Path, merged: &Merged) -> Result<Exit> {
    let whole = together(merged.units.bodies()?, merged.shard_count);
    let result = whole.context("the shards have no units")?;
    report(out, &result)?;
    let enforce_thresholds = merged.identity.settings.get(ENFORCE).is_some_and(|value| value == "true");
    Ok(run::verdict(&RunArgs { enforce_thresholds, ..RunArgs::default() }, &result))
}

/// Writes the files of a run and prints its tables.
fn report(dir: &Path, result: &RunResult) -> Result<()> {
    let report = run::write_all(dir, result)?;
    if result.figures.is_empty() {
        run_text::print(result, Some(&report));
    } else {
        study_text::print(&result.figures);
        say(&format!("Report: {}", report.display()));
    }
    Ok(())
}

/// One result of the results of units, in their order.
fn together(parts: Vec<RunResult>, shard_count: u32) -> Option<RunResult> {
    let mut machines: Vec<Machine> = Vec::new();
    for part in &parts {
        if !machines.contains(&part.machine) {
            machines.push(part.machine.clone());
        }
    }
    let mut parts = parts.into_iter();
    let mut whole = parts.next()?;
    for part in parts {
        whole.duration_s += part.duration_s;
        whole.partial |= part.partial;
        whole.started_at = whole.started_at.min(part.started_at);
        whole.workloads.extend(part.workloads);
        part.figures.into_iter().for_each(|figure| add_figure(&mut whole.figures, figure));
    }
    if shard_count > 1 {
        // Results are compared only where all options agree: one of several machines with its like.
        whole.options.insert("shards".to_owned(), shards_text(shard_count, &machines));
    }
    Some(whole)
}

fn shards_text(shard_count: u32, machines: &[Machine]) -> String {
    let text = |machine: &Machine| format!("{} ({} cores)", machine.cpu_model, machine.cores);
    let machines: Vec<String> = machines.iter().map(text).collect();
    format!("{shard_count}, measured on several machines or at several times: {}", machines.join("; "))
}

/// Points of a study go into one figure.
fn add_figure(figures: &mut Vec<Figure>, figure: Figure) {
    match figures.iter_mut().find(|known| known.name == figure.name) {
        Some(known) => known.rows.extend(figure.rows),
        None => figures.push(figure),
    }
}
