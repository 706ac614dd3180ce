//! Nothing measured is lost: files that cannot be written where they should be are kept elsewhere.

use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result};

/// Folders tried under one name before it is given up.
const NAMES_MAX: u32 = 100;

/// What became of files.
pub(crate) struct Kept<T> {
    /// What writing them returned.
    pub(crate) written: T,
    /// Why they are not where they should be, and where they are instead.
    pub(crate) trouble: Option<Error>,
}

/// Writes files to a folder or, if that fails, to a new one among those for temporary files or in the
/// current folder.
pub(crate) fn write_or_keep<T>(dir: &Path, write: impl Fn(&Path) -> Result<T>) -> Result<Kept<T>> {
    match write(dir) {
        Ok(written) => Ok(Kept { written, trouble: None }),
        Err(error) => keep(error, write),
    }
}

/// Writes files to a folder that nobody named, because of `error`.
pub(crate) fn keep<T>(error: Error, write: impl Fn(&Path) -> Result<T>) -> Result<Kept<T>> {
    let mut failures = Vec::new();
    for parent in [std::env::temp_dir(), PathBuf::from(".")] {
        match new_folder(&parent).and_then(|folder| Ok((write(&folder)?, folder))) {
            Ok((written, folder)) => {
                let folder = std::path::absolute(&folder).unwrap_or(folder);
                let kept = format!("what was measured is kept in {}", folder.display());
                return Ok(Kept { written, trouble: Some(error.context(kept)) });
            }
            Err(failure) => failures.push(format!("{failure:#}")),
        }
    }
    Err(error.context(format!("what was measured could not be kept elsewhere ({})", failures.join("; "))))
}

/// A folder that was not there before: others may write to the parent, too.
fn new_folder(parent: &Path) -> Result<PathBuf> {
    let mut last = None;
    for number in 0..NAMES_MAX {
        let folder = parent.join(format!("schedlab-kept-{}-{number}", std::process::id()));
        match std::fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => last = Some(error),
            Err(error) => {
                return Err(error).with_context(|| format!("{}: cannot be created", folder.display()));
            }
        }
    }
    let last = last.map_or_else(String::new, |error| format!(": {error}"));
    anyhow::bail!("{}: no folder can be created{last}", parent.display())
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn files_that_cannot_be_written_are_kept_elsewhere() {
        let wanted = Path::new("/nowhere/at/all");
        let write = |dir: &Path| {
            if dir == wanted {
                bail!("{}: no space left", dir.display());
            }
            std::fs::write(dir.join("result.json"), "{}")?;
            Ok(dir.to_owned())
        };
        let kept = write_or_keep(wanted, write).expect("there is a folder for temporary files");
        let trouble = format!("{:#}", kept.trouble.expect("the folder cannot be written"));
        assert_eq!(
            trouble,
            format!(
                "what was measured is kept in {}: /nowhere/at/all: no space left",
                kept.written.display()
            )
        );
        assert_eq!(std::fs::read_to_string(kept.written.join("result.json")).expect("it is there"), "{}");
        std::fs::remove_dir_all(kept.written).expect("it can be removed");
    }

    #[test]
    fn two_kept_results_have_folders_of_their_own() {
        let parent = std::env::temp_dir();
        let [one, other] = [new_folder(&parent), new_folder(&parent)].map(|it| it.expect("a folder"));
        assert_ne!(one, other);
        for folder in [one, other] {
            std::fs::remove_dir(folder).expect("it is empty");
        }
    }
}
