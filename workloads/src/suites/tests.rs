//! The built-in suites keep the house rules.

use super::*;
use crate::ops::ResolvedOp;
use crate::ops::barrier::Barrier;
use crate::ops::create_any::CreateAny;
use crate::ops::create_nodes::CreateNodes;
use crate::ops::create_pods::{Completion, CreatePods};
use crate::resolve::{ResolvedWorkload, Selection, runnable};
use crate::source::{DiskSource, Source};

fn workloads() -> Vec<ResolvedWorkload> {
    NAMES.iter().flat_map(|name| load(name).unwrap().resolve(&Selection::all()).unwrap()).collect()
}

fn has(workload: &ResolvedWorkload, label: &str) -> bool {
    workload.labels.iter().any(|own| own == label)
}

fn sum(workload: &ResolvedWorkload, count: impl Fn(&dyn ResolvedOp) -> u32) -> u32 {
    workload.ops.iter().map(|op| count(op.as_ref())).sum()
}

fn nodes(op: &dyn ResolvedOp) -> u32 {
    let any = op.as_op::<CreateAny>();
    let any = any.filter(|op| op.template.render_json(0, 1).unwrap()["kind"] == "Node");
    any.map_or(op.facts().nodes, |op| op.count)
}

#[test]
fn every_built_in_workload_runs_today_and_renders() {
    for workload in workloads() {
        let name = &workload.full_name;
        assert_eq!(runnable(&workload), Ok(()), "{name}");
        for op in &workload.ops {
            let nodes = op.as_op::<CreateNodes>().and_then(|op| op.template.as_ref());
            let template = nodes.or(op.as_op::<CreatePods>().and_then(|op| op.template.as_ref()));
            if let Some(template) = template {
                let object = template.render_json(0, 1).unwrap();
                assert!(object["kind"].is_string(), "{name}");
                // Members say by their index which gang they belong to.
                let is_member = object["spec"]["schedulingGroup"].is_object();
                assert!(is_member || !template.depends_on_index(), "{name}: rendered once, not per object");
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
            .filter_map(|op| op.as_op::<CreatePods>())
            .filter(|op| op.completion == Completion::Created)
            .map(|op| op.namespace.as_str())
            .collect();
        assert_eq!(overload, ["overload"], "{}", workload.full_name);
        for op in &workload.ops {
            if let Some(op) = op.as_op::<Barrier>() {
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
