//! A dependency that is declared is used: by the package's code, and, in the workspace's list, by some package.

use super::words;
use crate::{Breach, SourceTree};

/// Declared for what they switch on, not for what they export.
const EXCUSED: &[(&str, &str)] = &[("libmimalloc-sys", "its feature switches on an option of the allocator")];

/// What breaks the rule.
pub fn check(tree: &SourceTree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let manifests = tree.files.iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    for manifest in manifests {
        let package = manifest.package();
        for name in
            declared(&manifest.text).filter(|name| !EXCUSED.iter().any(|(excused, _)| excused == name))
        {
            let word = name.replace('-', "_");
            let mut code = tree.rust().filter(|file| file.package() == package);
            if !code.any(|file| words(&file.text, &word).next().is_some()) {
                breaches
                    .push(Breach::new(&manifest.path, format!("`{name}` is declared and used by nobody")));
            }
        }
    }
    breaches.extend(of_workspace(tree));
    breaches
}

fn of_workspace(tree: &SourceTree) -> Vec<Breach> {
    let Some(root) = tree.files.iter().find(|file| file.path == "Cargo.toml") else { return Vec::new() };
    let packages: Vec<&str> = tree
        .files
        .iter()
        .filter(|file| file.path.ends_with("/Cargo.toml"))
        .flat_map(|file| declared(&file.text))
        .collect();
    let is_excused = |name: &&str| EXCUSED.iter().any(|(excused, _)| excused == name);
    let unused = declared(&root.text).filter(|name| !packages.contains(name) && !is_excused(name));
    let what = |name| format!("`{name}` is in the workspace's list and no package declares it");
    unused.map(|name| Breach::new(&root.path, what(name))).collect()
}

/// The names in the sections of dependencies.
fn declared(manifest: &str) -> impl Iterator<Item = &str> {
    let mut is_dependencies = false;
    manifest.lines().filter_map(move |line| {
        if line.starts_with('[') {
            is_dependencies = line.trim_end_matches(']').ends_with("dependencies");
            return None;
        }
        let name = line.split(['=', '.', ' ']).next().unwrap_or_default().trim();
        (is_dependencies && !name.is_empty() && !name.starts_with('#')).then_some(name)
    })
}
