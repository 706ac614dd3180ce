//! `schedlab simulate`: many seeds in virtual time, and the smallest script of the first that fails.

#[cfg(feature = "mutants")]
mod mutants;
mod sharded;
mod soak;
#[cfg(not(feature = "mutants"))]
mod mutants {
    //! Without the feature there is nothing to look for.

    use anyhow::{Result, bail};
    use schedlab_simulator::faults::FaultProfile;

    use super::SimulateArgs;
    use crate::Exit;

    pub(super) fn hunt(_: &SimulateArgs, _: Option<FaultProfile>) -> Result<Exit> {
        bail!(
            "this build has no mutants; build one that has, for tests only: \
             cargo run --release --features mutants -- simulate --mutants"
        )
    }
}

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use schedlab_cluster::clock::monotonic_ns;
use schedlab_cluster::controllers::ControllerDescriptor;
use schedlab_simulator::faults::FaultProfile;
use schedlab_simulator::seeds::{
    Go, SeedFailure, SeedPlan, SeedSummary, keep_panics_quiet, mixed_profile, run_caught, run_seeds,
};
use schedlab_simulator::{Shrunk, SimulationOutcome, generate, run_traced, shrink};
use schedlab_workloads::controllers::parse_list;
use serde_json::{Value, json};

use crate::progress::say;
use crate::shards::ShardArgs;
use crate::{Exit, signals};

pub(crate) use sharded::merged;

/// What may be typed.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SimulateArgs {
    /// Seeds to run, as FROM..TO; TO is not among them
    #[arg(long, value_name = "FROM..TO", default_value = "0..200", conflicts_with = "seed")]
    seeds: String,
    /// One seed, to replay what failed
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Faults: none, api, watch, nodes, restart, rivals, storm, domains, nominations, victims,
    /// namespaces, controllers
    /// [default: another of the first seven with every seed]
    #[arg(long, value_name = "PROFILE")]
    faults: Option<String>,
    /// Only these events of the seed's script, by number, as 0,3-,7..9; a dash leaves out the pause
    /// before an event. What a shrunk script is replayed by
    #[arg(long, value_name = "LIST", requires = "seed")]
    events: Option<String>,
    /// Controllers to run in every scenario, by kube-controller-manager's names, or all; the profile
    /// `controllers` has its own
    #[arg(long, value_name = "LIST", default_value = "")]
    controllers: String,
    /// Print all that happened, a line an event
    #[arg(long, requires = "seed")]
    trace: bool,
    /// Threads [default: the cores of this machine]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Option<u32>,
    /// Give the scheduler each known defect in turn and look for it, 60 s each at most; needs a build
    /// with the feature `mutants`
    #[arg(long, conflicts_with_all = ["seed", "events", "trace"])]
    mutants: bool,
    /// Instead of seeds: a cluster in which everything comes and goes under names that never repeat, for
    /// so many events; prints what is held at ten checkpoints, and fails if it grows
    #[arg(long, value_name = "EVENTS", conflicts_with_all = ["seed", "events", "trace", "mutants", "json"],
        value_parser = clap::value_parser!(u64).range(10_000..))]
    soak: Option<u64>,
    /// Print one JSON document, and nothing else on standard output
    #[arg(long)]
    json: bool,
    /// Where to write result.json, units.jsonl (a line for every 64 seeds) and manifest.json. All seeds are run,
    /// also behind one that fails; a run that was killed goes on where it stopped
    #[arg(long, value_name = "DIR", conflicts_with_all = ["seed", "events", "trace", "mutants", "soak"])]
    out: Option<PathBuf>,
    #[command(flatten)]
    shards: ShardArgs,
}

const EXAMPLES: &str = "Examples:
  schedlab simulate --seeds 0..2000
  schedlab simulate --seeds 0..100000 --faults storm
  schedlab simulate --seed 71 --faults rivals
  schedlab simulate --seed 71 --faults rivals --events 0,3-,7..9 --trace
  schedlab simulate --soak 5000000
  schedlab simulate --seeds 0..4000 --shard 2/4 --out seeds && schedlab merge seeds --out all
  cargo run --release --features mutants -- simulate --mutants

Everything is drawn from the seed. A seed that fails is shrunk: events are taken out of its script for as long as
the same invariant is violated. The unschedulable flush is off. docs/reliability.md says what is modelled.";

