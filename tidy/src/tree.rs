//! The workspace as text.

use std::fs;
use std::io;
use std::path::Path;

/// A file.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// From the root of the workspace, with `/`.
    pub path: String,
    /// What is in it.
    pub text: String,
}

impl SourceFile {
    /// The folder of its crate: `core` of `core/src/lib.rs`.
    #[must_use]
    pub fn package(&self) -> &str {
        self.path.split('/').next().unwrap_or_default()
    }

    /// Whether it is compiled for tests, benches or examples only, by where it stands.
    #[must_use]
    pub fn is_test(&self) -> bool {
        let is_test_name = |part: &str| {
            let stem = part.trim_end_matches(".rs");
            matches!(stem, "tests" | "benches" | "examples" | "testing" | "testkit" | "cases" | "hint_cases")
                || stem.ends_with("_tests")
        };
        self.path.split('/').any(is_test_name) || matches!(self.package(), "benches" | "examples" | "fuzz")
    }

    /// The text up to a test module at its end.
    #[must_use]
    pub fn product_text(&self) -> &str {
        let end = self.text.find("#[cfg(test)]\nmod tests {").unwrap_or(self.text.len());
        &self.text[..end]
    }
}

/// All files that rules look at.
#[derive(Clone, Debug, Default)]
pub struct SourceTree {
    /// In order of their paths.
    pub files: Vec<SourceFile>,
    /// All paths, also of files whose text is not kept.
    pub paths: Vec<String>,
}

/// Folders that are no source of ours.
const SKIPPED: &[&str] = &["target", "schedlab-report", "schedlab-history", "node_modules"];

impl SourceTree {
    /// Reads a workspace.
    pub fn read(root: &Path) -> io::Result<SourceTree> {
        let mut tree = SourceTree::default();
        tree.read_folder(root, "")?;
        tree.files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(tree)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_hidden = name.starts_with('.') && name != ".ci" && name != ".github";
            if is_hidden || SKIPPED.contains(&name.as_str()) {
                continue;
            }
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.paths.push(path.clone());
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() {
                if [".rs", ".md", "Cargo.toml", "-functions.txt"].iter().any(|end| name.ends_with(end)) {
                    self.files
                        .push(SourceFile { path: path.clone(), text: fs::read_to_string(entry.path())? });
                }
                self.paths.push(path);
            }
        }
        Ok(())
    }

    /// The Rust files.
    pub fn rust(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// A tree of one file, for tests.
    #[must_use]
    pub fn of(files: &[(&str, &str)]) -> SourceTree {
        let file = |&(path, text): &(&str, &str)| SourceFile { path: path.to_owned(), text: text.to_owned() };
        SourceTree {
            files: files.iter().map(file).collect(),
            paths: files.iter().map(|(path, _)| (*path).to_owned()).collect(),
        }
    }
}
