//! A `Differs:` names the test that shows the difference. What is not built says `Not built:`: no test can show
//! it.

use crate::{Breach, SourceFile, SourceTree};

const TAG: &str = "Differs:";

/// What breaks the rule.
pub fn check(tree: &SourceTree) -> Vec<Breach> {
    let tests: Vec<&str> = tree.rust().flat_map(|file| tests(&file.text)).collect();
    let mut breaches = Vec::new();
    for file in tree.rust().filter(|file| file.package() != "tidy") {
        for Difference { line, text, is_of_a_test } in differences(file) {
            let names_one = text.split('`').skip(1).step_by(2).any(|quoted| tests.contains(&quoted));
            if !is_of_a_test && !names_one {
                let what =
                    format!("line {line}: a difference from upstream names no test that shows it: {text}");
                breaches.push(Breach::new(&file.path, what));
            }
        }
    }
    breaches
}

/// The names of the tests of a file.
fn tests(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[test]\n").skip(1).filter_map(|rest| {
        let code = rest.lines().find(|line| !line.trim_start().starts_with("#["))?;
        let (_, name) = code.split_once("fn ")?;
        Some(super::name_at(name))
    })
}

struct Difference {
    line: usize,
    /// From behind the tag to the end of its comment, or to the next tag.
    text: String,
    /// What the comment stands above is a test.
    is_of_a_test: bool,
}

fn differences(file: &SourceFile) -> Vec<Difference> {
    let lines: Vec<&str> = file.text.lines().collect();
    let comment = |at: usize| {
        let line: &str = lines.get(at)?.trim_start();
        line.starts_with("//").then(|| line.trim_start_matches(['/', '!']).trim())
    };
    let mut found = Vec::new();
    for at in 0..lines.len() {
        let Some((_, first)) = comment(at).and_then(|line| line.split_once(TAG)) else { continue };
        let mut text = first.trim().to_owned();
        let mut end = at + 1;
        while let Some(more) = comment(end).filter(|more| !more.is_empty()) {
            if more.contains(TAG) || more.starts_with("Upstream:") {
                break;
            }
            text = format!("{text} {more}");
            end += 1;
        }
        let mut below = lines[end..].iter().map(|line| line.trim_start());
        let is_of_a_test =
            below.by_ref().take_while(|line| line.starts_with(['#', '/'])).any(|line| line == "#[test]");
        found.push(Difference { line: at + 1, text, is_of_a_test });
    }
    found
}
