//! Everything that is written goes through one module.

use std::path::{Path, PathBuf};

/// What writes a file, and would leave half of one behind. `files` does it in steps that tests let fail.
const WRITES: [&str; 7] = [
    "fs::write(",
    "File::create(",
    "File::create_new(",
    "OpenOptions::",
    "fs::rename(",
    "fs::copy(",
    "set_len(",
];

/// Programs are copied to be measured from the copy, which goes with the session.
const SCRATCH: [&str; 2] = ["lab/src/gate/kernels.rs", "lab/src/gate/server.rs"];

/// A log of units whose torn last line is cut off when the shard goes on; its own tests tear it.
const LOGS: [&str; 1] = ["cli/src/shards/log.rs"];

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the project").filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn files_are_written_by_one_module_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for package in ["core", "stats", "cluster", "simulator", "replay", "workloads", "perf-dash", "lab", "cli"]
    {
        sources(&root.join(package).join("src"), &mut files);
    }
    assert!(200 < files.len(), "{} files", files.len());
    let mut found = Vec::new();
    for path in files {
        let name = path.strip_prefix(&root).expect("below the root").display().to_string();
        let is_test = name.ends_with("tests.rs") || name.contains("/tests/");
        let is_excused = SCRATCH.iter().chain(&LOGS).any(|excused| *excused == name);
        if is_test || name.starts_with("workloads/src/files/") || is_excused {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("text");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = code.lines().filter(|line| WRITES.iter().any(|write| line.contains(write)));
        found.extend(lines.map(|line| format!("{name}: {}", line.trim())));
    }
    assert!(found.is_empty(), "use schedlab_workloads::files instead:\n{}", found.join("\n"));
}
