use std::path::{Path, PathBuf};

use crate::support::{Folder, schedlab_in};

fn traces() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../replay/tests/conformance");
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir)
        .expect("traces are part of the project")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "gz"))
        .collect();
    files.sort();
    files
}

#[test]
fn recorded_decisions_agree_and_are_counted() {
    let files = traces();
    assert!(files.len() >= 12, "two traces of each of six families");
    let mut args = vec!["replay"];
    let paths: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    args.extend(paths.iter().map(String::as_str));
    let answer = schedlab_in(&Folder::new(), &args).ends_with(0);
    let last = answer.stdout.lines().last().expect("a summary");
    assert!(last.starts_with(&format!("{} traces, ", files.len())), "{last}");
    assert!(last.ends_with(" steps, 0 differences"), "{last}");
}

#[test]
fn a_truncated_trace_could_not_be_run() {
    let folder = Folder::new();
    let whole = std::fs::read(&traces()[0]).expect("a trace");
    let file = folder.file("cut.json.gz", &whole[..whole.len() / 2]);
    schedlab_in(&folder, &["replay", &file]).ends_with(2).complains("cut.json.gz");
    schedlab_in(&folder, &["replay", "absent.json.gz"]).ends_with(2).complains("absent.json.gz");
}
