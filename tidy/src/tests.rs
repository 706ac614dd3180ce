//! Every rule over this workspace, and every rule over a planted breach.

use std::path::Path;

use super::*;

fn workspace() -> SourceTree {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate stands in the workspace");
    SourceTree::read(root).expect("the workspace can be read")
}

fn rule(name: &str) -> Rule {
    RULES.iter().find(|(known, _)| *known == name).expect("a rule of this name").1
}

#[test]
fn workspace_keeps_every_rule() {
    let tree = workspace();
    assert!(tree.files.len() > 300, "the workspace was not found");
    let mut found = Vec::new();
    for (name, check) in RULES {
        found.extend(
            check(&tree).into_iter().map(|breach| format!("{name}: {}: {}", breach.path, breach.what)),
        );
    }
    assert!(found.is_empty(), "{} breach(es):\n{}", found.len(), found.join("\n"));
}

/// A tree that keeps a rule, and the same tree with one breach.
struct Planted {
    rule: &'static str,
    kept: &'static [(&'static str, &'static str)],
    broken: &'static [(&'static str, &'static str)],
    at: &'static str,
}

const PLANTED: &[Planted] = &[
    Planted {
        rule: "layers of core",
        kept: &[("core/src/queue/mod.rs", "use crate::framework::status::Code;")],
        broken: &[("core/src/framework/status.rs", "use crate::queue::Queue;")],
        at: "core/src/framework/status.rs",
    },
    Planted {
        rule: "layers of core",
        kept: &[("core/src/world.rs", "//! Changed by `crate::scheduler`.")],
        broken: &[("core/src/newcomer.rs", "")],
        at: "core/src/newcomer.rs",
    },
    Planted {
        rule: "what a crate may name",
        kept: &[("cli/src/main.rs", "fn main() { println!(\"x\") }")],
        broken: &[("core/src/world.rs", "use std::time::Instant;")],
        at: "core/src/world.rs",
    },
    Planted {
        rule: "what a crate may name",
        kept: &[("cluster/src/runtime/wall.rs", "use std::time::Instant;")],
        broken: &[("cluster/src/embedded/api.rs", "use std::time::Instant;")],
        at: "cluster/src/embedded/api.rs",
    },
    Planted {
        rule: "what a crate may name",
        kept: &[("core/src/world.rs", "// Instant is for others.")],
        broken: &[("perf-dash/src/lib.rs", "fn f() { println!(\"x\") }")],
        at: "perf-dash/src/lib.rs",
    },
    Planted {
        rule: "unique public types",
        kept: &[("core/src/a.rs", "pub struct One;"), ("cluster/src/b.rs", "struct One;")],
        broken: &[("cluster/src/b.rs", "pub struct One;"), ("core/src/a.rs", "pub enum One {}")],
        at: "cluster/src/b.rs",
    },
    Planted {
        rule: "paths in documents",
        kept: &[("docs/a.md", "See `docs/a.md` and [it](a.md#top)."), ("core/src/lib.rs", "")],
        broken: &[("docs/a.md", "See `core/src/gone.rs`.")],
        at: "docs/a.md",
    },
    Planted {
        rule: "paths in documents",
        kept: &[("docs/a.md", "[up](../README.md)"), ("README.md", "")],
        broken: &[("docs/a.md", "[up](gone.md)")],
        at: "docs/a.md",
    },
    Planted {
        rule: "unused dependencies",
        kept: &[
            ("core/Cargo.toml", "[dependencies]\nrayon.workspace = true\n"),
            ("core/src/lib.rs", "use rayon::join;"),
        ],
        broken: &[("core/Cargo.toml", "[dependencies]\nrayon.workspace = true\n"), ("core/src/lib.rs", "")],
        at: "core/Cargo.toml",
    },
    Planted {
        rule: "paths in documents",
        kept: &[("core/src/a.rs", "//! See docs/a.md."), ("docs/a.md", ""), ("scripts/check", "")],
        broken: &[
            ("cli/src/a.rs", "const HELP: &str = \"run scripts/gone, see docs/b.md\";"),
            ("docs/b.md", ""),
        ],
        at: "cli/src/a.rs",
    },
    Planted {
        rule: "unused dependencies",
        kept: &[
            ("Cargo.toml", "[workspace.dependencies]\nrayon = \"1\"\n"),
            ("core/Cargo.toml", "[dependencies]\nrayon.workspace = true\n"),
            ("core/src/lib.rs", "use rayon::join;"),
        ],
        broken: &[("Cargo.toml", "[workspace.dependencies]\nrayon = \"1\"\n"), ("core/Cargo.toml", "")],
        at: "Cargo.toml",
    },
    Planted {
        rule: "differences from upstream",
        kept: &[
            ("core/src/a.rs", "// Differs: we refuse it\n// (`it_is_refused`).\nfn a() {}"),
            (
                "core/src/tests.rs",
                "#[test]\nfn it_is_refused() {}\n/// Differs: it ends.\n#[test]\nfn it_ends() {}",
            ),
        ],
        broken: &[(
            "core/src/a.rs",
            "/// Differs: we refuse it (`nobody_tests_it`).\nfn nobody_tests_it() {}",
        )],
        at: "core/src/a.rs",
    },
    Planted {
        rule: "upstream's functions",
        kept: &[
            ("docs/glossary.md", "| `pop` | queue.go `Pop` | `queue.rs` `Queue::pop`, then `taken` |"),
            ("core/src/queue.rs", "impl Queue { fn pop() {} fn taken() {} }"),
        ],
        broken: &[
            ("docs/glossary.md", "| `pop` | queue.go `Pop` | `queue.rs` `pop`, then `taken` |"),
            ("core/src/queue.rs", "fn pop() {}"),
        ],
        at: "docs/glossary.md",
    },
    Planted {
        rule: "one statistic",
        kept: &[
            ("stats/src/order.rs", "pub fn median(values: &[f64]) {}"),
            ("core/src/a.rs", "fn median(mut self) {}"),
        ],
        broken: &[("benches/src/stats.rs", "pub fn median(values: &[f64]) -> f64 {}")],
        at: "benches/src/stats.rs",
    },
    Planted {
        rule: "dead modules",
        kept: &[("core/src/lib.rs", "pub mod a;"), ("core/src/a.rs", "")],
        broken: &[("core/src/lib.rs", ""), ("core/src/a.rs", "")],
        at: "core/src/a.rs",
    },
    Planted {
        rule: "builders of tests",
        kept: &[("testkit/src/manifest.rs", "pub fn node(name: &str) -> Manifest {}")],
        broken: &[("replay/src/tests/a.rs", "fn node(name: &str) -> Value {}")],
        at: "replay/src/tests/a.rs",
    },
    Planted {
        rule: "builders of tests",
        kept: &[("core/src/a.rs", "    fn pod(&mut self, uid: u64) {}\n// fn pod() {}")],
        broken: &[("core/src/scheduler/a_tests.rs", "    fn pod() -> PodInput {}")],
        at: "core/src/scheduler/a_tests.rs",
    },
    Planted {
        rule: "builders of tests",
        kept: &[("testkit/src/lab.rs", "pub struct Lab {}"), ("core/src/a.rs", "struct LabSize {}")],
        broken: &[("cluster/tests/it/a.rs", "struct Lab {}")],
        at: "cluster/tests/it/a.rs",
    },
];

