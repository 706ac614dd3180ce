//! What got dearer between two profiles, and what cheaper.

use std::fs;
use std::path::{Path, PathBuf};

use schedlab_perf_dash::folded::{self, SelfChange, Stacks};

use super::draw::{self, Drawing};
use crate::LabError;

/// Two profiles, held against each other.
#[derive(Clone, Debug)]
pub struct ProfileDiff {
    /// A flamegraph: red grew, blue shrank.
    pub flamegraph_svg: String,
    /// Functions, the largest change of self time first.
    pub changes: Vec<SelfChange>,
}

/// Compares folded files, or those in the directories of profiles.
pub fn diff(before: &Path, after: &Path) -> Result<ProfileDiff, LabError> {
    let (before_stacks, after_stacks) = (read(before)?, read(after)?);
    let lines = folded::difference_lines(&before_stacks, &after_stacks);
    let title = format!("{} → {}", before.display(), after.display());
    let drawing = Drawing {
        title: &title,
        subtitle: Some("red grew, blue shrank; shares of all samples"),
        unit: "samples",
    };
    let flamegraph_svg = draw::flamegraph(&drawing, &lines)?;
    Ok(ProfileDiff { flamegraph_svg, changes: folded::self_changes(&before_stacks, &after_stacks) })
}

/// A folded file, or the one in the directory of a profile.
fn read(path: &Path) -> Result<Stacks, LabError> {
    let file: PathBuf = if path.is_dir() { path.join("stacks.folded") } else { path.to_owned() };
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(source) => return Err(LabError::NoStacks { file, source }),
    };
    match folded::parse(&text) {
        Ok(stacks) if stacks.is_empty() => Err(LabError::EmptyStacks(file)),
        Ok(stacks) => Ok(stacks),
        Err(source) => Err(LabError::BadStacks { file, source }),
    }
}
