//! The crate from the outside.

mod ops;
mod suites;
mod support;
mod upstream_files;
