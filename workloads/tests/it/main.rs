//! The crate from the outside.

mod controllers;
mod metrics;
mod ops;
mod pod_groups;
mod suites;
mod support;
mod upstream_files;
mod validation;
mod virtual_time;
