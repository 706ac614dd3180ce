//! `schedlab simulate --out`: seeds in batches, a line each, so that shards and killed runs come to the same
//! bytes as one run.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use schedlab_simulator::faults::FaultProfile;
use schedlab_simulator::seeds::{SeedFailure, SeedPlan, SeedSummary, run_every_seed};
use schedlab_workloads::results::write_atomic;
use serde::{Deserialize, Serialize};

use super::{SimulateArgs, controllers, replay_command, shrink_failure, thread_count};
use crate::progress::{complain, say};
use crate::shards::{Shard, UnitLog, Units, identity};
use crate::{Exit, signals};

/// Seeds of a line: a fraction of a second.
const BATCH_SEEDS: u64 = 64;
const RESULT: &str = "result.json";
const FORMAT: &str = "schedlab-simulate-seeds/v1";

/// What seeds came to.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sums {
    seeds: u64,
    events: u64,
    virtual_ns: u64,
    faults: BTreeMap<String, u64>,
    checks: BTreeMap<String, u64>,
    failures: Vec<Found>,
}

/// A seed that failed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    seed: u64,
    faults: String,
    invariant: String,
    message: String,
    replay: String,
    /// The first of a batch is shrunk.
    shrunk: Option<Shrunk>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Shrunk {
    events: usize,
    message: String,
    replay: String,
    script: String,
}

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    /// Said when it is so only: a whole result has the same bytes wherever it was put together.
    #[serde(skip_serializing_if = "Option::is_none")]
    partial: Option<bool>,
    #[serde(flatten)]
    sums: &'a Sums,
}

impl Sums {
    fn of(plan: &SeedPlan) -> Sums {
        let (summary, failures) = run_every_seed(plan);
        let mut found: Vec<Found> = failures.iter().map(Found::of).collect();
        if let (Some(found), Some(failure)) = (found.first_mut(), failures.first()) {
            found.shrunk = Some(Shrunk::of(plan, failure));
        }
        Sums { failures: found, ..Sums::counted(&summary) }
    }

    fn together(units: &Units) -> Result<Sums> {
        let mut sums = Sums::default();
        units.bodies::<Sums>()?.into_iter().for_each(|batch| sums.add(batch));
        Ok(sums)
    }

    fn counted(summary: &SeedSummary) -> Sums {
        let named = |(name, count): (&str, u64)| (name.to_owned(), count);
        Sums {
            seeds: summary.seeds,
            events: summary.events,
            virtual_ns: u64::try_from(summary.virtual_ns).unwrap_or(u64::MAX),
            faults: summary.faults.iter().map(named).collect(),
            checks: summary.checks.iter().map(|(it, count)| named((it.name(), count))).collect(),
            failures: Vec::new(),
        }
    }

    fn add(&mut self, other: Sums) {
        let add = |into: &mut BTreeMap<String, u64>, from: BTreeMap<String, u64>| {
            for (name, count) in from {
                *into.entry(name).or_default() += count;
            }
        };
        self.seeds += other.seeds;
        self.events += other.events;
        self.virtual_ns = self.virtual_ns.saturating_add(other.virtual_ns);
        add(&mut self.faults, other.faults);
        add(&mut self.checks, other.checks);
        self.failures.extend(other.failures);
    }

    fn text(&self) -> String {
        let counts = |counts: &BTreeMap<String, u64>| {
            super::counts_text(counts.iter().map(|(name, count)| (name.as_str(), *count)))
        };
        let mut lines = vec![
            format!("{} seeds, {} events", HumanCount(self.seeds), HumanCount(self.events)),
            format!("faults: {}", counts(&self.faults)),
            format!("checks: {}", counts(&self.checks)),
        ];
        if self.failures.is_empty() {
            lines.push("no violation".to_owned());
        }
        for failure in &self.failures {
            lines.push(format!("seed {} violates {}: {}", failure.seed, failure.invariant, failure.message));
            let shrunk = failure.shrunk.as_ref().map(|shrunk| &shrunk.replay);
            lines.push(format!("replay: {}", shrunk.unwrap_or(&failure.replay)));
        }
        lines.join("\n")
    }

    fn say(&self, dir: &Path) {
        say(&self.text());
        say(&format!("Result: {}", dir.join(RESULT).display()));
    }

    fn exit(&self) -> Exit {
        if self.failures.is_empty() { Exit::Fine } else { Exit::CheckFailed }
    }
}

