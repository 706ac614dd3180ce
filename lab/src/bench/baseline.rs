//! Builds that are kept to be compared with.
//!
//! ```text
//! DIR/NAME/gate-kernels    the program
//! DIR/NAME/built-from      what it was called when it was kept
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use schedlab_workloads::files;
use schedlab_workloads::results::write_atomic;

use crate::LabError;
use crate::error::file;

/// The baseline that is kept without being asked.
pub const LAST: &str = "last";

/// A build to compare with.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// What it is called.
    pub name: String,
    /// The program.
    pub kernels: PathBuf,
}

/// All that are kept.
#[derive(Clone, Debug)]
pub struct Baselines {
    dir: PathBuf,
}

impl Baselines {
    /// Those in a folder.
    #[must_use]
    pub fn new(dir: &Path) -> Baselines {
        Baselines { dir: dir.to_owned() }
    }

    /// The one of this name, if it was kept.
    pub fn read(&self, name: &str) -> Result<Option<Baseline>, LabError> {
        let folder = self.dir.join(name);
        let kernels = folder.join("gate-kernels");
        if !kernels.is_file() {
            return Ok(None);
        }
        let built_from = folder.join("built-from");
        let of = fs::read_to_string(&built_from).map_err(file(&built_from, "cannot be read"))?;
        Ok(Some(Baseline { name: format!("{name}, {}", of.trim()), kernels: std::path::absolute(kernels)? }))
    }

    /// Keeps a build, in place of one that had the name before.
    pub fn save(&self, name: &str, built_from: &str, kernels: &Path) -> Result<(), LabError> {
        let folder = self.dir.join(name);
        write_atomic(&folder.join("built-from"), built_from.as_bytes())?;
        let kept = folder.join("gate-kernels");
        files::copy(kernels, &kept).map_err(|source| LabError::NotKept {
            from: kernels.to_owned(),
            to: kept,
            source,
        })
    }
}

/// A name that is one folder, wherever it is kept. A git revision may have slashes.
pub fn check_name(name: &str) -> Result<(), LabError> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._-/~^@{}".contains(letter);
    let is_folder = !name.starts_with(['.', '/', '-']) && !name.contains("..");
    if name.is_empty() || !is_folder || !name.chars().all(is_plain) {
        return Err(LabError::BaselineName(name.to_owned()));
    }
    Ok(())
}

/// Whether two builds are equal, byte for byte.
pub(super) fn is_same_program(one: &Path, other: &Path) -> Result<bool, LabError> {
    let read = |path: &Path| fs::read(path).map_err(file(path, "cannot be read"));
    Ok(read(one)? == read(other)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_the_folder_are_refused() {
        for name in ["main", "v1.2", "origin/main", "HEAD~1", "a-b_c"] {
            assert!(check_name(name).is_ok(), "{name:?}");
        }
        for name in ["", "..", "../x", "a/../../b", "/tmp", ".hidden", "-x", "a b", "a\nb"] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
    }
}