pub(crate) fn simulate(args: &SimulateArgs) -> Result<Exit> {
    let seeds = match args.seed {
        Some(seed) => one_seed(seed)?,
        None => read_seeds(&args.seeds)?,
    };
    let profile = args.faults.as_deref().map(str::parse::<FaultProfile>).transpose()?;
    let shard = args.shards.shard()?;
    if let (Some(shard), None) = (shard, &args.out) {
        bail!("{shard} is to be merged with the others: give a folder with --out");
    }
    if let (Some(seed), true) = (args.seed, args.events.is_some() || args.trace) {
        keep_panics_quiet();
        return replay(seed, profile.unwrap_or_else(|| mixed_profile(seed)), args);
    }
    signals::listen();
    if args.mutants {
        return mutants::hunt(args, profile);
    }
    if let Some(events) = args.soak {
        return soak::soak(events);
    }
    keep_panics_quiet();
    if let Some(out) = &args.out {
        return sharded::simulate(args, out, (seeds, profile), shard);
    }
    let plan = SeedPlan {
        seeds,
        profile,
        threads: thread_count(args),
        controllers: controllers(args)?,
        ..SeedPlan::default()
    };
    let (summary, wall_s) = run_with_bar(&plan);
    let shrunk = summary.failure.as_ref().map(|failure| shrink_failure(&plan, failure));
    let wanted = plan.seeds.end - plan.seeds.start;
    let is_partial = signals::is_interrupted() && (summary.seeds < wanted || shrunk.is_some());
    if args.json {
        let mut document = document(&summary, wall_s, shrunk.as_ref());
        document["partial"] = is_partial.into();
        say(&serde_json::to_string_pretty(&document)?);
    } else {
        say(&summary_text(&summary, wall_s));
        if is_partial {
            say(&partial_text(summary.seeds, wanted, "seeds"));
        }
        if let (Some(failure), Some(shrunk)) = (&summary.failure, &shrunk) {
            say(&failure_text(failure, shrunk));
        }
    }
    Ok(match summary.failure {
        _ if is_partial => Exit::Interrupted,
        None => Exit::Fine,
        Some(_) => Exit::CheckFailed,
    })
}

/// What is said of sums that a signal cut short.
fn partial_text(done: u64, wanted: u64, of_what: &str) -> String {
    format!("PARTIAL: interrupted after {} of {} {of_what}", HumanCount(done), HumanCount(wanted))
}

fn controllers(args: &SimulateArgs) -> Result<Vec<&'static ControllerDescriptor>> {
    let asked = parse_list(&args.controllers).context("--controllers")?;
    Ok(asked.into_iter().map(|controller| controller.descriptor).collect())
}

fn thread_count(args: &SimulateArgs) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    args.threads.map_or_else(cores, |threads| threads as usize)
}

fn read_seeds(text: &str) -> Result<Range<u64>> {
    let how = || format!("--seeds {text}: write a range such as 0..2000");
    let (from, to) = text.split_once("..").with_context(how)?;
    let range = from.trim().parse().with_context(how)?..to.trim().parse().with_context(how)?;
    if range.is_empty() {
        bail!("--seeds {text} has no seed; the first number must be below the second");
    }
    Ok(range)
}

fn one_seed(seed: u64) -> Result<Range<u64>> {
    let Some(end) = seed.checked_add(1) else {
        bail!("--seed {seed} is beyond the last seed; take one up to {}", u64::MAX - 1);
    };
    Ok(seed..end)
}

/// An event of a script, and whether the pause before it is left out.
type Picked = (u32, bool);

/// Numbers and ranges with both ends, a dash behind those without their pause: `0,3-,7..9`. All below
/// `event_count`.
fn read_events(text: &str, event_count: usize) -> Result<Vec<Picked>> {
    let mut picked = Vec::new();
    for part in text.split(',') {
        let how =
            || format!("--events {text}: `{part}` is no event; write numbers and ranges such as 0,3-,7..9");
        let (range, is_prompt) = part.trim().strip_suffix('-').map_or((part, false), |range| (range, true));
        let (from, to) = range.split_once("..").unwrap_or((range, range));
        let from: u32 = from.trim().parse().with_context(how)?;
        let to: u32 = to.trim().parse().with_context(how)?;
        if to < from {
            bail!("--events {text}: the range {range} ends before it begins; write {to}..{from}");
        }
        if event_count <= to as usize {
            bail!(
                "--events {text}: there is no event {to}; this seed with these faults has {event_count} events, \
                 0 to {}",
                event_count.saturating_sub(1)
            );
        }
        picked.extend((from..=to).map(|number| (number, is_prompt)));
    }
    Ok(picked)
}

