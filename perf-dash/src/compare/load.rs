//! A side of a comparison: one result file, or all of a directory's.

use std::fs;
use std::path::{Path, PathBuf};

use schedlab_workloads::results::{ResultError, RunResult, SCHEMA, read_result_json};

/// One side: runs of the same thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// The path it was read from.
    pub name: String,
    /// In the order they were started.
    pub runs: Vec<RunResult>,
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
    /// A file that is not a result.
    #[error(transparent)]
    Result(#[from] ResultError),
}

/// Directories are looked through this deep: `runs/2026-11-15/result.json`.
const DEPTH_MAX: usize = 3;

/// Reads a result file, or every result file in and below a directory; other JSON files there are
/// passed over, since a run writes its perf-dash JSON beside the result.
pub fn load_side(path: &Path) -> Result<Side, LoadError> {
    let unreadable = |cause| LoadError::Unreadable { path: path.to_owned(), cause };
    let kind = fs::metadata(path).map_err(unreadable)?;
    let mut runs = Vec::new();
    if kind.is_file() {
        runs.push(read_result_json(path)?);
    } else {
        let mut files = Vec::new();
        collect(path, 0, &mut files)?;
        for file in files {
            runs.push(read_result_json(&file)?);
        }
        if runs.is_empty() {
            return Err(LoadError::Empty { path: path.to_owned() });
        }
        runs.sort_by(|one, other| one.started_at.cmp(&other.started_at));
    }
    Ok(Side { name: path.display().to_string(), runs })
}

fn collect(dir: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), LoadError> {
    let unreadable = |cause| LoadError::Unreadable { path: dir.to_owned(), cause };
    let mut entries: Vec<PathBuf> = fs::read_dir(dir)
        .map_err(unreadable)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(unreadable)?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() && depth + 1 < DEPTH_MAX {
            collect(&entry, depth + 1, files)?;
        } else if entry.extension().is_some_and(|ext| ext == "json") && is_result(&entry) {
            files.push(entry);
        }
    }
    Ok(())
}

/// Whether the file says that it is a result of ours, of any version, whole or torn: a newer or a
/// damaged one is then refused by name instead of passed over.
fn is_result(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains("\"schedlab-result/"))
}
