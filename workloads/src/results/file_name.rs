//! The only way from a text to the name of a file.
//!
//! A workload's name, a suite, the id of a recorded run: whoever wrote the file that it stands in
//! chose it. What comes out of here is one plain name on every file system, whatever went in.

use std::collections::{BTreeMap, BTreeSet};

use crate::digest::Digest;

/// Longest name in bytes that is made here. File systems end at 255; extensions and the name of a
/// temporary twin need room.
pub const FILE_NAME_BYTES_MAX: usize = 160;
/// Longest name in bytes that is taken for one: with an extension behind it.
const WITH_EXTENSION_BYTES_MAX: usize = 200;

/// Windows keeps these for devices, with any extension.
const RESERVED: [&str; 4] = ["con", "prn", "aux", "nul"];
const RESERVED_NUMBERED: [&str; 2] = ["com", "lpt"];

/// A text as a file's name: characters outside `[A-Za-z0-9._-]` become dashes, so that it never names
/// another directory; it begins with neither a dot nor a dash, is no device of Windows and never
/// empty; one that is too long is cut and ends in a checksum of all of it.
#[must_use]
pub fn file_name(text: &str) -> String {
    shortened(cleaned(text), text)
}

fn cleaned(text: &str) -> String {
    let portable = |letter: char| match letter {
        'A'..='Z' | 'a'..='z' | '0'..='9' | '.' | '_' | '-' => letter,
        _ => '-',
    };
    let plain: String = text.chars().map(portable).collect();
    // A trailing dot is dropped by Windows, which makes two names one.
    let plain = plain.trim_end_matches('.');
    match plain.chars().next() {
        None => "unnamed".to_owned(),
        Some('.' | '-') => format!("_{plain}"),
        Some(_) if is_reserved(plain) => format!("_{plain}"),
        Some(_) => plain.to_owned(),
    }
}

/// Whether a text is a file's name as it stands.
#[must_use]
pub fn is_file_name(text: &str) -> bool {
    text.len() <= WITH_EXTENSION_BYTES_MAX && cleaned(text) == text
}

/// The extension stays: what serves or opens the file goes by it.
fn shortened(name: String, of: &str) -> String {
    const EXTENSION_BYTES_MAX: usize = 8;
    if name.len() <= FILE_NAME_BYTES_MAX {
        return name;
    }
    let extension = name.rfind('.').map_or("", |dot| &name[dot..]);
    let extension = if extension.len() <= EXTENSION_BYTES_MAX { extension } else { "" };
    let checksum = format!("-{}{extension}", Digest::of(of));
    format!("{}{checksum}", &name[..FILE_NAME_BYTES_MAX - checksum.len()])
}

fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let is_numbered = |device: &str| {
        stem.strip_prefix(device).is_some_and(|rest| rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit())
    };
    RESERVED.contains(&stem.as_str()) || RESERVED_NUMBERED.into_iter().any(is_numbered)
}

/// Names in one directory, each given out once; no two differ in case only.
#[derive(Clone, Debug, Default)]
pub struct FileNames {
    /// In lower case.
    taken: BTreeSet<String>,
    /// The number that a name is tried with next: thousands of texts may make the same name.
    next: BTreeMap<String, u64>,
}

impl FileNames {
    /// The name of a text, with a number behind it when another text has taken that name.
    pub fn make(&mut self, text: &str) -> String {
        let name = file_name(text);
        if self.taken.insert(name.to_ascii_lowercase()) {
            return name;
        }
        let next = self.next.entry(name.to_ascii_lowercase()).or_insert(2);
        loop {
            let numbered = numbered(&name, *next);
            *next += 1;
            if self.taken.insert(numbered.to_ascii_lowercase()) {
                return numbered;
            }
        }
    }
}

/// `a.json` becomes `a-2.json`.
fn numbered(name: &str, number: u64) -> String {
    let (stem, extension) = name.rfind('.').map_or((name, ""), |dot| name.split_at(dot));
    file_name(&format!("{stem}-{number}{extension}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_name_never_leaves_its_directory() {
        let long = "x".repeat(300);
        let cases = [
            ("plain", "SchedulingBasic_5000Nodes.json", "SchedulingBasic_5000Nodes.json"),
            ("parent directory", "../../etc/passwd", "_..-..-etc-passwd"),
            ("absolute", "/etc/passwd", "_-etc-passwd"),
            ("drive", "C:\\x", "C--x"),
            ("NUL byte", "a\0b", "a-b"),
            ("line break", "a\nb", "a-b"),
            ("empty", "", "unnamed"),
            ("dots only", "..", "unnamed"),
            ("hidden", ".bashrc", "_.bashrc"),
            ("option", "-rf", "_-rf"),
            ("device", "NUL", "_NUL"),
            ("device with extension", "con.html", "_con.html"),
            ("numbered device", "com1", "_com1"),
            ("not a device", "com10", "com10"),
            ("trailing dot", "a.", "a"),
            ("not ASCII", "größe", "gr--e"),
        ];
        for (case, text, expected) in cases {
            let name = file_name(text);
            assert_eq!(name, expected, "case: {case}");
            assert!(is_file_name(&name), "case: {case}");
        }
        let (one, other) = (file_name(&format!("{long}1.json")), file_name(&format!("{long}2.json")));
        assert_ne!(one, other, "long names that differ at the end stay apart");
        assert!(one.len() <= FILE_NAME_BYTES_MAX && one.ends_with(".json"), "{one}");
        assert!(is_file_name(&one) && is_file_name(&format!("{one}.html")) && !is_file_name(&long));
    }

    #[test]
    fn names_that_collide_after_cleaning_are_numbered() {
        let mut names = FileNames::default();
        assert_eq!(names.make("a/b.json"), "a-b.json");
        assert_eq!(names.make("a:b.json"), "a-b-2.json");
        assert_eq!(names.make("A-B.json"), "A-B-3.json", "some file systems do not tell case apart");
        let long = "y".repeat(FILE_NAME_BYTES_MAX);
        let all: Vec<String> = (0..3).map(|_| names.make(&long)).collect();
        assert!(all.iter().all(|name| name.len() <= FILE_NAME_BYTES_MAX), "{all:?}");
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 3, "{all:?}");
    }
}
