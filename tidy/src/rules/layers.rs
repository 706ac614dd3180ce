//! No layer of `core` imports the one above it.

use super::{name_at, without_comments};
use crate::{Breach, SourceTree};

/// Modules of `core/src`, lowest layer first. A module may import its own layer and those before it.
pub const LAYERS: &[&[&str]] = &[
    &["ids", "quantity", "input", "known_gaps", "mutants", "planted", "chunked", "kernels", "reference"],
    &["interner", "reclaim", "resources"],
    &[
        "api_call",
        "budgets",
        "class",
        "dra",
        "nominator",
        "owners",
        "pod_group_state",
        "pods",
        "snapshot",
        "storage",
        "topology",
    ],
    &["world"],
    &["framework"],
    &["plugins"],
    &["cycle", "pod_group", "preemption"],
    &["binding", "queue"],
    &["scheduler"],
];

/// Imports that point upwards, each with its reason.
const EXCUSED: &[(&str, &str, &str)] = &[
    ("core/src/api_call.rs", "world", "how tests read a call; not compiled otherwise"),
    ("core/src/framework/registry.rs", "plugins", "the default profile is made of the plugins that ship"),
    ("core/src/framework/plugin_lists.rs", "plugins", "the default lists are made of the plugins that ship"),
    ("core/src/framework/args.rs", "plugins", "the arguments of plugins that ship, and their defaults"),
    ("core/src/framework/descriptor.rs", "cycle", "the twin's shape is the engine's"),
];

/// Modules that are compiled for tests and benches only, or hold nothing but declarations.
const OUTSIDE: &[&str] = &["lib", "naive", "twin", "fake", "testkit"];

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// What breaks the rule.
pub fn check(tree: &SourceTree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for file in tree.rust() {
        let Some(inside) = file.path.strip_prefix("core/src/") else { continue };
        let module = inside.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        let is_twin = inside.ends_with("naive.rs") || inside.ends_with("twin.rs");
        if OUTSIDE.contains(&module) || file.is_test() || is_twin {
            continue;
        }
        let Some(layer) = layer_of(module) else {
            let what =
                format!("module `{module}` has no layer; add it to LAYERS of tidy/src/rules/layers.rs");
            breaches.push(Breach::new(&file.path, what));
            continue;
        };
        let text = without_comments(file.product_text());
        for (at, _) in text.match_indices("crate::") {
            let other = name_at(&text[at + "crate::".len()..]);
            let is_above = layer_of(other).is_some_and(|above| above > layer);
            let is_excused = EXCUSED.iter().any(|(path, name, _)| *path == file.path && *name == other);
            if is_above && !is_excused {
                let what = format!("`{module}` imports `{other}`, which stands above it in core");
                breaches.push(Breach::new(&file.path, what));
            }
        }
    }
    breaches.dedup();
    breaches
}
