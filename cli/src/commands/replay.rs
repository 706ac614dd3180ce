//! `schedlab replay`: does the engine decide as the recorded kube-scheduler did?

use std::path::Path;

use anyhow::{Context, Result, bail};
use schedlab_replay::{TraceReport, replay_file};
use schedlab_workloads::results::write_atomic;
use serde::{Deserialize, Serialize};

use crate::args::ReplayArgs;
use crate::progress::{complain, say};
use crate::shards::{Shard, UnitLog, Units, identity};
use crate::{Exit, signals};

/// What a trace came to.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Trace {
    name: String,
    steps: u64,
    decisions: u64,
    comparisons: u64,
    difference_count: u64,
    /// The first few.
    differences: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    format: &'static str,
    steps: u64,
    difference_count: u64,
    traces: &'a [Trace],
}

impl Trace {
    fn of(report: &TraceReport, show: usize) -> Trace {
        Trace {
            name: report.name.clone(),
            steps: report.steps as u64,
            decisions: report.schedule_steps as u64,
            comparisons: report.comparisons,
            difference_count: report.difference_count,
            differences: report.differences.iter().take(show).map(ToString::to_string).collect(),
        }
    }

    fn say(&self) {
        say(&format!(
            "{}: {} steps, {} decisions, {} comparisons, {} differences",
            self.name, self.steps, self.decisions, self.comparisons, self.difference_count
        ));
        self.differences.iter().for_each(|difference| say(&format!("  {difference}")));
        let shown = self.differences.len() as u64;
        if shown < self.difference_count {
            say(&format!("  ... and {} more (--show N prints more)", self.difference_count - shown));
        }
    }
}

pub(crate) fn replay(args: &ReplayArgs) -> Result<Exit> {
    let shard = args.shards.shard()?;
    if let Some(out) = &args.out {
        return replay_shard(args, out, shard.unwrap_or(Shard::WHOLE));
    }
    if let Some(shard) = shard {
        bail!("{shard} is to be merged with the others: give a folder with --out");
    }
    let mut traces = Vec::new();
    signals::listen();
    for path in &args.files {
        if signals::is_interrupted() {
            return Ok(interrupted(&traces, args.files.len()));
        }
        let trace = Trace::of(&replay_file(path)?, args.show);
        trace.say();
        traces.push(trace);
    }
    Ok(conclude(&traces))
}

/// What a signal has left of a replay.
fn interrupted(traces: &[Trace], wanted: usize) -> Exit {
    conclude(traces);
    say(&format!("PARTIAL: interrupted after {} of {wanted} traces", traces.len()));
    Exit::Interrupted
}

fn conclude(traces: &[Trace]) -> Exit {
    let (steps, differences) = sums(traces);
    say(&format!("{} traces, {steps} steps, {differences} differences", traces.len()));
    if differences == 0 { Exit::Fine } else { Exit::CheckFailed }
}

fn sums(traces: &[Trace]) -> (u64, u64) {
    let sum = |of: fn(&Trace) -> u64| traces.iter().map(of).sum();
    (sum(|trace| trace.steps), sum(|trace| trace.difference_count))
}

fn replay_shard(args: &ReplayArgs, out: &Path, shard: Shard) -> Result<Exit> {
    let files: Vec<String> = args.files.iter().map(|path| path.display().to_string()).collect();
    let settings = [("traces", files.join(" ")), ("differences shown", args.show.to_string())];
    let mut log = UnitLog::open(out, identity("replay", &settings, files.len() as u64, shard))?;
    signals::listen();
    for unit in log.left() {
        if signals::is_interrupted() {
            complain(&format!(
                "schedlab: {} traces are kept in {}; the same command goes on behind them",
                log.done(),
                log.dir().display()
            ));
            return Ok(interrupted(&log.units().bodies()?, files.len()));
        }
        let path = usize::try_from(unit).ok().and_then(|at| args.files.get(at));
        let path = path.context("a unit is one of the traces")?;
        log.push(unit, &Trace::of(&replay_file(path)?, args.show))?;
    }
    let (dir, units) = log.finish()?;
    merged(&dir, &units)
}

/// What traces came to, of one shard or of all.
pub(crate) fn merged(dir: &Path, units: &Units) -> Result<Exit> {
    let traces = units.bodies::<Trace>()?;
    traces.iter().for_each(Trace::say);
    let (steps, difference_count) = sums(&traces);
    let document = Document { format: "schedlab-replay-traces/v1", steps, difference_count, traces: &traces };
    let mut text = serde_json::to_string_pretty(&document).context("could not write the result as JSON")?;
    text.push('\n');
    write_atomic(&dir.join("result.json"), text.as_bytes())?;
    Ok(conclude(&traces))
}
