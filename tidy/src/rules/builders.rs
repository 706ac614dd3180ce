//! Tests build pods and nodes, and play schedulers, with the testkit: no private builders beside it.

use super::{without_comments, words};
use crate::{Breach, SourceTree};

/// Functions named like a builder, each with its reason.
const EXCUSED_BUILDERS: &[(&str, &str)] = &[
    ("benches/benches/measuring.rs", "the objects of upstream's workload, as its files have them"),
    ("cluster/src/api/object.rs", "keys of objects"),
    ("core/src/fake.rs", "random ones, from a seed"),
    ("core/src/framework/event.rs", "events"),
    ("core/src/scheduler/objects.rs", "events"),
    ("core/tests/no_alloc.rs", "linked to core without features, so without its testkit"),
    ("simulator/src/soak.rs", "part of `simulate --soak`, where every wave has names of its own"),
    ("workloads/src/executor/objects.rs", "read from templates"),
];

/// Harnesses that are no scheduler on a table, each with its reason.
const EXCUSED_LABS: &[(&str, &str)] = &[
    ("cluster/src/controllers/node_lifecycle/tests.rs", "a controller, call by call"),
    ("cluster/src/controllers/taint_eviction/tests.rs", "a controller, call by call"),
    ("cluster/tests/it/extenders/mod.rs", "one step against extenders that answer over HTTP"),
    ("core/src/queue/scheduling_queue/tests/transitions.rs", "the queue alone"),
    ("examples/src/gang/tests.rs", "a plugin alone, by its traits"),
    ("perf-dash/src/site/model.rs", "what a page shows of the lab"),
];

/// Where builders and harnesses live, and where they are planted.
const HOMES: &[&str] = &["core/src/testkit/", "testkit/", "tidy/"];

/// What breaks the rule.
pub fn check(tree: &SourceTree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for file in tree.rust().filter(|file| !HOMES.iter().any(|home| file.path.starts_with(home))) {
        let is_in = |list: &[(&str, &str)]| list.iter().any(|(path, _)| *path == file.path);
        let text = without_comments(&file.text);
        for name in ["node", "pod"].into_iter().filter(|_| !is_in(EXCUSED_BUILDERS)) {
            if has_function(&text, name) {
                let what =
                    format!("`fn {name}(` beside the testkit's; use that one, or give this its own name");
                breaches.push(Breach::new(&file.path, what));
            }
        }
        if words(&text, "struct Lab").next().is_some() && !is_in(EXCUSED_LABS) {
            let what =
                "`struct Lab` beside the testkit's; use `SchedulerLab` or `Lab` of testkit/src".to_owned();
            breaches.push(Breach::new(&file.path, what));
        }
    }
    breaches
}

/// Whether a function of this name is defined that is no method.
pub(super) fn has_function(text: &str, name: &str) -> bool {
    let head = format!("fn {name}(");
    let is_method = |arguments: &str| {
        let first = arguments.split([',', ')']).next().unwrap_or_default();
        words(first, "self").next().is_some()
    };
    text.match_indices(&head).any(|(at, _)| !is_method(&text[at + head.len()..]))
}
