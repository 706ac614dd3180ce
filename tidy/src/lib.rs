//! What the documents promise about the source, checked by `cargo test`.
//!
//! A rule reads the tree as text and returns what breaks it; `tests` runs every rule over this workspace,
//! and over a planted breach each, so that a rule which finds nothing any more fails too.
//! The models are tigerbeetle's `tidy.zig` and rust-analyzer's `xtask tidy`.

pub mod rules;
pub mod tree;

pub use tree::{SourceFile, SourceTree};

/// Something that breaks a rule, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Breach {
    /// The file, from the root of the workspace.
    pub path: String,
    /// What is wrong, and what to do about it.
    pub what: String,
}

impl Breach {
    fn new(path: &str, what: String) -> Breach {
        Breach { path: path.to_owned(), what }
    }
}

/// A rule: what in the tree breaks it.
pub type Rule = fn(&SourceTree) -> Vec<Breach>;

/// Every rule, by name.
pub const RULES: &[(&str, Rule)] = &[
    ("layers of core", rules::layers::check),
    ("what a crate may name", rules::crates::check),
    ("unique public types", rules::types::check),
    ("sizes", rules::sizes::check),
    ("paths in documents", rules::paths::check),
    ("unused dependencies", rules::dependencies::check),
    ("dead modules", rules::modules::check),
    ("builders of tests", rules::builders::check),
    ("differences from upstream", rules::differences::check),
    ("upstream's functions", rules::upstream::check),
    ("one statistic", rules::statistics::check),
];

#[cfg(test)]
mod tests;
