//! A public type has a name of its own in the workspace: one word, one meaning.

use std::collections::BTreeMap;

use super::name_at;
use crate::{Breach, SourceTree};

/// Names that several types have on purpose.
const SHARED: &[(&str, &str)] = &[];

/// What breaks the rule.
pub fn check(tree: &SourceTree) -> Vec<Breach> {
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in tree.rust().filter(|file| !file.is_test()) {
        for line in file.product_text().lines() {
            for kind in ["pub struct ", "pub enum ", "pub trait "] {
                if let Some(rest) = line.trim_start().strip_prefix(kind) {
                    places.entry(name_at(rest)).or_default().push(&file.path);
                }
            }
        }
    }
    let is_shared = |name: &str| SHARED.iter().any(|(shared, _)| *shared == name);
    let several = places.into_iter().filter(|(name, places)| places.len() > 1 && !is_shared(name));
    several
        .map(|(name, places)| {
            Breach::new(places[0], format!("`{name}` is a public type in {}", places.join(" and ")))
        })
        .collect()
}