/// The shortest text that [`read_events`] reads back.
fn events_text(picked: &[Picked]) -> String {
    let mut ranges: Vec<(u32, u32, bool)> = Vec::new();
    for &(number, is_prompt) in picked {
        match ranges.last_mut() {
            Some((_, last, same)) if *last + 1 == number && *same == is_prompt => *last = number,
            _ => ranges.push((number, number, is_prompt)),
        }
    }
    let text = |&(from, to, is_prompt): &(u32, u32, bool)| {
        let dash = if is_prompt { "-" } else { "" };
        if from == to { format!("{from}{dash}") } else { format!("{from}..{to}{dash}") }
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}

fn replay(seed: u64, profile: FaultProfile, args: &SimulateArgs) -> Result<Exit> {
    let mut scenario = generate(seed, profile);
    scenario.run_controllers(&controllers(args)?);
    if let Some(events) = &args.events {
        let picked = read_events(events, scenario.script.len())?;
        let is_prompt =
            |number| picked.iter().find(|(known, _)| *known == number).map(|(_, is_prompt)| *is_prompt);
        scenario.script.retain(|event| is_prompt(event.number).is_some());
        for event in &mut scenario.script {
            if is_prompt(event.number) == Some(true) {
                event.after_us = 0;
            }
        }
    }
    say(&scenario.text());
    let outcome = run_caught(&scenario);
    if args.trace {
        // A panic ends the run before the trace is handed out.
        let panics =
            outcome.violation.as_ref().is_some_and(|violation| outcome.events == 0 && violation.event == 0);
        if !panics {
            run_traced(&scenario).1.iter().for_each(|line| say(line));
        }
    }
    let Some(violation) = outcome.violation else {
        say(&format!("{} events, no violation", outcome.events));
        return Ok(Exit::Fine);
    };
    say(&format!("violated: {violation}"));
    Ok(Exit::CheckFailed)
}

fn run_with_bar(plan: &SeedPlan) -> (SeedSummary, f64) {
    let count = plan.seeds.end - plan.seeds.start;
    let bar = ProgressBar::with_draw_target(Some(count), ProgressDrawTarget::stderr_with_hz(8));
    let style = ProgressStyle::with_template("simulate [{bar:40}] {pos}/{len} seeds {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(250));
    let begun_ns = monotonic_ns();
    let summary = run_seeds(plan, &|done| {
        bar.set_position(done);
        if signals::is_interrupted() { Go::Stop } else { Go::On }
    });
    let wall_s = (monotonic_ns() - begun_ns) as f64 / 1e9;
    bar.finish_and_clear();
    (summary, wall_s)
}

/// The smallest script that fails alike; the smallest so far when a signal comes.
fn shrink_failure(plan: &SeedPlan, failure: &SeedFailure) -> Shrunk {
    let scenario = plan.scenario_of(failure.seed);
    shrink(&scenario, &failure.violation, &mut |scenario| {
        if signals::is_interrupted() { SimulationOutcome::default() } else { run_caught(scenario) }
    })
}

fn picked_by(failure: &SeedFailure, shrunk: &Shrunk) -> Vec<Picked> {
    let script = generate(failure.seed, failure.profile).script;
    let had_pause = |number| script.iter().any(|event| event.number == number && event.after_us > 0);
    let kept = shrunk.scenario.script.iter();
    kept.map(|event| (event.number, event.after_us == 0 && had_pause(event.number))).collect()
}

fn replay_command(failure: &SeedFailure, shrunk: Option<&Shrunk>) -> String {
    let events = shrunk
        .map(|shrunk| format!(" --events {}", events_text(&picked_by(failure, shrunk))))
        .unwrap_or_default();
    let names: Vec<&str> = failure.controllers.iter().map(|descriptor| descriptor.name).collect();
    let controllers =
        if names.is_empty() { String::new() } else { format!(" --controllers {}", names.join(",")) };
    format!(
        "schedlab simulate --seed {} --faults {}{controllers}{events}",
        failure.seed,
        failure.profile.name()
    )
}

fn counts_text<'a>(counts: impl Iterator<Item = (&'a str, u64)>) -> String {
    let texts =
        counts.filter(|(_, count)| *count > 0).map(|(name, count)| format!("{name} {}", HumanCount(count)));
    texts.collect::<Vec<_>>().join(", ")
}

