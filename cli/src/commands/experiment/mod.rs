//! `schedlab experiment`: claims of proposals, each with the runs that answer it.

mod text;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Error, Result};
use clap::{Args, Subcommand};
use schedlab_lab::LabError;
use schedlab_lab::experiment::{Definition, MeasuredStudy};
use schedlab_lab::study::SessionControl;
use schedlab_perf_dash::claims::{claims_markdown, render_claims_html};
use schedlab_workloads::results::{
    EXPERIMENT_SCHEMA, ExperimentResult, read_experiments, write_atomic, write_experiment,
};

use schedlab_workloads::study::one_of;

use super::{run, study};
use crate::args::RunArgs;
use crate::progress::{Bar, notice, say};
use crate::{Exit, host, signals};

/// Where experiments are written when nobody says otherwise.
pub(super) const DEFAULT_CLAIMS: &str = "schedlab-claims";

/// What to do with experiments.
#[derive(Clone, Debug, Args)]
pub(crate) struct ExperimentArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Clone, Debug, Subcommand)]
enum Verb {
    /// Show the experiments: proposal, claims, what is run
    List {
        /// Folder with an experiment.yaml of one's own instead of the built-in ones; may be given several times
        #[arg(long, value_name = "DIR")]
        config: Vec<PathBuf>,
    },
    /// Run experiments by name, judge their claims, and write the page of all claims in the folder
    Run {
        /// Names, as `schedlab experiment list` shows them; with --config all of them when none is named
        #[arg(value_name = "NAME", required_unless_present = "config")]
        names: Vec<String>,
        #[command(flatten)]
        options: Options,
    },
    /// Run every experiment
    All {
        #[command(flatten)]
        options: Options,
    },
}

#[derive(Clone, Debug, Args)]
struct Options {
    /// Folder with an experiment.yaml of one's own instead of the built-in ones; may be given several times
    #[arg(long, value_name = "DIR")]
    config: Vec<PathBuf>,
    /// Reduced as each definition says: smaller clusters, fewer points and rounds
    #[arg(long)]
    quick: bool,
    /// Rounds of every study; in each, every variant runs twice [default: as the definition says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: Option<u32>,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Where results (a JSON file an experiment) and the page of all claims (claims.html, claims.md) go
    #[arg(long, value_name = "DIR", default_value = DEFAULT_CLAIMS)]
    out: PathBuf,
    /// Write the page of all claims as Markdown to this file too
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

pub(crate) fn experiment(args: &ExperimentArgs) -> Result<Exit> {
    match &args.verb {
        Verb::List { config } => {
            say(&text::list(&definitions(config)?));
            Ok(Exit::Fine)
        }
        Verb::Run { names, options } => {
            let definitions = definitions(&options.config)?;
            run_all(&chosen(&definitions, names)?, options)
        }
        Verb::All { options } => {
            let definitions = definitions(&options.config)?;
            run_all(&definitions.iter().collect::<Vec<_>>(), options)
        }
    }
}

fn definitions(config: &[PathBuf]) -> Result<Vec<Definition>> {
    if config.is_empty() {
        return Ok(Definition::built_in()?);
    }
    Ok(config.iter().map(|folder| Definition::of_folder(folder)).collect::<Result<_, _>>()?)
}

fn chosen<'a>(definitions: &'a [Definition], names: &[String]) -> Result<Vec<&'a Definition>> {
    if names.is_empty() {
        return Ok(definitions.iter().collect());
    }
    let find = |name: &String| {
        let found = definitions.iter().find(|it| it.experiment.name == *name);
        found.ok_or_else(|| {
            let known: Vec<&str> = definitions.iter().map(|it| it.experiment.name.as_str()).collect();
            anyhow::anyhow!("there is no experiment {name:?}; {}", one_of(name, &known))
        })
    };
    names.iter().map(find).collect()
}

fn run_all(definitions: &[&Definition], options: &Options) -> Result<Exit> {
    run::make_writable(&options.out)?;
    let interrupt = signals::listen();
    let mut failure = None;
    for (at, definition) in definitions.iter().enumerate() {
        let (result, error) = run_one(definition, options, (at, definitions.len()), interrupt)?;
        let is_empty = result.figures.iter().all(|figure| figure.rows.is_empty());
        if !is_empty {
            write_experiment(&options.out, &result)?;
            say(&text::result(&result));
        }
        failure = error;
        if failure.is_some() || interrupt.load(Ordering::Relaxed) {
            break;
        }
    }
    let page = write_pages(options)?;
    say(&format!("\nClaims: {}", page.display()));
    match failure {
        _ if signals::is_interrupted() => Ok(Exit::Interrupted),
        Some(error) => Err(error),
        None => Ok(Exit::Fine),
    }
}

