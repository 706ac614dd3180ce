//! Every file of `src` is a module of something: none is left behind by a move.

use super::words;
use crate::{Breach, SourceTree};

/// What breaks the rule.
pub fn check(tree: &SourceTree) -> Vec<Breach> {
    let is_dead = |file: &&crate::SourceFile| {
        let Some((package, inside)) = file.path.split_once("/src/") else { return false };
        let is_root = matches!(inside, "lib.rs" | "main.rs") || inside.starts_with("bin/");
        !is_root && !is_declared(tree, package, inside)
    };
    let dead = tree.rust().filter(is_dead);
    dead.map(|file| Breach::new(&file.path, "no file declares it as a module".to_owned())).collect()
}

/// Whether a `mod` of its name, or a `#[path]` to it, stands where its parent would be.
fn is_declared(tree: &SourceTree, package: &str, inside: &str) -> bool {
    let whole = inside.trim_end_matches("/mod.rs").trim_end_matches(".rs");
    let (folder, name) = whole.rsplit_once('/').unwrap_or(("", whole));
    let parents = match folder {
        "" => vec![format!("{package}/src/lib.rs"), format!("{package}/src/main.rs")],
        folder => vec![format!("{package}/src/{folder}.rs"), format!("{package}/src/{folder}/mod.rs")],
    };
    let file_name = inside.rsplit('/').next().unwrap_or(inside);
    let beside = format!("{package}/src/{folder}");
    tree.rust().filter(|file| file.package() == package).any(|file| {
        let is_parent = parents.contains(&file.path);
        let declares = words(&file.text, name).any(|at| file.text[..at].ends_with("mod "));
        let by_path =
            file.path.starts_with(&beside) && file.text.contains(&format!("#[path = \"{file_name}\"]"));
        (is_parent && declares) || by_path
    })
}
