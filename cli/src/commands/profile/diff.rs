//! `schedlab profile --diff BEFORE AFTER`: a flamegraph of what got dearer and what cheaper.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use schedlab_perf_dash::folded::{self, Stacks};
use schedlab_workloads::results::write_atomic;

use super::draw::{self, Drawing};
use crate::Exit;
use crate::progress::say;
use crate::table::{Align, render};

/// Functions listed.
const SHOWN_MAX: usize = 15;

pub(super) fn diff(before: &Path, after: &Path, out: &Path) -> Result<Exit> {
    let (before_stacks, after_stacks) = (read(before)?, read(after)?);
    let lines = folded::difference_lines(&before_stacks, &after_stacks);
    let title = format!("{} → {}", before.display(), after.display());
    let drawing = Drawing {
        title: &title,
        subtitle: Some("red grew, blue shrank; shares of all samples"),
        unit: "samples",
    };
    let svg = draw::flamegraph(&drawing, &lines)?;
    let path = out.join("diff.svg");
    write_atomic(&path, svg.as_bytes())?;
    let changes = folded::self_changes(&before_stacks, &after_stacks);
    let columns = [
        ("self time of", Align::Left),
        ("before", Align::Right),
        ("after", Align::Right),
        ("change", Align::Right),
    ];
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let rows: Vec<Vec<String>> = changes
        .iter()
        .take(SHOWN_MAX)
        .map(|change| {
            let points = (change.after - change.before) * 100.0;
            vec![
                change.function.clone(),
                percent(change.before),
                percent(change.after),
                format!("{points:+.1}"),
            ]
        })
        .collect();
    say(&render(&columns, &rows));
    say(&format!("\nShares of all samples; a change is in percentage points. Written to {}", path.display()));
    Ok(Exit::Fine)
}

/// A folded file, or the one in the directory of a profile.
fn read(path: &Path) -> Result<Stacks> {
    let file: PathBuf = if path.is_dir() { path.join("stacks.folded") } else { path.to_owned() };
    let text = fs::read_to_string(&file).with_context(|| {
        format!(
            "--diff: cannot read {}; give directories that `schedlab profile --out` wrote, or folded files",
            file.display()
        )
    })?;
    let stacks = folded::parse(&text).with_context(|| format!("--diff: {}", file.display()))?;
    if stacks.is_empty() {
        bail!("--diff: {} has no stack", file.display());
    }
    Ok(stacks)
}