/// The page of every experiment in the folder, those of earlier calls too.
fn write_pages(options: &Options) -> Result<PathBuf> {
    let experiments = read_experiments(&options.out)?;
    let page = options.out.join("claims.html");
    write_atomic(&page, render_claims_html(&experiments).as_bytes())?;
    let text = claims_markdown(&experiments);
    write_atomic(&options.out.join("claims.md"), text.as_bytes())?;
    if let Some(file) = &options.markdown {
        write_atomic(file, text.as_bytes())?;
    }
    Ok(std::path::absolute(&page).unwrap_or(page))
}

/// Runs an experiment. What was measured before an error or an interrupt is judged and kept.
fn run_one(
    definition: &Definition,
    options: &Options,
    place: (usize, usize),
    interrupt: &AtomicBool,
) -> Result<(ExperimentResult, Option<Error>)> {
    let mut result = header(definition, options);
    let (started, load) = (Instant::now(), host::load());
    let (measured, failure) = measure(definition, options, place, interrupt)?;
    (result.figures, result.claims) = definition.conclude(&measured, options.seed);
    result.partial = failure.is_some() || interrupt.load(Ordering::Relaxed);
    result.duration_s = started.elapsed().as_secs_f64();
    result.load = load.zip(host::load()).map(|(before, after)| [before, after]);
    Ok((result, failure))
}

type Measured = (Vec<MeasuredStudy>, Option<Error>);

fn measure(
    definition: &Definition,
    options: &Options,
    (at, count): (usize, usize),
    interrupt: &AtomicBool,
) -> Result<Measured> {
    let mut measured = Vec::new();
    let run_args = RunArgs { seed: options.seed, ..RunArgs::default() };
    for wanted in definition.wanted(options.quick, options.rounds) {
        let plans = study::plans(&run_args, &wanted)?;
        warn_of_few_rounds(definition, &wanted.0.name, wanted.0.rounds, options);
        let bar = Bar::new(&format!("{}: {}", definition.experiment.name, wanted.0.title), at, count);
        let control = SessionControl { progress: &bar, interrupt };
        let outcome = definition.studies.measure(&wanted, plans, control);
        bar.clear();
        let (points, failure): (_, Option<LabError>) = outcome?;
        measured.push((wanted.0, points));
        if failure.is_some() || interrupt.load(Ordering::Relaxed) {
            return Ok((measured, failure.map(Error::from)));
        }
    }
    Ok((measured, None))
}

/// Says beforehand which claims cannot be judged on so few rounds.
fn warn_of_few_rounds(definition: &Definition, study: &str, rounds: u32, options: &Options) {
    let short: Vec<String> = definition
        .rounds_missing(study, rounds, options.quick)
        .map(|(quote, needed)| format!("“{quote}” needs {needed}"))
        .collect();
    if !short.is_empty() {
        let name = &definition.experiment.name;
        notice(&format!("{name}: {rounds} rounds of {study} decide nothing about: {}", short.join("; ")));
    }
}

fn header(definition: &Definition, options: &Options) -> ExperimentResult {
    let experiment = &definition.experiment;
    ExperimentResult {
        schema: EXPERIMENT_SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        git_revision: host::git_revision(),
        machine: host::machine(),
        load: None,
        seed: options.seed,
        started_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        duration_s: 0.0,
        quick: options.quick,
        partial: false,
        command: command(&experiment.name, options),
        name: experiment.name.clone(),
        title: experiment.title.clone(),
        proposal: experiment.proposal.clone(),
        hypothesis: experiment.hypothesis.clone(),
        limits: experiment.limits.clone(),
        claims: Vec::new(),
        figures: Vec::new(),
    }
}

/// What repeats an experiment.
fn command(name: &str, options: &Options) -> String {
    let mut words = vec!["schedlab experiment run".to_owned(), name.to_owned()];
    words.extend(options.config.iter().map(|folder| format!("--config {}", folder_name(folder))));
    words.extend(options.quick.then(|| "--quick".to_owned()));
    words.extend(options.rounds.map(|rounds| format!("--rounds {rounds}")));
    words.extend((options.seed != 0).then(|| format!("--seed {}", options.seed)));
    words.join(" ")
}

/// The last part alone: results are published, and say nothing of a machine's folders.
fn folder_name(folder: &Path) -> String {
    folder.file_name().map_or_else(|| ".".to_owned(), |name| name.to_string_lossy().into_owned())
}
