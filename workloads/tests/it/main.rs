//! The crate from the outside.

mod classic;
mod controllers;
mod experiments;
mod metrics;
mod ops;
mod own_ops;
mod pod_groups;
mod schedulers;
mod stories;
mod suites;
mod support;
mod upstream_files;
mod validation;
mod virtual_time;
