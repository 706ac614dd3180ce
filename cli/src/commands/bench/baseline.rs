//! Builds that are kept to be compared with.
//!
//! ```text
//! DIR/NAME/gate-kernels    the program
//! DIR/NAME/built-from      what it was called when it was kept
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use schedlab_workloads::files;
use schedlab_workloads::results::write_atomic;

/// The baseline that is kept without being asked.
pub(super) const LAST: &str = "last";

/// A build to compare with.
pub(super) struct Baseline {
    pub(super) name: String,
    pub(super) kernels: PathBuf,
}

/// All that are kept.
pub(super) struct Baselines {
    dir: PathBuf,
}

impl Baselines {
    pub(super) fn new(dir: &Path) -> Baselines {
        Baselines { dir: dir.to_owned() }
    }

    /// The one of this name, if it was kept.
    pub(super) fn read(&self, name: &str) -> Result<Option<Baseline>> {
        let folder = self.dir.join(name);
        let kernels = folder.join("gate-kernels");
        if !kernels.is_file() {
            return Ok(None);
        }
        let built_from = folder.join("built-from");
        let of = fs::read_to_string(&built_from)
            .with_context(|| format!("{}: cannot be read", built_from.display()))?;
        Ok(Some(Baseline { name: format!("{name}, {}", of.trim()), kernels: std::path::absolute(kernels)? }))
    }

    /// Keeps a build, in place of one that had the name before.
    pub(super) fn save(&self, name: &str, built_from: &str, kernels: &Path) -> Result<()> {
        let folder = self.dir.join(name);
        write_atomic(&folder.join("built-from"), built_from.as_bytes())?;
        let kept = folder.join("gate-kernels");
        files::copy(kernels, &kept)
            .with_context(|| format!("{}: cannot be kept as {}", kernels.display(), kept.display()))
    }
}

/// A name that is one folder, wherever it is kept. A git revision may have slashes.
pub(super) fn check_name(name: &str) -> Result<()> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._-/~^@{}".contains(letter);
    let is_folder = !name.starts_with(['.', '/', '-']) && !name.contains("..");
    if name.is_empty() || !is_folder || !name.chars().all(is_plain) {
        bail!("{name:?} cannot be the name of a baseline; letters, digits, '.', '_' and '-' can");
    }
    Ok(())
}

/// Whether two builds are equal, byte for byte.
pub(super) fn is_same_program(one: &Path, other: &Path) -> Result<bool> {
    let read = |path: &Path| fs::read(path).with_context(|| format!("{}: cannot be read", path.display()));
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
