//! One implementation of medians and intervals serves every figure: the one of `stats`.

use super::builders::has_function;
use super::without_comments;
use crate::{Breach, SourceTree};

const NAMES: &[&str] = &["median", "quantile", "bootstrap", "bootstrap_median", "median_estimate"];

/// What breaks the rule.
pub fn check(tree: &SourceTree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for file in tree.rust().filter(|file| !matches!(file.package(), "stats" | "tidy")) {
        let text = without_comments(&file.text);
        for name in NAMES.iter().filter(|name| has_function(&text, name)) {
            let what = format!("`fn {name}(` beside the one of schedlab-stats; use that one");
            breaches.push(Breach::new(&file.path, what));
        }
    }
    breaches
}
