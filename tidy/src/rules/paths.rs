//! Paths and links that documents name exist, and pages and scripts that messages and comments name.

use crate::{Breach, SourceTree};

/// Folders that belong to this repository: a path in a document that begins with one must be there.
const FOLDERS: &[&str] = &[
    "benches/",
    "cli/",
    "cluster/",
    "cel/",
    "core/",
    "deploy/",
    "docs/",
    "examples/",
    "fuzz/",
    "lab/",
    "perf-dash/",
    "replay/",
    "scripts/",
    "simulator/",
    "stats/",
    "objects/",
    "testkit/",
    "tidy/",
    "workloads/",
];

/// What breaks the rule.
pub fn check(tree: &SourceTree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        for path in quoted_paths(&file.text).chain(links(&file.text, &file.path)) {
            if !tree.paths.contains(&path) {
                breaches.push(Breach::new(&file.path, format!("names `{path}`, which is not there")));
            }
        }
    }
    for file in tree.rust().filter(|file| file.package() != "tidy") {
        for path in named_pages(&file.text).filter(|path| !tree.paths.iter().any(|known| known == path)) {
            breaches
                .push(Breach::new(&file.path, format!("sends the reader to `{path}`, which is not there")));
        }
    }
    breaches.dedup();
    breaches
}

/// `docs/gate.md` and `scripts/check`, wherever they stand in code: in a message or a comment.
fn named_pages(text: &str) -> impl Iterator<Item = &str> {
    let is_of_path = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    let paths = text.split(move |letter| !is_of_path(letter)).map(|path| path.trim_end_matches(['.', '/']));
    let is_page = |path: &&str| path.strip_prefix("docs/").is_some_and(|page| page.ends_with(".md"));
    let is_script = |path: &&str| path.strip_prefix("scripts/").is_some_and(|name| !name.is_empty());
    paths.filter(move |path| is_page(path) || is_script(path))
}

/// `core/src/lib.rs` between back quotes, outside of code blocks.
fn quoted_paths(text: &str) -> impl Iterator<Item = String> + '_ {
    let mut is_block = false;
    let prose = text.lines().filter(move |line| {
        is_block ^= line.trim_start().starts_with("```");
        !is_block
    });
    let quoted = prose.flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_path = |quoted: &&str| {
        let is_plain = quoted.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte));
        is_plain && FOLDERS.iter().any(|folder| quoted.starts_with(folder))
    };
    quoted.filter(is_path).map(|path| path.trim_end_matches('/').to_owned())
}

/// The files that a document links to.
fn links<'a>(text: &'a str, path: &'a str) -> impl Iterator<Item = String> + 'a {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    let is_file = |target: &&str| !target.is_empty() && !target.contains("://") && !target.contains(' ');
    targets.filter(is_file).map(move |target| resolve(folder, target))
}

fn resolve(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}
