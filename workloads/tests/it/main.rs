//! The crate from the outside.

mod execution;
mod metrics;
mod ops;
mod suites;
mod support;
mod upstream_files;
mod validation;
