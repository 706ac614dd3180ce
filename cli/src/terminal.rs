//! What a terminal may be sent. Names of workloads, nodes and pods, and what an extender answers, come
//! from others; a control character among them is a command to the terminal. Everything that is
//! printed goes through [`printable`], on both streams.
//!
//! Colours are made by tables. They reach [`printable`] as a [`mark`] that nobody outside can know, so
//! that a name cannot have a colour either.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;

/// What stands for an escape character of our own: drawn once a process.
pub(crate) fn mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| format!("\u{fdd0}{:016x}", RandomState::new().hash_one(std::process::id())))
}

/// The text as it is sent: line breaks and tabs stay, every other control character and every one
/// that changes the direction of text is written as `\u001b`, which JSON reads as the character.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let clean = escaped(text);
    if clean.contains(mark()) { Cow::Owned(clean.replace(mark(), "\u{1b}")) } else { clean }
}

fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_command) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_command(letter) {
            let _ = write!(clean, "\\u{:04x}", u32::from(letter));
        } else {
            clean.push(letter);
        }
    }
    Cow::Owned(clean)
}

fn is_command(letter: char) -> bool {
    let turns_text = matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns_text || (letter.is_control() && letter != '\n' && letter != '\t')
}

/// A text in one cell of a table: it has no line breaks either.
pub(crate) fn printable_cell(text: &str) -> Cow<'_, str> {
    let clean = escaped(text);
    if clean.contains(['\n', '\t']) {
        Cow::Owned(clean.replace('\n', "\\n").replace('\t', "\\t"))
    } else {
        clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_commands_in_names_are_written_out() {
        let cases = [
            ("plain", "pod-1: größe\n\tx", "pod-1: größe\n\tx"),
            ("clear screen", "a\u{1b}[2Jb", "a\\u001b[2Jb"),
            ("window title", "\u{1b}]0;owned\u{7}", "\\u001b]0;owned\\u0007"),
            ("one-byte introducer", "\u{9b}31m", "\\u009b31m"),
            ("overwrite the line", "bad\rgood", "bad\\u000dgood"),
            ("backspace and delete", "a\u{8}\u{7f}", "a\\u0008\\u007f"),
            ("right to left", "exe\u{202e}gpj", "exe\\u202egpj"),
        ];
        for (name, text, expected) in cases {
            assert_eq!(printable(text), expected, "case: {name}");
        }
    }

    #[test]
    fn escaped_json_is_the_same_document() {
        let value = serde_json::json!({ "name": "a\u{1b}[2J\u{9b}\u{7f}\u{202e}" });
        let text = value.to_string();
        let sent = printable(&text);
        assert!(!sent.contains(is_command), "{sent:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&sent).unwrap(), value);
    }

    #[test]
    fn colours_of_tables_pass_and_forged_marks_do_not() {
        let ours = format!("{}[31mworse{}[0m", mark(), mark());
        assert_eq!(printable(&ours), "\u{1b}[31mworse\u{1b}[0m");
        let forged = "\u{fdd0}0000000000000000[31m";
        assert!(!printable(forged).contains('\u{1b}'));
    }
}
