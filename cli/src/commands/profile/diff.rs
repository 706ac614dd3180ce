//! `schedlab profile --diff BEFORE AFTER`: a flamegraph of what got dearer and what cheaper.

use std::path::Path;

use anyhow::Result;
use schedlab_lab::profile::ProfileDiff;
use schedlab_workloads::results::write_atomic;

use crate::Exit;
use crate::progress::say;
use crate::table::{Align, render};

/// Functions listed.
const SHOWN_MAX: usize = 15;

pub(super) fn diff(before: &Path, after: &Path, out: &Path) -> Result<Exit> {
    let ProfileDiff { flamegraph_svg, changes } = schedlab_lab::profile::diff(before, after)?;
    let path = out.join("diff.svg");
    write_atomic(&path, flamegraph_svg.as_bytes())?;
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
