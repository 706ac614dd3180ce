//! The built-in suites keep the house rules.

use super::*;
use crate::ops::{Completion, ResolvedOp};
use crate::resolve::{ResolvedWorkload, SUPPORTED_OPCODES, Selection, runnable};
use crate::source::{DiskSource, Source};

fn workloads() -> Vec<ResolvedWorkload> {
    NAMES.iter().flat_map(|name| load(name).unwrap().resolve(&Selection::all()).unwrap()).collect()
}

fn has(workload: &ResolvedWorkload, label: &str) -> bool {
    workload.labels.iter().any(|own| own == label)
}

fn sum(workload: &ResolvedWorkload, count: impl Fn(&ResolvedOp) -> u32) -> u32 {
    workload.ops.iter().map(count).sum()
}

fn nodes(op: &ResolvedOp) -> u32 {
    match op {
        ResolvedOp::CreateNodes(op) => op.count,
        ResolvedOp::CreateAny(op) if op.template.render_json(0, 1).unwrap()["kind"] == "Node" => op.count,
        _ => 0,
    }
}

#[test]
fn every_built_in_workload_runs_today_and_renders() {
    for workload in workloads() {
        let name = &workload.full_name;
        assert_eq!(runnable(&workload, SUPPORTED_OPCODES), Ok(()), "{name}");
        for op in &workload.ops {
            let template = match op {
                ResolvedOp::CreateNodes(op) => op.template.as_ref(),
                ResolvedOp::CreatePods(op) => op.template.as_ref(),
                _ => None,
            };
            if let Some(template) = template {
                let object = template.render_json(0, 1).unwrap();
                assert!(object["kind"].is_string(), "{name}");
                assert!(!template.depends_on_index(), "{name}: rendered once, not per object");
            }
        }
    }
}

#[test]
fn every_test_case_has_a_short_workload_and_one_of_5000_nodes() {
    let workloads = workloads();
    for case in NAMES.iter().flat_map(|name| load(name).unwrap().test_cases().cloned().collect::<Vec<_>>()) {
        let of_case: Vec<_> = workloads.iter().filter(|w| w.test_case == case.name).collect();
        let short = of_case.iter().find(|w| has(w, "short") && has(w, "integration-test"));
        let short = short.unwrap_or_else(|| panic!("{} has a short workload", case.name));
        assert!((5..=50).contains(&sum(short, nodes)), "{}", short.full_name);
        let large = of_case.iter().find(|w| has(w, "performance"));
        let large = large.unwrap_or_else(|| panic!("{} has a performance workload", case.name));
        assert_eq!(sum(large, nodes), 5000, "{}", large.full_name);
        assert!(case.text.starts_with("# "), "{} says why it exists", case.name);
    }
}

#[test]
fn overloaded_cluster_has_no_barrier_on_pods_that_cannot_fit() {
    for workload in workloads().iter().filter(|w| w.test_case == "OverloadedCluster") {
        let overload: Vec<_> = workload
            .ops
            .iter()
            .filter_map(|op| match op {
                ResolvedOp::CreatePods(op) if op.completion == Completion::Created => {
                    Some(op.namespace.as_str())
                }
                _ => None,
            })
            .collect();
        assert_eq!(overload, ["overload"], "{}", workload.full_name);
        for op in &workload.ops {
            if let ResolvedOp::Barrier(op) = op {
                assert!(!op.namespaces.is_empty(), "{}: would wait for ever", workload.full_name);
                assert!(!op.namespaces.iter().any(|n| n == "overload"), "{}", workload.full_name);
            }
        }
    }
}

#[test]
fn every_file_of_the_suites_is_embedded() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites");
    let mut on_disk = Vec::new();
    collect(&directory, &directory, &mut on_disk);
    on_disk.sort();
    let mut embedded: Vec<String> = EMBEDDED.files.iter().map(|(path, _)| (*path).to_owned()).collect();
    embedded.sort();
    assert_eq!(embedded, on_disk);
    for (path, text) in EMBEDDED.files {
        assert_eq!(DiskSource.read(&directory.join(path)).unwrap(), *text, "{path}");
    }
}

fn collect(root: &Path, directory: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, found);
        } else {
            found.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
        }
    }
}
