//! `schedlab record`: appends runs to a history.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use schedlab_perf_dash::compare::load_results;
use schedlab_perf_dash::history::{self, ImportFacts, ProfileSummary, Record, import_file};

use serde_json::Value;

use super::run::DEFAULT_OUT;
use super::run_history::{DEFAULT_HISTORY, label};
use crate::Exit;
use crate::progress::say;

/// What to record.
#[derive(Clone, Debug, Args)]
pub(crate) struct RecordArgs {
    /// Results to record: result.json files, or directories with some
    #[arg(value_name = "RESULT", default_value = DEFAULT_OUT)]
    results: Vec<PathBuf>,
    /// The history's directory; made when missing
    #[arg(long, value_name = "DIR", default_value = DEFAULT_HISTORY)]
    history: PathBuf,
    /// What to call the run, as "nightly" or "PR 123"; `schedlab run --baseline` finds it by that name.
    /// A run that is recorded already gets the name
    #[arg(long, value_name = "TEXT", value_parser = label)]
    label: Option<String>,
    /// profile.json of `schedlab profile`, to record with the (one) result
    #[arg(long, value_name = "FILE")]
    profile: Vec<PathBuf>,
    /// gate.json of `schedlab gate`: record the instructions it counted in the head with the
    /// (one) result
    #[arg(long, value_name = "FILE")]
    instructions: Option<PathBuf>,
    /// Record files of upstream's scheduler_perf instead: perf-dash JSON
    /// (BenchmarkPerfScheduling_*.json), or `go test -bench` text, which has no date: give --at
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["results", "profile", "instructions"])]
    import: Vec<PathBuf>,
    /// Commit or version that was measured [default: what the result says]
    #[arg(long, value_name = "REVISION")]
    revision: Option<String>,
    /// When it was measured, as 2026-11-15T12:00:00Z [default: what the result or file name says]
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
}

pub(crate) fn record(args: &RecordArgs) -> Result<Exit> {
    if let Some(at) = &args.at
        && at.parse::<jiff::Timestamp>().is_err()
    {
        bail!("--at {at:?} is not a time; write it as 2026-11-15T12:00:00Z");
    }
    let records = if args.import.is_empty() { measured(args)? } else { imported(args)? };
    for record in &records {
        history::append(&args.history, record)?;
        say(&format!(
            "recorded {} ({}, {} workload(s)) in {}",
            record.id,
            record.short_revision(),
            record.points.len(),
            args.history.display()
        ));
    }
    Ok(Exit::Fine)
}

fn measured(args: &RecordArgs) -> Result<Vec<Record>> {
    let mut runs = Vec::new();
    for path in &args.results {
        runs.extend(load_results(path)?);
    }
    let profiles = args.profile.iter().map(read_profile).collect::<Result<Vec<_>>>()?;
    let instructions = args.instructions.as_deref().map(read_instructions).transpose()?.unwrap_or_default();
    if !instructions.is_empty() && runs.len() != 1 {
        bail!(
            "--instructions belong to one run, but {} results were given; record them one by one",
            runs.len()
        );
    }
    if !profiles.is_empty() && runs.len() != 1 {
        bail!("--profile belongs to one run, but {} results were given; record them one by one", runs.len());
    }
    let to_record = |run| {
        let mut record = Record::from_run(run, args.label.clone(), profiles.clone());
        record.revision = args.revision.clone().or(record.revision);
        record.started_at = args.at.clone().unwrap_or(record.started_at);
        record.instructions.clone_from(&instructions);
        record.with_id()
    };
    Ok(runs.iter().map(to_record).collect())
}

fn read_profile(path: &PathBuf) -> Result<ProfileSummary> {
    let text = std::fs::read(path).with_context(|| format!("{}: cannot read the profile", path.display()))?;
    serde_json::from_slice(&text)
        .with_context(|| format!("{}: not a profile.json of `schedlab profile`", path.display()))
}

/// The counts of the head, by kernel.
fn read_instructions(path: &Path) -> Result<BTreeMap<String, u64>> {
    let text =
        std::fs::read(path).with_context(|| format!("{}: cannot read the comparison", path.display()))?;
    let document: Value = serde_json::from_slice(&text)
        .with_context(|| format!("{}: not a gate.json of `schedlab gate`", path.display()))?;
    let rows = document["rows"].as_array().into_iter().flatten();
    let counted = rows.filter(|row| row["metric"]["name"] == "instructions").filter_map(|row| {
        let count = row["head"].as_f64()?;
        Some((row["workload"].as_str()?.to_owned(), count as u64))
    });
    let counts: BTreeMap<String, u64> = counted.collect();
    if counts.is_empty() {
        bail!("{}: it has no row that counts instructions; let `schedlab gate` count them", path.display());
    }
    Ok(counts)
}

fn imported(args: &RecordArgs) -> Result<Vec<Record>> {
    let facts = ImportFacts {
        started_at: args.at.clone(),
        revision: args.revision.clone(),
        label: args.label.clone(),
        machine: None,
    };
    args.import.iter().map(|path| Ok(import_file(path, &facts)?)).collect()
}
