//! Files on disk: whole or absent, never half.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Serialize;

use super::file_name::FileNames;
use crate::files::{self, Durability, FileError};

use super::{
    EXPERIMENT_SCHEMA, ExperimentResult, RunResult, SCHEMA, bench_text, data_items, data_items_file_name,
};

/// Why a result file could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ResultError {
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] FileError),
    /// The file could not be read.
    #[error("{}: cannot read the file: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The content is not a result.
    #[error("{}: not a {SCHEMA} result: {source}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// The content is not what an experiment found.
    #[error("{}: not a {EXPERIMENT_SCHEMA} file: {source}", path.display())]
    ParseExperiment {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// What an experiment found, of another schema.
    #[error("{}: schema is {found:?}, this version reads {EXPERIMENT_SCHEMA:?}", path.display())]
    SchemaOfExperiment {
        /// The file.
        path: PathBuf,
        /// What it says.
        found: String,
    },
    /// The result is of another schema.
    #[error("{}: schema is {found:?}, this version reads {SCHEMA:?}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// What it says.
        found: String,
    },
}

/// Writes `schedlab-result/v1` JSON.
pub fn write_result_json(path: &Path, run: &RunResult) -> Result<(), ResultError> {
    write_atomic(path, &to_json(run))
}

/// Reads what [`write_result_json`] wrote.
pub fn read_result_json(path: &Path) -> Result<RunResult, ResultError> {
    let read = |source| ResultError::Read { path: path.to_owned(), source };
    parse_result_json(path, &fs::read(path).map_err(read)?)
}

/// Reads the text of a result; `path` is for messages.
pub fn parse_result_json(path: &Path, text: &[u8]) -> Result<RunResult, ResultError> {
    let parse = |source| ResultError::Parse { path: path.to_owned(), source };
    // The schema first: a file of the next version should say so, not name a missing field.
    let head: SchemaOnly = serde_json::from_slice(text).map_err(parse)?;
    if head.schema != SCHEMA {
        return Err(ResultError::Schema { path: path.to_owned(), found: head.schema });
    }
    serde_json::from_slice(text).map_err(parse)
}

/// Writes what an experiment found into a folder, under the experiment's name.
pub fn write_experiment(dir: &Path, experiment: &ExperimentResult) -> Result<PathBuf, ResultError> {
    let path = dir.join(format!("{}.json", experiment.name));
    write_atomic(&path, &to_json(experiment))?;
    Ok(path)
}

/// Reads every experiment of a folder, sorted by proposal and name.
pub fn read_experiments(dir: &Path) -> Result<Vec<ExperimentResult>, ResultError> {
    let refused = |source| ResultError::Read { path: dir.to_owned(), source };
    let mut experiments = Vec::new();
    for entry in fs::read_dir(dir).map_err(refused)? {
        let path = entry.map_err(refused)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            experiments.push(read_experiment(&path)?);
        }
    }
    experiments.sort_by(|one, other| (&one.proposal, &one.name).cmp(&(&other.proposal, &other.name)));
    Ok(experiments)
}

fn read_experiment(path: &Path) -> Result<ExperimentResult, ResultError> {
    let text = fs::read(path).map_err(|source| ResultError::Read { path: path.to_owned(), source })?;
    let parse = |source| ResultError::ParseExperiment { path: path.to_owned(), source };
    let head: SchemaOnly = serde_json::from_slice(&text).map_err(parse)?;
    if head.schema != EXPERIMENT_SCHEMA {
        return Err(ResultError::SchemaOfExperiment { path: path.to_owned(), found: head.schema });
    }
    serde_json::from_slice(&text).map_err(parse)
}

/// Writes upstream's perf-dash JSON, one file a suite, and returns the files.
pub fn write_data_items(dir: &Path, run: &RunResult) -> Result<Vec<PathBuf>, ResultError> {
    let suites: BTreeSet<&str> = run.workloads.iter().map(|w| w.suite.as_str()).collect();
    let mut names = FileNames::default();
    let write_suite = |suite: &str| {
        let path = dir.join(names.make(&data_items_file_name(suite, &run.started_at)));
        write_atomic(&path, &to_json(&data_items(run, Some(suite))))?;
        Ok(path)
    };
    suites.into_iter().map(write_suite).collect()
}

/// Writes Go benchmark text.
pub fn write_bench_text(path: &Path, run: &RunResult) -> Result<(), ResultError> {
    write_atomic(path, bench_text(run).as_bytes())
}

/// Writes a file so that a reader sees the old content or all of the new, also after a crash. Makes
/// missing directories.
pub fn write_atomic(path: &Path, content: &[u8]) -> Result<(), ResultError> {
    Ok(files::write(path, content, Durability::Synced)?)
}

#[derive(serde::Deserialize)]
struct SchemaOnly {
    schema: String,
}

pub(super) fn to_json(value: &impl Serialize) -> Vec<u8> {
    let mut json = serde_json::to_vec_pretty(value)
        .expect("result types are structs, strings, numbers and string-keyed maps");
    json.push(b'\n');
    json
}
