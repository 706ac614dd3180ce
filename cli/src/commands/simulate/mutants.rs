//! `schedlab simulate --mutants`: would the simulator have found the known faults of kube-scheduler?

use std::ops::Range;

use anyhow::Result;
use schedlab_cluster::clock::monotonic_ns;
use schedlab_cluster::controllers::{ControllerMutant, ControllerMutants};
use schedlab_core::mutants::{Mutant, Mutants};
use schedlab_simulator::faults::FaultProfile;
use schedlab_simulator::seeds::{Go, SeedFailure, SeedPlan, keep_panics_quiet, run_caught, run_seeds};
use serde_json::json;

use super::{SimulateArgs, events_text, partial_text, picked_by, shrink_failure, thread_count};
use crate::progress::{complain, say};
use crate::table::{Align, render};
use crate::{Exit, signals};

/// How long a mutant is looked for.
const LOOK_FOR_NS: u64 = 60_000_000_000;
/// A script is small up to here; a larger one is put aside and the search goes on.
const SMALL_EVENTS: usize = 20;
/// Seeds enough for a minute on any machine.
const SEEDS: Range<u64> = 0..1_000_000_000;

/// A defect of the scheduler, or of a controller.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Defect {
    Scheduler(Mutant),
    Controller(ControllerMutant),
}

impl Defect {
    fn all() -> impl Iterator<Item = Defect> {
        let of_schedulers = Mutant::ALL.into_iter().map(Defect::Scheduler);
        of_schedulers.chain(ControllerMutant::ALL.into_iter().map(Defect::Controller))
    }

    fn name(self) -> String {
        match self {
            Defect::Scheduler(mutant) => format!("{mutant:?}"),
            Defect::Controller(mutant) => format!("{mutant:?}"),
        }
    }

    /// Where the fault is told of, or the rule that it breaks.
    fn threads(self) -> &'static str {
        match self {
            Defect::Scheduler(mutant) => mutant.threads(),
            Defect::Controller(mutant) => mutant.rule(),
        }
    }

    fn given_to(self, plan: SeedPlan) -> SeedPlan {
        match self {
            Defect::Scheduler(mutant) => SeedPlan { mutants: Mutants::of(mutant), ..plan },
            Defect::Controller(mutant) => {
                SeedPlan { controller_mutants: ControllerMutants::of(mutant), ..plan }
            }
        }
    }
}

/// What came of the search for one mutant.
struct Find {
    mutant: Defect,
    failure: SeedFailure,
    events: usize,
    picked: String,
    found_s: f64,
}

pub(super) fn hunt(args: &SimulateArgs, profile: Option<FaultProfile>) -> Result<Exit> {
    keep_panics_quiet();
    let mut finds = Vec::new();
    let mut missed = Vec::new();
    for mutant in Defect::all() {
        if signals::is_interrupted() {
            break;
        }
        match look_for(mutant, profile.or_else(|| where_to_look(mutant)), thread_count(args)) {
            Some(find) => finds.push(find),
            None if signals::is_interrupted() => break,
            None => missed.push(mutant),
        }
        complain(&format!(
            "{}: {}",
            mutant.name(),
            if missed.last() == Some(&mutant) { "not found" } else { "found" }
        ));
    }
    let is_partial = signals::is_interrupted();
    if args.json {
        let mut document = document(&finds, &missed);
        document["partial"] = is_partial.into();
        say(&serde_json::to_string_pretty(&document)?);
    } else {
        say(&table(&finds));
        say(&format!("{} of {} mutants found", finds.len(), Defect::all().count()));
        missed.iter().for_each(|mutant| {
            say(&format!("not found within 60 s: {} ({})", mutant.name(), mutant.threads()))
        });
        if is_partial {
            let looked_for = (finds.len() + missed.len()) as u64;
            say(&partial_text(looked_for, Defect::all().count() as u64, "mutants"));
        }
    }
    Ok(match missed.is_empty() {
        _ if is_partial => Exit::Interrupted,
        true => Exit::Fine,
        false => Exit::CheckFailed,
    })
}