#[test]
fn planted_breach_of_each_rule_is_found() {
    for planted in PLANTED {
        let check = rule(planted.rule);
        assert_eq!(check(&SourceTree::of(planted.kept)), [], "{}: a tree that keeps it", planted.rule);
        let found = check(&SourceTree::of(planted.broken));
        assert_eq!(found.len(), 1, "{}: {found:?}", planted.rule);
        assert_eq!(found[0].path, planted.at, "{}", planted.rule);
    }
}

#[test]
fn long_file_and_long_function_are_found() {
    let body = "    let x = 1;\n".repeat(rules::sizes::FUNCTION_LINES_MAX);
    let function = format!("pub fn long() {{\n{body}}}\n");
    let tree = SourceTree::of(&[("core/src/a.rs", &function)]);
    assert_eq!(rules::sizes::check(&tree).len(), 1);
    let file = "const X: u32 = 1;\n".repeat(rules::sizes::FILE_LINES_MAX + 1);
    let tree = SourceTree::of(&[("core/src/a.rs", &file), ("core/src/b.rs", "fn short() {\n}\n")]);
    assert_eq!(rules::sizes::check(&tree).len(), 1);
}

#[test]
fn missing_names_of_upstream_are_found() {
    let names: Vec<String> = (0..100).map(|at| format!("moveToQ{at}\n")).collect();
    let list = format!("# Functions.\n[queue.go]\nClose - no goroutines\n{}", names.concat());
    let found = |named: usize| {
        let ours: Vec<String> = (0..named).map(|at| format!("fn move_to_q{at}() {{}}\n")).collect();
        let files = [(rules::upstream::LIST, list.as_str()), ("core/src/queue.rs", &ours.concat())];
        rules::upstream::check(&SourceTree::of(&files))
    };
    let least = rules::upstream::FOUND_PERCENT_MIN;
    assert_eq!(found(least), []);
    let breaches = found(least - 1);
    assert_eq!(breaches.len(), 1);
    assert!(breaches[0].what.contains("moveToQ99"), "{breaches:?}");
    assert!(!breaches[0].what.contains("Close"), "what has no counterpart is not asked for");
    let cut = SourceTree::of(&[(rules::upstream::LIST, "moveToQ1\n")]);
    assert_eq!(rules::upstream::check(&cut).len(), 1, "a list that was cut");
}

#[test]
fn every_rule_has_a_planted_breach() {
    let has_own_test = |name: &str| name == "sizes";
    for (name, _) in RULES {
        let is_planted = PLANTED.iter().any(|planted| planted.rule == *name);
        assert!(is_planted || has_own_test(name), "rule `{name}` has no planted breach");
    }
}
