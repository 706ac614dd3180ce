//! The short workloads of every suite run to their end.

use std::sync::Arc;

use schedlab_core::topology::PodCounting;
use schedlab_workloads::executor::{Ending, RunSettings};
use schedlab_workloads::resolve::{ResolvedWorkload, Selection, Suite, runnable};
use schedlab_workloads::source::DiskSource;
use schedlab_workloads::suites;

use crate::support::{SETTINGS, run};
use crate::upstream_files::upstream_root;

fn short() -> Selection {
    Selection::all().with_labels("integration-test,short".parse().expect("a filter"))
}

#[track_caller]
fn completes(workload: &ResolvedWorkload, settings: RunSettings) {
    let name = &workload.full_name;
    let outcome = run(workload, settings).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.ending, Ending::Completed, "{name}");
    assert!(!outcome.collected.is_empty(), "{name} measures something");
    for part in &outcome.collected {
        assert!(0 < part.scheduled && part.scheduled <= part.created, "{name}: {}", part.scheduled);
    }
}

#[test]
fn short_workloads_of_our_suites_complete_however_pods_are_counted() {
    for suite in suites::names() {
        let workloads = suites::load(suite).and_then(|suite| suite.resolve(&short()));
        for workload in workloads.unwrap_or_else(|error| panic!("{error}")) {
            completes(&workload, SETTINGS);
            completes(&workload, RunSettings { pod_counting: PodCounting::Scanned, ..SETTINGS });
        }
    }
}

#[test]
fn short_workloads_of_upstream_complete() {
    let Some(root) = upstream_root() else { return };
    let suite = Suite::load(Arc::new(DiskSource), &root).unwrap_or_else(|error| panic!("{error}"));
    let selected = suite.resolve_each(&short());
    let (mut ran, mut skipped) = (0, Vec::new());
    for workload in selected.into_iter().filter_map(|selected| selected.workload.ok()) {
        match runnable(&workload) {
            Ok(()) => {
                completes(&workload, SETTINGS);
                ran += 1;
            }
            Err(reason) => skipped.push(format!("{}: {reason}", workload.full_name)),
        }
    }
    assert!(40 <= ran, "{ran} ran");
    let is_known =
        |why: &String| why.ends_with("is not simulated here") || why.ends_with("are not simulated here");
    assert!(skipped.iter().all(is_known), "{skipped:#?}");
}
