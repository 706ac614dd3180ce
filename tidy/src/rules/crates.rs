//! Which crate may name what: clocks, files, printing, YAML, HTTP.

use super::{without_comments, words};
use crate::{Breach, SourceTree};

/// A word, and the folders or files whose code may use it.
struct Allowed {
    word: &'static str,
    places: &'static [&'static str],
    why: &'static str,
}

const fn allowed(word: &'static str, places: &'static [&'static str], why: &'static str) -> Allowed {
    Allowed { word, places, why }
}

/// Who reads a clock: runtimes, whatever measures, and the command line.
const CLOCKS: &[&str] = &[
    "apiserver/src/io.rs",
    "cli",
    "cluster/src/clock.rs",
    "cluster/src/extender",
    "cluster/src/runtime",
    "external",
    "lab",
    "live",
    "workloads/src/conform",
    "workloads/src/executor",
    "workloads/src/measure",
    "workloads/src/protocol.rs",
];

const RULES: &[Allowed] = &[
    allowed("Instant", CLOCKS, "the time is passed in"),
    allowed("SystemTime", CLOCKS, "the time is passed in"),
    allowed("println!", &["benches", "cli", "fuzz"], "only the command line prints"),
    allowed("eprintln!", &["benches", "cli", "fuzz"], "only the command line prints"),
    allowed("serde_saphyr", &["apiserver", "workloads", "fuzz", "cli"], "YAML is read in workloads"),
    allowed("hyper", &["apiserver"], "HTTP is served in apiserver"),
    allowed("tokio", &["apiserver", "live"], "threads are explicit elsewhere"),
    allowed("ureq", &["cluster"], "HTTP is spoken in cluster"),
    allowed("tungstenite", &["perf-dash"], "only the browser test speaks to Chromium"),
    allowed(
        "k8s_openapi",
        &[
            "objects",
            "cluster",
            "apiserver",
            "live",
            "workloads",
            "replay",
            "simulator",
            "testkit",
            "cli",
            "lab",
            "fuzz",
            "examples",
            "perf-dash",
        ],
        "core knows plain inputs only",
    ),
    allowed("clap", &["cli"], "arguments are read in cli"),
    allowed("anyhow", &["cli"], "libraries have typed errors"),
    allowed(
        "unsafe",
        &[
            "benches/benches/measuring.rs",
            "benches/benches/memory.rs",
            "core/src/kernels/level.rs",
            "core/tests/no_alloc.rs",
            "lab/src/alloc.rs",
            "simulator/tests/soak.rs",
            // `unsafe-inline`, a word of content security policies.
            "perf-dash/src/html/page.rs",
            "perf-dash/src/site/flame.rs",
            "perf-dash/src/site/frame.rs",
        ],
        "allocators are unsafe, and calls into code compiled for more than the baseline; nothing else is",
    ),
    allowed("thread_rng", &[], "randomness is a seeded stream that is passed in"),
    allowed("RandomState", &["cli"], "hashers have fixed state; cli draws a mark that no name can contain"),
];

/// What breaks the rule.
pub fn check(tree: &SourceTree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let product = tree
        .rust()
        .filter(|file| !file.is_test() && !file.path.contains("/build.rs") && file.package() != "tidy");
    for file in product {
        let text = without_comments(file.product_text());
        for rule in RULES.iter().filter(|rule| !rule.places.iter().any(|place| is_within(&file.path, place)))
        {
            if words(&text, rule.word).next().is_some() {
                let what = format!("`{}` is not for `{}`: {}", rule.word, file.package(), rule.why);
                breaches.push(Breach::new(&file.path, what));
            }
        }
    }
    breaches
}

/// Whether a file is a place, or in it.
fn is_within(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