fn summary_text(summary: &SeedSummary, wall_s: f64) -> String {
    let rate = (summary.events as f64 / wall_s) as u64;
    let hours = summary.virtual_ns as f64 / 3.6e12;
    [
        format!(
            "{} seeds, {} events in {wall_s:.1} s ({} events/s), {hours:.1} h of virtual time",
            HumanCount(summary.seeds),
            HumanCount(summary.events),
            HumanCount(rate)
        ),
        format!("faults: {} ({})", HumanCount(summary.faults.total()), counts_text(summary.faults.iter())),
        format!(
            "checks: {} ({})",
            HumanCount(summary.checks.total()),
            counts_text(summary.checks.iter().map(|(invariant, count)| (invariant.name(), count)))
        ),
        match &summary.failure {
            None => "no violation".to_owned(),
            Some(failure) => format!("seed {} violates {}", failure.seed, failure.violation),
        },
    ]
    .join("\n")
}

fn failure_text(failure: &SeedFailure, shrunk: &Shrunk) -> String {
    [
        format!("replay: {}", replay_command(failure, None)),
        String::new(),
        format!(
            "shrunk to {} events in {} runs: {}",
            shrunk.scenario.script.len(),
            shrunk.runs,
            shrunk.violation
        ),
        format!("replay: {}", replay_command(failure, Some(shrunk))),
        shrunk.scenario.text(),
    ]
    .join("\n")
}

fn document(summary: &SeedSummary, wall_s: f64, shrunk: Option<&Shrunk>) -> Value {
    let failure = summary.failure.as_ref().map(|failure| {
        json!({
            "seed": failure.seed,
            "faults": failure.profile.name(),
            "invariant": failure.violation.invariant.name(),
            "message": failure.violation.message,
            "virtualNs": failure.violation.at_ns,
            "event": failure.violation.event,
            "replay": replay_command(failure, None),
            "shrunk": shrunk.map(|shrunk| json!({
                "events": shrunk.scenario.script.len(),
                "message": shrunk.violation.message,
                "replay": replay_command(failure, Some(shrunk)),
                "script": shrunk.scenario.text(),
            })),
        })
    });
    let faults: serde_json::Map<String, Value> =
        summary.faults.iter().map(|(name, count)| (name.to_owned(), json!(count))).collect();
    let checks: serde_json::Map<String, Value> =
        summary.checks.iter().map(|(invariant, count)| (invariant.name().to_owned(), json!(count))).collect();
    json!({
        "format": "schedlab-simulate/v1",
        "seeds": summary.seeds,
        "events": summary.events,
        "wallSeconds": wall_s,
        "eventsPerSecond": summary.events as f64 / wall_s,
        "virtualSeconds": summary.virtual_ns as f64 / 1e9,
        "faults": faults,
        "checks": checks,
        "failure": failure,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_lists_round_trip_through_text() {
        let cases: [(&[Picked], &str); 4] = [
            (&[(4, false)], "4"),
            (&[(0, false), (3, true), (7, false), (8, false), (9, false)], "0,3-,7..9"),
            (&[(1, false), (2, true), (3, true)], "1,2..3-"),
            (&[(5, true)], "5-"),
        ];
        for (picked, text) in cases {
            assert_eq!(events_text(picked), text);
            assert_eq!(read_events(text, 10).expect("readable"), picked, "{text}");
        }
    }

    #[test]
    fn unknown_event_numbers_are_errors() {
        let cases = [
            ("1,x", "`x` is no event"),
            ("99999", "there is no event 99999; this seed with these faults has 10 events, 0 to 9"),
            ("0..4294967295", "there is no event 4294967295"),
            ("0,9..3", "the range 9..3 ends before it begins; write 3..9"),
            ("", "`` is no event"),
        ];
        for (text, part) in cases {
            let error = format!("{:#}", read_events(text, 10).expect_err(text));
            assert!(error.starts_with(&format!("--events {text}: ")) && error.contains(part), "{error}");
        }
    }

    #[test]
    fn seed_range_may_end_at_the_last_seed() {
        assert_eq!(one_seed(7).expect("a seed"), 7..8);
        let error = format!("{:#}", one_seed(u64::MAX).expect_err("no seed"));
        assert_eq!(
            error,
            "--seed 18446744073709551615 is beyond the last seed; take one up to 18446744073709551614"
        );
    }

    #[test]
    fn bad_seed_ranges_are_refused_with_the_syntax() {
        for (text, part) in [("7", "0..2000"), ("a..b", "0..2000"), ("5..5", "no seed")] {
            let error = format!("{:#}", read_seeds(text).expect_err(text));
            assert!(error.contains(part), "{error}");
        }
    }
}
