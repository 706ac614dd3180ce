//! A side of a comparison: a file, or all of a directory's.
//!
//! ```text
//! result.json                          schedlab-result/v1           -> RunResult -> Record
//! BenchmarkPerfScheduling_*.json       upstream's perf-dash JSON    ->              Record
//! anything with Benchmark... lines     `go test -bench` text        ->              Record
//! ```
//!
//! A run of ours leaves all three in its directory: there the result alone is read, which says most.

use std::fs;
use std::path::{Path, PathBuf};

use schedlab_workloads::results::{ResultError, RunResult, SCHEMA, read_result_json};

use crate::history::{ImportError, ImportFacts, Record, is_bench_text, read_bench_text, read_data_items};

/// One side: runs of the same thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// The path it was read from.
    pub name: String,
    /// In the order they were started.
    pub records: Vec<Record>,
}

/// Why a side could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The path does not exist or is not readable.
    #[error("{}: cannot be read: {cause}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The system's answer.
        cause: std::io::Error,
    },
    /// A directory without a result.
    #[error("{}: no {SCHEMA} file in or below it; `schedlab run --out DIR` writes one as DIR/result.json", path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
    /// A directory without anything that can be compared.
    #[error("{}: no {SCHEMA} file, no perf-dash JSON and no `go test -bench` text in or below it; \
             `schedlab run --out DIR` writes all three", path.display())]
    NothingToCompare {
        /// The directory.
        path: PathBuf,
    },
    /// A file of another kind.
    #[error("{}: neither a {SCHEMA} result, nor perf-dash JSON (a `version` and `dataItems`), \
             nor `go test -bench` text of scheduler_perf", path.display())]
    UnknownKind {
        /// The file.
        path: PathBuf,
    },
    /// A file that is not a result.
    #[error(transparent)]
    Result(#[from] ResultError),
    /// A file of upstream's that has nothing to compare.
    #[error(transparent)]
    Import(#[from] ImportError),
}

/// Directories are looked through this deep: `runs/2026-11-15/result.json`.
const DEPTH_MAX: usize = 3;

/// What a file holds, by its content: names are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// A result of ours, of any version, whole or torn: a newer or a damaged one is then refused by
    /// name instead of passed over.
    Result,
    /// Upstream's perf-dash JSON.
    DataItems,
    /// `go test -bench` text.
    BenchText,
}

/// Reads what a file or a directory holds: results of ours, else upstream's perf-dash JSON, else
/// `go test -bench` text. Other files of a directory are passed over.
pub fn load_side(path: &Path) -> Result<Side, LoadError> {
    let mut records = Vec::new();
    if is_file(path)? {
        let kind = kind(path).ok_or_else(|| LoadError::UnknownKind { path: path.to_owned() })?;
        records.push(load(path, kind)?);
    } else {
        let files = files(path)?;
        let Some(best) = files.iter().map(|(_, kind)| *kind).min() else {
            return Err(LoadError::NothingToCompare { path: path.to_owned() });
        };
        for (file, kind) in files.iter().filter(|(_, kind)| *kind == best) {
            records.push(load(file, *kind)?);
        }
        records.sort_by(|one, other| one.started_at.cmp(&other.started_at));
    }
    Ok(Side { name: path.display().to_string(), records })
}

/// Reads a result file, or every result file in and below a directory, in the order they were
/// started; other files there are passed over.
pub fn load_results(path: &Path) -> Result<Vec<RunResult>, LoadError> {
    if is_file(path)? {
        return Ok(vec![read_result_json(path)?]);
    }
    let results = files(path)?.into_iter().filter(|(_, kind)| *kind == Kind::Result);
    let mut runs =
        results.map(|(file, _)| read_result_json(&file)).collect::<Result<Vec<RunResult>, ResultError>>()?;
    if runs.is_empty() {
        return Err(LoadError::Empty { path: path.to_owned() });
    }
    runs.sort_by(|one, other| one.started_at.cmp(&other.started_at));
    Ok(runs)
}

fn is_file(path: &Path) -> Result<bool, LoadError> {
    let unreadable = |cause| LoadError::Unreadable { path: path.to_owned(), cause };
    Ok(fs::metadata(path).map_err(unreadable)?.is_file())
}

fn load(path: &Path, kind: Kind) -> Result<Record, LoadError> {
    Ok(match kind {
        Kind::Result => Record::from_run(&read_result_json(path)?, None, Vec::new()),
        Kind::DataItems => read_data_items(path, &ImportFacts::default())?,
        Kind::BenchText => read_bench_text(path, &ImportFacts::default())?,
    })
}

fn files(dir: &Path) -> Result<Vec<(PathBuf, Kind)>, LoadError> {
    let mut files = Vec::new();
    collect(dir, 0, &mut files)?;
    Ok(files)
}

fn collect(dir: &Path, depth: usize, files: &mut Vec<(PathBuf, Kind)>) -> Result<(), LoadError> {
    let unreadable = |cause| LoadError::Unreadable { path: dir.to_owned(), cause };
    let mut entries: Vec<PathBuf> = fs::read_dir(dir)
        .map_err(unreadable)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(unreadable)?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            if depth + 1 < DEPTH_MAX {
                collect(&entry, depth + 1, files)?;
            }
        } else if entry.extension().is_some_and(|ext| ext == "json" || ext == "txt")
            && let Some(kind) = kind(&entry)
        {
            files.push((entry, kind));
        }
    }
    Ok(())
}

fn kind(path: &Path) -> Option<Kind> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    if text.contains("\"schedlab-result/") {
        Some(Kind::Result)
    } else if text.trim_start().starts_with('{') && text.contains("\"dataItems\"") {
        Some(Kind::DataItems)
    } else {
        is_bench_text(&text).then_some(Kind::BenchText)
    }
}
