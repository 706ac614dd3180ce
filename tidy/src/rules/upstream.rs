//! A maintainer of kube-scheduler who greps for a function of upstream's finds ours.
//!
//! `tidy/data/upstream-functions.txt` lists the functions of upstream's files, those without a counterpart
//! with the reason. Of the others most are found in snake case, in the code of `core` or in the glossary;
//! and what the glossary says is where it says.

use super::{without_comments, words};
use crate::{Breach, SourceTree};

/// Where the functions are listed.
pub const LIST: &str = "tidy/data/upstream-functions.txt";
const GLOSSARY: &str = "docs/glossary.md";
/// Of a hundred functions that have a counterpart, so many are found at least.
pub const FOUND_PERCENT_MIN: usize = 80;
/// Fewer are not the list.
const LISTED_MIN: usize = 90;

/// What breaks the rule.
pub fn check(tree: &SourceTree) -> Vec<Breach> {
    let mut breaches = of_list(tree);
    breaches.extend(of_glossary(tree));
    breaches
}

fn of_list(tree: &SourceTree) -> Vec<Breach> {
    let Some(list) = tree.files.iter().find(|file| file.path == LIST) else { return Vec::new() };
    let names: Vec<&str> = with_counterpart(&list.text).collect();
    if names.len() < LISTED_MIN {
        let what =
            format!("{} functions with a counterpart, {LISTED_MIN} at least: was it cut?", names.len());
        return vec![Breach::new(LIST, what)];
    }
    let code: Vec<String> = tree
        .rust()
        .filter(|file| file.path.starts_with("core/src/") && !file.is_test())
        .map(|file| without_comments(file.product_text()))
        .collect();
    let glossary = text_of(tree, GLOSSARY).unwrap_or_default();
    let is_found = |name: &&str| {
        let name = snake(name);
        let mut texts = code.iter().map(String::as_str).chain([glossary]);
        texts.any(|text| words(text, &name).next().is_some())
    };
    let missing: Vec<&str> = names.iter().copied().filter(|name| !is_found(name)).collect();
    let found = names.len() - missing.len();
    if found * 100 < names.len() * FOUND_PERCENT_MIN {
        let what = format!(
            "{found} of {} functions of upstream are found by their name in snake case, {FOUND_PERCENT_MIN} % at \
             least; name ours so, or add to {GLOSSARY}: {}",
            names.len(),
            missing.join(", ")
        );
        return vec![Breach::new(LIST, what)];
    }
    Vec::new()
}

/// Lines are a function, or a function, ` - ` and why it has no counterpart; `#` begins a comment and `[` a
/// file.
fn with_counterpart(list: &str) -> impl Iterator<Item = &str> {
    let lines = list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', '[']));
    lines.filter(|line| !line.contains(" - "))
}

/// `moveToActiveQ` is `move_to_active_q`, `WithAPIDispatcher` is `with_api_dispatcher`.
fn snake(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (at, &letter) in letters.iter().enumerate() {
        let after_small = at > 0 && !letters[at - 1].is_ascii_uppercase();
        let before_small = at > 0 && letters.get(at + 1).is_some_and(char::is_ascii_lowercase);
        if letter.is_ascii_uppercase() && (after_small || before_small) {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// In a row's last column, `queue/order.rs` followed by `less` says that this file has that name.
fn of_glossary(tree: &SourceTree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let rows = text_of(tree, GLOSSARY).unwrap_or_default().lines().filter(|line| line.starts_with("| `"));
    for row in rows {
        let ours = row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap_or_default();
        let mut file = None;
        for quoted in ours.split('`').skip(1).step_by(2) {
            if quoted.ends_with(".rs") {
                let path = format!("core/src/{quoted}");
                file = text_of(tree, &path);
                if file.is_none() {
                    breaches.push(Breach::new(GLOSSARY, format!("names `{path}`, which is not there")));
                }
            } else if let Some(text) = file
                && let Some(name) = quoted.split("::").last()
                && words(text, name).next().is_none()
            {
                let what = format!("says that `{name}` is there, and it is not, in the row that ends:{ours}");
                breaches.push(Breach::new(GLOSSARY, what));
            }
        }
    }
    breaches
}

fn text_of<'a>(tree: &'a SourceTree, path: &str) -> Option<&'a str> {
    tree.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
}