/// The profile that is about what a mutant gets wrong, where the mix meets it too rarely: once in 200,000
/// seeds.
fn where_to_look(mutant: Defect) -> Option<FaultProfile> {
    match mutant {
        Defect::Scheduler(Mutant::DomainLeftUnheard) => Some(FaultProfile::Domains),
        Defect::Scheduler(Mutant::OwnWriteUnseen) => Some(FaultProfile::Nominations),
        Defect::Scheduler(Mutant::MissMovesNomination) => Some(FaultProfile::Victims),
        Defect::Scheduler(Mutant::NamespaceUnheard) => Some(FaultProfile::Namespaces),
        Defect::Scheduler(Mutant::UnwrittenNominationUnheard) => Some(FaultProfile::Backlog),
        Defect::Scheduler(
            Mutant::GangBoundInPart
            | Mutant::GangForgetsItsBound
            | Mutant::GangUnheard
            | Mutant::GangKeepsRoom,
        ) => Some(FaultProfile::Groups),
        Defect::Scheduler(_) => None,
        Defect::Controller(_) => Some(FaultProfile::Controllers),
    }
}

/// The first seed that fails and shrinks to a small script; the smallest if none does.
fn look_for(mutant: Defect, profile: Option<FaultProfile>, threads: usize) -> Option<Find> {
    let begun_ns = monotonic_ns();
    let mut best: Option<Find> = None;
    let mut seeds = SEEDS;
    while monotonic_ns() - begun_ns < LOOK_FOR_NS && !signals::is_interrupted() {
        let sound = SeedPlan { seeds: seeds.clone(), profile, threads, ..SeedPlan::default() };
        let plan = mutant.given_to(sound.clone());
        let summary = run_seeds(&plan, &|_| {
            let has_time = monotonic_ns() - begun_ns < LOOK_FOR_NS && !signals::is_interrupted();
            if has_time { Go::On } else { Go::Stop }
        });
        let Some(failure) = summary.failure else { break };
        seeds.start = failure.seed + 1;
        if run_caught(&sound.scenario_of(failure.seed)).violation.is_some() {
            // What fails without the defect says nothing of it.
            continue;
        }
        let found_s = (monotonic_ns() - begun_ns) as f64 / 1e9;
        let shrunk = shrink_failure(&plan, &failure);
        let events = shrunk.scenario.script.len();
        if best.as_ref().is_none_or(|best| events < best.events) {
            let picked = events_text(&picked_by(&failure, &shrunk));
            best = Some(Find { mutant, failure, events, picked, found_s });
        }
        if events <= SMALL_EVENTS {
            break;
        }
    }
    best
}

fn table(finds: &[Find]) -> String {
    let columns = [
        ("mutant", Align::Left),
        ("threads", Align::Left),
        ("seed", Align::Right),
        ("faults", Align::Left),
        ("invariant", Align::Left),
        ("found in", Align::Right),
        ("events", Align::Right),
    ];
    let row = |find: &Find| {
        vec![
            find.mutant.name(),
            find.mutant.threads().to_owned(),
            find.failure.seed.to_string(),
            find.failure.profile.name().to_owned(),
            find.failure.violation.invariant.name().to_owned(),
            format!("{:.2} s", find.found_s),
            find.events.to_string(),
        ]
    };
    render(&columns, &finds.iter().map(row).collect::<Vec<_>>())
}

fn document(finds: &[Find], missed: &[Defect]) -> serde_json::Value {
    let find = |find: &Find| {
        json!({
            "mutant": find.mutant.name(),
            "threads": find.mutant.threads(),
            "seed": find.failure.seed,
            "faults": find.failure.profile.name(),
            "invariant": find.failure.violation.invariant.name(),
            "message": find.failure.violation.message,
            "foundSeconds": find.found_s,
            "events": find.events,
            "picked": find.picked,
        })
    };
    json!({
        "format": "schedlab-mutants/v1",
        "found": finds.iter().map(find).collect::<Vec<_>>(),
        "notFound": missed.iter().map(|mutant| mutant.name()).collect::<Vec<_>>(),
    })
}
