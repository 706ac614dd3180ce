//! A file is one idea, a function fits a screen.

use crate::{Breach, SourceTree};

/// Lines of a file without its tests.
pub const FILE_LINES_MAX: usize = 600;
/// Lines of a function.
pub const FUNCTION_LINES_MAX: usize = 70;

/// Files that are longer, each with its reason.
const LONG_FILES: &[(&str, &str)] = &[
    ("core/src/cycle/engine.rs", "the engine's one loop, with what it owns"),
    ("core/src/snapshot/mod.rs", "columns and all that keeps them of one length"),
    ("core/src/storage/mod.rs", "volumes and claims refer to each other"),
    ("core/src/scheduler/binding_cycle.rs", "the whole way of a binding, in its order"),
    ("simulator/src/generate.rs", "all that is drawn for a scenario, in the order of drawing"),
    ("core/src/scheduler.rs", "the scheduler's settings and what it owns"),
    ("cluster/src/runtime/wall.rs", "threads, their channels and how they end"),
];

/// Functions that are longer, each with its reason.
const LONG_FUNCTIONS: &[(&str, &str)] = &[
    ("run", "one command from its arguments to its exit code, in order"),
    ("schedule_pod_with_extenders", "one cycle in upstream's order of plugins and extenders"),
    ("prepare_for_binding_cycle", "one pod from its choice to its binding cycle, in upstream's order"),
];

/// What breaks the rule.
pub fn check(tree: &SourceTree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for file in tree.rust().filter(|file| !file.is_test()) {
        let text = file.product_text();
        let lines = text.lines().count();
        if lines > FILE_LINES_MAX && !LONG_FILES.iter().any(|(path, _)| *path == file.path) {
            let what = format!("{lines} lines, {FILE_LINES_MAX} at most: split it by idea");
            breaches.push(Breach::new(&file.path, what));
        }
        for (name, lines) in functions(text).into_iter().filter(|(_, lines)| *lines > FUNCTION_LINES_MAX) {
            if !LONG_FUNCTIONS.iter().any(|(excused, _)| *excused == name) {
                let what = format!("`{name}` has {lines} lines, {FUNCTION_LINES_MAX} at most");
                breaches.push(Breach::new(&file.path, what));
            }
        }
    }
    breaches
}

/// Functions and their lines: from `fn` to the brace at the same indent. Formatting is rustfmt's.
fn functions(text: &str) -> Vec<(&str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let Some(start) = code.find("fn ").filter(|_| is_function(code)) else { continue };
        let end = lines[at..].iter().position(|other| {
            other.len() > indent
                && other.len() - other.trim_start().len() == indent
                && other.trim_start().starts_with('}')
        });
        if let Some(end) = end.filter(|_| !code.ends_with(';') && !code.ends_with('}')) {
            found.push((super::name_at(&code[start + 3..]), end + 1));
        }
    }
    found
}

fn is_function(code: &str) -> bool {
    let before = code.split("fn ").next().unwrap_or_default();
    before
        .split_whitespace()
        .all(|word| matches!(word, "pub" | "const" | "unsafe" | "async") || word.starts_with("pub("))
}
