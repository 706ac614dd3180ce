use std::path::Path;

use crate::support::{Folder, schedlab_in};

#[test]
fn list_shows_the_built_in_suite() {
    let folder = Folder::new();
    schedlab_in(&folder, &["list"])
        .ends_with(0)
        .says("PlainPods/5000Nodes_50000Pods")
        .says("6 test cases, 12 workloads: 12 run, 0 skipped, 0 cannot run");
}

#[test]
#[allow(clippy::print_stderr, reason = "a skipped test says why")]
fn list_reads_all_of_upstreams_suite() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/scheduler_perf");
    if !shared.is_dir() {
        eprintln!("skipped: {} is not on this machine", shared.display());
        return;
    }
    let folder = Folder::new();
    schedlab_in(&folder, &["list", "--config", &shared.display().to_string()])
        .ends_with(0)
        .says("61 test cases, 267 workloads");
}
