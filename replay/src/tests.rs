//! Committed traces are replayed without a difference; every compared value can be reported; bad
//! input is an error that says what to do.

mod bad_input;
mod comparer;
mod effects;
mod exact;
mod grafts;
mod recombined;
mod recorder;
mod valid;

use std::path::{Path, PathBuf};

use super::*;

/// The families that are replayed, every trace of them without a difference, and how many there are.
const REPLAYED_FAMILIES: [(&str, usize); 14] = [
    ("resources", 12),
    ("taints", 12),
    ("node-affinity", 12),
    ("node-name", 12),
    ("ports", 12),
    ("images", 12),
    ("spread", 12),
    ("interpod", 12),
    ("volumes", 12),
    ("declared-features", 12),
    ("mixed", 12),
    ("nominated", 12),
    ("preemption", 12),
    ("dra", 16),
];

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance")
}

fn committed_trace(name: &str) -> Trace {
    let path = committed().join(format!("{name}.json.gz"));
    read_trace(&path).unwrap_or_else(|error| panic!("{error}"))
}

/// All traces in a folder, in the order of their names.
fn traces_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "gz"));
    files.sort();
    files
}

/// A difference-free replay of one file.
fn assert_exact(path: &Path) -> TraceReport {
    let report = replay_file(path).unwrap_or_else(|error| panic!("{error}"));
    let shown: Vec<String> = report.differences.iter().take(10).map(ToString::to_string).collect();
    assert!(
        report.is_exact(),
        "{}: {} differences:\n{}",
        report.name,
        report.difference_count,
        shown.join("\n")
    );
    assert!(report.schedule_steps > 0, "{}: no step schedules a pod", report.name);
    // At the least: three of PreFilter, three of the engine.
    assert!(report.comparisons > 6 * report.schedule_steps as u64, "{}: hardly compared", report.name);
    report
}
