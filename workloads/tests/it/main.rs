//! The crate from the outside.

mod upstream_files;
