//! One file a rule.

pub mod builders;
pub mod crates;
pub mod dependencies;
pub mod differences;
pub mod layers;
pub mod modules;
pub mod paths;
pub mod sizes;
pub mod statistics;
pub mod types;
pub mod upstream;

/// Whether a byte may be part of a name.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Where a word stands in a text, as a whole word.
fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = text.as_bytes();
    text.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let ends = at + word.len();
        (at == 0 || !is_name(bytes[at - 1])) && (ends == bytes.len() || !is_name(bytes[ends]))
    })
}

/// The name that begins here.
fn name_at(text: &str) -> &str {
    let end = text.bytes().position(|byte| !is_name(byte)).unwrap_or(text.len());
    &text[..end]
}

/// The text without comments of whole lines: prose may name anything.
fn without_comments(text: &str) -> String {
    let is_comment = |line: &&str| line.trim_start().starts_with("//");
    let lines: Vec<&str> = text.lines().map(|line| if is_comment(&line) { "" } else { line }).collect();
    lines.join("\n")
}
