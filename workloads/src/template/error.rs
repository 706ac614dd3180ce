//! What can be wrong with an object template.

use std::path::PathBuf;

use crate::source::SourceError;

/// A template that cannot be loaded, parsed, evaluated, or read back as YAML.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The file cannot be read.
    #[error(
        "template `{written}` cannot be read ({source}); paths are relative to the directory of the config file"
    )]
    Unreadable {
        /// The path as the config file has it.
        written: String,
        /// Why not; names the path that was looked for.
        source: SourceError,
    },
    /// The text is not a Go template.
    #[error("{}:{line}: not a valid Go template: {message}", path.display())]
    Syntax {
        /// The template file.
        path: PathBuf,
        /// Line in the template, from 1.
        line: usize,
        /// What the template parser says.
        message: String,
    },
    /// The template parses and fails while it runs.
    #[error("{}:{line}: the template does not evaluate: {message}", path.display())]
    Evaluation {
        /// The template file.
        path: PathBuf,
        /// Line in the template, from 1.
        line: usize,
        /// What went wrong.
        message: String,
    },
    /// The template runs and what it writes is not YAML.
    #[error(
        "{}: the text it renders to is not valid YAML, at rendered line {line}, column {column}: {message}\n  | {text}",
        path.display()
    )]
    Rendered {
        /// The template file.
        path: PathBuf,
        /// Line in the rendered text, from 1.
        line: u64,
        /// Column in the rendered text, from 1.
        column: u64,
        /// What the YAML parser says.
        message: String,
        /// The rendered line.
        text: String,
    },
}
