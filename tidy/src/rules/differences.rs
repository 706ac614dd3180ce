//! A `Differs:` names the test that shows the difference.

use crate::{Breach, SourceFile, SourceTree};

const TAG: &str = "Differs:";

/// Differences that no test shows, each with its file or folder, how it begins, and the reason.
const EXCUSED: &[(&str, &str, &str)] = &[
    (
        "cluster/src/defaults/mod.rs",
        "StorageObjectInUseProtection",
        "what an absent admission plugin does not do",
    ),
    ("apiserver/src/openapi.rs", "the server knows no schema", "what is not built"),
    (
        "apiserver/src/patch/apply.rs",
        "upstream follows who writes",
        "managers before the first apply are not known",
    ),
    ("cel/src/lib.rs", "not built are", "what is not built, and refused by name"),
    ("cluster/src/controllers/", "", "mostly what is not built of upstream's controllers"),
    (
        "cluster/src/embedded/quotas.rs",
        "both happen in the write",
        "no test can see a moment between the two",
    ),
    (
        "core/src/cycle/plugin_times.rs",
        "a plugin is asked",
        "what a duration is of; nothing is decided by it",
    ),
    (
        "core/src/class/signature.rs",
        "every part is there",
        "signatures that differ more often, and the same decision",
    ),
    (
        "core/src/cycle/engine/opportunistic_batching.rs",
        "upstream would normalise",
        "scores half a second apart",
    ),
    ("core/src/plugins/dynamic_resources/extended.rs", "a node that has", "the node is rejected either way"),
    (
        "core/src/plugins/dynamic_resources/outcome.rs",
        "the scheduler has no clock",
        "a time that cannot pass in a test",
    ),
    ("core/src/queue/pod_group_queue.rs", "among those that came", "the order of groups of one instant"),
    (
        "core/src/scheduler/schedule_one_pod_group.rs",
        "upstream leaves it",
        "mended; known gaps switch upstream's way on",
    ),
    ("core/src/scheduler/feature_gates.rs", "upstream has it on", "a default, with its reason"),
    ("core/src/plugins/node_affinity/hints.rs", "the affinity", "a needless attempt, and the same decision"),
    (
        "core/src/plugins/pod_topology_spread/hints.rs",
        "a pod without",
        "needless attempts, and the same decision",
    ),
    ("core/src/pod_group/cycle.rs", "Reserve plugins that", "no scheduler runs a group's cycle yet"),
    ("core/src/pod_group/placements.rs", "`placementGenerate`", "no configuration file reads them yet"),
    ("workloads/src/executor/context.rs", "there, pods", "features are those of the release"),
    (
        "workloads/src/measure/reading.rs",
        "a pod that is on",
        "a label of a metric that the watch cannot know",
    ),
    ("workloads/src/executor/profiler.rs", "upstream never ends it", "a profile that upstream leaves empty"),
    ("workloads/src/ops/start_collecting_profile.rs", "upstream writes", "a path outside is refused here"),
    ("workloads/src/ops/churn.rs", "an object that is gone", "a race that no test can bring about at will"),
    (
        "workloads/src/ops/create_pod_groups.rs",
        "upstream gives it",
        "a template that fails upstream runs here",
    ),
];

/// What breaks the rule.
pub fn check(tree: &SourceTree) -> Vec<Breach> {
    let tests: Vec<&str> = tree.rust().flat_map(|file| tests(&file.text)).collect();
    let mut breaches = Vec::new();
    for file in tree.rust().filter(|file| file.package() != "tidy") {
        for Difference { line, text, is_of_a_test } in differences(file) {
            let excused = |(path, begin, _): &&(&str, &str, &str)| {
                let is_there = *path == file.path || path.ends_with('/') && file.path.starts_with(path);
                is_there && text.starts_with(begin)
            };
            let is_excused = EXCUSED.iter().any(|it| excused(&it));
            let names_one = text.split('`').skip(1).step_by(2).any(|quoted| tests.contains(&quoted));
            if !is_of_a_test && !is_excused && !names_one {
                let what =
                    format!("line {line}: a difference from upstream names no test that shows it: {text}");
                breaches.push(Breach::new(&file.path, what));
            }
        }
    }
    breaches
}

/// The names of the tests of a file.
fn tests(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[test]\n").skip(1).filter_map(|rest| {
        let code = rest.lines().find(|line| !line.trim_start().starts_with("#["))?;
        let (_, name) = code.split_once("fn ")?;
        Some(super::name_at(name))
    })
}

struct Difference {
    line: usize,
    /// From behind the tag to the end of its comment, or to the next tag.
    text: String,
    /// What the comment stands above is a test.
    is_of_a_test: bool,
}

fn differences(file: &SourceFile) -> Vec<Difference> {
    let lines: Vec<&str> = file.text.lines().collect();
    let comment = |at: usize| {
        let line: &str = lines.get(at)?.trim_start();
        line.starts_with("//").then(|| line.trim_start_matches(['/', '!']).trim())
    };
    let mut found = Vec::new();
    for at in 0..lines.len() {
        let Some((_, first)) = comment(at).and_then(|line| line.split_once(TAG)) else { continue };
        let mut text = first.trim().to_owned();
        let mut end = at + 1;
        while let Some(more) = comment(end).filter(|more| !more.is_empty()) {
            if more.contains(TAG) || more.starts_with("Upstream:") {
                break;
            }
            text = format!("{text} {more}");
            end += 1;
        }
        let mut below = lines[end..].iter().map(|line| line.trim_start());
        let is_of_a_test =
            below.by_ref().take_while(|line| line.starts_with(['#', '/'])).any(|line| line == "#[test]");
        found.push(Difference { line: at + 1, text, is_of_a_test });
    }
    found
}