impl Found {
    fn of(failure: &SeedFailure) -> Found {
        Found {
            seed: failure.seed,
            faults: failure.profile.name().to_owned(),
            invariant: failure.violation.invariant.name().to_owned(),
            message: failure.violation.message.clone(),
            replay: replay_command(failure, None),
            shrunk: None,
        }
    }
}

impl Shrunk {
    fn of(plan: &SeedPlan, failure: &SeedFailure) -> Shrunk {
        let shrunk = shrink_failure(plan, failure);
        Shrunk {
            events: shrunk.scenario.script.len(),
            message: shrunk.violation.message.clone(),
            replay: replay_command(failure, Some(&shrunk)),
            script: shrunk.scenario.text(),
        }
    }
}

pub(super) fn simulate(
    args: &SimulateArgs,
    out: &Path,
    (seeds, profile): (Range<u64>, Option<FaultProfile>),
    shard: Option<Shard>,
) -> Result<Exit> {
    let controllers = controllers(args)?;
    let mut settings = vec![
        ("seeds", format!("{}..{}", seeds.start, seeds.end)),
        ("faults", profile.map_or("mix", FaultProfile::name).to_owned()),
    ];
    // Left out where nothing is chosen, as in runs of versions without the choice.
    if !controllers.is_empty() {
        settings.push(("controllers", args.controllers.clone()));
    }
    let batch_count = (seeds.end - seeds.start).div_ceil(BATCH_SEEDS);
    let identity = identity("simulate", &settings, batch_count, shard.unwrap_or(Shard::WHOLE));
    let mut log = UnitLog::open(out, identity)?;
    if log.done() > 0 {
        complain(&format!("schedlab: {} batches were done before; goes on behind them", log.done()));
    }
    let bar = bar(log.left_count());
    let mut from = 0;
    while let Some(batch) = log.next_left(from) {
        from = batch + 1;
        if signals::is_interrupted() {
            break;
        }
        let start = seeds.start + batch * BATCH_SEEDS;
        let end = start.saturating_add(BATCH_SEEDS).min(seeds.end);
        let plan = SeedPlan {
            seeds: start..end,
            profile,
            threads: thread_count(args),
            controllers: controllers.clone(),
            ..SeedPlan::default()
        };
        let sums = Sums::of(&plan);
        // A failure that a signal kept from being shrunk has other bytes; the batch is run again.
        if signals::is_interrupted() && !sums.failures.is_empty() {
            break;
        }
        log.push(batch, &sums)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    if 0 < log.left_count() {
        return say_partial(args, &log);
    }
    let (dir, units) = log.finish()?;
    let (sums, document) = write_result(&dir, &units)?;
    if args.json {
        say(document.trim_end());
    } else {
        sums.say(&dir);
    }
    Ok(sums.exit())
}

/// What a signal has left: the batches that are done are kept, and the same command goes on behind them.
fn say_partial(args: &SimulateArgs, log: &UnitLog) -> Result<Exit> {
    let sums = Sums::together(log.units())?;
    let done = log.done();
    let wanted = done + log.left_count();
    if args.json {
        let document = Document { format: FORMAT, partial: Some(true), sums: &sums };
        say(&serde_json::to_string_pretty(&document).context("could not write the result as JSON")?);
    } else {
        say(&sums.text());
        say(&super::partial_text(done, wanted, "batches"));
    }
    complain(&format!(
        "schedlab: {done} of {wanted} batches are kept in {}; the same command goes on behind them",
        log.dir().display()
    ));
    Ok(Exit::Interrupted)
}

fn bar(batch_count: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(batch_count), ProgressDrawTarget::stderr_with_hz(8));
    let style = ProgressStyle::with_template("simulate [{bar:40}] {pos}/{len} batches of 64 seeds {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

/// What shards came to that were put together.
pub(crate) fn merged(out: &Path, units: &Units) -> Result<Exit> {
    let (sums, _) = write_result(out, units)?;
    sums.say(out);
    Ok(sums.exit())
}

fn write_result(dir: &Path, units: &Units) -> Result<(Sums, String)> {
    let sums = Sums::together(units)?;
    let document = Document { format: FORMAT, partial: None, sums: &sums };
    let mut text = serde_json::to_string_pretty(&document).context("could not write the result as JSON")?;
    text.push('\n');
    write_atomic(&dir.join(RESULT), text.as_bytes())?;
    Ok((sums, text))
}
